r"""What is assumed about the ranks before anything is ranked.

**With a pilot**: see :mod:`truerank.planning.pilots`.

**Without**: distributions of the kind that real models show, raised to the expected level. The
share of held-out items within rank :math:`R` is

.. math::  F(R) \propto \Bigl(1 + (R / c)^{-h}\Bigr)^{-a/h}, \qquad R = 1..N,

(the Dagum distribution, cut at :math:`N`): recall grows like :math:`K^a` at the top and levels off
around rank :math:`c` with sharpness :math:`h`. Fitted to the exact ranks of 27 models on five data
sets (3,700 to 41,000 items), models of use have :math:`c / N` from .02 to .11 whatever :math:`N`, a
few far less, and :math:`h` from .8 to 1.7. :data:`SHAPES` spans these; :math:`a` is solved for the
expected level. Several shapes, not one, because what a sample cannot see is what it must guess: how
wrong a guess would be shows only where the shapes differ. Real models differ from all of them at
the very top (Recall@1 by a quarter or so), so a pilot is better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.arrays import Float
from truerank.errors import InvalidArgumentError
from truerank.estimators.grid import RankGrid
from truerank.metrics import Metric
from truerank.ranking import RankTable

SHAPES = ((0.005, 0.8), (0.02, 0.9), (0.04, 1.1), (0.1, 1.5))
"""(c / N, h) of the distributions assumed without a pilot."""


@dataclass(frozen=True, slots=True, eq=False)
class RankDistribution:
    """A distribution of ranks: masses of the bins of a grid, even within a bin."""

    grid: RankGrid
    mass: Float

    def moments(self, metric: Metric) -> tuple[float, float]:
        """Mean and standard deviation of the metric over users with one held-out item."""
        F = self.grid.metric_values(metric)
        mean = float(self.mass @ F)
        return mean, float(np.sqrt(max(float(self.mass @ F**2) - mean**2, 0.0)))

    def draw(self, n_users: int, generator: np.random.Generator) -> RankTable:
        """Exact ranks of users drawn from the distribution."""
        bins = generator.choice(len(self.grid), n_users, p=self.mass)
        within = np.floor(generator.random(n_users) * self.grid.widths[bins])
        ranks = self.grid.edges[bins] + within.astype(np.int64)
        return RankTable.from_arrays(ranks, self.grid.n_items, self.grid.n_items)


def typical_distributions(n_items: int, metric: Metric, expected: float) -> list[RankDistribution]:
    """Distributions of the usual shapes in which the metric has the expected level.

    >>> from truerank.metrics import parse
    >>> distributions = typical_distributions(10**7, parse("recall@10"), 0.1)
    >>> [round(distribution.moments(parse("recall@10"))[0], 6) for distribution in distributions]
    [0.1, 0.1, 0.1, 0.1]
    """
    grid = RankGrid.of(n_items)
    F = grid.metric_values(metric)
    chance, best = float(grid.uniform() @ F), float(F[0])
    if not chance < expected < best:
        raise InvalidArgumentError(
            "expected", expected,
            f"between {chance:.3g}, {metric} of random order, and {best:.3g}, of perfect order",
        )  # fmt: skip
    return [RankDistribution(grid, _raised(grid, F, c * n_items, h, expected)) for c, h in SHAPES]


def _raised(grid: RankGrid, F: Float, c: float, h: float, expected: float) -> Float:
    """Masses with the expected mean of F, by the steepness a: the mean falls with it."""
    low, high = 1e-6, 100.0
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        above = F @ _dagum(grid, middle, h, c) > expected
        low, high = (middle, high) if above else (low, middle)
    return _dagum(grid, high, h, c)


def _dagum(grid: RankGrid, a: float, h: float, c: float) -> Float:
    """Masses of the bins under the distribution of the module."""
    R = (grid.edges[1:] - 1).astype(np.float64)
    log_upto = -(a / h) * np.logaddexp(0.0, -h * np.log(R / c))
    upto = np.exp(log_upto - log_upto[-1])
    return np.diff(np.concatenate([[0.0], upto]))
