"""From a table to shares of cells, for the sample itself and for resamples of its users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Float, Int
from truerank.data.id_order import distinct_ids
from truerank.errors import InvalidDataError
from truerank.estimators.cells import cells_of
from truerank.estimators.resampling import UserResamples
from truerank.metrics import Metric
from truerank.ranking.counts import RankCounts
from truerank.ranking.table import RankTable
from truerank.rng import Stream, stream


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A table reduced to cells, and who contributed what to which.

    Attributes:
        cells: Distinct observations.
        cell: Cell of each row.
        user: Number of each row's user, from 0.
        n_users: Users.
        n_targets: Held-out items of each row's user.
        weight: Weight of each row in the table.
    """

    cells: RankCounts
    cell: Int
    user: Int
    n_users: int
    n_targets: Int
    weight: Float

    @classmethod
    def of(cls, table: RankTable) -> Sample:
        """Group the rows. Memory: about 30 bytes per row."""
        if len(table) == 0:
            raise InvalidDataError("the table has no rows: there is nothing to estimate from")
        if not table.weight.sum() > 0:
            raise InvalidDataError("all weights are zero: there is nothing to estimate from")
        user = _numbered(table.user)
        n_users = int(user.max()) + 1
        one = np.broadcast_to(np.int64(1), len(user))  # takes no memory
        n_targets = one if n_users == len(user) else np.bincount(user)[user]
        cells, cell = cells_of(
            table.rank,
            table.n_sampled,
            table.n_items,
            table.weight,
            replacement=table.header.replacement,
        )
        return cls(cells, cell, user, n_users, n_targets, table.weight)

    def row_weights(self, metric: Metric) -> Float:
        """Weight of each row in this metric: the table's times the metric's own."""
        if self.one_row_each:
            own = metric.row_weight(self.n_targets[:1])[0]
            if np.ptp(self.weight) == 0:
                return np.broadcast_to(self.weight[0] * own, len(self.weight))
            return np.asarray(self.weight * own)
        return np.asarray(self.weight * metric.row_weight(self.n_targets))

    @property
    def one_row_each(self) -> bool:
        """Whether every user has one row."""
        return self.n_users == len(self.cell)

    @property
    def total(self) -> float:
        """What a sum over rows is divided by: users, or their weight."""
        return _sum(self.weight / self.n_targets)

    def effective_rows(self, row_weights: Float) -> float:
        """Rows that equal weights would need for the same information."""
        return _sum(row_weights) ** 2 / _sum(row_weights**2)

    def shares(
        self, row_weights: Float, *, n_boot: int, seed: int, paired: bool = False
    ) -> tuple[Float, Float]:
        """Shares of the cells, column 0 the sample and the others resamples of its users.

        Also the factor of each column from shares to values: total row weight over
        :attr:`total`. Users are resampled whole, with all their rows; ``paired`` draws them by
        their number, so that tables of the same users get the same resamples.
        """
        columns = np.empty((len(self.cells), n_boot + 1))
        columns[:, 0] = self._by_cell(row_weights)
        factors = np.full(n_boot + 1, columns[:, 0].sum() / self.total)
        drawn = UserResamples(self.n_users, n_boot, seed)
        if n_boot and not paired and self.one_row_each and np.ptp(row_weights) == 0:
            # Only the counts of the cells matter.
            p = columns[:, 0] / columns[:, 0].sum()
            for b in range(1, n_boot + 1):
                columns[:, b] = stream(seed, Stream.BOOTSTRAP, b).multinomial(self.n_users, p)
        elif n_boot:
            columns[:, 1:] = drawn.sums(self.cell, self.user, row_weights, len(self.cells))
            if not (self.one_row_each and np.ptp(self.weight) == 0):
                everything = np.zeros(len(self.user), np.int64)
                total = drawn.sums(everything, self.user, self.weight / self.n_targets, 1)[0]
                factors[1:] = columns[:, 1:].sum(axis=0) / total
        return columns / columns.sum(axis=0), factors

    def _by_cell(self, row_weights: Float) -> Float:
        """Total of the weights in each cell, whatever the order of the rows."""
        cell = self.cell
        if np.ptp(row_weights) > 0:
            order = np.lexsort((row_weights, cell))
            cell, row_weights = cell[order], row_weights[order]
        return np.bincount(cell, row_weights, len(self.cells)).astype(np.float64)


def _sum(values: Float) -> float:
    """The sum, with the same bits whatever the order of the rows."""
    return float((np.sort(values) if np.ptp(values) > 0 else values).sum())


def _numbered(user: NDArray[Any]) -> Int:
    """Users numbered from 0; ascending ids, as ranking gives them, need no sorting."""
    if user.dtype.kind == "i" and bool((user[1:] > user[:-1]).all()):
        return np.arange(len(user))
    return distinct_ids(user)[1]
