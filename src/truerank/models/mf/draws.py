r"""Draws of negatives, each addressed: the distribution, and words that choose from it; compiled.

The draws of an epoch are words ``mix(key + i * GOLDEN)`` of its own key (:mod:`truerank.rng`), so
they are the same whichever thread makes them, and after a restart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truerank.data.interactions import Interactions
from truerank.numerics.jit import exact
from truerank.rng import GOLDEN

Ints = NDArray[np.int32]

_GOLDEN = np.uint64(GOLDEN)
_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31, _S32 = (np.uint64(shift) for shift in (11, 27, 30, 31, 32))
_LOW = np.uint64(0xFFFFFFFF)
_TRIES = 64
"""Draws that may hit a positive before the absent items are counted through."""


class Pairs(NamedTuple):
    """Positive pairs in compressed rows, items ascending in each."""

    indptr: NDArray[np.int64]
    items: Ints
    n_items: int

    @classmethod
    def of(cls, data: Interactions) -> Pairs:
        """Weights do not matter: every pair counts once."""
        return cls(data.indptr, data.indices, data.n_items)


class Law(NamedTuple):
    r"""The distribution q of the negatives: uniform, or :math:`q_i \propto (\text{count}_i)^a`.

    Walker's alias table: column ``i`` is chosen uniformly, and its own item taken with chance
    ``own[i]``, else ``other[i]``. Empty arrays mean uniform.
    """

    own: NDArray[np.float64]
    other: Ints
    share: NDArray[np.float64]  # q itself; empty if uniform

    @classmethod
    def uniform(cls) -> Law:
        """All items alike."""
        return cls(np.empty(0), np.empty(0, np.int32), np.empty(0))

    @classmethod
    def popular(cls, counts: NDArray[np.int64], power: float) -> Law:
        """By the count of each item to a power; an item nobody touched counts 0 (1 if power is 0).

        >>> Law.popular(np.array([1, 4, 0]), 0.5).share.round(3).tolist()
        [0.333, 0.667, 0.0]
        """
        weight = (counts / max(counts.max(), 1)) ** power  # at most 1: no power is too large
        share = weight / weight.sum()
        own, other = _alias(share)
        return cls(own, other, share)

    def log_lift(self, n_items: int) -> NDArray[np.float32]:
        r""":math:`\log(q_i\, |I|)`: 0 for uniform negatives; 0 for items that are never drawn."""
        if len(self.share) == 0:
            return np.zeros(n_items, np.float32)
        lift = np.where(self.share > 0, self.share * n_items, 1.0)
        return np.log(lift).astype(np.float32)


@exact
def _alias(share: NDArray[np.float64]) -> tuple[NDArray[np.float64], Ints]:
    n = len(share)
    own, other = share * n, np.arange(n).astype(np.int32)
    order = np.empty(n, np.int64)
    low, high = 0, n  # columns with less than 1 from the left, the others from the right
    for i in range(n):
        if own[i] < 1.0:
            order[low] = i
            low += 1
        else:
            high -= 1
            order[high] = i
    i = 0
    while i < low and high < n:
        short, long = order[i], order[high]
        other[short] = long
        own[long] -= 1.0 - own[short]
        if own[long] < 1.0:
            order[low] = long  # low <= high: the place of one that is done
            low += 1
            high += 1
        i += 1
    for j in range(i, low):  # rounding: what is left is full
        own[order[j]] = 1.0
    return own, other


@exact
def _mix(x: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64, as in :mod:`truerank.rng`."""
    z = x + _GOLDEN
    z = (z ^ (z >> _S30)) * _M1
    z = (z ^ (z >> _S27)) * _M2
    return z ^ (z >> _S31)


@exact
def word(key: np.uint64, i: int) -> np.uint64:
    """Word ``i`` of a stream."""
    return _mix(key + np.uint64(i) * _GOLDEN)


@exact
def below(bits: np.uint64, n: int) -> int:
    """A whole number from 0 to n - 1 of a random word."""
    size = np.uint64(n)
    return int(np.int64(((bits >> _S32) * size + (((bits & _LOW) * size) >> _S32)) >> _S32))


@exact
def draw(law: Law, n_items: int, bits: np.uint64) -> int:
    """An item of this distribution."""
    i = below(bits, n_items)
    if len(law.own) == 0:
        return i
    chance = np.float64(_mix(bits) >> _S11) * 2.0**-53
    return i if chance < law.own[i] else int(law.other[i])


@exact
def absent_below(items: Ints, first: int, last: int, r: int) -> int:
    """The r-th item (from 0) that is not among ``items[first:last]``, which ascend."""
    low, n = first, last - first
    while n > 0:
        half = n // 2
        before = items[low + half] - (low + half - first) <= r
        low = low + half + 1 if before else low
        n = n - half - 1 if before else half
    return r + (low - first)


@exact
def has(items: Ints, first: int, last: int, item: int) -> bool:
    """Whether ``items[first:last]``, which ascend, have this one."""
    end = last
    while first < last:
        middle = (first + last) // 2
        if items[middle] < item:
            first = middle + 1
        else:
            last = middle
    return first < end and items[first] == item


@exact
def draw_absent(pairs: Pairs, law: Law, user: int, bits: np.uint64) -> int:
    """An item of this distribution that the user has not.

    Uniform: the r-th absent item, without rejection. Otherwise draws are rejected, and after many
    rejections the absent items are counted through; both have the same distribution.
    """
    first, last = pairs.indptr[user], pairs.indptr[user + 1]
    if len(law.own) == 0:
        r = below(bits, pairs.n_items - (last - first))
        return absent_below(pairs.items, first, last, r)
    for attempt in range(_TRIES):
        item = draw(law, pairs.n_items, word(bits, attempt))
        if not has(pairs.items, first, last, item):
            return item
    free = 1.0
    for at in range(first, last):
        free -= law.share[pairs.items[at]]
    left = free * np.float64(word(bits, _TRIES) >> _S11) * 2.0**-53
    at, found = first, -1
    for item in range(pairs.n_items):
        if at < last and pairs.items[at] == item:
            at += 1
        elif law.share[item] > 0.0 or found < 0:
            found = item
            left -= law.share[item]
            if left < 0.0:
                break
    return found


def law_of(name: str, counts: NDArray[np.int64], power: float) -> Law:
    """The distribution of negatives of this name; in-batch ones come by their counts."""
    if name == "uniform":
        return Law.uniform()
    return Law.popular(counts, power if name == "popularity" else 1.0)
