r"""A matrix product that counts its entries instead of storing them.

Users lie side by side in the lanes of vector registers, a *panel* of :data:`PANEL` at a time;
items are read as they are. For :data:`STEP` items at once all their scores with a panel,

.. math::  s_{ui} = \sum_k x_{uk} y_{ik},

grow in registers, are compared with bounds of each user, and are forgotten. A library's product
must write every score and read it again; this one runs about 1.15 times as fast as that product
alone (87 to 92 against 76 GFLOP/s on one core, d = 64).

It is machine code of our own (:mod:`.intrinsics`). Where numba's internals are not as that code
knows them, a plain loop does the same more slowly. The two may round a score otherwise; ranks are
the same, since whoever counts decides by the counts only what no rounding can change.
"""

# ruff: noqa: ARG001  # numba asks for the arguments in a stub and in its overload alike
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from truerank.arrays import Float32

try:
    from truerank.numerics import intrinsics
except (ImportError, AttributeError):  # numba's internals have moved
    intrinsics = None  # type: ignore[assignment]

emit_counting: Callable[..., None] | None = getattr(intrinsics, "emit_counting", None)
LANES = intrinsics.LANES if intrinsics else 8
STEP = intrinsics.STEP if intrinsics else 6
"""See :mod:`.intrinsics`; no result depends on them."""

PANEL = 2 * LANES
"""Users scored together."""

ABOVE, REACHED = 0, 1
HIGH, LOW = 0, 1
"""Places in the second axis of counts and of bounds."""


@njit(nogil=True, cache=True)
def panels_of(vectors: Float32, users: NDArray[np.int64]) -> Float32:
    """The vectors of these users, panels x d x :data:`PANEL`; lanes without a user are 0."""
    d = vectors.shape[1]
    panels = np.zeros((-(-len(users) // PANEL), d, PANEL), np.float32)
    for k in range(len(users)):
        for c in range(d):
            panels[k // PANEL, c, k % PANEL] = vectors[users[k], c]
    return panels


def count_scores(
    items: Float32,
    first: int,
    last: int,
    panels: Float32,
    panel: int,
    bounds: Float32,
    counts: NDArray[np.int32],
    place: int,
) -> None:
    """Count the scores of items ``first`` to ``last - 1`` with the users of a panel.

    Args:
        items: One row per item.
        first: The first of them.
        last: After the last of them; a multiple of :data:`STEP` away.
        panels: From :func:`panels_of`.
        panel: Which one.
        bounds: Panels x 2 x PANEL.
        counts: Places x 2 x PANEL, int32: grow by one for each score above ``HIGH``, and for each
            that reached ``LOW``.
        place: Of the panel's counts.
    """
    raise TypeError("compiled code only")  # pragma: no cover


@overload(count_scores)
def _count_scores(
    items: Any, first: Any, last: Any, panels: Any, panel: Any, bounds: Any, counts: Any, place: Any
) -> Any:
    return _count_by_own_code if own_code_works() else count_plainly.py_func


def _count_by_own_code(
    items: Any, first: Any, last: Any, panels: Any, panel: Any, bounds: Any, counts: Any, place: Any
) -> None:
    emit_counting(items, first, last, panels, panel, bounds, counts, place)  # type: ignore[misc]


@njit(nogil=True, cache=True, fastmath={"contract"})
def count_plainly(
    items: Any, first: Any, last: Any, panels: Any, panel: Any, bounds: Any, counts: Any, place: Any
) -> None:
    """:func:`count_scores` as a loop, which numba vectorises over the users."""
    scores = np.empty(PANEL, np.float32)
    for item in range(first, last):
        for lane in range(PANEL):
            scores[lane] = np.float32(0.0)
        for k in range(items.shape[1]):
            value = items[item, k]
            for lane in range(PANEL):
                scores[lane] += value * panels[panel, k, lane]
        for lane in range(PANEL):
            counts[place, ABOVE, lane] += np.int32(scores[lane] > bounds[panel, HIGH, lane])
            counts[place, REACHED, lane] += np.int32(scores[lane] >= bounds[panel, LOW, lane])


@cache
def own_code_works() -> bool:
    """Whether our machine code can still be written, and counts rightly; asked while compiling."""
    if emit_counting is None:
        return False
    items, panels = np.ones((STEP, 1), np.float32), np.ones((1, 1, PANEL), np.float32)
    bounds, counts = np.ones((1, 2, PANEL), np.float32), np.zeros((1, 2, PANEL), np.int32)
    try:
        njit(_count_by_own_code)(items, 0, STEP, panels, 0, bounds, counts, 0)
    except Exception:  # noqa: BLE001  # whatever a changed numba says; the plain way remains
        return False
    return bool((counts[0, ABOVE] == 0).all() and (counts[0, REACHED] == STEP).all())
