"""What must not matter: executors, company, order, files, shards."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import truerank as tr

from ..world import World
from .holding import NothingToCheck, hold, hold_same_table

MOST_SHUFFLED = 15_000
"""Interactions of worlds that are made twice."""


def executors_agree(world: World) -> None:
    """The same bits from every executor."""
    for executor in (tr.Serial(), tr.Threads(2)):
        other = world.rank(world.design, executor=executor)
        hold_same_table(world.table, other, f"{executor!r} gives another table")


def parts_rank_as_the_whole(world: World) -> None:
    """A row's rank does not depend on which other users are ranked with it."""
    design = world.design
    pilot_decides = isinstance(design, tr.Adaptive) and design.limited
    counted = getattr(design, "shared", None) is not None  # fewer users have fewer blocks
    if isinstance(design, tr.Users) or pilot_decides or counted:
        raise NothingToCheck
    rows = world.some_rows(1_500_000)
    part = world.rank_rows(
        rows, design.take(rows) if isinstance(design, tr.FixedNegatives) else design
    )
    hold(np.array_equal(part.rank, world.table.rank[rows]), "some users alone rank otherwise")
    hold(np.array_equal(part.n_sampled, world.table.n_sampled[rows]), "other sample sizes")


def order_of_rows_is_irrelevant(world: World) -> None:
    """Shuffled rows and vocabularies give the same data, the same split and the same table."""
    if len(world.rows.user) > MOST_SHUFFLED:
        raise NothingToCheck
    shuffled = world.rows.shuffled(world.rng(20))
    data = world.interactions(shuffled)
    hold(data.fingerprint() == world.interactions(world.rows).fingerprint(), "other interactions")
    split = world.split_of(shuffled)
    hold(split.fingerprint() == world.split.fingerprint(), "another split")
    table = tr.rank(world.model_of(split), split, world.design, **world.rank_options)
    hold_same_table(table, world.table, "another table")


def order_of_pairs_is_irrelevant(world: World) -> None:
    """Pairs ranked in another order have the same ranks."""
    rows = world.some_rows(1_500_000)
    order = world.rng(25).permutation(len(rows))
    design = tr.Sampled(2) if int(world.n_candidates[rows].min()) >= 2 else tr.Full()
    straight, shuffled = world.rank_rows(rows, design), world.rank_rows(rows[order], design)
    hold(np.array_equal(straight.rank[order], shuffled.rank), "ranks depend on the pairs' order")


def tables_survive_parquet(world: World) -> None:
    """A table read back has the same columns and the same header."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        world.table.to_parquet(path)
        back = tr.RankTable.from_parquet(path)
    hold_same_table(world.table, back, "changed on the way")
    hold(world.table.header == back.header, "the header changed on the way")


def shards_make_the_whole(world: World) -> None:
    """A table cut by users and put together in another order has the same estimates, in bits."""
    table, rng = world.table, world.rng(22)
    names, number = np.unique(table.user, return_inverse=True)
    if len(names) < 2:
        raise NothingToCheck
    shard = rng.integers(0, 3, len(names))[number]
    parts = [table[shard == k] for k in rng.permutation(3) if (shard == k).any()]
    _same_estimates(world, table, tr.RankTable.concat(parts))


def order_of_a_table_is_irrelevant(world: World) -> None:
    """Shuffled rows of a table have the same estimates, in bits."""
    table = world.table
    _same_estimates(world, table, table[world.rng(26).permutation(len(table))])


def users_all_is_full(world: World) -> None:
    """Users(m = all) has the ranks, values, standard errors and intervals of Full()."""
    full, all_users = world.full, world.rank(tr.Users(world.n_held_out_users))
    hold_same_table(full, all_users, "Users(m = all) is not Full()")
    _same_estimates(world, full, all_users, population=world.plan.population)


def _same_estimates(world: World, one: tr.RankTable, two: tr.RankTable, **told: Any) -> None:
    metrics = world.safe_metrics(one)
    found = (tr.estimate(t, metrics, n_boot=25, bounds=False, **told) for t in (one, two))
    for a, b in zip(*found, strict=True):
        hold(a.value == b.value, f"{a.metric}: {a.value!r} becomes {b.value!r}")
        same = np.array_equal(a.replicates, b.replicates)
        hold(same, f"{a.metric} ± {a.std_error!r} becomes ± {b.std_error!r}")
