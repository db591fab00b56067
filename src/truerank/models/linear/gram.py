r"""The Gram matrix :math:`X^\top X`, its regularised inverse, and models made of the inverse."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from truerank.data.interactions import Interactions
from truerank.errors import InvalidDataError
from truerank.execution import Progress
from truerank.numerics.blocked_inverse import invert_in_place, steps
from truerank.numerics.dtypes import Precision, dtype_of
from truerank.numerics.memory import check_room
from truerank.numerics.threads import on_all_cores

ROWS = 32
"""Rows of the result per block: few, because the rows of popular items take long."""

TILE = 512
"""Side of the squares in which a triangle is mirrored or scaled."""


def gram(
    X: sparse.csr_array,
    *,
    dtype: type[np.floating[Any]] = np.float32,
    lower: bool = False,
    workers: int | None = None,
) -> NDArray[Any]:
    r"""Dense :math:`G = X^\top X`.

    Row :math:`i` is summed over the users of item :math:`i`,
    :math:`G_{ij} = \sum_u X_{ui} X_{uj}` for :math:`j \le i`, in float64, and rounded once to
    ``dtype``. Counts of users are therefore exact in float32 up to :math:`2^{24}` (16.7 million),
    and no sum depends on how many threads there are.

    Cost: half of :math:`\sum_u n_u^2` additions, shared by all cores. Memory: the result, a
    transposed copy of ``X``, and one row of float64 per thread.

    Args:
        X: Users x items.
        dtype: Of the result.
        lower: Fill the lower triangle only; above the diagonal there are zeros.
        workers: Threads; all cores where None.

    >>> gram(sparse.csr_array([[1.0, 1.0], [0.0, 1.0]])).tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """
    if not np.isfinite(X.data).all():
        raise InvalidDataError("some weights are not finite numbers; remove or replace them")
    rows: Any = X if X.has_sorted_indices else X.sorted_indices()
    n = rows.shape[1]
    values = None if (rows.data == 1).all() else rows.data.astype(np.float64)
    # Where each entry lies in its user's row, in the order of columns: the row up to there is
    # what the entry is multiplied with.
    places = sparse.csr_array((np.arange(1, rows.nnz + 1), rows.indices, rows.indptr), rows.shape)
    columns = places.tocsc()
    row_starts, column_starts = rows.indptr.astype(np.int64), columns.indptr.astype(np.int64)
    # Unsigned: numba then need not ask whether an index counts from the end.
    items, users = rows.indices.astype(np.uint32), columns.indices.astype(np.uint32)
    G = np.zeros((n, n), dtype)

    def block(start: int) -> None:
        stop = min(start + ROWS, n)
        _sum_rows(row_starts, items, values, column_starts, users, columns.data, G, start, stop)

    with on_all_cores(workers) as each:
        each(block, range(0, n, ROWS))
        if not lower:
            mirror(G, each)
    return G


def mirror(A: NDArray[Any], each: Any) -> None:
    """Copy the lower triangle of ``A`` onto the upper, by squares, in place."""

    def square(corner: tuple[int, int]) -> None:
        i, j = corner
        tile = A[i : i + TILE, j : j + TILE]
        if i == j:
            tile += np.tril(tile, -1).T - np.triu(tile, 1)
        else:
            A[j : j + TILE, i : i + TILE] = tile.T

    starts = range(0, len(A), TILE)
    each(square, [(i, j) for i in starts for j in starts if j <= i])


def inverse_gram(
    interactions: Interactions, penalty: float | NDArray[Any], precision: Precision, model: str
) -> NDArray[Any]:
    r"""The lower triangle of :math:`(X^\top X + \mathrm{diag}(\text{penalty}))^{-1}`."""
    dtype = dtype_of(precision)
    n = interactions.n_items
    check_room(
        n * (n + 640) * np.dtype(dtype).itemsize,
        f"{model} on {n:,} items",
        "ItemKNN and SLIM (sparse) or IALS and PureSVD (low rank) would fit, or drop rare items",
    )
    G = gram(interactions.matrix(), dtype=dtype, lower=True)
    G[np.diag_indices(n)] += penalty
    with Progress(f"fitting {model}", total=steps(n)) as bar:
        invert_in_place(G, progress=bar.advance)
    return G


def divide_by_diagonal(P: NDArray[Any]) -> None:
    r"""Turn the lower triangle of a symmetric ``P`` into the whole of ``W``, in place.

    .. math::  W_{ij} = -P_{ij} / P_{jj} \quad (i \ne j), \qquad W_{jj} = 0

    This is the optimum of :math:`\|X - XW\|_F^2 + \|\Lambda^{1/2} W\|_F^2` with
    :math:`\mathrm{diag}(W) = 0` for :math:`P = (X^\top X + \Lambda)^{-1}`: the gradient
    :math:`P^{-1} W - X^\top X` must be diagonal, :math:`W = I - P\,\mathrm{diag}(\gamma)`, and
    the constraint says :math:`\gamma_j = 1 / P_{jj}` [steck2019]_, [steck2020]_.

    Memory: a square of 512 x 512 per thread.
    """
    scale = -1.0 / np.diag(P)

    def square(corner: tuple[int, int]) -> None:
        i, j = corner
        rows, columns = slice(i, i + TILE), slice(j, j + TILE)
        tile = P[rows, columns]
        if i == j:
            lower = np.tril(tile, -1)
            np.multiply(lower + lower.T, scale[columns], out=tile)
            np.fill_diagonal(tile, 0.0)  # not -0.0
        else:
            np.multiply(tile.T, scale[rows], out=P[columns, rows])
            tile *= scale[columns]

    starts = range(0, len(P), TILE)
    with on_all_cores() as each:
        each(square, [(i, j) for i in starts for j in starts if j <= i])


@njit(nogil=True, cache=True)
def _sum_rows(  # type: ignore[no-untyped-def]
    row_starts, items, values, column_starts, users, ends, G, start, stop
) -> None:
    """Rows start..stop-1 of the lower triangle; values None where all are one."""
    total = np.zeros(stop, np.float64)
    for i in range(start, stop):
        for p in range(column_starts[i], column_starts[i + 1]):
            first, end = row_starts[users[p]], ends[p]
            if values is None:
                for q in range(first, end):
                    total[items[q]] += 1.0
            else:
                own = values[end - 1]
                for q in range(first, end):
                    total[items[q]] += own * values[q]
        for j in range(i + 1):
            G[i, j] = total[j]
            total[j] = 0.0
