r"""Loss and gradients of a block of positive pairs, for a dense, sparse or low-rank W; compiled.

The score of item :math:`j` for an input row :math:`x` is
:math:`s_j = T_j u_j`, :math:`u_j = \sum_l x_l H_l W_{lj}`. With the gradients
in the scores, :math:`r_j = \partial \ell / \partial s_j`

.. math::
    \frac{\partial \ell}{\partial T_j} = r_j u_j, \qquad
    \frac{\partial \ell}{\partial H_l} = x_l \sum_j r_j T_j W_{lj}, \qquad
    \frac{\partial \ell}{\partial W_{lj}} = x_l H_l r_j T_j.

Only the items of the row and the few targets matter, so nothing of size n x n is ever written.
Gradients are added up in the block's own arrays; the caller sums blocks in a fixed order.

For :math:`W = A\,\mathrm{diag}(g) B^\top`, with
:math:`z = \sum_l x_l H_l A_l` and :math:`q = \sum_j r_j T_j B_j`,

.. math::
    u_j = (z \circ g) \cdot B_j, \qquad \frac{\partial \ell}{\partial g} = z \circ q, \qquad
    \frac{\partial \ell}{\partial H_l} = x_l\, A_l \cdot (g \circ q).

A pair costs (items of its row + targets) x rank twice, whatever the number of items.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from truerank.arrays import Float
from truerank.losses.bpr import mean_bpr_gradient
from truerank.models.learned_linear.draws import PairRule, UserRows, draw_input, draw_targets

FREE = {"reassoc", "contract", "nsz"}
"""Sums may be taken in the order of vector registers: always the same one, on one machine."""


class Columns(NamedTuple):
    """A sparse W in compressed columns."""

    indptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    values: NDArray[Any]


class Sums(NamedTuple):
    """Where a block adds up its gradients; an array of length 0 is not wanted."""

    head: Float
    tail: Float
    gain: Float


@njit(nogil=True, cache=True)
def longest_row(rows: UserRows, pairs: NDArray[np.int64]) -> int:
    """The longest row of these pairs."""
    longest = 0
    for pair in pairs:
        user = rows.user[pair]
        longest = max(longest, rows.indptr[user + 1] - rows.indptr[user])
    return longest


@njit(nogil=True, cache=True)
def _add(
    n: int,
    items: NDArray[np.int64],
    x: Float,
    targets: NDArray[np.int64],
    W: Float,
    head: Float,
    tail: Float,
    scale: float,
    gradient: Float,
    sums: Sums,
) -> float:
    """Loss and gradients of one pair from the entries ``W[a, j]`` of its items and targets."""
    inner = np.zeros(len(targets))
    for a in range(n):
        y = x[a] * head[items[a]]
        for j in range(len(targets)):
            inner[j] += y * W[a, j]
    loss = mean_bpr_gradient(inner * tail[targets], scale, gradient)
    if len(sums.head):
        for j in range(len(targets)):
            sums.tail[targets[j]] += gradient[j] * inner[j]
        for a in range(n):
            pulled = 0.0
            for j in range(len(targets)):
                pulled += gradient[j] * tail[targets[j]] * W[a, j]
            sums.head[items[a]] += x[a] * pulled
    return loss


@njit(nogil=True, cache=True)
def dense_block(
    rows: UserRows,
    rule: PairRule,
    key: np.uint64,
    pairs: NDArray[np.int64],
    W: NDArray[Any],
    head: Float,
    tail: Float,
    sums: Sums,
) -> float:
    """The sum of the losses of these pairs, for a dense W."""
    longest, n_targets = longest_row(rows, pairs), rule.n_negatives + 1
    items, x = np.empty(longest, np.int64), np.empty(longest)
    targets, gradient = np.empty(n_targets, np.int64), np.empty(n_targets)
    entries, loss = np.empty((longest, n_targets)), 0.0
    for pair in pairs:
        n = draw_input(rows, rule, key, pair, items, x)
        draw_targets(rows, key, pair, targets)
        for a in range(n):
            for j in range(n_targets):
                diagonal = rule.zero_diagonal and items[a] == targets[j]
                entries[a, j] = 0.0 if diagonal else W[items[a], targets[j]]
        loss += _add(n, items, x, targets, entries, head, tail, rule.scale, gradient, sums)
    return loss


@njit(nogil=True, cache=True)
def sparse_block(
    rows: UserRows,
    rule: PairRule,
    key: np.uint64,
    pairs: NDArray[np.int64],
    W: Columns,
    head: Float,
    tail: Float,
    entry: Float,
    sums: Sums,
    gradients: Float,
) -> float:
    """The same for a sparse W, each entry times its own ``entry``; keeps gradients in scores."""
    longest, n_targets = longest_row(rows, pairs), rule.n_negatives + 1
    items, x = np.empty(longest, np.int64), np.empty(longest)
    targets, entries = np.empty(n_targets, np.int64), np.empty((longest, n_targets))
    place = np.full(rows.n_items, -1)  # of an item in the input row, or -1
    loss = 0.0
    for p in range(len(pairs)):
        n = draw_input(rows, rule, key, pairs[p], items, x)
        draw_targets(rows, key, pairs[p], targets)
        entries[:n] = 0.0
        place[items[:n]] = np.arange(n)
        for j in range(n_targets):
            for at in range(W.indptr[targets[j]], W.indptr[targets[j] + 1]):
                a = place[W.rows[at]]
                if a >= 0:
                    entries[a, j] = W.values[at] * entry[at]
        place[items[:n]] = -1
        loss += _add(n, items, x, targets, entries, head, tail, rule.scale, gradients[p], sums)
    return loss


@njit(nogil=True, cache=True)
def sparse_entries(
    rows: UserRows,
    rule: PairRule,
    key: np.uint64,
    pairs: NDArray[np.int64],
    W: Columns,
    head: Float,
    tail: Float,
    gradients: Float,
    part: int,
    parts: int,
    grad: Float,
) -> None:
    """Gradients of the entries of every column with j = part (modulo parts).

    A column belongs to one part, so threads never meet and the order of the sums is settled.
    The rows are drawn again, which costs less than keeping them.
    """
    longest = longest_row(rows, pairs)
    items, x = np.empty(longest, np.int64), np.empty(longest)
    targets, value = np.empty(rule.n_negatives + 1, np.int64), np.zeros(rows.n_items)
    for p in range(len(pairs)):
        draw_targets(rows, key, pairs[p], targets)
        n = -1
        for j in range(len(targets)):
            if targets[j] % parts != part:
                continue
            if n < 0:
                n = draw_input(rows, rule, key, pairs[p], items, x)
                value[items[:n]] = x[:n] * head[items[:n]]
            weight = gradients[p, j] * tail[targets[j]]
            for at in range(W.indptr[targets[j]], W.indptr[targets[j] + 1]):
                y = value[W.rows[at]]
                if y != 0.0:
                    grad[at] += weight * y * W.values[at]
        if n > 0:
            value[items[:n]] = 0.0


@njit(nogil=True, cache=True, fastmath=FREE)
def low_rank_block(
    rows: UserRows,
    rule: PairRule,
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
    targets, gradient = np.empty(n_targets, np.int64), np.empty(n_targets)
    inner = np.empty(n_targets)
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
        loss += mean_bpr_gradient(inner * tail[targets], rule.scale, gradient)
        q[:] = 0
        for j in range(n_targets):
            weight, row = A.dtype.type(gradient[j] * tail[targets[j]]), B[targets[j]]
            for c in range(k):
                q[c] += weight * row[c]
        lost = own * gradient[0] * tail[targets[0]]
        if len(sums.gain):
            for c in range(k):
                sums.gain[c] += z[c] * q[c]
            if lost != 0.0:
                row, column = A[targets[0]], B[targets[0]]
                for c in range(k):
                    sums.gain[c] -= lost * head[targets[0]] * row[c] * column[c]
        if len(sums.head):
            for j in range(n_targets):
                sums.tail[targets[j]] += gradient[j] * inner[j]
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
