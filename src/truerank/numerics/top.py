"""The k largest of many positive numbers, compiled; ties go to the smaller index."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

DRAWERS = 1024
"""Numbers are first told apart by exponent and six bits of mantissa: 64 drawers an octave."""

_SHIFT = 46  # what is left of the 52 bits of the mantissa


@njit(nogil=True, cache=True)
def keep_largest(value: NDArray[np.float64], index: NDArray[Any], n: int, k: int) -> int:
    """Bring the k largest of the first n values to the front; how many these are.

    All values must be positive. Of equal ones that with the smaller index counts as larger. The
    bits of positive numbers are in the order of the numbers, so one pass sorts them into drawers,
    and only the drawer in which the k-th lies needs comparisons. The order of those kept is of
    no meaning.
    """
    if n <= k:
        return n
    bits = value[:n].view(np.int64)
    top = bits[0]
    for at in range(1, n):
        top = max(top, bits[at])
    top >>= _SHIFT
    drawer = np.zeros(DRAWERS, np.int64)
    for at in range(n):
        drawer[min(top - (bits[at] >> _SHIFT), DRAWERS - 1)] += 1
    edge, surely = 0, 0
    while surely + drawer[edge] < k:
        surely += drawer[edge]
        edge += 1
    edge_value, edge_index = np.empty(drawer[edge]), np.empty(drawer[edge], index.dtype)
    front, n_edge = 0, 0
    for at in range(n):
        place = min(top - (bits[at] >> _SHIFT), DRAWERS - 1)
        if place < edge:
            value[front], index[front] = value[at], index[at]
            front += 1
        elif place == edge:
            edge_value[n_edge], edge_index[n_edge] = value[at], index[at]
            n_edge += 1
    largest_by_heap(edge_value, edge_index, k - front)
    value[front:k] = edge_value[: k - front]
    index[front:k] = edge_index[: k - front]
    return k


@njit(nogil=True, cache=True)
def largest_by_heap(value: NDArray[np.float64], index: NDArray[Any], k: int) -> None:
    """Bring the k largest to the front: a heap of k with the smallest on top."""
    for place in range(k // 2 - 1, -1, -1):
        _sink(value, index, place, k)
    for at in range(k, len(value)):
        if _smaller(value[0], index[0], value[at], index[at]):
            value[0], index[0] = value[at], index[at]
            _sink(value, index, 0, k)


@njit(nogil=True, cache=True)
def _sink(value: NDArray[np.float64], index: NDArray[Any], place: int, k: int) -> None:
    """Restore the heap below a place that may have grown."""
    held_value, held_index = value[place], index[place]
    while 2 * place + 1 < k:
        child = 2 * place + 1
        if child + 1 < k and _smaller(
            value[child + 1], index[child + 1], value[child], index[child]
        ):
            child += 1
        if not _smaller(value[child], index[child], held_value, held_index):
            break
        value[place], index[place] = value[child], index[child]
        place = child
    value[place], index[place] = held_value, held_index


@njit(nogil=True, cache=True)
def _smaller(value: float, index: int, other_value: float, other_index: int) -> bool:
    return value < other_value or (value == other_value and index > other_index)


@njit(nogil=True, cache=True)
def extended(array: NDArray[Any], length: int) -> NDArray[Any]:
    """A longer copy of a buffer."""
    longer = np.empty(length, array.dtype)
    longer[: len(array)] = array
    return longer
