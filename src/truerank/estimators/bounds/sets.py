"""The sets of cells whose shares :mod:`.bounds` holds within bands, and P(set | bin).

Cells (r, n) are laid out from the best (largest sample, rank 1) to the worst and cut into runs;
the sets are the runs and the beginnings of the layout. The cuts depend on the design only.
"""

from __future__ import annotations

import numpy as np

from truerank.arrays import Float, Int
from truerank.estimators.bounds.blocks import Block, Stratum
from truerank.estimators.bounds.paths import reached, stopping
from truerank.estimators.grid import RankGrid
from truerank.estimators.likelihood import fill_likelihood
from truerank.estimators.problem import Problem
from truerank.ranking.stages import Stages

SINGLE_RANKS, GROWTH = 4, 1.5
"""Cuts of sampled ranks: one by one up to here, then by this factor."""

SINGLE_EXACT, EXACT_GROWTH = 50, 1.2
"""Cuts of exact ranks."""

_SMALL_PATH = 0.2  # later stages: ranks that less often end there are one run
_NO_PATH = 1e-13
_CHUNK = 4096


def sets_of(block: Block, problem: Problem) -> tuple[Float, Float]:
    """P(set | bin) of a block's sets, and their shares of all rows: runs, then beginnings."""
    fine = block.depth == 1 and all(s.stages.sizes[0] >= s.n_items for s in block.strata)
    runs, seen = [], []
    for stage in reversed(range(block.depth)):
        strata = [s for s in block.strata if stage < len(s.stages.sizes)]
        cuts = _cuts(max(_reach(s.stages, stage, _SMALL_PATH) for s in strata), fine=fine)
        P = np.zeros((len(cuts) + 1, len(problem.grid)))
        for stratum in strata:
            P += stratum.share * _runs(
                stratum, stage, cuts, problem.grid, problem.cells.replacement
            )
        here = block.stage == stage
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


def _reach(stages: Stages, stage: int, small: float) -> int:
    """Largest rank that gets here with more than a small probability, which falls with rank."""
    low, high = 1, int(stages.sizes[stage])
    while low < high:
        middle = (low + high + 1) // 2
        if reached(stages, stage, np.array([middle - 1]))[0] > small:
            low = middle
        else:
            high = middle - 1
    return low


def _runs(stratum: Stratum, stage: int, cuts: Int, grid: RankGrid, replacement: bool) -> Float:
    """P(the row ends at this stage, in this run of ranks | bin)."""
    stages, n_items = stratum.stages, stratum.n_items
    n = int(stages.sizes[stage])
    P: Float = np.zeros((len(cuts) + 1, len(grid)))
    if stage == 0 and n >= n_items:  # exact, and nobody left before
        ends = np.append(cuts, grid.n_items)[:, None] + 1
        below = np.clip(ends - grid.edges[:-1], 0, grid.widths) / grid.widths
        return np.diff(below, axis=0, prepend=0.0)
    if stage == 0:  # whoever ends here does so for sure, but for one rank that may go on
        last = max(int(stages.max_rank[0]), 1)
        if last > n:  # the budget takes everybody on
            return P
        ranks = np.arange(last, n + 1)
        run, stops = np.searchsorted(cuts, ranks, side="left"), stopping(stages, 0, ranks[:1])[0]
        A = np.zeros((1 + len(P), len(grid)))
        rows = np.where(ranks == last, len(P), run)
        fill_likelihood(A, rows, ranks, n, n_items, grid, replacement)
        A[run[0]] += stops * A[-1]
        return A[:-1]
    for start in range(1, _reach(stages, stage, _NO_PATH) + 1, _CHUNK):
        ranks = np.arange(start, min(start + _CHUNK, n + 1))
        run, path = np.searchsorted(cuts, ranks, side="left"), stopping(stages, stage, ranks)
        some = np.flatnonzero(path > _NO_PATH)
        A = np.zeros((len(some), len(grid)))
        fill_likelihood(A, np.arange(len(some)), ranks[some], n, n_items, grid, replacement)
        np.add.at(P, run[some], A * path[some, None])
    return P
