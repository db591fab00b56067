"""Which rivals a held-out item meets: counter-based draws, compiled.

Draw ``i`` of a row depends on the row's key and on ``i`` alone. A larger sample therefore
extends a smaller one, and neither blocks nor threads can change it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from truerank.numerics.streams import below, extend_address, uniform, word


@njit(nogil=True, cache=True)
def continue_chance(key: np.uint64, stage: int) -> float:
    """A uniform number in [0, 1) for the decision to go on from a stage.

    From its own stream, one address away: it shares nothing with the draws.
    """
    return uniform(extend_address(key, stage))


@njit(nogil=True, cache=True)
def continue_chances(keys: NDArray[np.uint64], stage: int) -> NDArray[np.float64]:
    """:func:`continue_chance` of several rows."""
    chances = np.empty(len(keys))
    for row in range(len(keys)):
        chances[row] = continue_chance(keys[row], stage)
    return chances


# Marks are bits, one per item: a million items are 125 kB, which stay in a core's own cache.


@njit(nogil=True, cache=True)
def is_marked(marks: NDArray[np.uint8], item: int | np.integer[Any]) -> bool:
    """Whether the item is marked."""
    return bool(marks[item >> 3] & np.uint8(1 << (item & 7)))


@njit(nogil=True, cache=True)
def mark_one(marks: NDArray[np.uint8], item: int | np.integer[Any]) -> None:
    """Mark the item."""
    marks[item >> 3] |= np.uint8(1 << (item & 7))


@njit(nogil=True, cache=True)
def mark(marks: NDArray[np.uint8], target: int, excluded: NDArray[np.int32]) -> None:
    """Mark the target and the excluded items."""
    for k in range(len(excluded)):
        mark_one(marks, excluded[k])
    mark_one(marks, target)


@njit(nogil=True, cache=True)
def unmark(
    marks: NDArray[np.uint8],
    target: int,
    excluded: NDArray[np.int32],
    drawn: NDArray[np.int64],
    n: int,
) -> None:
    """Forget the target, the excluded and the first ``n`` drawn, which are all that was marked."""
    for k in range(len(excluded)):
        marks[excluded[k] >> 3] = 0
    marks[target >> 3] = 0
    for i in range(n):
        marks[drawn[i] >> 3] = 0


@njit(nogil=True, cache=True)
def draw_rivals(
    out: NDArray[np.int64],
    start: int,
    stop: int,
    key: np.uint64,
    used: int,
    n_items: int,
    n_rivals: int,
    replacement: bool,
    marks: NDArray[np.uint8],
) -> int:
    """Rivals ``start..stop-1`` of a row; returns how many words of its stream are used up.

    All items are drawn from, and marked ones passed over: the target, the excluded, and without
    replacement those drawn before, which are marked here. So the next rival is uniform among
    the candidates left. Where every one of them is wanted, the rest is taken without drawing:
    a row that runs to the end of the list costs no more than the list.
    """
    if stop == n_rivals and not replacement:
        for item in range(n_items):
            if start < stop and not is_marked(marks, item):
                mark_one(marks, item)
                out[start] = item
                start += 1
        return used
    while start < stop:
        drawn = below(word(key, used), n_items)
        used += 1
        if not is_marked(marks, drawn):
            out[start] = drawn
            start += 1
            if not replacement:
                mark_one(marks, drawn)
    return used
