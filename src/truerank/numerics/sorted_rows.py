"""Search in a part of an array that ascends, compiled: is a number there, which one is not."""

from __future__ import annotations

from truerank.arrays import Indices
from truerank.numerics.jit import strict


@strict
def place_of(items: Indices, first: int, last: int, item: int) -> int:
    """Where this one stands among ``items[first:last]``, which ascend; -1 if it does not."""
    end = last
    while first < last:
        middle = (first + last) // 2
        if items[middle] < item:
            first = middle + 1
        else:
            last = middle
    return first if first < end and items[first] == item else -1


@strict
def contains(items: Indices, first: int, last: int, item: int) -> bool:
    """Whether ``items[first:last]``, which ascend, have this one."""
    return place_of(items, first, last, item) >= 0


@strict
def absent_item(items: Indices, first: int, last: int, r: int) -> int:
    """The r-th number (from 0) that is not among ``items[first:last]``, which ascend."""
    low, n = first, last - first
    while n > 0:
        half = n // 2
        before = items[low + half] - (low + half - first) <= r
        low = low + half + 1 if before else low
        n = n - half - 1 if before else half
    return r + (low - first)
