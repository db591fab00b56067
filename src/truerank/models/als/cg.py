"""Conjugate gradients for each row of alternating least squares, and sums over its pairs."""

from __future__ import annotations

import numpy as np
from numba import njit

from truerank.models.als.kernels import (
    FREE,
    Floats,
    ObservedRows,
    add_scaled,
    gather,
    inner,
    shrinkage,
)


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
