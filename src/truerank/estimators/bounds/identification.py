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
at later stages of an adaptive sample. Each run is a set, and so is each beginning of the layout
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
(:mod:`truerank.estimators.bounds.paths`). Without one, sizes are taken as assigned whatever the
outcome, and bands hold within each size; more than a dozen sizes share bands with their neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, sparse, special

from truerank.arrays import Float
from truerank.errors import InvalidArgumentError, InvalidDataError, TruerankError
from truerank.estimators.bounds.blocks import block_for_each_size, one_block
from truerank.estimators.bounds.sets import sets_of
from truerank.estimators.grid import RankGrid
from truerank.estimators.problem import Problem
from truerank.metrics import Metric
from truerank.ranking.stages import Stages


@dataclass(frozen=True, slots=True, eq=False)
class CompatibleSet:
    """All rank distributions that the counts allow at a confidence level.

    Memory: 16 bytes per set and bin, about 1 MB.

    Attributes:
        grid: Bins of ranks.
        P: P(set | bin), shape ``(m, len(grid))``.
        low: Smallest P(set) allowed.
        high: Largest.
        confidence: Confidence that all bands hold.
        slack: 0 if some distribution keeps all bands; else how far, in their widths, all bands
            were moved outwards: twice as far as until the first one does.
    """

    grid: RankGrid
    P: Float
    low: Float
    high: Float
    confidence: float
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
            least = minimum(sign * F / scale, self.P, self.low - outwards, self.high + outwards)
            if least is None:
                raise failure("no distribution is compatible, though one was found before")
            ends.append(min(max(sign * least * scale, float(F.min())), float(F.max())))
        return min(ends), max(ends)

    @property
    def note(self) -> str:
        """A sentence if the counts contradict the model, else nothing."""
        if self.slack == 0.0:
            return ""
        return (
            "no distribution of global ranks explains these sampled ranks at "
            f"{self.confidence:.0%} confidence: their bands were widened by {self.slack:.2g} of "
            "their width; check that rivals were drawn uniformly, and the table's n_items, "
            "replacement and design"
        )


def compatible_set(
    problem: Problem,
    shares: Float,
    *,
    confidence: float = 0.95,
    stages: Stages | None = None,
    n_effective: float | None = None,
) -> CompatibleSet:
    """The distributions that these shares of cells allow.

    Args:
        problem: Cells and grid.
        shares: Parts of one, one for each cell.
        confidence: Confidence that the truth is in the set.
        stages: The design's stages for the largest number of candidates, e.g.
            ``Adaptive().stages(n_items)``; None if unknown or if nobody stops early.
        n_effective: Rows that the shares are worth; ``problem.n_rows`` if not given.
    """
    if not 0.0 < confidence < 1.0:
        raise InvalidArgumentError("confidence", confidence, "between 0 and 1")
    n_rows = float(problem.n_rows if n_effective is None else n_effective)
    if not n_rows > 0:
        raise InvalidArgumentError("n_effective", n_effective, "positive")
    blocks = (
        block_for_each_size(problem, shares)
        if stages is None
        else [one_block(problem, shares, stages)]
    )
    rows, counts, totals = [], [], []
    for block in blocks:
        P, seen = sets_of(block, problem)
        rows.append(P)
        counts.append(seen * n_rows)
        totals.append(np.full(len(P), block.share * n_rows))
    P = np.concatenate(rows)
    low, high = clopper_pearson(
        np.concatenate(counts), np.concatenate(totals), (1.0 - confidence) / len(P)
    )
    slack = least_slack(P, low, high)
    return CompatibleSet(problem.grid, P, low, high, confidence, slack)


def clopper_pearson(counts: Float, totals: Float, alpha: float) -> tuple[Float, Float]:
    """Two-sided intervals for binomial probabilities; counts may be fractions (weights)."""
    k = np.clip(counts, 0.0, totals)
    rest = totals - k
    none, all_ = k < 1e-9, rest < 1e-9
    low = special.betaincinv(np.maximum(k, 1e-9), rest + 1.0, alpha / 2.0)
    high = special.betaincinv(k + 1.0, np.maximum(rest, 1e-9), 1.0 - alpha / 2.0)
    return np.where(none, 0.0, low), np.where(all_, 1.0, high)


# ------------------------------------------------------------------ linear programmes

_CLEAN = 1e-9


def least_slack(P: Float, low: Float, high: Float) -> float:
    """0 if a distribution keeps all bands; else twice the widths they must move outwards."""
    free = np.zeros(P.shape[1])
    if minimum(free, P, low, high) is not None:
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
        raise failure(found.message)
    # At the very least only one distribution is left, and bounds around it would look the surer
    # the less they are worth: what is wrong by this much here may be so elsewhere unseen.
    return 2.0 * float(found.fun) + 1e-3


def minimum(F: Float, P: Float, low: Float, high: Float) -> float | None:
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


def failure(message: str) -> TruerankError:
    """What is said when the solver gives up."""
    return InvalidDataError(
        f"the linear programme of the identification bounds failed ({message}); "
        "please report it with the table"
    )
