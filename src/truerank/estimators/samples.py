"""From a table to shares of cells, for the sample itself and for resamples of its users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.data.id_order import distinct_ids
from truerank.errors import InvalidDataError
from truerank.estimators.cells import Cells, cells_of
from truerank.metrics import Metric
from truerank.ranking.table import RankTable
from truerank.rng import Stream, stream

Float = NDArray[np.float64]
Int = NDArray[np.int64]


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

    cells: Cells
    cell: Int
    user: Int
    n_users: int
    n_targets: Int
    weight: Float

    @classmethod
    def of(cls, table: RankTable) -> Sample:
        """Group the rows. Memory: about 40 bytes per row."""
        if len(table) == 0:
            raise InvalidDataError("the table has no rows: there is nothing to estimate from")
        if not table.weight.sum() > 0:
            raise InvalidDataError("all weights are zero: there is nothing to estimate from")
        user = _numbered(table.user)
        n_targets = np.bincount(user)[user]
        cells, cell = cells_of(
            table.rank,
            table.n_sampled,
            table.n_items,
            table.weight,
            replacement=table.header.replacement,
        )
        return cls(cells, cell, user, int(user.max()) + 1, n_targets, table.weight)

    def row_weights(self, metric: Metric) -> Float:
        """Weight of each row in this metric: the table's times the metric's own."""
        return np.asarray(self.weight * metric.row_weight(self.n_targets))

    @property
    def total(self) -> float:
        """What a sum over rows is divided by: users, or their weight."""
        return float((self.weight / self.n_targets).sum())

    def effective_rows(self, row_weights: Float) -> float:
        """Rows that equal weights would need for the same information."""
        return float(row_weights.sum() ** 2 / (row_weights**2).sum())

    def shares(
        self, row_weights: Float, *, n_boot: int, seed: int, paired: bool = False
    ) -> tuple[Float, Float]:
        """Shares of the cells, column 0 the sample and the others resamples of its users.

        Also the factor of each column from shares to values: total row weight over
        :attr:`total`. Users are resampled whole, with all their rows; ``paired`` draws them by
        their number, so that tables of the same users get the same resamples.
        """
        columns = np.empty((len(self.cells), n_boot + 1))
        factors = np.empty(n_boot + 1)
        per_user = self.weight / self.n_targets
        columns[:, 0] = np.bincount(self.cell, row_weights, len(self.cells))
        factors[0] = row_weights.sum() / self.total
        simple = not paired and self.n_users == len(self.cell) and np.ptp(row_weights) == 0
        for b in range(1, n_boot + 1):
            generator = stream(seed, Stream.BOOTSTRAP, b)
            if simple:
                # One row per user and equal weights: only the counts of the cells matter.
                p = columns[:, 0] / columns[:, 0].sum()
                columns[:, b] = generator.multinomial(len(self.cell), p)
                factors[b] = factors[0]
            else:
                times = np.bincount(
                    generator.integers(0, self.n_users, self.n_users), minlength=self.n_users
                )[self.user]
                columns[:, b] = np.bincount(self.cell, row_weights * times, len(self.cells))
                factors[b] = (row_weights @ times) / (per_user @ times)
        return columns / columns.sum(axis=0), factors


def _numbered(user: NDArray[Any]) -> Int:
    """Users numbered from 0; ascending ids, as ranking gives them, need no sorting."""
    if user.dtype.kind == "i" and bool((user[1:] > user[:-1]).all()):
        return np.arange(len(user))
    return distinct_ids(user)[1]
