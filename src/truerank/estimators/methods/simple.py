"""The two estimators without a model: sampled ranks as they are, and exact ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.arrays import Float, Int
from truerank.errors import InvalidDataError
from truerank.estimators.problem import Problem
from truerank.metrics import Metric


def metric_of_ranks(metrics: list[Metric], rank: Float, n_items: Int) -> Float:
    """Each metric at real-valued ranks: shape ``(len(metrics), len(rank))``.

    Only metrics that need it (auc) are told the number of candidates: a cutoff beyond it is
    harmless to the others.
    """
    return np.stack(
        [metric.row_values(rank, n_items if metric.needs_n_items else None) for metric in metrics]
    )


def masses_at(problem: Problem, rank: Int, shares: Float) -> Float:
    """Shares of cells put on the bins that hold the given whole ranks, one rank a cell."""
    bins = np.searchsorted(problem.grid.edges, rank, side="right") - 1
    masses = np.zeros((len(problem.grid), *shares.shape[1:]))
    np.add.at(masses, bins, shares)
    return masses


@dataclass(frozen=True, slots=True, kw_only=True)
class Naive:
    r"""``naive``: the metric of the sampled ranks, as if they were global ones.

    .. math::  \hat T = \sum_r \tilde P(r)\, F(r)

    What people publish. It estimates the metric of ranking among :math:`n` random items, which
    for top-K metrics is far above the metric among all :math:`N` and can order models
    otherwise; only auc means the same in both, and is unbiased. Any mixture of sizes.
    """

    def values(self, problem: Problem, metrics: list[Metric], shares: Float) -> Float:
        """The mean over rows of F at the sampled rank."""
        cells = problem.cells
        return metric_of_ranks(metrics, cells.rank.astype(np.float64), cells.n_sampled) @ shares

    def distribution(self, problem: Problem, shares: Float) -> Float:
        """The sampled ranks' own masses, on ranks 1..n."""
        return masses_at(problem, problem.cells.rank, shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exact:
    r"""``exact``: the mean of the metric, where every row was ranked among all its candidates.

    .. math::  T = \sum_R \tilde P(R)\, F(R)

    There is nothing to correct: :math:`n = N` in every row, or the method refuses.
    """

    def values(self, problem: Problem, metrics: list[Metric], shares: Float) -> Float:
        """The mean over rows of F at the exact rank."""
        _require_exact(problem)
        cells = problem.cells
        return metric_of_ranks(metrics, cells.rank.astype(np.float64), cells.n_items) @ shares

    def distribution(self, problem: Problem, shares: Float) -> Float:
        """The empirical masses."""
        _require_exact(problem)
        return masses_at(problem, problem.cells.rank, shares)


def _require_exact(problem: Problem) -> None:
    cells = problem.cells
    sampled = cells.n_sampled != cells.n_items
    if sampled.any():
        j = int(np.argmax(sampled))
        raise InvalidDataError(
            "method 'exact' needs every row ranked among all its candidates; this table has rows "
            f"with n_sampled = {cells.n_sampled[j]:,} of n_items = {cells.n_items[j]:,}: "
            "use method 'auto', which takes sampled and exact rows"
        )
