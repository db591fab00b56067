r"""What the samples alone say about a metric: its smallest and its largest possible value.

Many distributions of global ranks explain the same sampled ranks. Over *all* distributions
:math:`\pi` on the grid that are compatible with what was counted, a metric
:math:`\sum_j \pi_j F_j` ranges over an interval, whose ends are two linear programmes:

.. math::
    \min_\pi, \max_\pi \; \sum_j \pi_j F_j \quad\text{subject to}\quad
    l_s \le \sum_j \pi_j P(s \mid j) \le u_s \;\text{ for each set } s,\quad
    \sum_j \pi_j = 1,\; \pi \ge 0 .

**Sets.** Cells :math:`(r, n)` are laid out from the best (largest sample, rank 1) to the worst
and cut into runs: ranks 1, 2, 3, 4 and then half as many again; finer for exact ranks, coarser
at later levels of an adaptive sample. Each run is a set, and so is each beginning of the layout
(all runs up to here). Beginnings alone gave bounds a tenth wider on real models, and finer cuts
did not pay for the confidence they cost. The cuts depend on the design, never on the counts.

**Bands.** The number of rows in a set is binomial (M, P(s)); :math:`[l_s, u_s]` is its
Clopper-Pearson interval at :math:`1 - \alpha/m`, where m is the number of sets. By Bonferroni all
m hold together with probability at least :math:`1 - \alpha`, for any M, and then the bounds hold
for *every* metric at once. Where rows differ (in their number of candidates, or because users are
regarded as fixed instead of drawn) the count is a sum of unequal Bernoullis, whose tails are
lighter than those of the binomial with the same mean [hoeffding1956]_, so the bands still hold.
Weighted rows count as :math:`(\sum w)^2 / \sum w^2` rows, which is an approximation.

**Stopping.** With a known design, P(s) includes the stopping rule
(:mod:`truerank.estimators.paths`). Without one, sizes are taken as assigned whatever the outcome,
and bands hold within each size; more than a dozen sizes share bands with their neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, special

from truerank.errors import InvalidArgumentError, InvalidDataError, TruerankError
from truerank.estimators.grid import RankGrid
from truerank.estimators.likelihood import fill_likelihood
from truerank.estimators.paths import capped, reached, stopping
from truerank.estimators.problem import Problem
from truerank.metrics import Metric
from truerank.ranking.designs import Levels

Float = NDArray[np.float64]
Int = NDArray[np.int64]

SINGLE_RANKS, GROWTH = 4, 1.5
"""Cuts of sampled ranks: one by one up to here, then by this factor."""

SINGLE_EXACT, EXACT_GROWTH = 50, 1.2
"""Cuts of exact ranks."""

MOST_BLOCKS = 12
"""Foreign tables: sizes with bands of their own; more are pooled into neighbours."""

MOST_STRATA = 256
"""Distinct (n, N) whose likelihood is computed; more are pooled, r - 1 scaled along."""

_SMALL_PATH = 0.2  # later levels: ranks that less often end there are one run
_NO_PATH = 1e-13
_CHUNK = 4096
_CLEAN = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class CompatibleSet:
    """All rank distributions that the counts allow at a confidence level.

    Memory: 16 bytes per set and bin, about 1 MB.

    Attributes:
        grid: Bins of ranks.
        P: P(set | bin), shape ``(m, len(grid))``.
        low: Smallest P(set) allowed.
        high: Largest.
        level: Confidence that all bands hold.
        slack: 0 if some distribution keeps all bands; else how far, in their widths, all bands
            were moved outwards: one per cent further than until the first one does.
    """

    grid: RankGrid
    P: Float
    low: Float
    high: Float
    level: float
    slack: float = 0.0

    def bounds(self, metrics: Sequence[Metric]) -> list[tuple[float, float]]:
        """Smallest and largest value of each metric."""
        return [self.range_of(self.grid.metric_values(metric)) for metric in metrics]

    def range_of(self, F: Float) -> tuple[float, float]:
        """Smallest and largest sum of pi F over the set."""
        scale = float(np.abs(F).max(initial=0.0))
        if scale == 0.0:
            return 0.0, 0.0
        outwards = self.slack * (self.high - self.low)
        ends = []
        for sign in (1.0, -1.0):
            least = _minimum(sign * F / scale, self.P, self.low - outwards, self.high + outwards)
            if least is None:
                raise _failure("no distribution is compatible, though one was found before")
            ends.append(min(max(sign * least * scale, float(F.min())), float(F.max())))
        return min(ends), max(ends)

    @property
    def note(self) -> str:
        """A sentence if the counts contradict the model, else nothing."""
        if self.slack == 0.0:
            return ""
        return (
            f"no distribution of global ranks explains these sampled ranks at {self.level:.0%} "
            f"confidence: the bands had to be widened by {self.slack:.2g} of their width; check "
            "that rivals were drawn uniformly, and the table's n_items, replacement and design"
        )


def identification_bounds(
    problem: Problem,
    metrics: Sequence[Metric],
    shares: Float,
    *,
    level: float = 0.95,
    levels: Levels | None = None,
    n_effective: float | None = None,
) -> list[tuple[float, float]]:
    """Smallest and largest value of each metric over all compatible rank distributions.

    A shorthand; :func:`compatible_set` also tells whether anything is compatible at all.
    """
    found = compatible_set(problem, shares, level=level, levels=levels, n_effective=n_effective)
    return found.bounds(metrics)


def compatible_set(
    problem: Problem,
    shares: Float,
    *,
    level: float = 0.95,
    levels: Levels | None = None,
    n_effective: float | None = None,
) -> CompatibleSet:
    """The distributions that these shares of cells allow.

    Args:
        problem: Cells and grid.
        shares: Parts of one, one for each cell.
        level: Confidence that the truth is in the set.
        levels: The design's levels for the largest number of candidates, e.g.
            ``Adaptive().levels(n_items)``; None if unknown or if nobody stops early.
        n_effective: Rows that the shares are worth; ``problem.n_rows`` if not given.
    """
    if not 0.0 < level < 1.0:
        raise InvalidArgumentError("level", level, "between 0 and 1")
    n_rows = float(problem.n_rows if n_effective is None else n_effective)
    if not n_rows > 0:
        raise InvalidArgumentError("n_effective", n_effective, "positive")
    blocks = _foreign(problem, shares) if levels is None else [_designed(problem, shares, levels)]
    rows, counts, totals = [], [], []
    for block in blocks:
        P, seen = _sets(block, problem)
        rows.append(P)
        counts.append(seen * n_rows)
        totals.append(np.full(len(P), block.share * n_rows))
    P = np.concatenate(rows)
    low, high = clopper_pearson(
        np.concatenate(counts), np.concatenate(totals), (1.0 - level) / len(P)
    )
    slack = _least_slack(P, low, high)
    return CompatibleSet(problem.grid, P, low, high, level, slack)


def clopper_pearson(counts: Float, totals: Float, alpha: float) -> tuple[Float, Float]:
    """Two-sided intervals for binomial probabilities; counts may be fractions (weights)."""
    k = np.clip(counts, 0.0, totals)
    rest = totals - k
    none, all_ = k < 1e-9, rest < 1e-9
    low = special.betaincinv(np.maximum(k, 1e-9), rest + 1.0, alpha / 2.0)
    high = special.betaincinv(k + 1.0, np.maximum(rest, 1e-9), 1.0 - alpha / 2.0)
    return np.where(none, 0.0, low), np.where(all_, 1.0, high)


@dataclass(frozen=True, slots=True, eq=False)
class _Stratum:
    """Rows of one number of candidates and one schedule of sizes."""

    n_items: int
    levels: Levels
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Rows whose counts are one multinomial: cells belong to a level, ranks are cut alike."""

    strata: list[_Stratum]
    share: float
    level: Int  # of each observed cell
    rank: Int
    seen: Float

    @property
    def depth(self) -> int:
        return max(len(stratum.levels.sizes) for stratum in self.strata)


