"""What must hold of ranks among a sample: they are possible, exact where they can be, unbiased."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import truerank as tr

from ..reference import slow_shared
from ..world import World
from .holding import SLACK, NothingToCheck, hold, hold_same_table

SEEDS = range(40)
"""Repetitions behind a test of unbiasedness."""

ERRORS = 5.0
"""Standard errors that a mean may be off: one world in two million by chance."""


def table_is_sound(world: World) -> None:
    """The design's table has possible ranks and the sizes that the design says."""
    table, design = world.table, world.design
    hold((table.rank >= 1).all() and (table.rank <= table.n_sampled).all(), "a rank outside 1..n")
    hold((table.n_sampled <= table.n_items).all(), "more sampled than there are")
    if isinstance(design, tr.Sampled) and not world.shares_rivals:
        hold((table.n_sampled == design.n).all(), "Sampled(n) with another size than n")
    if world.shares_rivals:
        _places_are_those_of_the_stages(world)
    if isinstance(design, tr.FixedNegatives):
        hold((table.n_sampled == 1 + np.diff(design.indptr)).all(), "not the negatives given")
    if isinstance(design, tr.Users):
        hold(table.n_users == design.m, f"Users({design.m}) has {table.n_users} users")
    else:
        hold(np.array_equal(table.n_items, world.n_candidates), "n_items is not the candidates'")


def _places_are_those_of_the_stages(world: World) -> None:
    """Of so many places some are excluded items', and one may be the target's."""
    table, stages = world.table, world.table.header.stages
    n, N, most = table.n_sampled, table.n_items, world.split.train.n_items
    hold(stages is not None and stages.n_blocks is not None, "no stages, or none of blocks")
    hold(stages.sizes[-1] <= max(2, most), "more places than the catalogue has")
    least = np.minimum(stages.sizes[0], most) - (most - N)
    hold((n >= least).all(), "fewer met than there are candidates at these places")
    exact = n >= N
    hold((n[~exact] <= stages.sizes[-1] + 1).all(), "more met than there are places")
    if isinstance(world.inner, tr.Screened):
        hold(stages.sizes[-1] == max(2, most), "a certified screen that does not end exactly")


