"""What a report shows beside the verdict: curves over K, rank distributions, costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from truerank.arrays import Float
from truerank.comparison.verdict import Verdict
from truerank.estimators import Sample, estimate, rank_distribution
from truerank.estimators.diagnostics import blind_cutoffs
from truerank.estimators.methods.table import WITHOUT_DISTRIBUTION
from truerank.metrics import as_metric
from truerank.ranking import RankTable

CUTOFFS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)
CURVE_RESAMPLES = 200
"""Of exact ranks; sampled ones take the verdict's own resamples."""

PER_DECADE = 8
"""Bins of the drawn rank distribution per factor of ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A metric over K by one model: estimates with their bands, and the naive values.

    ``naive`` is what the sampled ranks give when taken for ranks; nan where K exceeds a sample,
    and None for exact ranks, which are what they seem. ``blind`` says at which K the samples
    hardly determine the value.
    """

    model: str
    k: list[int]
    value: Float
    low: Float
    high: Float
    naive: Float | None
    blind: list[bool]


def curves(verdict: Verdict, family: str, blind: Mapping[str, frozenset[int]]) -> list[Curve]:
    """Metric over K for every model.

    Args:
        verdict: What was compared.
        family: A name such as ``ndcg``.
        blind: By model, as :func:`blind_by_model` gives them.
    """
    cutoffs = _cutoffs(verdict)
    found = []
    for model in verdict.models:
        table, sample = verdict.tables[model], verdict.samples[model]
        exact = sample.exact
        # What was fitted to the resamples of the verdict gives every K. Only where users have
        # several held-out items, which ndcg weighs differently at every K, is more fitted here.
        estimates = estimate(
            sample,
            [f"{family}@{k}" for k in cutoffs],
            "auto" if exact else verdict.method,
            n_boot=CURVE_RESAMPLES if exact else verdict.n_boot,
            seed=verdict.seed,
            bounds=False,
            paired=not exact,
            population=verdict.population,
        )
        ends = np.array([e.interval(verdict.confidence) for e in estimates])
        found.append(
            Curve(
                model=model,
                k=cutoffs,
                value=np.array([e.value for e in estimates]),
                low=ends[:, 0],
                high=ends[:, 1],
                naive=None if exact else _naive(table, family, cutoffs),
                blind=[k in blind[model] for k in cutoffs],
            )
        )
    return found


def blind_by_model(verdict: Verdict) -> dict[str, frozenset[int]]:
    """The cutoffs of the curves that the samples of each model do not see."""
    cutoffs = _cutoffs(verdict)
    return {
        model: blind_cutoffs(sample, cutoffs, method=verdict.method, confidence=verdict.confidence)
        for model, sample in verdict.samples.items()
    }


def _cutoffs(verdict: Verdict) -> list[int]:
    smallest = min(int(table.n_items.min()) for table in verdict.tables.values())
    return [k for k in CUTOFFS if k <= smallest]


def _naive(table: RankTable, family: str, cutoffs: list[int]) -> Float:
    smallest = int(table.n_sampled.min())
    return np.array(
        [
            float(table.per_user(f"{family}@{k}", naive=True)[1].mean())
            if k <= smallest
            else np.nan
            for k in cutoffs
        ]
    )


def families(verdict: Verdict) -> list[str]:
    """Names of the metrics with a cutoff, in their order."""
    parsed = [as_metric(metric) for metric in verdict.metrics]
    return list(dict.fromkeys(m.name for m in parsed if m.k is not None and m.function is None))


def has_distribution(sample: Sample, method: str) -> bool:
    """Whether :func:`rank_density` can be asked: exact ranks have one whatever the method."""
    return sample.exact or method not in WITHOUT_DISTRIBUTION


def rank_density(sample: Sample, method: str) -> tuple[Float, Float]:
    """(rank, share of held-out items per factor of ten) at the left ends of log-spaced bins."""
    edges, mass = rank_distribution(sample, "auto" if sample.exact else method)
    top = float(edges[-1])
    steps = 10 ** np.arange(0, np.log10(top) + 1 / PER_DECADE, 1 / PER_DECADE)
    cuts = np.unique(np.minimum(np.round(steps), top))
    before = np.concatenate([[0.0], np.cumsum(mass)])
    # Within a bin of the grid, ranks are alike: the sum up to a rank is a straight line.
    upto = np.interp(cuts, edges.astype(np.float64), before)
    return cuts[:-1], np.diff(upto) / np.diff(np.log10(cuts))
