"""What an estimate cannot know, in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truerank.estimators.blindspot import blind_spot, is_blind
from truerank.estimators.bounds import compatible_set
from truerank.estimators.ceiling import ceiling_notes
from truerank.estimators.problem import Problem
from truerank.estimators.result import Diagnostics
from truerank.metrics import Metric
from truerank.ranking.designs import Levels
from truerank.ranking.table import RankTable

Float = NDArray[np.float64]


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
        return [Diagnostics(scored=scored, notes=exact_notes(table)) for _ in metrics]
    common = [_NAIVE] if method == "naive" else []
    if not bounds:
        return [Diagnostics(scored=scored, notes=tuple(common)) for _ in metrics]
    found = compatible_set(problem, shares, level=level, levels=_levels(table))
    cutoffs = sorted({metric.k for metric in metrics if metric.k is not None})
    spot = None
    if cutoffs:
        spot = blind_spot(problem, shares, ks=cutoffs, example=cutoffs[0], allowed=found)
        common += spot.sentences
    elif found.note:
        common.append(found.note)
    results = []
    for metric, value, (low, high) in zip(metrics, values, found.bounds(metrics), strict=True):
        low, high = low * scale, high * scale
        blind = is_blind(found, (low, high), value=float(value), n_rows=problem.n_rows)
        blind = blind or (spot is not None and metric.k in spot.blind)
        notes = [_range_sentence(metric, low, high, level), *common]
        if not low <= value <= high:
            notes.append(f"the estimate {value:.4g} lies outside its bounds: do not trust it")
        results.append(
            Diagnostics(bounds=(low, high), blind=blind, scored=scored, notes=tuple(notes))
        )
    return results


def exact_notes(table: RankTable) -> tuple[str, ...]:
    """What to know about exact ranks, and whether to doubt that they are."""
    note = "every rank is exact: the only uncertainty is which users there are"
    return ceiling_notes(table) or (note,)


_NAIVE = (
    "this is the metric on the samples, not on the catalogue: it depends on the sample size "
    "and may order models differently"
)


def _range_sentence(metric: Metric, low: float, high: float, level: float) -> str:
    return (
        f"from these samples alone {metric} lies between {low:.3g} and {high:.3g} "
        f"at {level:.0%} confidence"
    )


def _levels(table: RankTable) -> Levels | None:
    """The levels the rows followed, if the table says so."""
    design = table.header.design
    design = design.get("inner", design)
    return Levels.from_dict(design["levels"]) if "levels" in design else None
