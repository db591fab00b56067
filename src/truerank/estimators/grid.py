r"""A grid of ranks: one by one at the top, then geometric bins, for any catalogue size.

Neighbouring ranks far down the list have nearly the same likelihood, so a distribution over
:math:`1..N` is kept as masses of bins: ranks :math:`1..E` each for itself, then bins that grow
by a constant factor, chosen so that the number of bins does not depend on :math:`N`. Inside a
bin the mass is spread evenly; likelihoods and metrics are averaged over the bin, not taken at
its middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

from truerank.arrays import Float, Int
from truerank.errors import InvalidArgumentError
from truerank.metrics import Metric

EXACT_RANKS = 128
"""Ranks that stand for themselves: every K people report."""

COLUMNS = 768
"""Bins in all. At N = 10,000 they grow by 0.7 %, at N = 10^8 by 2.1 %."""


@dataclass(frozen=True, slots=True, eq=False)
class RankGrid:
    """Bins of ranks: bin ``j`` holds ranks ``edges[j] .. edges[j + 1] - 1``.

    Attributes:
        edges: First rank of each bin, and ``N + 1``; ascending.
        typical: Candidates of a typical row where rows differ, for auc; None if all have N.
    """

    edges: Int
    typical: float | None = None

    @classmethod
    def of(cls, n_items: int, *, exact: int = EXACT_RANKS, columns: int = COLUMNS) -> Self:
        """The grid for a catalogue of ``n_items``.

        >>> grid = RankGrid.of(10**8)
        >>> len(grid), grid.widths[:3].tolist(), int(grid.widths.sum())
        (768, [1, 1, 1], 100000000)
        """
        if n_items < 1:
            raise InvalidArgumentError("n_items", n_items, "at least 1")
        return cls(_edges(int(n_items), exact, columns))

    def __len__(self) -> int:
        return len(self.edges) - 1

    @property
    def n_items(self) -> int:
        """The largest rank."""
        return int(self.edges[-1]) - 1

    @property
    def widths(self) -> Int:
        """Ranks in each bin."""
        return np.diff(self.edges)

    @property
    def centres(self) -> Float:
        """Mean rank of each bin."""
        return (self.edges[:-1] + self.edges[1:] - 1) / 2.0

    def uniform(self) -> Float:
        """The masses of a uniform distribution over ranks."""
        return self.widths / self.n_items

    def metric_values(self, metric: Metric) -> Float:
        """The metric's mean over the ranks of each bin.

        Bins of at most 64 ranks are summed; wider ones, and those that a cutoff K divides, are
        sampled at 64 evenly spaced ranks of the part below K.
        """
        last = self.edges[1:] - 1
        stop = last if metric.k is None else np.minimum(last, metric.k)
        values = np.zeros(len(self))
        size = self.n_items if self.typical is None else self.typical
        single = (self.widths == 1) & (stop == last)
        values[single] = _values(metric, self.edges[:-1][single].astype(np.float64), size)
        for j in np.flatnonzero(~single & (stop >= self.edges[:-1])):
            first, inside = int(self.edges[j]), int(stop[j] - self.edges[j] + 1)
            if inside <= 64:
                ranks = np.arange(first, first + inside, dtype=np.float64)
            else:
                ranks = first - 0.5 + inside * (np.arange(64) + 0.5) / 64
            mean = float(_values(metric, ranks, size).mean())
            values[j] = mean * inside / self.widths[j]
        return values


@lru_cache(maxsize=64)
def _edges(n_items: int, exact: int, columns: int) -> Int:
    """Edges for a catalogue; remembered, because every estimate asks for them."""
    if n_items <= columns:
        edges = np.arange(1, n_items + 2, dtype=np.int64)
    else:
        # Solve for the growth that fills the bins beyond the exact ranks.
        low, high = 1.0, float(n_items)
        for _ in range(50):
            growth = (low * high) ** 0.5
            if len(_geometric(exact + 1, n_items, growth)) > columns - exact:
                low = growth
            else:
                high = growth
        starts = _geometric(exact + 1, n_items, high)
        edges = np.concatenate([np.arange(1, exact + 1), starts, [n_items + 1]])
    edges.flags.writeable = False
    return edges


def _values(metric: Metric, ranks: Float, n_items: float) -> Float:
    if not metric.needs_n_items:
        return metric.row_values(ranks)
    return metric.row_values(np.minimum(ranks, n_items), n_items)


def _geometric(first: int, last: int, growth: float) -> Int:
    """Bin starts from ``first``, each at least one rank and ``growth`` times further."""
    starts = [first]
    while True:
        following = max(starts[-1] + 1, int(np.ceil(starts[-1] * growth)))
        if following > last:
            return np.array(starts, dtype=np.int64)
        starts.append(following)
