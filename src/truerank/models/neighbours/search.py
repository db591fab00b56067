"""The k most similar rows of every row, without ever holding all similarities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from truerank.errors import InvalidDataError
from truerank.execution import Progress, Threads, available_cores, closed_after
from truerank.models.neighbours.similarities import SIMILARITIES, prepared, sizes_of
from truerank.numerics.dtypes import Precision, dtype_of
from truerank.numerics.top import extended, keep_largest

Csr = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Row pointers, column indices and values."""

BLOCKS = 512
"""Rows are shared out in about so many blocks, whatever the number of threads."""


def nearest_rows(
    rows: sparse.csr_array,
    others: sparse.csr_array,
    *,
    k: int,
    similarity: str,
    shrink: float,
    own: NDArray[np.int64] | None = None,
    dtype: Precision = "float32",
    label: str = "neighbours",
    workers: int | None = None,
) -> sparse.csr_array:
    r"""Similarities of each row of ``rows`` to its ``k`` most similar rows of ``others``.

    Products :math:`c_{ab} = \sum_t R_{at} O_{bt}` are summed one row :math:`a` at a time, over
    the columns in which :math:`a` has entries, so that only rows with something in common are
    looked at. Of these the ``k`` largest positive similarities are kept; equal ones at the edge
    are settled by the smaller index. A row depends on nothing but the data, so the result has
    the same bits for any number of threads.

    Memory: the result, and about 13 bytes per row of ``others`` and thread. Time: proportional
    to :math:`\sum_t r_t o_t`, entries of ``rows`` times entries of ``others`` in each column.

    Args:
        rows: What to find neighbours for.
        others: Where to look, with the same columns.
        k: Neighbours to keep, at most.
        similarity: A name of :data:`SIMILARITIES`.
        shrink: Added to the denominator.
        own: For each of ``rows`` the row of ``others`` it is itself, which is left out, or -1.
        dtype: Of the similarities, which are computed in float64.
        label: What the progress bar says.
        workers: Threads; all cores by default.

    Returns:
        ``len(rows)`` x ``len(others)``, the entries of a row in no particular order.
    """
    if not (np.isfinite(rows.data).all() and np.isfinite(others.data).all()):
        raise InvalidDataError("some weights are not finite numbers; remove or replace them")
    left = prepared(rows, similarity)
    right = left if others is rows else prepared(others, similarity)
    own_sizes = sizes_of(left, similarity)
    other_sizes = own_sizes if right is left else sizes_of(right, similarity)
    by_column = right.T.tocsr()
    n, n_others = left.shape[0], right.shape[0]
    itself = np.full(n, -1, np.int64) if own is None else np.asarray(own, np.int64)
    left_parts, column_parts = csr_parts(left), csr_parts(by_column)
    step, kind = max(1, -(-n // BLOCKS)), dtype_of(dtype)

    def block(start: int) -> Csr:
        counts, items, values = nearest_in_block(
            start, min(start + step, n),
            left_parts, column_parts,
            own_sizes, other_sizes, itself, min(k, n_others), SIMILARITIES[similarity], shrink,
        )  # fmt: skip
        return counts, items, values.astype(kind, copy=False)

    parts: dict[int, Csr] = {}
    executor = Threads(workers or available_cores())
    with (
        Progress(label, total=n) as bar,
        closed_after(executor.imap(block, range(0, n, step))) as results,
    ):
        for position, part in results:
            parts[position] = part
            bar.advance(len(part[0]))
    counts, items, values = (
        np.concatenate([parts[p][which] for p in range(len(parts))]) for which in range(3)
    )
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array((values, items, indptr), shape=(n, n_others))


def csr_parts(matrix: Any) -> Csr:
    """The arrays of a compressed matrix, always of the same types: one compilation serves all."""
    return (
        np.array(matrix.indptr, np.int64),
        np.array(matrix.indices, np.int32),
        np.array(matrix.data, np.float64),
    )


@njit(nogil=True, cache=True, error_model="numpy")
def nearest_in_block(
    start: int,
    stop: int,
    rows: Csr,
    by_column: Csr,
    own_sizes: NDArray[np.float64],
    other_sizes: NDArray[np.float64],
    itself: NDArray[np.int64],
    k: int,
    code: int,
    shrink: float,
) -> Csr:
    """How many neighbours rows start..stop-1 have, which, and how similar they are."""
    indptr, indices, data = rows
    column_indptr, column_indices, column_data = by_column
    n_others = len(other_sizes)
    sums, seen = np.zeros(n_others), np.zeros(n_others, np.uint8)
    met, value, size = np.empty(n_others + 1, np.int32), np.empty(n_others), np.empty(n_others)
    counts = np.zeros(stop - start, np.int64)
    items = np.empty((stop - start) * min(k, 64), np.int32)
    values = np.empty(len(items))
    filled = 0
    for row in range(start, stop):
        n_met = 0
        for at in range(indptr[row], indptr[row + 1]):
            column, weight = indices[at], data[at]
            for there in range(column_indptr[column], column_indptr[column + 1]):
                other = column_indices[there]
                met[n_met] = other  # without a branch: overwritten if it was seen before
                n_met += 1 - seen[other]
                seen[other] = 1
                sums[other] += weight * column_data[there]
        own_size, own_lift, own = own_sizes[row, 0], own_sizes[row, 1], itself[row]
        for m in range(n_met):
            other = met[m]
            value[m] = sums[other] - own_lift * other_sizes[other, 1]
            size[m] = other_sizes[other, 0]
            sums[other], seen[other] = 0.0, 0
        divide(code, value[:n_met], size[:n_met], own_size, shrink)
        n_good = 0
        for m in range(n_met):
            other, alike = met[m], value[m]
            met[n_good], value[n_good] = other, alike
            n_good += (alike > 0.0) & (other != own)
        n_kept = keep_largest(value, met, n_good, k)
        if filled + n_kept > len(items):
            longer = max(2 * len(items), filled + n_kept)
            items, values = extended(items, longer), extended(values, longer)
        items[filled : filled + n_kept] = met[:n_kept]
        values[filled : filled + n_kept] = value[:n_kept]
        counts[row - start] = n_kept
        filled += n_kept
    return counts, items[:filled].copy(), values[:filled].copy()


@njit(nogil=True, cache=True, error_model="numpy")
def divide(
    code: int,
    products: NDArray[np.float64],
    sizes: NDArray[np.float64],
    own_size: float,
    shrink: float,
) -> None:
    """Turn products of one row with others into similarities, in place; 0 where there is none.

    The loops have no branches, so that four similarities are computed at a time.
    """
    if code == 1:
        for m in range(len(products)):
            products[m] /= own_size + sizes[m] - products[m] + shrink
    elif code == 2:
        for m in range(len(products)):
            products[m] = 2.0 * products[m] / (own_size + sizes[m] + shrink)
    else:  # Pearson is the cosine about the means
        for m in range(len(products)):
            bottom = np.sqrt(own_size * sizes[m]) + shrink
            products[m] = products[m] / bottom if bottom > 0.0 else 0.0
