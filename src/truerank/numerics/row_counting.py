r"""Count the scores of a row that are above a bound, and those that reach another.

A row is cut into strips of :data:`STRIP` scores. Their maxima are found once; a strip whose maximum
is below a target's lower bound has nothing to count for it and is not read again. Of gowalla's
targets (7 a user, iALS) that is so for 6 strips of 10, and counting takes half the time.

It is machine code of our own (:mod:`.intrinsics`), eight numbers at a time on any machine with
AVX2; where numba's internals are not as that code knows them, plain loops do the same.
"""

# ruff: noqa: ARG001  # numba asks for the arguments in a stub and in its overload alike
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload

from truerank.arrays import Float32

try:
    from truerank.numerics import intrinsics
except (ImportError, AttributeError):  # numba's internals have moved
    intrinsics = None  # type: ignore[assignment]

emit_maxima: Callable[..., None] | None = getattr(intrinsics, "emit_maxima", None)
emit_row_counts: Callable[..., tuple[int, int]] | None = getattr(
    intrinsics, "emit_row_counts", None
)

STRIP, GROUP = (intrinsics.STRIP, intrinsics.GROUP) if intrinsics else (32, 8)
"""Scores that are passed over together, 16, 64 and 128 being slower; and how many maxima are read
at once, so that those beyond the row must be minus infinity."""

MOST = 2**15
"""Longest row, in numbers."""


def strip_maxima(scores: Float32, row: int, strips: int, maxima: Float32) -> None:
    """Write the largest score of each strip of a row.

    Args:
        scores: Rows of strips, without a NaN.
        row: Which one.
        strips: How many, the last one filled up by the caller with minus infinity.
        maxima: Room for a multiple of :data:`GROUP` of them.
    """
    raise TypeError("compiled code only")  # pragma: no cover


def count_row(
    scores: Float32, row: int, groups: int, maxima: Float32, low: np.float32, high: np.float32
) -> tuple[int, int]:
    """How many scores of a row are above ``high``, and how many reach ``low``.

    Args:
        scores: Rows of strips.
        row: Which one.
        groups: How many groups of maxima.
        maxima: From :func:`strip_maxima`.
        low: The lower bound, a number.
        high: The upper one, no lower than ``low``.
    """
    raise TypeError("compiled code only")  # pragma: no cover


@overload(strip_maxima)
def _strip_maxima(scores: Any, row: Any, strips: Any, maxima: Any) -> Any:
    return _maxima_by_own_code if own_code_works() else maxima_plainly.py_func


@overload(count_row)
def _count_row(scores: Any, row: Any, groups: Any, maxima: Any, low: Any, high: Any) -> Any:
    return _count_by_own_code if own_code_works() else count_plainly.py_func


def _maxima_by_own_code(scores: Any, row: Any, strips: Any, maxima: Any) -> None:
    emit_maxima(scores, row, strips, maxima)  # type: ignore[misc]


def _count_by_own_code(
    scores: Any, row: Any, groups: Any, maxima: Any, low: Any, high: Any
) -> tuple[int, int]:
    return emit_row_counts(scores, row, groups, maxima, low, high)  # type: ignore[misc]


@njit(nogil=True, cache=True)
def maxima_plainly(scores: Any, row: Any, strips: Any, maxima: Any) -> None:
    """:func:`strip_maxima` as loops."""
    for strip in range(strips):
        largest = scores[row, strip * STRIP]
        for j in range(strip * STRIP + 1, (strip + 1) * STRIP):
            largest = max(largest, scores[row, j])
        maxima[strip] = largest


@njit(nogil=True, cache=True)
def count_plainly(
    scores: Any, row: Any, groups: Any, maxima: Any, low: Any, high: Any
) -> tuple[int, int]:
    """:func:`count_row` as loops; unsigned indices, or numba would not vectorise them."""
    above, reached = np.int32(0), np.int32(0)
    for strip in range(GROUP * groups):
        if maxima[strip] >= low:
            for j in range(np.uint64(strip * STRIP), np.uint64((strip + 1) * STRIP)):
                score = scores[row, j]
                above = np.int32(above + np.int32(score > high))
                reached = np.int32(reached + np.int32(score >= low))
    return int(above), int(reached)


@cache
def own_code_works() -> bool:
    """Whether our machine code can still be written, and counts rightly; asked while compiling."""
    if emit_maxima is None or emit_row_counts is None:
        return False
    scores, maxima = np.zeros((2, 2 * STRIP), np.float32), np.full(GROUP, -np.inf, np.float32)
    scores[1, STRIP:] = np.arange(STRIP)
    low, high = np.float32(1.0), np.float32(2.0)
    try:
        njit(_maxima_by_own_code)(scores, 1, 2, maxima)
        counts = njit(_count_by_own_code)(scores, 1, 1, maxima, low, high)
    except Exception:  # noqa: BLE001  # whatever a changed numba says; the plain way remains
        return False
    right = maxima[:3].tolist() == [0.0, STRIP - 1.0, -np.inf]
    return bool(right and counts == (STRIP - 3, STRIP - 1))
