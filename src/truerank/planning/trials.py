"""``auto`` on many tables of one design: cells, grid and likelihood are made once for all.

A trial is then a count of its rows in cells and one fit: 5 to 50 milliseconds in place of twice
that, and less where the grid is coarser than an estimate's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from truerank.arrays import Float
from truerank.estimators.bounds.certified import certified_values, is_certified
from truerank.estimators.cells import cells_of
from truerank.estimators.grid import COLUMNS, RankGrid
from truerank.estimators.methods.smooth import Smooth
from truerank.estimators.problem import Problem
from truerank.estimators.samples import prepare
from truerank.metrics import Metric
from truerank.ranking import RankTable

TRIAL_COLUMNS = 320
"""Bins of a trial's grid, the first 128 ranks each for itself. In place of the 768 of an estimate:
values differ by some 1e-5 of themselves, which is nothing beside the errors that are simulated."""

_CELL_COLUMNS = ("rank", "n_sampled", "n_items", "weight")


def auto_values(
    tables: Sequence[RankTable],
    metric: Metric,
    *,
    columns: int = COLUMNS,
    step: Callable[[], None] = lambda: None,
) -> Float:
    """The metric by ``auto`` from each table; all of one design and catalogue.

    Where a screen certifies the metric ``auto`` is a sum over exact ranks, else a smooth fit.

    Args:
        tables: Their rows are held together: 32 bytes each.
        metric: The metric.
        columns: Bins of the grid.
        step: Called after each table.
    """
    parts = [np.concatenate([getattr(t, name) for t in tables]) for name in _CELL_COLUMNS]
    cells, cell = cells_of(*parts, replacement=tables[0].header.replacement)
    grid = RankGrid.of(cells.largest, columns=columns)
    A = Problem.of(cells, n_rows=1.0, grid=grid).A
    found, start = [], 0
    for table in tables:
        known = _certified_value(table, metric)
        if known is not None:
            found.append(known)
            start += len(table)
            step()
            continue
        own = cell[start : start + len(table)]
        start += len(table)
        shares = np.bincount(own, minlength=len(cells)) / len(table)
        seen = shares > 0
        problem = Problem(cells, grid, A[seen], float(len(table)))
        found.append(float(Smooth().values(problem, [metric], shares[seen])[0]))
        step()
    return np.array(found)


def _certified_value(table: RankTable, metric: Metric) -> float | None:
    """The metric where a screen certifies it."""
    stages = table.header.stages
    if stages is None or stages.n_blocks is None:
        return None
    sample = prepare(table)
    if not is_certified(sample, metric):
        return None
    return float(np.average(certified_values(sample, metric), weights=sample.row_weights(metric)))
