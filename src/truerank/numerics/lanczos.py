r"""The largest eigenpairs of :math:`X^\top X` by block Lanczos, without the matrix itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from truerank.numerics.products import inner, sparse_times, times
from truerank.numerics.threads import Each, on_all_cores

BLOCK = 16
"""Vectors at a time: products of matrices instead of vectors, and up to 16 equal eigenvalues."""

PATIENCE = 1.15
"""The basis grows by this factor between two looks at what has converged."""

Block = NDArray[Any]


def largest_eigenpairs(
    X: sparse.csr_array,
    k: int,
    *,
    tolerance: float | None = None,
    progress: Callable[[int], None] | None = None,
    workers: int | None = None,
) -> tuple[NDArray[Any], Block]:
    r"""The ``k`` largest eigenvalues of :math:`A = X^\top X`, descending, and their vectors.

    The basis :math:`Q = [Q_1, Q_2, \dots]` spans the block Krylov space of :math:`A`: each block is
    :math:`A Q_j` made orthogonal to all before it, twice, so that no ghosts appear. In that basis
    :math:`A` is block tridiagonal, :math:`T`; its eigenpairs :math:`(\theta, s)` give the
    approximations :math:`Qs` with residuals :math:`\|A Qs - \theta Qs\| = \|B_{j+1}
    s_{\text{last}}\|`, where :math:`B_{j+1}` is the triangle of the next block [golub2013]_. The
    basis grows until the ``k`` largest have residuals below ``tolerance`` :math:`\theta_1`;
    eigenvalues are then exact to the square of that.

    An eigenvalue that occurs more than 16 times may be found 16 times only. The start is a fixed
    matrix without structure, so the result is the same every time.

    Memory: n_items x (2 to 4) k. Time: about n_items x (basis)^2 x 8 operations.

    Args:
        X: Users x items.
        k: How many; at most the number of items.
        tolerance: 1e-10 in float64 and 1e-5 in float32 where None.
        progress: Told how many more eigenpairs have converged.
        workers: Threads; all cores where None. The result has the same bits for any number.
    """
    n = X.shape[1]
    goal = tolerance or (1e-10 if X.dtype == np.float64 else 1e-5)
    transposed = X.T.tocsr()
    T = np.zeros((0, 0), X.dtype)
    look, known = k + BLOCK, 0
    with on_all_cores(workers) as each:
        Q = _orthonormal(_start(n, min(BLOCK, n)).astype(X.dtype), np.empty((n, 0)), each)[0]
        while True:
            width = min(BLOCK, n - len(T))
            last = Q[:, len(T) : len(T) + width]
            product = sparse_times(transposed, sparse_times(X, last, each), each)
            T = _extended(T, inner(Q[:, : len(T) + width], product, each))
            following, triangle = _orthonormal(product, Q[:, : len(T)], each)
            if len(T) >= min(look, n):
                values, S = linalg.eigh(T, check_finite=False)
                values, S = values[::-1][:k], S[:, ::-1][:, :k]
                rest = np.linalg.norm(triangle @ S[-width:], axis=0)
                good = int(np.argmin(np.append(rest <= goal * values[0], False)))
                if progress is not None:
                    progress(max(0, good - known))
                known = max(known, good)
                if good == k or len(T) == n:
                    return values, times(Q[:, : len(T)], S, each)
                look = int(PATIENCE * len(T)) + 1
            Q = _with_room(Q, len(T), following[:, : n - len(T)])


def _extended(T: Block, column: Block) -> Block:
    """T with one more block: the new column's part above the diagonal is below it as well."""
    size, width = len(column), column.shape[1]
    larger = np.zeros((size, size), T.dtype)
    larger[: len(T), : len(T)] = T
    larger[:, size - width :] = column
    larger[size - width :, :] = column.T
    corner = column[size - width :]
    larger[size - width :, size - width :] = (corner + corner.T) / 2
    return larger


def _orthonormal(V: Block, basis: Block, each: Each) -> tuple[Block, Block]:  # type: ignore[type-arg]
    """V without its part in the basis, as orthonormal columns times a triangle.

    Where a column has nothing left, a component of the data is exhausted; its direction is then
    rounding, made orthogonal once more, and the triangle multiplies it by next to nothing.
    """
    left = _without(V, basis, each)
    W = linalg.qr(left, mode="economic", check_finite=False)[0]
    W = linalg.qr(_without(W, basis, each), mode="economic", check_finite=False)[0]
    return W, W.T @ left


def _without(V: Block, basis: Block, each: Each) -> Block:  # type: ignore[type-arg]
    """V without its part in the basis."""
    if basis.shape[1] == 0:
        return V
    return np.asarray(V - times(basis, inner(basis, V, each), each))


def _with_room(Q: Block, used: int, following: Block) -> Block:
    """Q with one more block; the array doubles when it is full."""
    wanted = used + following.shape[1]
    if wanted > Q.shape[1]:
        larger = np.empty((len(Q), min(len(Q), max(2 * Q.shape[1], 8 * BLOCK))), Q.dtype, "F")
        larger[:, :used] = Q[:, :used]
        Q = larger
    Q[:, used:wanted] = following
    return Q


def _start(n: int, size: int) -> NDArray[np.float64]:
    """A fixed dense matrix: waves of incommensurable lengths, none orthogonal to the data."""
    i, j = np.arange(1, n + 1)[:, None], np.arange(1, size + 1)[None, :]
    return np.asarray(np.cos(i * j * np.sqrt(2.0) + np.sqrt(3.0) * i))
