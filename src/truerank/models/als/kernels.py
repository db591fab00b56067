r"""Rows of a regularised least-squares problem, solved one by one, compiled.

Every row :math:`x` of the wanted factors minimises, with the other side's rows :math:`h_j` fixed,

.. math::
    \sum_{j \in S} (a_j\, x \cdot h_j - y_j)^2 + \sum_k D_k (x_k - o_k)^2

over its own :math:`S`: :math:`D` is diagonal because the solvers turn the axes to the eigenvectors
of the Gram matrix first (:mod:`.solvers`), so the weight of everything unobserved costs
nothing per row. With :math:`B = \mathrm{diag}(a) H_S D^{-1/2}` and :math:`z = y - B D^{1/2} o`

.. math::
    x = o + D^{-1/2} (I + B^\top B)^{-1} B^\top z = o + D^{-1/2} B^\top (I + B B^\top)^{-1} z,

so the matrix to be factorised is as small as the shorter side of :math:`B`: most users have far
fewer items than there are dimensions. Both matrices are at least the identity.

A row depends on nothing but its own data, so threads may take the rows in any order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[Any]
"""float32 or float64, the same throughout one call."""

SMALL = 32
"""Up to this size our own factorisation is faster than a call of LAPACK's."""

CHUNK = 1024
"""Observed entries gathered together, where a row has more of them than dimensions."""

FREE = {"reassoc", "contract", "nsz"}
"""Sums may be taken in the order of vector registers: always the same one, on one machine."""


class ObservedRows(NamedTuple):
    """The observed entries of every row, in compressed rows, and the rows' own penalties."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    scale: Floats  # a
    target: Floats  # y
    ridge: Floats  # added to the spectrum of the fixed side, it makes D


@njit(nogil=True, cache=True, fastmath=FREE)
def solve_blocks(
    rows: ObservedRows,
    first: int,
    last: int,
    fixed: Floats,
    spectrum: Floats,
    offset: Floats,
    width: int,
    out: Floats,
) -> None:
    """Solve rows first..last-1 exactly within each block of ``width`` dimensions, in turn.

    With all dimensions in one block that is the minimum, wherever ``out`` started, counted from
    the ``offset`` (no rows where it is zero). Otherwise it is one sweep of block coordinate
    descent from what ``out`` holds, without an offset.
    """
    d = fixed.shape[1]
    longest = 0
    for row in range(first, last):
        longest = max(longest, rows.indptr[row + 1] - rows.indptr[row])
    residual = np.empty(longest, fixed.dtype)
    shrink = np.empty(d, fixed.dtype)
    gathered = np.empty((max(width, CHUNK), width), fixed.dtype)
    for row in range(first, last):
        start, stop = rows.indptr[row], rows.indptr[row + 1]
        items, scale = rows.indices[start:stop], rows.scale[start:stop]
        x, z = out[row], residual[: stop - start]
        z[:] = rows.target[start:stop]
        shrinkage(spectrum, rows.ridge[row], shrink)
        if width < d or len(offset) > 0:
            _move_scores(items, scale, fixed, 0, x if width < d else offset[row], -1, z)
        for low in range(0, d, width):
            part, own = x[low : low + width], shrink[low : low + width]
            if width < d:
                _move_scores(items, scale, fixed, low, part, 1, z)
            if len(items) <= width:
                _solve_short(items, scale, fixed, low, own, z, gathered, part)
            else:
                _solve_long(items, scale, fixed, low, own, z, gathered, part)
            if width < d:
                _move_scores(items, scale, fixed, low, part, -1, z)
        if len(offset) > 0:
            add_scaled(x, x.dtype.type(1), offset[row])


@njit(nogil=True, cache=True, fastmath=FREE)
def _move_scores(
    items: NDArray[np.int32],
    scale: Floats,
    fixed: Floats,
    low: int,
    x: Floats,
    sign: int,
    z: Floats,
) -> None:
    """Add or subtract the scores a (x . h) of a block of dimensions to the residuals z."""
    a = z.dtype.type(sign)
    for j in range(len(items)):
        z[j] += a * scale[j] * inner(fixed[items[j]][low : low + len(x)], x)


@njit(nogil=True, cache=True, fastmath=FREE)
def _solve_short(
    items: NDArray[np.int32],
    scale: Floats,
    fixed: Floats,
    low: int,
    shrink: Floats,
    z: Floats,
    gathered: Floats,
    x: Floats,
) -> None:
    """The best x of a block for few entries, by I + BB'."""
    B = gathered[: len(items)]
    gather(items, scale, fixed, low, shrink, B)
    weights = z.copy()
    if len(items) > 0:
        _solve_identity_plus(np.dot(B, B.T), weights)
    x[:] = 0
    for j in range(len(B)):
        add_scaled(x, weights[j], B[j])
    for k in range(len(x)):
        x[k] *= shrink[k]


