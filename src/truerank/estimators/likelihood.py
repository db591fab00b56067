r"""How likely a sampled rank is, given the global one.

A target of global rank :math:`R` among :math:`N` meets :math:`n - 1` rivals drawn uniformly:

.. math::
    r - 1 \mid R \sim \mathrm{Binomial}\!\left(n - 1, \tfrac{R-1}{N-1}\right)
    \quad\text{with,}\qquad
    r - 1 \mid R \sim \mathrm{Hypergeometric}(N - 1, R - 1, n - 1)
    \quad\text{without replacement.}

The stopping rule of an adaptive sample, and random dropping that depends only on what was seen,
multiply every column by the same number, so they cancel in any posterior.

**A bin of ranks** needs no sum over its ranks. Without replacement, :math:`P(r \mid R)` times
:math:`n / N` is the probability that the r-th best of a sample of n has rank R, so

.. math::
    \sum_{R=a}^{b} P(r \mid R)
        = \frac Nn \bigl( P(X_b \ge r) - P(X_{a-1} \ge r) \bigr),
    \qquad X_b \sim \mathrm{Hypergeometric}(N, b, n),

where :math:`X_b` counts the sampled candidates among the b best: exact. With replacement the
integral of the binomial over :math:`a - \tfrac12 .. b + \tfrac12` is the same with
:math:`X_b \sim \mathrm{Binomial}(n, \theta)`, :math:`\theta = (b - \tfrac12) / (N - 1)`, and
:math:`(N - 1) / n` in front; from the integral to the sum it is one term of Euler and Maclaurin,
:math:`-\tfrac1{24} \bigl(f'(b + \tfrac12) - f'(a - \tfrac12)\bigr)`. What that leaves is below
:math:`10^{-5} (n / N)^{3/2}` of the largest probability of a rank of the bin. The first and the
last ranks, where the binomial changes from rank to rank, are summed one by one: it has no
:math:`\theta` below 0 or above 1, where their integral would begin or end.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from truerank.arrays import Float, Int
from truerank.estimators.grid import RankGrid
from truerank.ranking.counts import RankCounts

_TINY = 1e-22
"""A probability below this share of the largest is none."""

END_RANKS = 128
"""Ranks at either end of the catalogue that are summed one by one with replacement."""


def likelihood_matrix(cells: RankCounts, grid: RankGrid) -> Float:
    """P(cell | bin), averaged over the ranks of each bin: shape ``(len(cells), len(grid))``.

    Memory: 8 bytes per cell and bin, and 64 per candidate of the largest sample. Work: for each
    distinct (n_sampled, n_items) and bin, a recurrence over the sampled ranks likely at all.
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
    _fill(A, slot, grid.edges, n, n_items, replacement)


@njit(nogil=True, cache=True)
def _fill(A: Float, slot: Int, edges: Int, n: int, n_items: int, replacement: bool) -> None:
    """Sum P(r | R) over the ranks of each bin and divide by their number.

    ``slot[r]`` is the row of A for the sampled rank r, or -1. A bin may reach beyond n_items,
    the candidates of these rows: ranks there are impossible for them.
    """
    distribution = np.zeros(n)
    low, high = np.zeros((3, n + 1)), np.zeros((3, n + 1))  # of X at the two ends of a bin
    for j in range(len(edges) - 1):
        first, last = edges[j], min(edges[j + 1] - 1, n_items)
        if first > last:
            return
        share = 1.0 / (edges[j + 1] - edges[j])
        start, stop = first, last  # these ranks by the closed form, the others one by one
        if replacement:
            start, stop = max(first, END_RANKS + 1), min(last, n_items - END_RANKS)
        if first == last or start > stop:
            _add_ranks(A, j, slot, distribution, share, first, last, n, n_items, replacement)
            continue
        _add_ranks(A, j, slot, distribution, share, first, start - 1, n, n_items, replacement)
        a = _tails(low, start - 1, n, n_items, replacement)
        b = _tails(high, stop, n, n_items, replacement)
        for r in range(max(1, a[0]), b[1] + 1):
            if slot[r] >= 0:
                A[slot[r], j] += share * _bin_sum(
                    r, low, a, high, b, start, stop, n, n_items, replacement
                )
        _add_ranks(A, j, slot, distribution, share, stop + 1, last, n, n_items, replacement)


@njit(nogil=True, cache=True)
def _add_ranks(
    A: Float,
    j: int,
    slot: Int,
    distribution: Float,
    share: float,
    first: int,
    last: int,
    n: int,
    n_items: int,
    replacement: bool,
) -> None:
    """Add ``share`` of P(r | R) to column j for R = first..last, one by one."""
    for R in range(first, last + 1):
        if replacement:
            ends = _binomial(distribution, n - 1, (R - 1.0) / (n_items - 1.0))
        else:
            ends = _hypergeometric(distribution, n_items - 1, R - 1, n - 1)
        for x in range(ends[0], ends[1] + 1):
            if slot[x + 1] >= 0:
                A[slot[x + 1], j] += share * distribution[x]


