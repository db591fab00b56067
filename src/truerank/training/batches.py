r"""A batch: its positive pairs, what they are contrasted with, and which rows that touches.

Every pair has a row of *own* items: its positive, then further positives of the user (for the
debiased losses), then negatives of its own. *Shared* negatives stand beside them once for a run of
pairs: a set of n for the whole batch, or one for every so many pairs. Gradients are later summed
row by row of the factors, in the order of the batch: :class:`Groups` say which entries belong to a
row, so threads can divide the rows among themselves and the sums have the same bits however they
do.

Memory of a batch of B pairs with w own items and S sets of n: 12 bytes for each of B w + S n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truerank.numerics.jit import strict
from truerank.numerics.streams import below, word
from truerank.training.negative_sampling import Ints, NegativeSampler, Pairs, draw, draw_absent

WHOLE_BATCH = 1 << 30
"""Pairs that share a set, where all of a batch do."""

_DENSE = 8  # a batch that touches more than an eighth of the rows takes them in order
_SHARED = np.uint64(0x5851F42D4C957F2D)  # sets shared draws apart from those of pairs
_DROPS = np.uint64(0x14057B7EF767814F)  # and those of dropout


class BatchPlan(NamedTuple):
    """What every batch draws."""

    n_extra: int  # further positives of the user, for each pair
    n_own: int  # negatives of each pair
    n_shared: int  # negatives of a set
    in_batch: bool  # the positives of the others are the negatives
    exclude: bool  # no positive of the user is a negative
    sharing: int = WHOLE_BATCH  # pairs that share a set

    def n_sets(self, batch_size: int) -> int:
        """Sets of a batch with so many pairs; the last may serve fewer."""
        return -(-batch_size // self.sharing)


class Groups(NamedTuple):
    """Entries by the row of the factors that they belong to.

    ``entries[starts[g]:starts[g + 1]]``, ascending, are those of ``rows[g]``.
    """

    rows: Ints
    starts: Ints
    entries: Ints


class Swaps(NamedTuple):
    """Shared negatives that are positives of a pair's user, and others that stand in for them.

    For pair ``b`` column ``column[s]`` of its set is taken from column ``instead[s]``,
    s from ``starts[b]`` to ``starts[b + 1]``.
    """

    starts: Ints
    column: Ints
    instead: Ints


class Batch(NamedTuple):
    """Positive pairs and what they are contrasted with."""

    users: Ints
    own: Ints
    shared: Ints  # sets x n; pair b meets set b // sharing
    by_user: Groups  # entry b is pair b
    by_item: Groups  # entry b w + j is own item j of pair b; B w + s n + c is column c of set s
    swaps: Swaps
    drops: np.uint64  # key of what is dropped


@strict
def _grouped(first: Ints, second: Ints, place: Ints) -> Groups:
    """Counting sort; ``place`` is -1 everywhere, and again after.

    Rows come in the order of their first entry or, where a batch touches much of the table, in
    their own order, which memory likes better. Nothing depends on it but the time.
    """
    n, m, groups = len(first), len(second), 0
    rows = np.empty(n + m, np.int32)
    for e in range(n + m):
        key = first[e] if e < n else second[e - n]
        if place[key] < 0:
            place[key] = groups
            rows[groups] = key
            groups += 1
    if groups * _DENSE > len(place):
        groups = 0
        for key in range(len(place)):
            if place[key] >= 0:
                place[key] = groups
                rows[groups] = key
                groups += 1
    count, entries = np.zeros(groups + 1, np.int32), np.empty(n + m, np.int32)
    for e in range(n + m):
        count[place[first[e] if e < n else second[e - n]] + 1] += 1
    for g in range(groups):
        count[g + 1] += count[g]
    starts = count.copy()
    for e in range(n + m):
        g = place[first[e] if e < n else second[e - n]]
        entries[count[g]] = e
        count[g] += 1
    for g in range(groups):
        place[rows[g]] = -1
    return Groups(rows[:groups].copy(), starts, entries)


@strict
def _first_free(c: int, bits: np.uint64, n: int, taken: Ints, mark: int) -> int:
    """A column that is not marked, at random if most are free; ``c`` itself if none is."""
    start = below(bits, n)
    for i in range(n):
        other = (start + i) % n
        if taken[other] != mark:
            return other
    return c


@strict
def _swaps(
    pairs: Pairs,
    users: Ints,
    own: Ints,
    shared: Ints,
    address: NDArray[np.int64],
    key: np.uint64,
    plan: BatchPlan,
    head: Ints,
) -> Swaps:
    """Columns that a pair may not have; ``head`` is -1 everywhere, and again after."""
    n, size = shared.shape[1], len(users)
    following = np.empty(n, np.int32)  # the next column with the same item, or -1
    starts, found = np.zeros(size + 1, np.int32), 0
    column, instead = np.empty(4 * size, np.int32), np.empty(4 * size, np.int32)
    taken = np.full(n, -1, np.int32)
    for s in range(len(shared)):
        for c in range(n - 1, -1, -1):
            following[c] = head[shared[s, c]]
            head[shared[s, c]] = c
        for b in range(s * plan.sharing, min((s + 1) * plan.sharing, size)):
            starts[b] = found
            first, last = pairs.indptr[users[b]], pairs.indptr[users[b] + 1]
            n_positives = last - first if plan.exclude else 1
            for p in range(n_positives):
                c = head[pairs.items[first + p] if plan.exclude else own[b, 0]]
                while c >= 0:
                    if found == len(column):
                        column = np.concatenate((column, np.empty_like(column)))
                        instead = np.concatenate((instead, np.empty_like(instead)))
                    column[found], taken[c] = c, b
                    found += 1
                    c = following[c]
            for at in range(starts[b], found):
                bits = word(key, address[b] * n + column[at])
                instead[at] = _first_free(column[at], bits, n, taken, b)
        for c in range(n):
            head[shared[s, c]] = -1
    starts[size] = found
    return Swaps(starts, column[:found].copy(), instead[:found].copy())


@strict
def make_batch(
    pairs: Pairs,
    sampler: NegativeSampler,
    plan: BatchPlan,
    user_of_pair: Ints,
    chosen: NDArray[np.int64],
    address: NDArray[np.int64],
    key: np.uint64,
    number: int,
    place_of_user: Ints,
    place_of_item: Ints,
) -> Batch:
    """The batch of these pairs, with all that is drawn for it.

    Args:
        pairs: The training data.
        sampler: Distribution of the negatives.
        plan: What is drawn.
        user_of_pair: The user of each pair of the data.
        chosen: Positions of the pairs of this batch.
        address: By which each of them draws; mostly its position.
        key: Of the epoch.
        number: Of the batch in the epoch.
        place_of_user: As long as there are users, -1 everywhere; left as it was.
        place_of_item: As long as there are items, -1 everywhere; left as it was.
    """
    size = len(chosen)
    users = np.empty(size, np.int32)
    own = np.empty((size, 1 + plan.n_extra + plan.n_own), np.int32)
    for b in range(size):
        user, mine = user_of_pair[chosen[b]], word(key, address[b])
        first, last = pairs.indptr[user], pairs.indptr[user + 1]
        users[b], own[b, 0] = user, pairs.items[chosen[b]]
        for j in range(1, plan.n_extra + 1):
            own[b, j] = pairs.items[first + below(word(mine, j), last - first)]
        for j in range(plan.n_extra + 1, own.shape[1]):
            bits = word(mine, j)
            if plan.exclude:
                own[b, j] = draw_absent(pairs, sampler, user, bits)
            else:
                own[b, j] = draw(sampler, pairs.n_items, bits)
    common = word(key ^ _SHARED, number)
    if plan.in_batch:
        shared = own[:, 0].copy().reshape(1, size)
    else:
        shared = np.empty((-(-size // plan.sharing), plan.n_shared), np.int32)
        for s in range(len(shared)):
            for c in range(plan.n_shared):
                shared[s, c] = draw(sampler, pairs.n_items, word(common, s * plan.n_shared + c))
    if shared.size > 0 and (plan.exclude or plan.in_batch):
        swaps = _swaps(pairs, users, own, shared, address, common ^ _SHARED, plan, place_of_item)
    else:
        none = np.empty(0, np.int32)
        swaps = Swaps(np.zeros(size + 1, np.int32), none, none)
    by_user = _grouped(users, users[:0], place_of_user)
    by_item = _grouped(own.ravel(), shared.ravel(), place_of_item)
    return Batch(users, own, shared, by_user, by_item, swaps, word(key ^ _DROPS, number))