@njit(nogil=True, cache=True, fastmath=FREE)
def _solve_long(
    items: NDArray[np.int32],
    scale: Floats,
    fixed: Floats,
    low: int,
    shrink: Floats,
    z: Floats,
    gathered: Floats,
    x: Floats,
) -> None:
    """The same for many entries, by I + B'B, summed in chunks."""
    width = gathered.shape[1]
    gram = np.zeros((width, width), fixed.dtype)
    right = np.zeros(width, fixed.dtype)
    for begin in range(0, len(items), CHUNK):
        end = min(begin + CHUNK, len(items))
        B = gathered[: end - begin]
        gather(items[begin:end], scale[begin:end], fixed, low, shrink, B)
        product = np.dot(B.T, B)
        for k in range(width):
            add_scaled(gram[k], gram.dtype.type(1), product[k])
        for j in range(len(B)):
            add_scaled(right, z[begin + j], B[j])
    _solve_identity_plus(gram, right)
    for k in range(len(x)):
        x[k] = right[k] * shrink[k]


@njit(nogil=True, cache=True, fastmath=FREE)
def gather(
    items: NDArray[np.int32], scale: Floats, fixed: Floats, low: int, shrink: Floats, B: Floats
) -> None:
    """B = diag(a) H D^-1/2 for the dimensions from ``low`` on, and zeros beyond the last."""
    d = len(shrink)
    for j in range(len(items)):
        # Slices, not h[low + k]: an index that might be negative keeps a loop from vector code.
        h, a, b = fixed[items[j]][low : low + d], scale[j], B[j]
        for k in range(d):
            b[k] = a * h[k] * shrink[k]
        for k in range(d, B.shape[1]):
            b[k] = 0


@njit(nogil=True, cache=True, fastmath=FREE)
def shrinkage(spectrum: Floats, ridge: Any, shrink: Floats) -> None:
    """D^-1/2 of one row."""
    one = spectrum.dtype.type(1)
    for k in range(len(spectrum)):
        shrink[k] = one / np.sqrt(spectrum[k] + ridge)


@njit(nogil=True, cache=True, fastmath=FREE)
def add_scaled(x: Floats, factor: Any, direction: Floats) -> None:
    """Add a multiple of a direction; a function of its own, so that it becomes vector code."""
    for k in range(len(x)):
        x[k] += factor * direction[k]


@njit(nogil=True, cache=True, fastmath=FREE)
def inner(x: Floats, y: Floats) -> Any:
    """The dot product."""
    total = x.dtype.type(0)
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@njit(nogil=True, cache=True, fastmath=FREE)
def _solve_identity_plus(K: Floats, x: Floats) -> None:
    """Replace x by (I + K)^-1 x, by Cholesky; K is overwritten."""
    n = len(K)
    for j in range(n):
        K[j, j] += 1
    if n <= SMALL:
        _factorise(K)
        U = K
    else:
        U = np.linalg.cholesky(K).T
    for j in range(n):
        u = U[j]
        x[j] /= u[j]
        add_scaled(x[j + 1 :], -x[j], u[j + 1 :])
    for j in range(n - 1, -1, -1):
        u = U[j]
        x[j] = (x[j] - inner(u[j + 1 :], x[j + 1 :])) / u[j]


@njit(nogil=True, cache=True, fastmath=FREE)
def _factorise(K: Floats) -> None:
    """K = U' U in place, the upper triangle, row by row."""
    n = len(K)
    for k in range(n):
        if not K[k, k] > 0:
            raise np.linalg.LinAlgError("Matrix is not positive definite.")
        K[k, k] = np.sqrt(K[k, k])
        inverse = K.dtype.type(1) / K[k, k]
        above = K[k][k:]
        for j in range(1, n - k):
            above[j] *= inverse
        for i in range(1, n - k):
            add_scaled(K[k + i][k + i :], -above[i], above[i:])


