r"""Negative samplers: the distribution of negatives, and draws from it by address; compiled.

The draws of an epoch are words of its own key (:mod:`truerank.numerics.streams`), so they are the
same whichever thread makes them, and after a restart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truerank.data.interactions import Interactions
from truerank.numerics.jit import strict
from truerank.numerics.sorted_rows import absent_item, contains
from truerank.numerics.streams import below, mix, uniform, word

Ints = NDArray[np.int32]

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


class NegativeSampler(NamedTuple):
    r"""The distribution q of the negatives: uniform, or :math:`q_i \propto (\text{count}_i)^a`.

    Walker's alias table: column ``i`` is chosen uniformly, and its own item taken with chance
    ``own[i]``, else ``other[i]``. Empty arrays mean uniform.
    """

    own: NDArray[np.float64]
    other: Ints
    share: NDArray[np.float64]  # q itself; empty if uniform

    @classmethod
    def uniform(cls) -> NegativeSampler:
        """All items alike."""
        return cls(np.empty(0), np.empty(0, np.int32), np.empty(0))

    @classmethod
    def popular(cls, counts: NDArray[np.int64], power: float) -> NegativeSampler:
        """By the count of each item to a power; an item nobody touched counts 0 (1 if power is 0).

        >>> NegativeSampler.popular(np.array([1, 4, 0]), 0.5).share.round(3).tolist()
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


@strict
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


@strict
def draw(sampler: NegativeSampler, n_items: int, bits: np.uint64) -> int:
    """An item of this distribution."""
    i = below(bits, n_items)
    if len(sampler.own) == 0:
        return i
    return i if uniform(mix(bits)) < sampler.own[i] else int(sampler.other[i])


@strict
def draw_absent(pairs: Pairs, sampler: NegativeSampler, user: int, bits: np.uint64) -> int:
    """An item of this distribution that the user has not.

    Uniform: the r-th absent item, without rejection. Otherwise draws are rejected, and after many
    rejections the absent items are counted through; both have the same distribution.
    """
    first, last = pairs.indptr[user], pairs.indptr[user + 1]
    if len(sampler.own) == 0:
        r = below(bits, pairs.n_items - (last - first))
        return absent_item(pairs.items, first, last, r)
    for attempt in range(_TRIES):
        item = draw(sampler, pairs.n_items, word(bits, attempt))
        if not contains(pairs.items, first, last, item):
            return item
    free = 1.0
    for at in range(first, last):
        free -= sampler.share[pairs.items[at]]
    left = free * uniform(word(bits, _TRIES))
    at, found = first, -1
    for item in range(pairs.n_items):
        if at < last and pairs.items[at] == item:
            at += 1
        elif sampler.share[item] > 0.0 or found < 0:
            found = item
            left -= sampler.share[item]
            if left < 0.0:
                break
    return found


def negative_sampler(name: str, counts: NDArray[np.int64], power: float) -> NegativeSampler:
    """The distribution of negatives of this name; in-batch ones come by their counts."""
    if name == "uniform":
        return NegativeSampler.uniform()
    return NegativeSampler.popular(counts, power if name == "popularity" else 1.0)
