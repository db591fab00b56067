"""Distinct triples of a long table, in one pass over it."""

from __future__ import annotations

import numpy as np
from numba import njit

from truerank.arrays import Int
from truerank.rng import GOLDEN, MULTIPLIERS

_EMPTY = np.int64(-1)
_FACTORS = tuple(np.uint64(factor) for factor in (GOLDEN, *MULTIPLIERS))


def group_triples(rank: Int, n_sampled: Int, n_items: Int) -> tuple[Int, Int, Int]:
    """Distinct (rank, n_sampled, n_items), their counts, and the group of each row.

    Triples come as rows of a matrix, ordered by n_items, n_sampled, rank. One pass with a hash
    table: O(rows), 8 bytes per row for the result, and as much as the distinct triples need.
    """
    group = np.empty(len(rank), np.int64)
    triples, counts = _hash_rows(rank, n_sampled, n_items, group)
    order = np.lexsort((triples[:, 0], triples[:, 1], triples[:, 2]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    _rename(group, place)
    return triples[order], counts[order], group


def count_triples(rank: Int, n_sampled: Int, n_items: Int) -> tuple[Int, Int]:
    """Distinct triples and their counts alone: nothing is kept per row."""
    triples, counts = _hash_rows(rank, n_sampled, n_items, np.empty(0, np.int64))
    order = np.lexsort((triples[:, 0], triples[:, 1], triples[:, 2]))
    return triples[order], counts[order]


@njit(nogil=True, cache=True)
def _hash_rows(rank: Int, n_sampled: Int, n_items: Int, group: Int) -> tuple[Int, Int]:
    """Number the distinct triples as they come; fills ``group`` unless it is empty."""
    mask = np.int64(2**12 - 1)
    slots = np.full(mask + 1, _EMPTY)
    triples = np.empty((2**11, 3), np.int64)
    counts = np.zeros(2**11, np.int64)
    known = 0
    for i in range(len(rank)):
        r, n, N = rank[i], n_sampled[i], n_items[i]
        at = _hash(r, n, N) & mask
        while True:
            found = slots[at]
            if found == _EMPTY:
                found = known
                slots[at] = found
                triples[found, 0], triples[found, 1], triples[found, 2] = r, n, N
                known += 1
                if known == len(counts):  # half full: double everything
                    mask = 2 * mask + 1
                    slots = np.full(mask + 1, _EMPTY)
                    for j in range(known):
                        home = _hash(triples[j, 0], triples[j, 1], triples[j, 2]) & mask
                        while slots[home] != _EMPTY:
                            home = (home + 1) & mask
                        slots[home] = j
                    more = np.empty((2 * known, 3), np.int64)
                    more[:known] = triples
                    triples = more
                    longer = np.zeros(2 * known, np.int64)
                    longer[:known] = counts
                    counts = longer
                break
            if triples[found, 0] == r and triples[found, 1] == n and triples[found, 2] == N:
                break
            at = (at + 1) & mask
        counts[found] += 1
        if len(group) > 0:
            group[i] = found
    return triples[:known].copy(), counts[:known].copy()


@njit(nogil=True, cache=True)
def _hash(r: int, n: int, N: int) -> np.int64:
    mixed = np.uint64(r) * _FACTORS[0]
    mixed ^= np.uint64(n) * _FACTORS[1]
    mixed ^= np.uint64(N) * _FACTORS[2]
    return np.int64((mixed ^ (mixed >> np.uint64(29))) >> np.uint64(1))


@njit(nogil=True, cache=True)
def _rename(group: Int, place: Int) -> None:
    for i in range(len(group)):
        group[i] = place[group[i]]