@njit(nogil=True, cache=True, fastmath=FREE)
def solve_cg(
    rows: ObservedRows,
    first: int,
    last: int,
    fixed: Floats,
    spectrum: Floats,
    steps: int,
    out: Floats,
) -> None:
    """Conjugate gradients on (I + B'B) v = B' y, from what ``out`` holds; no offset.

    In these axes that is the preconditioner D for free: only the observed entries of the row
    are left to be found.
    """
    d = fixed.shape[1]
    longest = 0
    for row in range(first, last):
        longest = max(longest, rows.indptr[row + 1] - rows.indptr[row])
    gathered = np.empty((longest, d), fixed.dtype)
    shrink, v, r = np.empty(d, fixed.dtype), np.empty(d, fixed.dtype), np.empty(d, fixed.dtype)
    p, q = np.empty(d, fixed.dtype), np.empty(d, fixed.dtype)
    nothing = np.zeros(longest, fixed.dtype)
    for row in range(first, last):
        start, stop = rows.indptr[row], rows.indptr[row + 1]
        if start == stop:
            out[row] = 0
            continue
        shrinkage(spectrum, rows.ridge[row], shrink)
        for k in range(d):
            v[k] = out[row, k] / shrink[k]
            r[k] = -v[k]
        B = gathered[: stop - start]
        gather(rows.indices[start:stop], rows.scale[start:stop], fixed, 0, shrink, B)
        _add_pull(B, rows.target[start:stop], v, r)
        squared = inner(r, r)
        p[:] = r
        for _ in range(steps):
            if squared == 0:
                break
            for k in range(d):
                q[k] = -p[k]
            _add_pull(B, nothing, p, q)  # q = -(I + B'B) p
            step = -squared / inner(p, q)
            add_scaled(v, step, p)
            add_scaled(r, step, q)
            before, squared = squared, inner(r, r)
            ratio = squared / before
            for k in range(d):
                p[k] = r[k] + ratio * p[k]
        for k in range(d):
            out[row, k] = v[k] * shrink[k]


@njit(nogil=True, cache=True, fastmath=FREE)
def _add_pull(B: Floats, y: Floats, x: Floats, out: Floats) -> None:
    """Add B'(y - B x), four entries at a time so that x and out are read and written less."""
    d, n = len(x), len(B)
    for j in range(0, n - 3, 4):
        b0, b1, b2, b3 = B[j], B[j + 1], B[j + 2], B[j + 3]
        s0, s1, s2, s3 = y[j], y[j + 1], y[j + 2], y[j + 3]
        for k in range(d):
            s0 -= b0[k] * x[k]
            s1 -= b1[k] * x[k]
            s2 -= b2[k] * x[k]
            s3 -= b3[k] * x[k]
        for k in range(d):
            out[k] += (s0 * b0[k] + s1 * b1[k]) + (s2 * b2[k] + s3 * b3[k])
    for j in range(n - n % 4, n):
        add_scaled(out, y[j] - inner(B[j], x), B[j])


@njit(nogil=True, cache=True, fastmath=FREE)
def observed_loss(
    rows: ObservedRows, first: int, last: int, solved: Floats, fixed: Floats
) -> float:
    """The sum of (a x.h - y)^2 over the observed entries of rows first..last-1, in float64."""
    total = 0.0
    for row in range(first, last):
        for place in range(rows.indptr[row], rows.indptr[row + 1]):
            score = np.float64(inner(solved[row], fixed[rows.indices[place]]))
            total += (rows.scale[place] * score - rows.target[place]) ** 2
    return total


@njit(nogil=True, cache=True, fastmath=FREE)
def pair_scores(
    rows: ObservedRows, first: int, last: int, solved: Floats, fixed: Floats, out: Floats
) -> None:
    """The scores x.h of the observed entries of rows first..last-1, in their order."""
    for row in range(first, last):
        for place in range(rows.indptr[row], rows.indptr[row + 1]):
            out[place] = inner(solved[row], fixed[rows.indices[place]])
