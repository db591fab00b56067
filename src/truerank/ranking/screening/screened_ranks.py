r"""Screened ranking: blocks of users share their rivals, and few see the whole catalogue.

A dot product that is one of a matrix product costs about a thirtieth of one whose factors are
gathered. So users are dealt into blocks by a hash of their ids, and each block meets the catalogue
in a random order of its own, addressed by (seed, block). Everybody is compared with the first
:math:`n_1` items of that order by a matrix product; rows of rank ``max_rank[0]`` or better go on to
the first :math:`n_2`, and so on (:class:`.Stages`); a last stage of all N items gives exact ranks.

For every block the items met are a uniform sample without replacement, so a row's sampled rank is
hypergeometric given its rank, and the samples of its stages are nested: estimators by likelihood
take the table as it is. Rows of one block share their draws, and blocks share nothing, so errors
are found by resampling blocks (:mod:`truerank.estimators.samples`).

Memory, for each task: 4 bytes per place of the largest stage but the last, for each of its blocks,
factors of :data:`SLICE` items, and 13 bytes per item of the catalogue for each thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from truerank.arrays import Ids, Int, Words
from truerank.numerics.ties import ranks_from
from truerank.ranking.backends.base import Backend, scratch
from truerank.ranking.backends.listed import ListedRows, share_evenly
from truerank.ranking.rival_draws import continue_chances, draw_rivals
from truerank.ranking.rows import TargetRows, read_only
from truerank.ranking.stages import SampleState, Stages
from truerank.ranking.user_blocks import user_blocks
from truerank.rng import Stream, addresses

SLICE = 16_384
"""Items whose factors are laid side by side at a time: 4 MB of 64 dimensions stay in a cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Screen:
    """Which block each user is in, in which order its items come, and who goes on.

    Attributes:
        block: The block of each user, by user index.
        keys: Starting word of each block's order.
        stages: Sizes are numbers of items.
    """

    block: Int
    keys: Words
    stages: Stages

    @classmethod
    def of(cls, stages: Stages, users: Int, ids: Ids | None, seed: int) -> Screen:
        """The screen for these users, called by their ids, or by their indices."""
        known, n_blocks = np.unique(users), stages.n_blocks or 1
        block = np.zeros(int(known[-1]) + 1, np.int64)
        block[known] = user_blocks(known if ids is None else ids[known], n_blocks)
        keys = addresses(seed, Stream.CATALOGUE_ORDER, np.arange(n_blocks))
        return cls(read_only(block), read_only(keys), stages)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What to lay on disk for other processes, beside the stages."""
        return {"block": self.block, "keys": self.keys}

    def by_block(self, users: Int, targets: Int) -> Int:
        """The one order of rows in which those of a block, and of a user, stand together."""
        return np.lexsort((targets, users, self.block[users]))


class _Block(NamedTuple):
    """The rows of one block, and where in its order their items stand.

    Attributes:
        first: The first of its rows.
        names: Its items in order, as far as the largest stage but the last goes.
        place: Of each row's target; beyond all of these if it is not among them.
        user: Number of each row's user in the block.
        indptr: ``excluded[indptr[u]:indptr[u + 1]]`` are those of user number u.
        excluded: Places of excluded items, ascending within a user.
    """

    first: int
    names: NDArray[np.int32]
    place: Int
    user: Int
    indptr: Int
    excluded: NDArray[np.int32]


def rank_screened(
    backend: Backend,
    rows: TargetRows,
    screen: Screen,
    settle: Callable[[int, Int, int], None] | None = None,
) -> tuple[Int, SampleState]:
    """Rank of each row, and what it met; rows of a block and user together.

    Args:
        backend: What compares.
        rows: Whole users, as :meth:`Screen.by_block` orders them.
        screen: The screen.
        settle: Called at each stage but the last, before anybody goes on from it, with the stage,
            the ranks of the rows that came so far, and how many rows there are in all: a plan made
            on the way fills in ``screen.stages``.
    """
    n_items, stages = backend.n_items, screen.stages
    found, rank = SampleState.new(len(rows)), np.ones(len(rows), np.int64)
    block_of_row = screen.block[rows.users]
    longest = int(stages.sizes[stages.sizes < n_items].max(initial=0))
    blocks = {
        int(block_of_row[first]): _block(rows.part(first, last), first, longest, n_items, screen)
        for first, last in _runs(block_of_row)
    }
    active, before = np.arange(len(rows)), 0
    for stage, size in enumerate(stages.sizes.tolist()):
        if size >= n_items:
            some = rows.take(active)
            rank[active] = backend.full(some)
            found.drawn[active] = some.n_candidates - 1
            found.scored[active] += share_evenly(n_items, some.grouped()[1])
            break
        for first, last in _runs(block_of_row[active]):
            own = active[first:last]
            now = found.take(own)
            block = blocks[int(block_of_row[own[0]])]
            _meet(backend, rows.take(own), block, own - block.first, (before, size), now)
            found.put(own, now)
        now = found.take(active)
        whole = now.drawn == rows.n_candidates[active] - 1
        rank[active] = ranks_from(now.better, now.tied, now.heads, rows.tie_rule, whole)
        if settle is not None:
            settle(stage, rank[active], len(rows))
        going = continue_chances(rows.keys[active], stage) < stages.probability(stage, rank[active])
        active, before = active[going & ~whole], size
        if len(active) == 0:
            break
    return rank, found


def _block(rows: TargetRows, first: int, longest: int, n_items: int, screen: Screen) -> _Block:
    """Draw the order of a block, and find its rows' items there."""
    users, starts = rows.grouped()
    names = np.empty(longest, np.int32)
    with scratch(n_items) as (marks, room):
        draw_order(names, screen.keys[screen.block[users[0]]], n_items, marks, room)
    order = np.argsort(names, kind="stable")
    names_sorted = names[order]
    place = _places(names_sorted, order, rows.targets)
    indptr, excluded = excluded_places(
        names_sorted, order, rows.excluded_indptr, rows.excluded_items, users
    )
    number = np.repeat(np.arange(len(users)), np.diff(starts))
    return _Block(first, read_only(names), place, number, indptr, read_only(excluded))


