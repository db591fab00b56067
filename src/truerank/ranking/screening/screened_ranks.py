r"""Screened ranking: blocks of users share their rivals, and few see the whole catalogue.

A dot product that is one of a matrix product costs about a thirtieth of one whose factors are
gathered. So the catalogue is put in one random order, addressed by the seed; block b of B blocks of
users begins at place :math:`\lfloor bN/B \rfloor` of it and meets the items from there on, past the
end from the beginning again. Everybody is compared with the first :math:`n_1` of them by a matrix
product; rows of rank ``max_rank[0]`` or better go on to the first :math:`n_2`, and so on
(:class:`.Stages`); a last stage of all N items gives exact ranks.

For every block the items met are a uniform sample without replacement, so a row's sampled rank is
hypergeometric given its rank, and the samples of its stages are nested: estimators by likelihood
take the table as it is. Rows of one block share their draws, so errors are found by resampling
blocks (:mod:`truerank.estimators.samples`). Blocks stand evenly in the order, so together they see
all of the catalogue alike, and their mean varies less than that of independent draws.

Memory: one float32 copy of the item factors, and 8 bytes per item and user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from truerank.arrays import Ids, Int
from truerank.numerics.ties import ranks_from
from truerank.ranking.backends.base import Backend
from truerank.ranking.backends.listed import ListedRows, share_evenly
from truerank.ranking.rival_draws import continue_chances
from truerank.ranking.rows import TargetRows, read_only
from truerank.ranking.stages import SampleState, Stages
from truerank.ranking.user_blocks import user_blocks
from truerank.rng import Stream, addresses


@dataclass(frozen=True, slots=True, eq=False)
class Screen:
    """The order of the catalogue, where each user begins in it, and who goes on.

    Attributes:
        order: The item at each place.
        place: The place of each item.
        start: The place at which each user begins, by user index; the same in a block.
        stages: Sizes are numbers of places.
    """

    order: NDArray[np.int32]
    place: NDArray[np.int32]
    start: Int
    stages: Stages

    @classmethod
    def of(cls, stages: Stages, n_items: int, users: Int, ids: Ids | None, seed: int) -> Screen:
        """The screen of a catalogue for these users, called by their ids, or by their indices."""
        words = addresses(seed, Stream.CATALOGUE_ORDER, np.arange(n_items))
        order = np.argsort(words, kind="stable").astype(np.int32)
        known = np.unique(users)
        n_blocks = stages.n_blocks or 1
        block = user_blocks(known if ids is None else ids[known], n_blocks)
        start = np.zeros(int(known[-1]) + 1, np.int64)
        start[known] = block * n_items // n_blocks
        return cls.from_arrays(order, start, stages)

    @classmethod
    def from_arrays(cls, order: NDArray[np.int32], start: Int, stages: Stages) -> Screen:
        """The screen from what cannot be found from the rest."""
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        return cls(read_only(order), read_only(place), read_only(start), stages)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What to lay on disk for other processes."""
        return {"order": self.order, "start": self.start}

    def by_block(self, users: Int, targets: Int) -> Int:
        """The one order of rows in which those of a block, and of a user, stand together."""
        return np.lexsort((targets, users, self.start[users]))


def rank_screened(
    backend: Backend,
    rows: TargetRows,
    screen: Screen,
    listing: Any,
    settle: Callable[[int, Int, int], None] | None = None,
) -> tuple[Int, SampleState]:
    """Rank of each row, and what it met; rows of a block and user together.

    Args:
        backend: What compares.
        rows: Whole users, as :meth:`Screen.by_block` orders them.
        screen: The screen.
        listing: ``backend.listed(screen.order)``.
        settle: Called at each stage but the last, before anybody goes on from it, with the stage,
            the ranks of the rows that came so far, and how many rows there are in all: a plan made
            on the way fills in ``screen.stages``.
    """
    n_items, stages = len(screen.order), screen.stages
    found, rank = SampleState.new(len(rows)), np.ones(len(rows), np.int64)
    users, _ = rows.grouped()
    indptr, excluded = excluded_places(
        rows.excluded_indptr, rows.excluded_items, users, screen.place
    )
    excluded = read_only(excluded)
    user_of_row = np.cumsum(np.append(0, rows.users[1:] != rows.users[:-1]))
    origin, place = screen.start[rows.users], screen.place[rows.targets].astype(np.int64)
    active, before = np.arange(len(rows)), 0
    for stage, size in enumerate(stages.sizes.tolist()):
        if size >= n_items:
            some = rows.take(active)
            rank[active] = backend.full(some)
            found.drawn[active] = some.n_candidates - 1
            found.scored[active] += share_evenly(n_items, some.grouped()[1])
            break
        for first, last in _runs(origin[active]):
            own = active[first:last]
            some, mine = rows.take(own), place[own]
            distinct, starts = some.grouped()
            number = user_of_row[own[starts[:-1]]]
            now = found.take(own)
            for start, stop in _ranges(int(origin[own[0]]), before, size, n_items):
                begins, ends = places_between(indptr, excluded, number, start, stop)
                listed = ListedRows(some, distinct, starts, read_only(mine), excluded, begins, ends)
                backend.count_listed(listing, listed, start, stop, now)
                left_out = np.repeat(ends - begins, np.diff(starts))
                now.drawn[:] += stop - start - left_out - ((start <= mine) & (mine < stop))
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


def _runs(origin: Int) -> Iterator[tuple[int, int]]:
    """Stretches of rows that begin at one place."""
    cuts = np.flatnonzero(origin[1:] != origin[:-1]) + 1
    ends = [0, *cuts.tolist(), len(origin)]
    yield from pairwise(ends)


def _ranges(origin: int, before: int, size: int, n_items: int) -> Iterator[tuple[int, int]]:
    """Places from number ``before`` to ``size - 1`` counted from ``origin``, round the end."""
    start, stop = origin + before, origin + size
    if stop <= n_items:
        yield start, stop
    elif start >= n_items:
        yield start - n_items, stop - n_items
    else:
        yield start, n_items
        yield 0, stop - n_items


@njit(nogil=True, cache=True)
def excluded_places(
    indptr: Int, items: NDArray[np.int32], users: Int, place: NDArray[np.int32]
) -> tuple[Int, NDArray[np.int32]]:
    """Places of the users' excluded items, ascending within a user, and where each user's begin."""
    starts = np.zeros(len(users) + 1, np.int64)
    for k in range(len(users)):
        starts[k + 1] = starts[k] + indptr[users[k] + 1] - indptr[users[k]]
    found = np.empty(starts[-1], np.int32)
    for k in range(len(users)):
        first = indptr[users[k]]
        for m in range(starts[k + 1] - starts[k]):
            found[starts[k] + m] = place[items[first + m]]
        found[starts[k] : starts[k + 1]].sort()
    return starts, found


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