def shared_ranks_equal_reference(world: World) -> None:
    """Ranks and sizes of samples that users share are those of the slow reference."""
    if not world.shares_rivals:
        raise NothingToCheck
    table, ids = world.table, world.split.train.user_ids
    pairs = zip(table.user.tolist(), table.item.tolist(), strict=True)
    where = {pair: row for row, pair in enumerate(pairs)}
    names, items = ids[world.users].tolist(), world.split.train.item_ids[world.items].tolist()
    there = np.array([pair in where for pair in zip(names, items, strict=True)])
    rows = world.rng(27).permutation(np.flatnonzero(there))
    for row, rank, size in slow_shared(
        world.scorer, world.users, world.items, world.seen, ties=table.header.ties,
        seed=world.plan.rank_seed, rows=rows[: 1 + 2_000_000 // world.split.train.n_items][:300],
        names=ids, stages=table.header.stages,
    ):  # fmt: skip
        mine = where[names[row], items[row]]
        found = int(table.rank[mine]), int(table.n_sampled[mine])
        hold(
            found == (rank, size),
            f"row {row} has rank {found[0]} of {found[1]}, the reference says {rank} of {size}",
        )


def the_first_is_never_dropped(world: World) -> None:
    """A target of rank 1 has rank 1 in every sample: a screen of any kind lets it pass."""
    if not isinstance(world.inner, tr.Screened):
        raise NothingToCheck
    table = world.table
    first = _same_rows_of_full(world).rank == 1
    if not first.any():
        raise NothingToCheck
    hold(table.is_exact[first].all(), "a target of rank 1 was dropped")


def what_is_scored_is_counted(world: World) -> None:
    """A plain scorer is asked for as many scores as the table says."""
    rows = world.some_rows(500_000)[:100]
    counting = _Counting(world.scorer)
    told = {k: v for k, v in world.rank_options.items() if k != "candidates"}
    design = world.design.take(rows) if isinstance(world.design, tr.FixedNegatives) else world.inner
    table = tr.rank_pairs(
        counting, world.users[rows], world.items[rows], design, exclude=world.seen,
        user_ids=world.split.train.user_ids, executor=tr.Serial(), **told,
    )  # fmt: skip
    said = int(table.n_scored.sum())
    hold(said == counting.asked, f"n_scored sums to {said}, {counting.asked} were asked for")


class _Counting:
    """A scorer without fast paths, which counts."""

    def __init__(self, scorer: Any) -> None:
        self.scorer, self.n_items, self.asked = scorer, scorer.n_items, 0

    def score_all(self, users: Any) -> Any:
        self.asked += len(users) * self.n_items
        return self.scorer.score_all(users)

    def score_pairs(self, users: Any, items: Any) -> Any:
        self.asked += items.size
        return self.scorer.score_pairs(users, items)


def sampled_ranks_are_possible(world: World) -> None:
    """Without replacement r <= R and n - r <= N - R; with it R = 1 means r = 1."""
    table, full = world.table, _same_rows_of_full(world)
    R, N, r, n = full.rank, full.n_items, table.rank, table.n_sampled
    if full.header.ties == "half":
        raise NothingToCheck  # the middle of a tied block is no order that a sample could keep
    if table.header.replacement:
        hold((r[R == 1] == 1).all(), "a target of rank 1 has a sampled rank above 1")
        hold((r[R == N] == n[R == N]).all(), "a target of rank N beats somebody")
        return
    hold((r <= R).all(), f"row {np.argmax(r > R)}: sampled rank above the exact rank")
    hold((n - r <= N - R).all(), f"row {np.argmax(n - r > N - R)}: it beats more than there are")


def exact_rows_are_exact(world: World) -> None:
    """Rows of any design that met all their candidates have the rank of Full(), in bits."""
    table, full = world.table, _same_rows_of_full(world)
    exact = table.is_exact
    if not exact.any():
        raise NothingToCheck
    hold(np.array_equal(table.rank[exact], full.rank[exact]), "an exact row differs from Full()")


def sampling_everything_is_exact(world: World) -> None:
    """Sampled(n = all candidates) gives the rank of Full(), in bits."""
    rows = world.some_rows(500_000)
    n = int(world.n_candidates[rows].min())
    if n < 2:
        raise NothingToCheck
    table = world.rank_rows(rows, tr.Sampled(n))
    exact = table.is_exact
    hold(exact.any(), "Sampled(n = all candidates) has no exact row")
    same = np.array_equal(table.rank[exact], world.full.rank[rows][exact])
    hold(same, "Sampled(n = all candidates) is not Full()")
    shared = world.rank_rows(rows, tr.Sampled(world.split.train.n_items + 1, shared=30))
    hold(shared.is_exact.all(), "Sampled(n = all items, shared=30) has sampled rows")
    same = np.array_equal(shared.rank, world.full.rank[rows])
    hold(same, "Sampled(n = all items, shared=30) is not Full()")


def adaptive_that_cannot_grow_is_sampled(world: World) -> None:
    """Adaptive(n0=n, n_max=n) draws the rivals of Sampled(n)."""
    rows = world.some_rows(1_000_000)
    room = int(world.n_candidates[rows].min())
    if room < 3:
        raise NothingToCheck
    n, replacement = _some_size(world, room)
    grown = world.rank_rows(rows, tr.Adaptive(n0=n, n_max=n, replacement=replacement))
    sampled = world.rank_rows(rows, tr.Sampled(n, replacement))
    hold_same_table(grown, sampled, f"Adaptive(n0={n}, n_max={n}) is not Sampled({n})")


def defaults_take_any_size(world: World) -> None:
    """Adaptive(), Sampled() and Screened() adapt to however few candidates there are."""
    rows = world.some_rows(500_000)
    designs: list[Any] = [tr.Adaptive(), tr.Sampled(), tr.Sampled(shared=9)]
    if world.plan.ties != "half":
        designs.append(tr.Screened())
    if world.n_candidates[rows].min() > 2:  # with one rival there is nothing to draw again
        designs.append(tr.Sampled(replacement=True))
    for design in designs:
        table = world.rank_rows(rows, design)
        hold((table.rank >= 1).all(), f"{design}: a rank below 1")
        hold((table.rank <= table.n_sampled).all(), f"{design}: a rank above n")
        hold((table.n_sampled <= table.n_items).all(), f"{design}: more sampled than there are")


def sampled_ranks_are_unbiased(world: World) -> None:
    r"""The mean of (r - 1)/(n - 1) - (R - 1)/(N - 1) over rows and seeds is 0 within 5 errors.

    With p = (R - 1)/(N - 1) its variance is p(1 - p)/(n - 1), without replacement times
    (N - n)/(N - 2). Under ``half`` a tied rival is above or below by a coin of its own: the mean
    is within half a place of the half rank, and the coins add at most 1/(4(N - 1)).
    """
    rows = world.some_rows(200_000)[:60]
    room = int(world.n_candidates[rows].min())
    rule = world.plan.ties or "random"
    several = len(np.unique(world.users[rows])) < len(rows)
    if room < 4 or (rule == "half" and several):
        raise NothingToCheck
    n, replacement = _some_size(world, room)
    off = variance = allowed = 0.0
    for seed in SEEDS:
        full = world.rank_rows(rows, tr.Full(), ties=rule, seed=seed)
        table = world.rank_rows(rows, tr.Sampled(n, replacement), ties=rule, seed=seed)
        others = full.n_items - 1.0
        p = (full.rank - 1) / others
        off += float(((table.rank - 1) / (n - 1) - p).sum())
        if rule == "half":
            variance += float((p * (1 - p) / (n - 1) + 0.25 / others).sum())
            allowed += float((0.5 / others).sum())
        else:
            left = 1.0 if replacement else (others - (n - 1)) / (others - 1)
            variance += float((p * (1 - p) / (n - 1) * left).sum())
    error = math.sqrt(variance)
    hold(
        abs(off) <= ERRORS * error + allowed + SLACK,
        f"Sampled({n}, {replacement}), ties {rule}: off by {off:.4g}, standard error {error:.4g}",
    )


def users_are_drawn_fairly(world: World) -> None:
    """The mean rank of the users that Users(m) draws is that of all users, within 5 errors."""
    rows = world.some_rows(200_000)[:60]
    full = world.rank_rows(rows, tr.Full(), ties="pessimistic")
    users, number = np.unique(full.user, return_inverse=True)
    if len(users) < 2:
        raise NothingToCheck
    means = np.bincount(number, full.rank / full.n_items) / np.bincount(number)
    m = int(world.rng(24).integers(1, len(users)))
    drawn = []
    for seed in SEEDS:
        table = world.rank_rows(rows, tr.Users(m), ties="pessimistic", seed=seed)
        drawn.append(means[np.isin(users, table.user)].mean())
    error = math.sqrt((1 - m / len(users)) * means.var(ddof=1) / m / len(SEEDS))
    off = float(np.mean(drawn) - means.mean())
    hold(abs(off) <= ERRORS * error + SLACK, f"Users({m}): off by {off:.4g}, error {error:.4g}")


def _some_size(world: World, room: int) -> tuple[int, bool]:
    """A sample smaller than ``room``, and whether it is drawn with replacement."""
    rng = world.rng(21)
    return int(rng.integers(2, min(room - 1, 60) + 1)), bool(rng.random() < 0.4)


def _same_rows_of_full(world: World) -> tr.RankTable:
    """The rows of Full() that the design's table has."""
    return world.full[np.isin(world.full.user, np.unique(world.table.user))]
