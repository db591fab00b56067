"""What an estimator is given, and what it must give back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from truerank.arrays import Float
from truerank.errors import InvalidDataError
from truerank.estimators.grid import RankGrid
from truerank.estimators.likelihood import likelihood_matrix
from truerank.metrics import Metric
from truerank.ranking.counts import RankCounts


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Cells, the grid their distribution lives on, and the likelihood between them.

    The weights of the cells are not part of it: methods get them as ``shares``, one column per
    (re)sample, so that a thousand bootstrap fits share one likelihood. Memory: 8 bytes per cell
    and bin, at most 120 MB.

    Attributes:
        cells: Distinct observations.
        grid: Bins of ranks.
        A: P(cell | bin), shape ``(len(cells), len(grid))``.
        n_rows: Rows behind the cells: the M of the formulas.
        fits: What was fitted to a sample, for methods to find again; None to keep nothing.
    """

    cells: RankCounts
    grid: RankGrid
    A: Float
    n_rows: float
    fits: dict[Any, Any] | None = None

    @classmethod
    def of(cls, cells: RankCounts, *, n_rows: float, grid: RankGrid | None = None) -> Problem:
        """Build grid and likelihood for the cells."""
        grid = grid or replace(RankGrid.of(cells.largest), typical=cells.typical)
        return cls(cells, grid, likelihood_matrix(cells, grid), n_rows)

    @property
    def one_size(self) -> bool:
        """Whether every row has the same sample size and number of candidates."""
        return len(np.unique(self.cells.n_sampled)) == 1 and len(np.unique(self.cells.n_items)) == 1

    def require_one_size(self, method: str) -> tuple[int, int]:
        """(n, N), or a refusal that names the methods that can."""
        if not self.one_size:
            raise InvalidDataError(
                f"method {method!r} needs one sample size and one number of candidates for all "
                "rows; this table mixes them: use method 'auto' or 'mle', which take any mixture"
            )
        return int(self.cells.n_sampled[0]), int(self.cells.n_items[0])

    def by_rank(self, shares: Float) -> Float:
        """Shares spread over all sampled ranks 1..n of a table of one size (absent ones: 0)."""
        n = int(self.cells.n_sampled[0])
        full = np.zeros((n, *shares.shape[1:]))
        full[self.cells.rank - 1] = shares
        return full


class Estimator(Protocol):
    """A method: frozen parameters, and from shares to values of metrics."""

    def values(self, problem: Problem, metrics: list[Metric], shares: Float) -> Float:
        """Values, shape ``(len(metrics),)`` or ``(len(metrics), B)`` like shares' columns."""

    def distribution(self, problem: Problem, shares: Float) -> Float:
        """Masses of the grid's bins, shape ``(len(grid),)`` or ``(len(grid), B)``."""


class DistributionEstimator(ABC):
    """A method whose metrics all come from one fitted distribution."""

    __slots__ = ()

    @abstractmethod
    def distribution(self, problem: Problem, shares: Float) -> Float:
        """Masses of the grid's bins."""

    def values(self, problem: Problem, metrics: list[Metric], shares: Float) -> Float:
        """Sum over bins of mass times the metric's mean in the bin."""
        F = np.stack([problem.grid.metric_values(metric) for metric in metrics])
        return np.asarray(F @ self.distribution(problem, shares))
