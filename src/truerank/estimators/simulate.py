"""Sampled ranks without a model: drawn from their law, given the exact ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Int
from truerank.data.id_order import distinct_ids
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.ranking import Adaptive, Full, Header, RankTable, Sampled, Users
from truerank.ranking.adaptive_budget import PILOT_ROWS, scheduled_levels
from truerank.ranking.designs import Levels
from truerank.rng import Stream, addresses, stream


def simulate(
    exact: RankTable,
    design: Full | Sampled | Adaptive | Users,
    *,
    seed: int = 0,
    levels: Levels | None = None,
) -> RankTable:
    """The table that the design would give, its samples drawn anew.

    A nested sample meets the better rivals in the order of an urn: hypergeometric steps without
    replacement, binomial steps with. Memory: a few numbers per row.

    Args:
        exact: Exact ranks.
        design: Whom to rank against, and for ``Users(m)`` which users.
        seed: Of the draws.
        levels: Those of an earlier table of the design, to spare the pilot of an adaptive one.
    """
    if not exact.is_exact.all():
        raise InvalidDataError("simulation starts from exact ranks; rank with Full() first")
    if isinstance(design, Users):
        return _some_users(exact, design, seed, levels)
    if isinstance(design, Full):
        return exact
    n_items = int(exact.n_items.max())
    rows = np.arange(len(exact))
    levels = levels or _scheduled(exact, design, n_items, seed)
    rank, size = _draw(exact, rows, levels, design.replacement, seed)
    return RankTable(
        user=exact.user,
        item=exact.item,
        rank=rank,
        n_sampled=size,
        n_items=exact.n_items,
        weight=exact.weight,
        n_scored=size,
        header=Header(
            design={**design.describe(), "levels": levels.describe()},
            replacement=design.replacement,
            seed=seed,
            ties=exact.header.ties,
            candidates=exact.header.candidates,
            n_population=exact.header.n_population,
            model=exact.header.model,
        ),
    )


def _scheduled(exact: RankTable, design: Sampled | Adaptive, n_items: int, seed: int) -> Levels:
    """The levels that a pilot of the rows leads to."""
    if isinstance(design, Sampled):
        return design.levels(n_items)
    pilot = stream(seed, Stream.PILOT).permutation(len(exact))[:PILOT_ROWS]
    return scheduled_levels(
        design,
        n_items,
        lambda some, rows: _pick(_draw(exact, pilot, some, design.replacement, seed), rows),
        n_pilot=len(pilot),
        n_rows=len(exact),
    )


def _some_users(exact: RankTable, design: Users, seed: int, levels: Levels | None) -> RankTable:
    """The inner design on a simple random sample of the users."""
    known = distinct_ids(exact.user)[0]
    if design.m > len(known):
        raise InvalidArgumentError("m", design.m, f"at most the {len(known):,} users there are")
    words = addresses(seed, Stream.USER_SAMPLE, np.arange(len(known)))
    chosen = known[np.argsort(words, kind="stable")[: design.m]]
    table = simulate(exact[np.isin(exact.user, chosen)], design.inner, seed=seed, levels=levels)
    inner = {"inner": table.header.design} if "levels" in table.header.design else {}
    header = replace(
        table.header, design={**design.describe(), **inner}, n_population=len(known), seed=seed
    )
    return replace(table, header=header)


def _pick(drawn: tuple[Int, Int], rows: Int) -> tuple[Int, Int]:
    """Some rows of a draw. All are drawn each time: only so the same rows meet the same fate."""
    return drawn[0][rows], drawn[1][rows]


def _draw(
    exact: RankTable, rows: NDArray[Any], levels: Levels, replacement: bool, seed: int
) -> tuple[Int, Int]:
    generator = stream(seed, Stream.NEGATIVES, len(rows))
    better_left = (exact.rank[rows] - 1).copy()  # better rivals not met yet
    rivals = exact.n_items[rows] - 1
    better, drawn = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    most = rivals - int(replacement)
    active = np.arange(len(rows))
    for level, size in enumerate(levels.sizes):
        more = np.minimum(size - 1, most[active]) - drawn[active]
        if replacement:
            chance = (exact.rank[rows][active] - 1) / rivals[active]
            met = generator.binomial(more, chance)
        else:
            left = rivals[active] - drawn[active]
            met = generator.hypergeometric(better_left[active], left - better_left[active], more)
            better_left[active] -= met
        better[active] += met
        drawn[active] += more
        rank, last = better[active] + 1, levels.go_on[level]
        kept = generator.random(len(active)) < levels.keep[level]
        going = (rank < last) | ((rank == last) & kept)
        active = active[going & (drawn[active] < most[active])]
        if len(active) == 0:
            break
    return better + 1, drawn + 1
