"""Sampled ranks without a model: drawn from their distribution, given the exact ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Int
from truerank.data.id_order import distinct_ids
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.ranking import Adaptive, Full, Header, RankTable, Sampled, Screened, Users
from truerank.ranking.adaptive_budget import PILOT_ROWS, Budget
from truerank.ranking.screening.budget import PILOT_ROWS as SCREEN_PILOT
from truerank.ranking.screening.budget import ScreenBudget
from truerank.ranking.screening.certificate import affordable_ladder
from truerank.ranking.stages import Stages, follow_stages
from truerank.rng import Stream, addresses, stream


def simulate(
    exact: RankTable,
    design: Full | Sampled | Adaptive | Screened | Users,
    *,
    seed: int = 0,
    stages: Stages | None = None,
) -> RankTable:
    """The table that the design would give, its samples drawn anew: for each row by itself.

    Of a design whose users share their rivals everything is as it would be but that: what such rows
    have in common is left out.

    A nested sample meets the better rivals in the order of an urn: hypergeometric steps without
    replacement, binomial steps with. Memory: a few numbers per row.

    Args:
        exact: Exact ranks.
        design: Whom to rank against, and for ``Users(m)`` which users.
        seed: Of the draws.
        stages: Those of an earlier table of the design, to spare the pilot of one with a budget.
    """
    if not exact.all_exact:
        raise InvalidDataError("simulation starts from exact ranks; rank with Full() first")
    if isinstance(design, Users):
        return _some_users(exact, design, seed, stages)
    if isinstance(design, Full):
        return exact
    stages, rank, size = _grown(exact, design, seed, stages)
    return RankTable(
        user=exact.user,
        item=exact.item,
        rank=rank,
        n_sampled=size,
        n_items=exact.n_items,
        weight=exact.weight,
        n_scored=_scored(design, stages, size, exact.n_items),
        header=Header(
            design=design,
            stages=stages,
            replacement=bool(getattr(design, "replacement", False)),
            seed=seed,
            ties=exact.header.ties,
            candidates=exact.header.candidates,
            n_population=exact.header.n_population,
            model=exact.header.model,
        ),
    )


def _scored(design: object, stages: Stages, size: Int, n_items: Int) -> Int:
    """Items scored: in a screen, whoever comes to its end is ranked anew among all items."""
    if not isinstance(design, Screened) or len(stages.sizes) == 1:
        return size
    return np.where(size >= n_items, size + stages.sizes[-2], size)


def _grown(
    exact: RankTable, design: Sampled | Adaptive | Screened, seed: int, stages: Stages | None
) -> tuple[Stages, Int, Int]:
    """Stages, ranks and sample sizes. A pilot's samples are its rows' own, as in ranking."""
    n_items = int(exact.n_items.max())
    if isinstance(design, Screened) and design.seconds is not None:
        raise InvalidArgumentError(
            "seconds", design.seconds, "a budget, budget=, for a simulation",
            "how much is scored in that time is known only of a model that can be timed",
        )  # fmt: skip
    generator = stream(seed, Stream.NEGATIVES, len(exact))
    draw = _Draw(exact, bool(getattr(design, "replacement", False)), generator)
    rest = np.arange(len(exact))
    if stages is None and isinstance(design, Adaptive) and design.limited:
        pilot = stream(seed, Stream.PILOT).permutation(len(exact))[:PILOT_ROWS]
        budget = Budget(design, n_items, n_pilot=len(pilot), n_rows=len(exact))
        draw.grow(pilot, budget.stages, budget.settle)
        stages, rest = budget.stages, np.delete(rest, pilot)
    if stages is None and isinstance(design, Screened) and design.budget is not None:
        pilot = stream(seed, Stream.PILOT).permutation(len(exact))[:SCREEN_PILOT]
        stages = _settled_screen(draw, design, design.budget, n_items, pilot)
        rest = np.delete(rest, pilot)
    stages = stages or design.stages(n_items)
    draw.grow(rest, stages)
    return stages, draw.rank, draw.size


def _settled_screen(
    draw: _Draw, design: Screened, budget: float, n_items: int, pilot: NDArray[Any]
) -> Stages:
    """The stages of a screen with a budget, whose limits the samples of a pilot settle."""
    ladder = affordable_ladder(design.k, budget, n_items)
    plan = ScreenBudget(ladder, design.stages(n_items).n_blocks or 1, budget)

    def settle(stage: int, rank: Int, size: Int) -> None:
        here = size >= plan.stages.sizes[stage]
        if here.any():
            plan.settle(stage, rank[here], len(pilot))

    draw.grow(pilot, plan.stages, settle)
    return plan.stages


def _some_users(exact: RankTable, design: Users, seed: int, stages: Stages | None) -> RankTable:
    """The inner design on a simple random sample of the users."""
    known = distinct_ids(exact.user)[0]
    if design.m > len(known):
        raise InvalidArgumentError("m", design.m, f"at most the {len(known):,} users there are")
    words = addresses(seed, Stream.USER_SAMPLE, np.arange(len(known)))
    chosen = known[np.argsort(words, kind="stable")[: design.m]]
    table = simulate(exact[np.isin(exact.user, chosen)], design.inner, seed=seed, stages=stages)
    header = replace(table.header, design=design, n_population=len(known), seed=seed)
    return replace(table, header=header)


class _Draw:
    """Samples of all rows, of whom some may have theirs before others."""

    def __init__(self, exact: RankTable, replacement: bool, generator: np.random.Generator) -> None:
        self.exact, self.replacement, self.generator = exact, replacement, generator
        self.rank, self.size = np.empty((2, len(exact)), np.int64)

    def grow(
        self,
        rows: NDArray[Any],
        stages: Stages,
        settle: Callable[[int, Int, Int], None] | None = None,
    ) -> None:
        """Follow the stages with some of the rows."""
        generator = self.generator
        better, n_items = self.exact.rank[rows] - 1, self.exact.n_items[rows]
        met = np.zeros(len(rows), np.int64)  # of the better ones

        def meet(active: NDArray[Any], drawn: Int, wanted: Int) -> Int:
            others = n_items[active] - 1
            if self.replacement:
                met[active] += generator.binomial(wanted - drawn, better[active] / others)
            else:
                good = better[active] - met[active]
                met[active] += generator.hypergeometric(good, others - drawn - good, wanted - drawn)
            return np.asarray(met[active] + 1)

        self.rank[rows], self.size[rows] = follow_stages(
            stages, n_items, self.replacement, meet,
            lambda _, active: generator.random(len(active)), settle=settle,
        )  # fmt: skip
