r"""How likely a sampled rank is, given the global one.

A target of global rank :math:`R` among :math:`N` meets :math:`n - 1` rivals drawn uniformly:

.. math::
    r - 1 \mid R \sim \mathrm{Binomial}\!\left(n - 1, \tfrac{R-1}{N-1}\right)
    \quad\text{with,}\qquad
    r - 1 \mid R \sim \mathrm{Hypergeometric}(N - 1, R - 1, n - 1)
    \quad\text{without replacement.}

The stopping rule of an adaptive sample, and random dropping that depends only on what was seen,
multiply every column by the same number, so they cancel in any posterior.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from truerank.estimators.cells import Cells
from truerank.estimators.grid import RankGrid

Float = NDArray[np.float64]
Int = NDArray[np.int64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)
_TINY = 1e-18

SUM_EVERY_RANK = 12_000
"""Catalogues this small need no quadrature: every rank of a bin is summed."""


def likelihood_matrix(cells: Cells, grid: RankGrid) -> Float:
    """P(cell | bin), averaged over the ranks of each bin: shape ``(len(cells), len(grid))``.

    Memory: 8 bytes per cell and bin. Work: a recurrence over the ranks that are likely at all,
    for each distinct (n_sampled, n_items).
    """
    A = np.zeros((len(cells), len(grid)))
    rows = np.arange(len(cells))
    for n, n_items, run in cells.sizes():
        fill_likelihood(A, rows[run], cells.rank[run], n, n_items, grid, cells.replacement)
    return A


def rank_likelihood(n: int, grid: RankGrid, *, replacement: bool) -> Float:
    """P(r | bin) for every r of a fixed sample size: shape ``(n, len(grid))``, columns sum to 1."""
    A = np.zeros((n, len(grid)))
    ranks = np.arange(1, n + 1)
    fill_likelihood(A, ranks - 1, ranks, n, grid.n_items, grid, replacement)
    return A


def fill_likelihood(
    A: Float, rows: Int, ranks: Int, n: int, n_items: int, grid: RankGrid, replacement: bool
) -> None:
    """Fill the rows of A that have sample size n among n_items, for the given sampled ranks."""
    if n >= n_items:  # an exact rank: certain in its own bin
        bins = np.searchsorted(grid.edges, ranks, side="right") - 1
        A[rows, bins] = 1.0 / grid.widths[bins]
        return
    slot = np.full(n + 1, -1, dtype=np.int64)
    slot[ranks] = rows
    _fill(A, slot, grid.edges, n, n_items, replacement, _NODES, _WEIGHTS)


@njit(nogil=True, cache=True)
def _fill(
    A: Float,
    slot: Int,
    edges: Int,
    n: int,
    n_items: int,
    replacement: bool,
    nodes: Float,
    weights: Float,
) -> None:
    """Integrate P(r | R) over each bin.

    A bin of at most 4 ranks, or any bin of a small catalogue, is summed. A wider one is cut
    into panels no wider than twice the spread of R at this n, with Gauss-Legendre nodes in each.
    Ranks above n_items are impossible for these rows.
    """
    for j in range(len(edges) - 1):
        first, last = edges[j], min(edges[j + 1] - 1, n_items)
        width, whole = last - first + 1, edges[j + 1] - edges[j]
        if width <= 0:
            return
        if width <= 4 or n_items <= SUM_EVERY_RANK:
            for R in range(first, last + 1):
                _accumulate(A, slot, np.float64(R), 1.0 / whole, j, n, n_items, replacement)
            continue
        theta = min(max((first - 1) / (n_items - 1), 1.0 / n), 1.0 - 1.0 / n)
        spread = n_items * math.sqrt(theta * (1.0 - theta) / n)
        panels = min(64, max(1, math.ceil(width / (2.0 * spread))))
        half = 0.5 * width / panels
        for panel in range(panels):
            middle = first - 0.5 + (2 * panel + 1) * half
            for k in range(len(nodes)):
                weight = weights[k] * half / whole
                _accumulate(A, slot, middle + half * nodes[k], weight, j, n, n_items, replacement)


@njit(nogil=True, cache=True)
def _accumulate(
    A: Float,
    slot: Int,
    R: float,
    weight: float,
    column: int,
    n: int,
    n_items: int,
    replacement: bool,
) -> None:
    """Add weight * P(r | R) for every r that is likely at all, outwards from the likeliest."""
    theta = min(max((R - 1.0) / (n_items - 1.0), 0.0), 1.0)
    mode = min(max(int(n * theta), 0), n - 1)  # of r - 1
    if not replacement:
        # Within the support: at most R - 1 rivals are better, at most N - R are worse.
        mode = min(mode, int(R - 1.0 + 1e-9))
        mode = max(mode, math.ceil(n - 1 - (n_items - R) - 1e-9))
    start = math.exp(_log_pmf(mode, R, n, n_items, replacement, theta))
    p, x = start, mode
    while p > _TINY:
        if slot[x + 1] >= 0:
            A[slot[x + 1], column] += weight * p
        if x == n - 1:
            break
        p *= _step(x, R, n, n_items, replacement, theta)
        x += 1
    p, x = start, mode
    while x > 0:
        back = _step(x - 1, R, n, n_items, replacement, theta)
        if back <= 0.0:
            break
        p /= back
        x -= 1
        if p <= _TINY:
            break
        if slot[x + 1] >= 0:
            A[slot[x + 1], column] += weight * p


@njit(nogil=True, cache=True)
def _step(x: int, R: float, n: int, n_items: int, replacement: bool, theta: float) -> float:
    """P(x + 1) / P(x) where x = r - 1; 0 outside the support."""
    if replacement:
        if theta >= 1.0:
            return np.inf
        return (n - 1.0 - x) / (x + 1.0) * theta / (1.0 - theta)
    better = R - 1.0 - x
    worse = n_items - R - (n - 1.0 - x) + 1.0
    if better <= 1e-9:
        return 0.0
    if worse <= 1e-9:
        return np.inf
    return better / (x + 1.0) * (n - 1.0 - x) / worse


@njit(nogil=True, cache=True)
def _log_pmf(x: int, R: float, n: int, n_items: int, replacement: bool, theta: float) -> float:
    if replacement:
        if theta <= 0.0:
            return 0.0 if x == 0 else -np.inf
        if theta >= 1.0:
            return 0.0 if x == n - 1 else -np.inf
        return _log_choose(n - 1.0, x) + x * math.log(theta) + (n - 1 - x) * math.log1p(-theta)
    return (
        _log_choose(R - 1.0, x)
        + _log_choose(n_items - R, n - 1.0 - x)
        - _log_choose(n_items - 1.0, n - 1.0)
    )


@njit(nogil=True, cache=True)
def _log_choose(a: float, b: float) -> float:
    """Log C(a, b) for real a >= b - 1e-9; differences of lgamma cancel badly for huge a."""
    if b <= 0.0:
        return 0.0
    if a - b < 1e-9:
        return 0.0
    if a > 1e6 and b < 1e5:
        # log of a (a - 1) ... (a - b + 1) / b!, by Stirling with the difference in closed form.
        c = a - b
        log_falling = b * math.log(a) - (c + 0.5) * math.log1p(-b / a) - b
        log_falling += (1.0 / (12.0 * a)) - (1.0 / (12.0 * c))
        return log_falling - math.lgamma(b + 1.0)
    return math.lgamma(a + 1.0) - math.lgamma(b + 1.0) - math.lgamma(a - b + 1.0)
