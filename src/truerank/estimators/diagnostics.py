"""What an estimate cannot know, in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truerank.estimators.bounds import compatible_set
from truerank.estimators.problem import Problem
from truerank.estimators.result import Diagnostics
from truerank.metrics import Metric
from truerank.ranking.designs import Levels
from truerank.ranking.table import RankTable

Float = NDArray[np.float64]

BLIND = 0.5
"""Bounds wider than this part of the estimate: the samples alone do not tell the value."""

METS = 3.0
"""A sample resolves the top K when a target of rank K meets this many better rivals in it."""


def diagnose(
    problem: Problem,
    metrics: list[Metric],
    shares: Float,
    values: Float,
    *,
    table: RankTable,
    method: str,
    scale: float,
    bounds: bool,
    level: float,
) -> list[Diagnostics]:
    """Diagnostics of each metric. ``scale`` turns sums over the distribution into values."""
    scored = float(np.average(table.n_scored, weights=np.maximum(table.weight, 1e-300)))
    if method == "exact":
        note = "Every rank is exact: the only uncertainty is which users there are."
        return [Diagnostics(scored=scored, notes=(note,)) for _ in metrics]
    common = [_NAIVE] if method == "naive" else []
    if not bounds:
        return [Diagnostics(scored=scored, notes=tuple(common)) for _ in metrics]
    found = compatible_set(problem, shares, level=level, levels=_levels(table))
    if found.note:
        common.append(found.note)
    results = []
    for metric, value, (low, high) in zip(metrics, values, found.bounds(metrics), strict=True):
        low, high = low * scale, high * scale
        blind = high - low > BLIND * max(abs(value), 1e-12)
        notes = [*common, _range_sentence(metric, low, high, level)]
        if blind:
            notes.append(_remedy(metric, problem, method))
        if not low <= value <= high:
            notes.append(
                f"The estimate {value:.4g} lies outside these bounds: do not trust it."
            )
        results.append(
            Diagnostics(bounds=(low, high), blind=blind, scored=scored, notes=tuple(notes))
        )
    return results


_NAIVE = (
    "This is the metric on the samples, not on the catalogue: it depends on the sample size "
    "and may order models differently."
)


def _range_sentence(metric: Metric, low: float, high: float, level: float) -> str:
    return (
        f"From these samples alone {metric} is only known to lie in [{low:.3g}, {high:.3g}] "
        f"at {level:.0%} confidence."
    )


def _remedy(metric: Metric, problem: Problem, method: str) -> str:
    rests = (
        "the estimate extrapolates by smoothness"
        if method == "auto"
        else "the estimate rests on the method's own assumptions"
    )
    n_items = problem.grid.n_items
    if metric.k is None:
        return f"So {rests}; a larger sample or Adaptive() would narrow this."
    needed = min(n_items, int(np.ceil(METS * n_items / metric.k)))
    size = "all candidates (Full())" if needed >= n_items else f"n >= {needed:,}"
    return (
        f"K = {metric.k} is in the blind spot of these samples, so {rests}; {size} or "
        "Adaptive() would resolve it."
    )


def _levels(table: RankTable) -> Levels | None:
    """The levels the rows followed, if the table says so."""
    design = table.header.design
    design = design.get("inner", design)
    return Levels.from_dict(design["levels"]) if "levels" in design else None