def _meet(
    backend: Backend,
    rows: TargetRows,
    block: _Block,
    at: Int,
    span: tuple[int, int],
    found: SampleState,
) -> None:
    """Compare some rows of a block, the ``at``-th of it, with items of its order from .. to."""
    users, starts = rows.grouped()
    number, place = block.user[at[starts[:-1]]], block.place[at]
    for start in range(*span, SLICE):
        stop = min(start + SLICE, span[1])
        begins, ends = places_between(block.indptr, block.excluded, number, start, stop)
        # Places are counted from the slice's own beginning.
        excluded, begins, ends = shifted(block.excluded, begins, ends, start)
        here = ListedRows(
            rows, users, starts, read_only(place - start), read_only(excluded), begins, ends
        )
        backend.count_listed(backend.listed(block.names[start:stop]), here, found)
        left_out = np.repeat(ends - begins, np.diff(starts))
        found.drawn[:] += stop - start - left_out - ((start <= place) & (place < stop))


def _runs(values: Int) -> Iterator[tuple[int, int]]:
    """Stretches of equal values."""
    cuts = np.flatnonzero(values[1:] != values[:-1]) + 1
    yield from pairwise([0, *cuts.tolist(), len(values)])


def _places(names: NDArray[np.int32], order: Int, items: Int) -> Int:
    """Places of these items, ``len(names)`` of those that have none; ``names`` are sorted."""
    if len(names) == 0:
        return np.zeros(len(items), np.int64)
    at = np.minimum(np.searchsorted(names, items), len(names) - 1)
    return np.where(names[at] == items, order[at], len(names))


@njit(nogil=True, cache=True)
def draw_order(
    names: NDArray[np.int32],
    key: np.uint64,
    n_items: int,
    marks: NDArray[np.uint8],
    room: NDArray[np.int64],
) -> None:
    """The first items of a block's order: drawn like a row's rivals, from all of the catalogue."""
    draw_rivals(room, 0, len(names), key, 0, n_items, n_items, False, marks)
    for i in range(len(names)):
        names[i] = room[i]
        marks[room[i] >> 3] = 0


@njit(nogil=True, cache=True)
def excluded_places(
    names: NDArray[np.int32],
    order: Int,
    excluded_indptr: Int,
    excluded_items: NDArray[np.int32],
    users: Int,
) -> tuple[Int, NDArray[np.int32]]:
    """Places of the users' excluded items, ascending within a user, and where each user's begin.

    ``names`` are sorted, ``order`` has their places.
    """
    starts, n = np.zeros(len(users) + 1, np.int64), 0
    for k in range(len(users)):
        n += excluded_indptr[users[k] + 1] - excluded_indptr[users[k]]
    found, n = np.empty(n, np.int32), 0
    for k in range(len(users)):
        at = 0
        for m in range(excluded_indptr[users[k]], excluded_indptr[users[k] + 1]):
            item = excluded_items[m]
            at += np.searchsorted(names[at:], item)  # both ascend
            if at == len(names):
                break
            if names[at] == item:
                found[n] = order[at]
                n += 1
        found[starts[k] : n].sort()
        starts[k + 1] = n
    return starts, found[:n]


@njit(nogil=True, cache=True)
def places_between(
    indptr: Int, places: NDArray[np.int32], users: Int, start: int, stop: int
) -> tuple[Int, Int]:
    """Where each of these users' places from ``start`` to ``stop - 1`` begin and end."""
    begins, ends = np.empty(len(users), np.int64), np.empty(len(users), np.int64)
    for k in range(len(users)):
        own = places[indptr[users[k]] : indptr[users[k] + 1]]
        begins[k] = indptr[users[k]] + np.searchsorted(own, start)
        ends[k] = indptr[users[k]] + np.searchsorted(own, stop)
    return begins, ends


@njit(nogil=True, cache=True)
def shifted(
    places: NDArray[np.int32], begins: Int, ends: Int, start: int
) -> tuple[NDArray[np.int32], Int, Int]:
    """These stretches of places side by side, counted from ``start``."""
    total = 0
    for k in range(len(begins)):
        total += ends[k] - begins[k]
    found, first = np.empty(total, np.int32), np.empty(len(begins), np.int64)
    last, n = np.empty(len(begins), np.int64), 0
    for k in range(len(begins)):
        first[k] = n
        for m in range(begins[k], ends[k]):
            found[n] = places[m] - start
            n += 1
        last[k] = n
    return found, first, last