@njit(nogil=True, cache=True)
def _bin_sum(
    r: int,
    low: Float,
    a: tuple[int, int],
    high: Float,
    b: tuple[int, int],
    first: int,
    last: int,
    n: int,
    n_items: int,
    replacement: bool,
) -> float:
    """The sum of P(r | R) over R = first..last, from the distributions of X at both ends."""
    # The smaller tails are subtracted: what is near 1 has lost its digits.
    if _at(high, 1, b, r) <= 0.5:
        mass = _at(high, 1, b, r) - _at(low, 1, a, r)
    else:
        mass = _at(low, 2, a, r) - _at(high, 2, b, r)
    if not replacement:
        return max(mass, 0.0) * n_items / n
    total = mass * (n_items - 1.0) / n
    total -= (
        _derivative(high, b, r, last, n, n_items) - _derivative(low, a, r, first - 1, n, n_items)
    ) / 24
    return max(total, 0.0)


@njit(nogil=True, cache=True)
def _tails(
    distribution: Float, rank: int, n: int, n_items: int, replacement: bool
) -> tuple[int, int]:
    """Probabilities of X, and of X >= x and X < x, in the three rows of ``distribution``; its ends.

    X counts the candidates of a sample of n, the target included, among the ``rank`` best.
    """
    if replacement:
        first, last = _binomial(distribution[0], n, (rank - 0.5) / (n_items - 1.0))
    else:
        first, last = _hypergeometric(distribution[0], n_items, rank, n)
    total = 0.0
    for x in range(last, first - 1, -1):
        total += distribution[0, x]
        distribution[1, x] = total
    total = 0.0
    for x in range(first, last + 1):
        distribution[2, x] = total
        total += distribution[0, x]
    return first, last


@njit(nogil=True, cache=True)
def _at(distribution: Float, row: int, ends: tuple[int, int], x: int) -> float:
    """P(X >= x) or P(X < x), also where X is never."""
    if x < ends[0]:
        return 1.0 if row == 1 else 0.0
    if x > ends[1]:
        return 0.0 if row == 1 else 1.0
    return float(distribution[row, x])


@njit(nogil=True, cache=True)
def _derivative(
    distribution: Float, ends: tuple[int, int], r: int, rank: int, n: int, n_items: int
) -> float:
    """The derivative of P(r | R) in R at rank + 1/2, from Binomial(n, theta) at r."""
    if r < ends[0] or r > ends[1]:
        return 0.0
    theta = (rank - 0.5) / (n_items - 1.0)
    p = distribution[0, r] * r / (n * theta)
    return float(p * (r - 1.0 - (n - 1.0) * theta) / (theta * (1.0 - theta) * (n_items - 1.0)))


@njit(nogil=True, cache=True)
def _hypergeometric(p: Float, total: int, good: int, drawn: int) -> tuple[int, int]:
    """How many of ``drawn`` out of ``total`` are among ``good``: fills p from its first to last."""
    least, most = max(0, drawn - (total - good)), min(drawn, good)
    mode = int((drawn + 1.0) * (good + 1.0) / (total + 2.0))
    mode = min(max(mode, least), most)
    p[mode] = 1.0
    first, last = mode, mode
    while last < most:
        x = last
        up = (good - x) / (x + 1.0) * ((drawn - x) / (total - good - drawn + x + 1.0))
        if p[x] * up < _TINY:
            break
        last += 1
        p[last] = p[x] * up
    while first > least:
        x = first - 1
        up = (good - x) / (x + 1.0) * ((drawn - x) / (total - good - drawn + x + 1.0))
        if p[first] < _TINY * up:
            break
        p[x] = p[first] / up
        first = x
    _normalise(p, first, last)
    return first, last


@njit(nogil=True, cache=True)
def _binomial(p: Float, trials: int, theta: float) -> tuple[int, int]:
    """Successes in ``trials``: fills p from its first to its last."""
    if theta <= 0.0 or theta >= 1.0:
        only = 0 if theta <= 0.0 else trials
        p[only] = 1.0
        return only, only
    mode = min(max(int((trials + 1.0) * theta), 0), trials)
    odds = theta / (1.0 - theta)
    p[mode] = 1.0
    first, last = mode, mode
    while last < trials:
        up = (trials - last) / (last + 1.0) * odds
        if p[last] * up < _TINY:
            break
        p[last + 1] = p[last] * up
        last += 1
    while first > 0:
        up = (trials - first + 1.0) / first * odds
        if p[first] < _TINY * up:
            break
        p[first - 1] = p[first] / up
        first -= 1
    _normalise(p, first, last)
    return first, last


@njit(nogil=True, cache=True)
def _normalise(p: Float, first: int, last: int) -> None:
    """The probabilities that are left, so that they sum to one."""
    total = 0.0
    for x in range(first, last + 1):
        total += p[x]
    for x in range(first, last + 1):
        p[x] /= total
