r"""The inverse of a large symmetric positive definite matrix, in place, by tiles.

LAPACK's ``potrf`` and ``potri`` do this too, but they show no progress, and OpenBLAS's float32
``potrf`` has been seen to crash at n = 40,981. Here LAPACK never sees more than one tile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.models.parallel import Each, on_all_cores

TILE = 1024
"""Rows of a block: deep enough for the matrix product, small enough for one core's LAPACK."""

FLAT = 4
"""Into how many strips the rows of a block are cut next to the diagonal."""

WIDTH = 2048
"""Columns of one product: 1024 x 2048 results are added while they are in the cache."""


def steps(n: int) -> int:
    """How often ``progress`` will be called for an n x n matrix."""
    return -(-n // TILE)


def invert_in_place(
    A: NDArray[Any],
    *,
    progress: Callable[[], None] | None = None,
    workers: int | None = None,
) -> None:
    r"""Replace the lower triangle of ``A`` by that of :math:`A^{-1}`; the upper is not touched.

    Block Gauss-Jordan elimination on one triangle (the *sweep operator*). Let :math:`S` be the
    blocks swept so far and :math:`U` the others. The matrix holds

    .. math::
        \begin{pmatrix} A_{SS}^{-1} & \\ A_{US} A_{SS}^{-1} & A_{UU} - A_{US} A_{SS}^{-1} A_{SU}
        \end{pmatrix}

    To sweep block :math:`k`, let :math:`D` be the inverse of its diagonal tile, :math:`B` its
    column and :math:`T = BD`. Every other tile changes by :math:`T_i B_j^\top`, added where both
    are in :math:`S` and subtracted elsewhere; the column becomes :math:`T`, the row :math:`-T^\top`
    and the tile :math:`D`.

    Cost: :math:`n^3` operations, as many as ``potrf`` and ``potri`` together, nearly all in
    products of 1024 x 1024 by 1024 x 2048; every step costs the same, so progress is even. The tile
    is inverted in float64. For a symmetric positive definite matrix no pivoting is needed, and
    the error grows with the condition number as that of Cholesky does. The result has the same
    bits for any number of threads.

    Memory: two columns of tiles, 2 x n x 1024 numbers, and 1024 x 2048 per thread.

    Args:
        A: Square, float32 or float64; only its lower triangle is read.
        progress: Called after each of :func:`steps` steps.
        workers: Threads; all cores where None.

    Raises:
        InvalidDataError: If ``A`` is not positive definite in its precision; ``A`` is then
            of no more use.
    """
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.dtype not in (np.float32, np.float64):
        raise InvalidArgumentError(
            "A", f"{A.dtype} of shape {A.shape}", "a square matrix of float32 or float64"
        )
    n = len(A)
    columns = np.empty((2, n, min(n, TILE)), A.dtype)
    buffers = threading.local()
    with on_all_cores(workers) as each:
        D = _inverse_of_tile(A[:TILE, :TILE], 0)
        for k in range(0, n, TILE):
            D = _sweep(A, D, k, columns, buffers, each)
            if progress is not None:
                progress()


def _sweep(
    A: NDArray[Any],
    D: NDArray[Any],
    k: int,
    columns: NDArray[Any],
    buffers: threading.local,
    each: Each,  # type: ignore[type-arg]
) -> NDArray[Any]:
    """Move the block at k, whose tile has the inverse D, to the swept; the next block's D."""
    n, size = len(A), len(D)
    end = k + size
    B, T = columns[:, : n - size, :size]  # rows of the block itself are left out
    bounds = [(i, min(i + TILE, k)) for i in range(0, k, TILE)]
    bounds += [(i, min(i + TILE, n)) for i in range(end, n, TILE)]
    following = [D]

    def place(i: int) -> int:
        return i if i < end else i - size

    def multiply(rows: tuple[int, int]) -> None:
        first, last = rows
        here = slice(place(first), place(first) + last - first)
        own = A[k:end, first:last].T if first < k else A[first:last, k:end]
        B[here] = own
        np.matmul(B[here], D, out=T[here])
        np.negative(T[here], out=own) if first < k else np.copyto(own, T[here])

    def update(rows: tuple[int, int]) -> None:
        first, last = rows
        change = np.add if first < k else np.subtract
        for top, left, bottom, right in _below_diagonal(first, last, k, end):
            room = _buffer(buffers, A.dtype)[: (bottom - top) * (right - left)]
            product = room.reshape(bottom - top, right - left)
            t, b = place(top), place(left)
            np.matmul(T[t : t + bottom - top], B[b : b + right - left].T, out=product)
            target = A[top:bottom, left:right]
            change(target, product, out=target)
        if first == end:  # while the others are still at it
            following[0] = _inverse_of_tile(A[first:last, first:last], first)

    each(multiply, bounds)
    # The next tile first: its inverse will be ready. Then the longest rows: nobody waits for them.
    each(update, sorted(bounds, key=lambda rows: (rows[0] != end, -rows[0])))
    A[k:end, k:end] = D
    return following[0]


def _below_diagonal(first: int, last: int, k: int, end: int) -> list[tuple[int, int, int, int]]:
    """Rectangles (top, left, bottom, right) that cover rows first..last-1 of the triangle.

    Columns k..end-1 are left out. Next to the diagonal the rectangles are flat, so that little is
    computed above it.
    """
    spans = [(0, min(k, first)), (end, first)] if first >= end else [(0, first)]
    wide = [
        (first, left, last, min(left + WIDTH, right))
        for start, right in spans
        for left in range(start, right, WIDTH)
    ]
    flat = max(1, TILE // FLAT)
    return wide + [
        (top, first, min(top + flat, last), min(top + flat, last))
        for top in range(first, last, flat)
    ]


def _inverse_of_tile(tile: NDArray[Any], k: int) -> NDArray[Any]:
    """The whole inverse of a tile of which the lower triangle is given, by way of float64."""
    # Rows in C order are columns in Fortran order: our lower triangle is LAPACK's upper.
    factor, failed = lapack.dpotrf(tile.astype(np.float64).T, lower=0, overwrite_a=1)
    if not failed:
        inverse, failed = lapack.dpotri(factor, lower=0, overwrite_c=1)
    if failed:
        raise InvalidDataError(
            f"the matrix is not positive definite at row {k + abs(failed) - 1:,} in "
            f"{tile.dtype}; raise l2, or take dtype='float64'"
        )
    upper = np.triu(inverse)
    return np.asarray(upper + np.triu(upper, 1).T, dtype=tile.dtype)


def _buffer(buffers: threading.local, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Room for one product, kept by each thread: asking anew would cost more than adding."""
    if not hasattr(buffers, "room"):
        buffers.room = np.empty(TILE * WIDTH, dtype)
    room: NDArray[Any] = buffers.room
    return room
