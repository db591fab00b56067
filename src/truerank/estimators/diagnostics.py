"""What an estimate cannot know, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from truerank.estimators.blindspot import blind_spot, is_blind
from truerank.estimators.bounds import compatible_set
from truerank.estimators.ceiling import ceiling_notes
from truerank.estimators.problem import Problem
from truerank.estimators.result import Diagnostics
from truerank.estimators.samples import Sample
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
    common = [_NAIVE] if method == "naive" else []
    common += [table.adapted] if table.adapted else []
    if not bounds:
        examined = bool(table.is_exact.all())
        if not examined:
            common.append("what the samples cannot tell was not examined (bounds=False)")
        notes = tuple(common)
        return [Diagnostics(scored=scored, examined=examined, notes=notes) for _ in metrics]
    found = compatible_set(problem, shares, level=level, levels=_levels(table))
    cutoffs = sorted({metric.k for metric in metrics if metric.k is not None})
    spot = None
    if cutoffs:
        spot = blind_spot(
            problem, shares, ks=cutoffs, example=cutoffs[0], allowed=found,
            design=table.header.design,
        )  # fmt: skip
        common += spot.sentences
    elif found.note:
        common.append(found.note)
    if found.note and table.header.ties in _MISFIT_BY_TIES:
        common.append(_MISFIT_BY_TIES[table.header.ties])
    results = []
    for metric, value, ends in zip(metrics, values, found.bounds(metrics), strict=True):
        low, high = np.clip(scale * np.array(ends), *metric.limits).tolist()
        blind = is_blind(found, (low, high), value=float(value), n_rows=problem.n_rows)
        blind = blind or (spot is not None and metric.k in spot.blind)
        said = [_range_sentence(metric, low, high, level), *common]
        if not low <= value <= high:
            said.append(f"the estimate {value:.4g} lies outside its bounds: do not trust it")
        results.append(
            Diagnostics(bounds=(low, high), blind=blind, scored=scored, notes=tuple(said))
        )
    return results


def exact_diagnostics(table: RankTable) -> Diagnostics:
    """Of any metric of a table whose ranks are all exact."""
    note = "every rank is exact: the only uncertainty is which users there are"
    notes = [*(ceiling_notes(table) or [note]), table.adapted]
    return Diagnostics(scored=float(table.n_scored.mean()), notes=tuple(filter(None, notes)))


def blind_cutoffs(table: RankTable, ks: Sequence[int], *, level: float = 0.95) -> frozenset[int]:
    """Which cutoffs the samples of a table do not see; none of them for exact ranks."""
    if bool(table.is_exact.all()):
        return frozenset()
    sample = Sample.of(table)
    row_weights = sample.weight / sample.n_targets
    problem = Problem.of(sample.cells, n_rows=sample.effective_rows(row_weights))
    shares, _ = sample.shares(row_weights, n_boot=0, seed=0)
    spot = blind_spot(problem, shares[:, 0], ks=ks, level=level, levels=_levels(table))
    return frozenset(spot.blind)


_MISFIT_BY_TIES = {
    "half": (
        "ties are the likely cause: half of the ties in a sample is no draw from the catalogue; "
        "rank again with ties='random', the default"
    ),
    "unknown": (
        "ties may be the cause: how equal scores were ranked is unknown, and where a tie counts "
        "half, ranks in a sample are no draws from the catalogue; break ties at random"
    ),
}
"""The other rules are orders of all items, under which a sample obeys its law: see ranking.ties."""

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
