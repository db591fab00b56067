r"""The inverse of a large symmetric positive definite matrix, in place, by tiles.

LAPACK's ``potrf`` and ``potri`` do this too, but they show no progress, and OpenBLAS's float32
``potrf`` has been seen to crash at n = 40,981. Here LAPACK never sees more than one tile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.numerics.blas import add_product
from truerank.numerics.threads import Each, on_all_cores

TILE = 320
"""Rows of a block: deep enough for a fast product, shallow enough to cost little besides."""

STRIP = 1024
"""Rows that one thread changes at a time."""


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
    products 320 deep, and :math:`640 n^2` more for :math:`T`; every step costs the same, so
    progress is even. The tile is inverted in float64. For a symmetric positive definite matrix no
    pivoting is needed, and the error grows with the condition number as that of Cholesky does.
    The result has the same bits for any number of threads.

    Memory: two columns of tiles, 2 x n x 320 numbers.

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
    B, T = np.empty((2, n, min(n, TILE)), A.dtype)
    with on_all_cores(workers) as each:
        D = _inverse_of_tile(A[:TILE, :TILE], 0)
        for k in range(0, n, TILE):
            D = _sweep(A, D, k, B[:, : len(D)], T[:, : len(D)], each)
            if progress is not None:
                progress()


def _sweep(
    A: NDArray[Any],
    D: NDArray[Any],
    k: int,
    B: NDArray[Any],
    T: NDArray[Any],
    each: Each,  # type: ignore[type-arg]
) -> NDArray[Any]:
    """Move the block at k, whose tile has the inverse D, to the swept; the next block's D."""
    n, end = len(A), k + len(D)
    following = [D]
    after = min(end + TILE, n)
    strips = [(end, after), *_strips(after, n), *_strips(0, k)]

    def multiply(strip: tuple[int, int]) -> None:
        first, last = strip
        own = A[k:end, first:last].T if first < k else A[first:last, k:end]
        B[first:last] = own
        np.matmul(B[first:last], D, out=T[first:last])
        np.negative(T[first:last], out=own) if first < k else np.copyto(own, T[first:last])

    def update(strip: tuple[int, int]) -> None:
        sign = 1.0 if strip[0] < k else -1.0
        for top, left, bottom, right in _below_diagonal(*strip, k, end):
            add_product(A[top:bottom, left:right], sign, T[top:bottom], B[left:right])
        if strip[0] == end < n:  # while the others are still at it
            following[0] = _inverse_of_tile(A[end:after, end:after], end)

    each(multiply, strips)
    # The next tile comes first: its inverse will be ready. The shortest rows come last.
    each(update, strips)
    A[k:end, k:end] = D
    return following[0]


def _strips(first: int, last: int) -> list[tuple[int, int]]:
    """Rows first..last-1 in strips, the lowest first, whose rows are longest."""
    return [(top, min(top + STRIP, last)) for top in reversed(range(first, last, STRIP))]


def _below_diagonal(first: int, last: int, k: int, end: int) -> list[tuple[int, int, int, int]]:
    """Rectangles (top, left, bottom, right) that cover rows first..last-1 of the triangle.

    Columns k..end-1 are left out. Next to the diagonal the rectangles are flat, so that little is
    computed above it.
    """
    before = [(0, k), (end, first)] if first >= end else [(0, first)]
    flat = [(top, min(top + TILE // 2, last)) for top in range(first, last, max(1, TILE // 2))]
    return [(first, left, last, right) for left, right in before] + [
        (top, first, bottom, bottom) for top, bottom in flat
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
