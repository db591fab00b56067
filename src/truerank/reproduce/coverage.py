"""How often 95 % intervals hold the truth, by simulation on exact ranks.

Two truths, because an interval is about one of them:

* ``fresh users``: the array is the population; each repeat draws users from it, with
  replacement, and then their samples. The truth is the metric of the population. This is what
  resampling users promises to cover.
* ``same users``: the users stay, only their samples are drawn anew. The truth is their own
  metric. The interval is then wider than need be (users did not vary), so a method without
  bias covers more than it says, and one that covers less is biased.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from truerank.arrays import Float
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.estimators.methods.table import SLOW_TO_REFIT
from truerank.estimators.simulate import simulate
from truerank.metrics import Metric
from truerank.ranking import RankTable
from truerank.ranking.design_spec import REFERENCE_SPEC, parse_design
from truerank.reproduce.accuracy import MEASURES, StudyPlan
from truerank.reproduce.exact_ranks import ExactRanks
from truerank.reproduce.fits import Fits
from truerank.rng import Stream, stream

Target = Literal["fresh users", "same users"]
TARGETS: tuple[Target, ...] = ("fresh users", "same users")

CUTOFFS = (1, 5, 10, 20, 50)

DEFAULT_COVERAGE_PLAN: StudyPlan = (
    ("sampled n=100 replacement", ("naive", "mle", "bv-mle", "mn-mle", "auto")),
    ("sampled n=500 replacement", ("auto",)),
    (REFERENCE_SPEC, ("mle", "auto")),
    ("adaptive", ("mle", "auto")),
)
"""Designs in words and the methods measured on each; mle at n = 500 takes seconds an interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """One line: a design and a method, against one truth, on one pair.

    Attributes:
        data: Name of the data set.
        model: Name of the model.
        design: Design in words.
        method: Name of the method.
        target: Which truth.
        repeats: Simulated tables.
        covered: Part of the intervals that hold the truth, by metric.
        half_width: Mean half width as a part of the truth, by metric.
        bias: Mean of estimate / truth - 1, by metric.
    """

    data: str
    model: str
    design: str
    method: str
    target: Target
    repeats: int
    covered: dict[str, float]
    half_width: dict[str, float]
    bias: dict[str, float]

    @property
    def mean(self) -> float:
        """Over the metrics."""
        return float(np.mean(list(self.covered.values())))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def measure_coverage(
    pair: ExactRanks,
    plan: StudyPlan = DEFAULT_COVERAGE_PLAN,
    *,
    repeats: int = 40,
    n_boot: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
    step: Callable[[], None] = lambda: None,
) -> tuple[list[Coverage], list[str]]:
    """Coverage of every design and method of the plan on one pair.

    Args:
        pair: The exact ranks.
        plan: Designs in words, each with its methods.
        repeats: Simulated tables per design and truth.
        n_boot: Resamples behind each interval (half as many for methods slow to refit).
        confidence: Level of the intervals.
        seed: Of the first repeat.
        step: Called after each interval.

    Returns:
        The lines, and a sentence for each method that refused a design.
    """
    if n_boot < 100:
        raise InvalidArgumentError("n_boot", n_boot, "at least 100: fewer give no percentiles")
    metrics = _metrics(pair.table)
    truth = np.array([_exact(pair.table, metric) for metric in metrics])
    lines, refusals = [], []
    for words, methods in plan:
        for target in TARGETS:
            low: dict[str, list[Float]] = {method: [] for method in methods}
            for repeat in range(repeats):
                fits = _draw(pair.table, words, target, seed + repeat)
                for method in methods:
                    if method in low:
                        n = max(100, n_boot // 2) if method in SLOW_TO_REFIT else n_boot
                        try:
                            values = fits.values(metrics, method, n_boot=n, seed=seed + repeat)
                            low[method].append(_interval(values, confidence))
                        except InvalidDataError as error:
                            del low[method]
                            refusals.append(f"{pair.data}, {pair.model}, {words}: {error}")
                    step()
            lines += [
                _line(pair, words, method, target, np.array(found), truth, metrics)
                for method, found in low.items()
            ]
    return lines, list(dict.fromkeys(refusals))


def _metrics(table: RankTable) -> list[Metric]:
    """Those that somebody hits."""
    chosen = [Metric(name, k) for name in MEASURES for k in CUTOFFS if k <= table.n_items.min()]
    found = [metric for metric in chosen if _exact(table, metric) > 0]
    if not found:
        raise InvalidDataError(
            "no held-out item of any user is in the top 50; take a model that hits something"
        )
    return found


def _exact(table: RankTable, metric: Metric) -> float:
    return float(np.average(table.per_row(str(metric)), weights=table.weight))


def _draw(exact: RankTable, words: str, target: Target, seed: int) -> Fits:
    if target == "fresh users":
        rows = stream(seed, Stream.USER_SAMPLE).integers(0, len(exact), len(exact))
        # Drawn twice, a user counts as two.
        exact = replace(exact[rows], user=np.arange(len(rows)))
    return Fits.of(simulate(exact, parse_design(words), seed=seed))


def _interval(values: Float, confidence: float) -> Float:
    """Low, high and the estimate: shape ``(3, metrics)``."""
    ends = np.quantile(values[:, 1:], [(1 - confidence) / 2, (1 + confidence) / 2], axis=1)
    return np.concatenate([ends, values[None, :, 0]])


def _line(
    pair: ExactRanks,
    words: str,
    method: str,
    target: Target,
    found: Float,
    truth: Float,
    metrics: Sequence[Metric],
) -> Coverage:
    low, high, value = found[:, 0], found[:, 1], found[:, 2]
    names = [str(metric) for metric in metrics]

    def by_metric(values: Float) -> dict[str, float]:
        return dict(zip(names, values.tolist(), strict=True))

    return Coverage(
        data=pair.data,
        model=pair.model,
        design=words,
        method=method,
        target=target,
        repeats=len(found),
        covered=by_metric(((low <= truth) & (truth <= high)).mean(axis=0)),
        half_width=by_metric(((high - low) / 2 / truth).mean(axis=0)),
        bias=by_metric((value / truth - 1).mean(axis=0)),
    )
