r"""Loss and gradients of a block of positive pairs, for :math:`W` in factors; compiled.

For :math:`W = A\,\mathrm{diag}(g) B^\top`, in the letters of :mod:`.kernels`, with
:math:`z = \sum_l x_l H_l A_l` and :math:`q = \sum_j r_j T_j B_j`,

.. math::
    u_j = (z \circ g) \cdot B_j, \qquad \frac{\partial \ell}{\partial g} = z \circ q, \qquad
    \frac{\partial \ell}{\partial H_l} = x_l\, A_l \cdot (g \circ q).

A pair costs (items of its row + targets) x rank twice, whatever the number of items.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from truerank.arrays import Float
from truerank.models.learned_linear.draws import Rows, Rule, bpr, draw_input, draw_targets
from truerank.models.learned_linear.kernels import Sums, longest_row

FREE = {"reassoc", "contract", "nsz"}
"""Sums may be taken in the order of vector registers: always the same one, on one machine."""


@njit(nogil=True, cache=True, fastmath=FREE)
def low_rank_block(
    rows: Rows,
    rule: Rule,
    key: np.uint64,
    pairs: NDArray[np.int64],
    A: NDArray[Any],
    B: NDArray[Any],
    gain: NDArray[Any],
    head: Float,
    tail: Float,
    sums: Sums,
) -> float:
    """The sum of the losses of these pairs, for W = A diag(gain) B'."""
    longest, n_targets, k = longest_row(rows, pairs), rule.n_negatives + 1, A.shape[1]
    items, x = np.empty(longest, np.int64), np.empty(longest)
    targets, slope, inner = np.empty(n_targets, np.int64), np.empty(n_targets), np.empty(n_targets)
    z, q, scaled = np.empty(k, A.dtype), np.empty(k, A.dtype), np.empty(k, A.dtype)
    loss = 0.0
    for pair in pairs:
        n = draw_input(rows, rule, key, pair, items, x)
        draw_targets(rows, key, pair, targets)
        z[:] = 0
        own = 0.0  # the positive's own value in its input, where the diagonal would tell it
        for a in range(n):
            if rule.zero_diagonal and items[a] == targets[0]:
                own = x[a]
            y, row = A.dtype.type(x[a] * head[items[a]]), A[items[a]]
            for c in range(k):
                z[c] += y * row[c]
        scaled[:] = z * gain
        for j in range(n_targets):
            inner[j] = _dot(scaled, B[targets[j]])
        diagonal = _dot(A[targets[0]], gain * B[targets[0]]) if own != 0.0 else 0.0
        inner[0] -= own * head[targets[0]] * diagonal
        loss += bpr(inner * tail[targets], rule.scale, slope)
        q[:] = 0
        for j in range(n_targets):
            weight, row = A.dtype.type(slope[j] * tail[targets[j]]), B[targets[j]]
            for c in range(k):
                q[c] += weight * row[c]
        lost = own * slope[0] * tail[targets[0]]
        if len(sums.gain):
            for c in range(k):
                sums.gain[c] += z[c] * q[c]
            if lost != 0.0:
                row, column = A[targets[0]], B[targets[0]]
                for c in range(k):
                    sums.gain[c] -= lost * head[targets[0]] * row[c] * column[c]
        if len(sums.head):
            for j in range(n_targets):
                sums.tail[targets[j]] += slope[j] * inner[j]
            scaled[:] = q * gain
            for a in range(n):
                sums.head[items[a]] += x[a] * _dot(A[items[a]], scaled)
            sums.head[targets[0]] -= lost * diagonal
    return loss


@njit(nogil=True, cache=True, fastmath=FREE)
def _dot(a: NDArray[Any], b: NDArray[Any]) -> float:
    total = a.dtype.type(0)
    for i in range(len(a)):
        total += a[i] * b[i]
    return np.float64(total)
