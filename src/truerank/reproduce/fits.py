"""Many methods and metrics on one table: what ``tr.estimate`` does, its preparation shared.

A study asks for 150 metrics by several methods on thousands of tables. Here rows are grouped and
the likelihood is built once per table. A test holds the values and intervals to those of
:func:`truerank.estimate`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from truerank.arrays import Float
from truerank.errors import InvalidDataError
from truerank.estimators.methods.table import make_method
from truerank.estimators.problem import Problem
from truerank.estimators.samples import Sample, prepare
from truerank.metrics import Metric
from truerank.ranking import RankTable


@dataclass(frozen=True, slots=True)
class Fits:
    """A table with one held-out item per user, prepared for any method."""

    sample: Sample
    problem: Problem
    exact: bool

    @classmethod
    def of(cls, table: RankTable) -> Fits:
        """Group the rows and build the likelihood."""
        sample = prepare(table)
        if (sample.n_targets > 1).any():
            raise InvalidDataError("these studies take one held-out item per user")
        problem = replace(sample.problem, n_rows=sample.effective_rows(sample.weight))
        return cls(sample, problem, table.all_exact)

    def values(
        self, metrics: list[Metric], method: str, *, n_boot: int = 0, seed: int = 0
    ) -> Float:
        """Values by metric, column 0 the estimate and the others those of resampled users."""
        chosen = "exact" if method == "auto" and self.exact else method
        shares, _ = self.sample.shares(self.sample.weight, n_boot=n_boot, seed=seed)
        return np.asarray(make_method(chosen, {}).values(self.problem, metrics, shares))
