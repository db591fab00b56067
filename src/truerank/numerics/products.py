"""Products of tall matrices on all cores, in fixed pieces: the same bits for any number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.numerics.threads import Each

ROWS = 2048
"""Rows of one piece."""


def sparse_times(A: sparse.csr_array, V: NDArray[Any], each: Each) -> NDArray[Any]:  # type: ignore[type-arg]
    """``A @ V`` for sparse ``A`` and dense ``V``, by pieces of rows."""
    V = np.ascontiguousarray(V)
    out = np.empty((A.shape[0], V.shape[1]), V.dtype)

    def piece(start: int) -> None:
        out[start : start + ROWS] = A[start : start + ROWS] @ V

    each(piece, range(0, A.shape[0], ROWS))
    return out


def inner(A: NDArray[Any], B: NDArray[Any], each: Each) -> NDArray[Any]:  # type: ignore[type-arg]
    """``A.T @ B``, summed over pieces of rows in their order."""
    starts = range(0, len(A), ROWS)
    parts: list[Any] = [None] * len(starts)

    def piece(i: int) -> None:
        rows = slice(starts[i], starts[i] + ROWS)
        parts[i] = A[rows].T @ B[rows]

    each(piece, range(len(starts)))
    return np.asarray(sum(parts[1:], start=parts[0]))


def times(A: NDArray[Any], B: NDArray[Any], each: Each) -> NDArray[Any]:  # type: ignore[type-arg]
    """``A @ B`` for tall ``A``, by pieces of rows."""
    out = np.empty((len(A), B.shape[1]), np.result_type(A, B))

    def piece(start: int) -> None:
        np.matmul(A[start : start + ROWS], B, out=out[start : start + ROWS])

    each(piece, range(0, len(A), ROWS))
    return out