def _designed(problem: Problem, shares: Float, levels: Levels) -> _Block:
    """Everything is one block; numbers of candidates are pooled to few strata."""
    cells = problem.cells
    group, n_items = _pool(cells.n_items, shares, MOST_STRATA // 8)
    strata, level = [], np.empty(len(cells), dtype=np.int64)
    for g, size in enumerate(n_items):
        own = capped(levels, int(size), replacement=cells.replacement)
        inside = np.flatnonzero(group == g)
        n = cells.n_sampled[inside]
        # A row that holds all its candidates ended at the last level, whatever their number.
        at = np.where(n >= cells.n_items[inside], len(own.sizes) - 1, np.searchsorted(own.sizes, n))
        at = np.minimum(at, len(own.sizes) - 1)
        level[inside] = at
        odd = (own.sizes[at] != n) & (at < len(own.sizes) - 1)
        if odd.any():
            raise InvalidDataError(
                f"a row has sample size {int(n[odd][0])}, where the design cannot end (its sizes: "
                f"{', '.join(map(str, own.sizes))}); pass the design of this table, or none"
            )
        strata.append(_Stratum(int(size), own, float(shares[inside].sum())))
    return _Block(strata, 1.0, level, cells.rank, shares)


def _foreign(problem: Problem, shares: Float) -> list[_Block]:
    """A block for each size, neighbouring ones pooled; exact rows are a block of their own."""
    cells = problem.cells
    exact = cells.n_sampled >= cells.n_items
    blocks = []
    if shares[exact].sum() > 0:
        at, n_items = np.flatnonzero(exact), problem.grid.n_items
        blocks.append(_one_level(problem, shares, at, np.zeros(len(at), np.int64), [n_items]))
    at = np.flatnonzero(~exact & (shares > 0))
    if len(at) == 0:
        return blocks
    block, _ = _pool(cells.n_sampled[at], shares[at], MOST_BLOCKS)
    most = max(1, MOST_STRATA // (int(block.max()) + 1))
    for b in range(int(block.max()) + 1):
        own = at[block == b]
        stratum, sizes = _pool(cells.n_sampled[own], shares[own], most)
        blocks.append(_one_level(problem, shares, own, stratum, sizes.tolist()))
    return blocks


def _one_level(problem: Problem, shares: Float, at: Int, stratum: Int, sizes: list[int]) -> _Block:
    """Cells at hand, each in a stratum of the given size: r - 1 is scaled to that size."""
    cells, strata = problem.cells, []
    total = float(shares[at].sum())
    rank = cells.rank[at].copy()
    for s, n in enumerate(sizes):
        inside = stratum == s
        own = at[inside]
        part = float(shares[own].sum())
        exact = bool((cells.n_sampled[own] >= cells.n_items[own]).all())
        n_items = n if exact else max(n + 1, round(_mean(cells.n_items[own], shares[own])))
        if not exact:
            scale = (n - 1) / np.maximum(cells.n_sampled[own] - 1, 1)
            rank[inside] = 1 + np.rint((rank[inside] - 1) * scale).astype(np.int64)
        only = Levels(np.array([n]), np.array([0]), np.array([1.0]))
        strata.append(_Stratum(n_items, only, part / total))
    return _Block(strata, total, np.zeros(len(at), np.int64), rank, shares[at])


def _pool(sizes: Int, weight: Float, most: int) -> tuple[Int, Int]:
    """Group of each size and the mean size of each group; at most ``most`` groups, geometric."""
    distinct, index = np.unique(sizes, return_inverse=True)
    if len(distinct) > most:
        span = np.log(distinct / distinct[0]) / np.log((distinct[-1] + 1) / distinct[0])
        _, merged = np.unique((span * most).astype(np.int64), return_inverse=True)
        index = merged[index]
    group = np.bincount(index, weights=weight) + 1e-300
    mean = np.bincount(index, weights=weight * sizes + 1e-300 * sizes) / group
    return index, np.rint(mean).astype(np.int64)


def _mean(sizes: Int, weight: Float) -> float:
    return float(sizes @ weight / weight.sum())


def _sets(block: _Block, problem: Problem) -> tuple[Float, Float]:
    """P(set | bin) of a block's sets, and their shares of all rows: runs, then beginnings."""
    fine = block.depth == 1 and all(s.levels.sizes[0] >= s.n_items for s in block.strata)
    runs, seen = [], []
    for level in reversed(range(block.depth)):
        strata = [s for s in block.strata if level < len(s.levels.sizes)]
        cuts = _cuts(max(_reach(s.levels, level, _SMALL_PATH) for s in strata), fine=fine)
        P = np.zeros((len(cuts) + 1, len(problem.grid)))
        for stratum in strata:
            P += stratum.share * _runs(
                stratum, level, cuts, problem.grid, problem.cells.replacement
            )
        here = block.level == level
        run = np.searchsorted(cuts, block.rank[here], side="left")
        runs.append(P)
        seen.append(np.bincount(run, weights=block.seen[here], minlength=len(cuts) + 1))
    P, count = np.concatenate(runs), np.concatenate(seen)
    possible = (P.max(axis=1) > 0) | (count > 0)
    P, count = P[possible], count[possible]
    if len(P) == 1:  # a sample of one: certain, and says nothing
        return P, count
    begin_P, begin_count = np.cumsum(P, axis=0), np.cumsum(count)
    if fine or len(P) == 2:  # exact ranks: beginnings pin every metric, runs would cost confidence
        return begin_P[:-1], begin_count[:-1]
    return np.concatenate([P, begin_P[1:-2]]), np.concatenate([count, begin_count[1:-2]])


def _cuts(reach: int, *, fine: bool) -> Int:
    """Last ranks of the runs; what lies beyond is one more run."""
    single, growth = (SINGLE_EXACT, EXACT_GROWTH) if fine else (SINGLE_RANKS, GROWTH)
    cuts = list(range(1, min(single, reach) + 1))
    while cuts[-1] * growth < reach:
        cuts.append(int(cuts[-1] * growth))
    return np.array(cuts, dtype=np.int64)


def _reach(levels: Levels, level: int, small: float) -> int:
    """Largest rank that gets here with more than a small probability, which falls with rank."""
    low, high = 1, int(levels.sizes[level])
    while low < high:
        middle = (low + high + 1) // 2
        if reached(levels, level, np.array([middle - 1]))[0] > small:
            low = middle
        else:
            high = middle - 1
    return low


def _runs(stratum: _Stratum, level: int, cuts: Int, grid: RankGrid, replacement: bool) -> Float:
    """P(the row ends at this level, in this run of ranks | bin)."""
    levels, n_items = stratum.levels, stratum.n_items
    n = int(levels.sizes[level])
    P: Float = np.zeros((len(cuts) + 1, len(grid)))
    if level == 0 and n >= n_items:  # exact, and nobody left before
        ends = np.append(cuts, grid.n_items)[:, None] + 1
        below = np.clip(ends - grid.edges[:-1], 0, grid.widths) / grid.widths
        return np.diff(below, axis=0, prepend=0.0)
    if level == 0:  # whoever ends here does so for sure, but for one rank that may go on
        last = max(int(levels.go_on[0]), 1)
        ranks = np.arange(last, n + 1)
        run, stops = np.searchsorted(cuts, ranks, side="left"), stopping(levels, 0, ranks[:1])[0]
        A = np.zeros((1 + len(P), len(grid)))
        rows = np.where(ranks == last, len(P), run)
        fill_likelihood(A, rows, ranks, n, n_items, grid, replacement)
        A[run[0]] += stops * A[-1]
        return A[:-1]
    for start in range(1, _reach(levels, level, _NO_PATH) + 1, _CHUNK):
        ranks = np.arange(start, min(start + _CHUNK, n + 1))
        run, path = np.searchsorted(cuts, ranks, side="left"), stopping(levels, level, ranks)
        some = np.flatnonzero(path > _NO_PATH)
        A = np.zeros((len(some), len(grid)))
        fill_likelihood(A, np.arange(len(some)), ranks[some], n, n_items, grid, replacement)
        np.add.at(P, run[some], A * path[some, None])
    return P


def _least_slack(P: Float, low: Float, high: Float) -> float:
    """0 if a distribution keeps all bands; else how many widths they must move outwards."""
    free = np.zeros(P.shape[1])
    if _minimum(free, P, low, high) is not None:
        return 0.0
    # One column more, without probability: how many widths all bands move outwards.
    width = high - low
    inwards = np.concatenate([P / width[:, None], -P / width[:, None]])
    found = optimize.linprog(
        np.append(free, 1.0),
        A_ub=np.hstack([inwards, -np.ones((len(inwards), 1))]),
        b_ub=np.concatenate([high / width, -low / width]),
        A_eq=np.append(free + 1.0, 0.0)[None, :],
        b_eq=[1.0],
        method="highs",
    )
    if found.fun is None:  # far enough outwards there is always one
        raise _failure(found.message)
    # At the very least only one distribution is left, which no solver hits: one per cent more.
    return 1.01 * float(found.fun) + 1e-3


def _minimum(F: Float, P: Float, low: Float, high: Float) -> float | None:
    """The least sum of pi F subject to the bands; None if no pi is found that keeps them.

    Each set has a column for its place s in its band, P pi - (high - low) s = low, 0 <= s <= 1:
    half as many rows as with two inequalities, and about twice as fast. Rows are divided by the
    band's width, so the solver's tolerance (1e-7) is a part of a width.
    """
    m, width = len(low), high - low
    rows = np.where(_CLEAN * P.max(axis=1, keepdims=True) > P, 0.0, P) / width[:, None]
    matrix: Any = sparse.csc_array(
        np.block([[rows, -np.eye(m)], [np.ones((1, len(F))), np.zeros((1, m))]])
    )
    for method in ("highs-ds", "highs-ipm"):
        found = optimize.linprog(
            np.concatenate([F, np.zeros(m)]),
            A_eq=matrix,
            b_eq=np.append(low / width, 1.0),
            bounds=(0.0, 1.0),
            method=method,
        )
        if found.fun is not None:
            return float(found.fun)
        if found.status == 2:
            return None
    return None  # neither way: far from feasible, simplex may cycle


def _failure(message: str) -> TruerankError:
    return InvalidDataError(
        f"the linear programme of the identification bounds failed ({message}); "
        "please report it with the table"
    )
