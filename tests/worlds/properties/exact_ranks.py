"""What must hold of ranks against the whole catalogue."""

from __future__ import annotations

import numpy as np

from ..reference import slow_ranks
from ..world import World
from .holding import hold


def rows_are_the_split(world: World) -> None:
    """One row per held-out pair, in order, with its number of candidates."""
    table, held = world.full, world.split.held_out
    hold(np.array_equal(table.user, held.user_ids[held.users]), "users are not the held-out ones")
    hold(np.array_equal(table.item, held.item_ids[held.indices]), "items are not the held-out ones")
    hold(np.array_equal(table.n_items, world.n_candidates), "n_items is not the candidates' number")
    hold(table.is_exact.all(), "Full() has sampled rows")


def exact_ranks_equal_reference(world: World) -> None:
    """Full() gives the ranks of the slow reference, by every tie rule."""
    header = world.full.header
    found = slow_ranks(
        world.scorer, world.users, world.items, world.seen,
        ties=header.ties, seed=world.plan.rank_seed, rows=world.some_rows(3_000_000),
    )  # fmt: skip
    for row, rank in found:
        mine = int(world.full.rank[row])
        hold(
            mine == rank,
            f"row {row} (user {world.users[row]}, item {world.items[row]}) has rank {mine} of "
            f"{world.n_candidates[row]}, the reference says {rank} (ties {header.ties})",
        )


def targets_have_places_of_their_own(world: World) -> None:
    """No two held-out items of a user share a rank in one list."""
    pairs = np.stack([world.users, world.full.rank], axis=1)
    shared = len(pairs) - len(np.unique(pairs, axis=0))
    hold(shared == 0, f"{shared} of {len(pairs)} rows share a rank with another of their user")
