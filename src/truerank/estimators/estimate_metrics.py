"""``estimate`` and ``rank_distribution``: from a table of ranks to the catalogue's metrics."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Float
from truerank.deprecation import renamed_parameters
from truerank.errors import DataWarning, InvalidArgumentError, InvalidDataError, option
from truerank.estimators.bounds.certified import (
    certified_bounds,
    certified_values,
    design_variance,
    is_certified,
)
from truerank.estimators.diagnostics import diagnose, exact_diagnostics
from truerank.estimators.finite import finite_note, finite_ratio, sampled_fraction, user_part
from truerank.estimators.methods.table import (
    SLOW_TO_REFIT,
    WITHOUT_DISTRIBUTION,
    make_method,
)
from truerank.estimators.population import Population, checked_population
from truerank.estimators.resampling import UserResamples
from truerank.estimators.result import Diagnostics, Estimate
from truerank.estimators.samples import NO_BUCKETS, Sample, Weighting, prepare
from truerank.estimators.summary_text import CERTIFIED
from truerank.metrics import Metric, MetricLike, as_metric
from truerank.ranking.counts import RankCounts
from truerank.ranking.table import RankTable

ROUNDING = 1e-9
"""How far a value may leave its limits without a word."""

FEW_USERS = 30
"""Below this many users neither resampling nor a normal interval means much."""


@renamed_parameters(level="confidence")
def estimate(
    table: RankTable | RankCounts | Sample,
    metrics: MetricLike | Sequence[MetricLike],
    method: str = "auto",
    *,
    n_boot: int | None = None,
    seed: int = 0,
    bounds: bool = True,
    confidence: float = 0.95,
    paired: bool = False,
    population: Population = "infinite",
    **parameters: Any,
) -> list[Estimate]:
    """Metrics of the whole catalogue from (sampled) ranks, with standard errors and intervals.

    Args:
        table: Ranks, exact or sampled, in any mixture that the method takes; or their counts
            (:class:`truerank.RankCounts`); or either as :func:`truerank.estimators.prepare` made
            it, for several questions about one table.
        metrics: One or several, such as ``"ndcg@10"``.
        method: A name of :data:`truerank.estimators.methods.table.METHODS`. ``auto`` is the one we
            would choose: exact where all ranks are exact, else the smooth estimator.
        n_boot: Resamples of the users behind standard errors and intervals; 1,000 if not given
            (100 for methods that solve a convex problem each time). 0 for none.
        seed: Seed of the resamples.
        bounds: Compute identification bounds for the diagnostics.
        confidence: Confidence of the identification bounds.
        paired: Resample users by their number in ascending order of ids: replicates of tables
            with the same users, seed and ``n_boot`` then belong together and can be subtracted.
        population: Whose metric is wanted. ``infinite``: that of future users, of whom the table's
            are a sample, by whatever design. ``finite``: that of the ``n_population`` users that
            the table's were drawn from, which narrows standard errors and intervals
            (:mod:`truerank.estimators.finite`); with all of them ranked in full it is known.
        parameters: Of the method, for instance ``iterations=50`` for ``mle``.

    Returns:
        One :class:`Estimate` per metric, in their order.

    >>> table = RankTable.from_arrays(rank=[1, 3, 12, 40], n_sampled=100, n_items=100)
    >>> [e.value for e in estimate(table, ["recall@10", "ap@10"], n_boot=0)]
    [0.5, 0.3333333333333333]
    """
    wanted = _metrics(metrics)
    sample = prepare(table)
    for said in sample.suspicions:
        warnings.warn(said, DataWarning, stacklevel=3)
    _check_cutoffs(wanted, sample)
    population = checked_population(population)
    fraction = sampled_fraction(sample.ranks, population)
    chosen = "exact" if method == "auto" and sample.exact and not parameters else method
    estimator = make_method(chosen, parameters)
    if fraction > 0 and chosen in WITHOUT_DISTRIBUTION:
        raise InvalidArgumentError(
            "population", population, f"'infinite' for method {chosen!r}",
            "it tells no distribution of ranks, so what is due to the users is unknown; use auto",
        )  # fmt: skip
    n_drawn, unresampled = _resamples(chosen, n_boot, sample)
    if chosen == "exact" and sample.exact:
        joint = _from_exact_ranks(sample, wanted, n_boot=n_drawn, seed=seed)
        found = [_about(e, population, finite_ratio(fraction, e.replicates), sample) for e in joint]
        return [_said(e, unresampled) for e in found]
    results: dict[int, Estimate] = {}
    if method == "auto" and not parameters:
        for i, metric in enumerate(wanted):
            if is_certified(sample, metric):
                one = _certified(sample, metric, n_drawn, seed, confidence)
                ratio = finite_ratio(fraction, one.replicates)
                if ratio < 1 and one.std_error > 0:
                    ratio = max(ratio, design_variance(sample, metric) / one.std_error**2)
                results[i] = _said(_about(one, population, min(ratio, 1.0), sample), unresampled)
    drawn = (n_drawn, seed, paired)
    for weighting, positions in _grouped(wanted, sample, results):
        shares, factors = sample.shares(
            weighting.row_weights, n_boot=n_drawn, seed=seed, paired=paired
        )
        group = [wanted[i] for i in positions]
        values = factors * weighting.values(estimator, group, shares, drawn)
        notes = diagnose(
            weighting, group, shares[:, 0], values[:, 0], estimator=estimator, method=chosen,
            scale=float(factors[0]), bounds=bounds, confidence=confidence,
        )  # fmt: skip
        mass = None
        if fraction > 0 and chosen not in ("exact", "naive"):
            mass = weighting.mass(estimator)
        for k, i in enumerate(positions):
            one = _result(wanted[i], *_cut(wanted[i], values[k], notes[k]), sample.n_users, chosen)
            part = None
            if mass is not None:
                part = user_part(weighting, wanted[i], mass, shares=shares, factors=factors)
            # What naive ranks estimate is not a metric of users: nothing is known of it.
            ratio = finite_ratio(0 if chosen == "naive" else fraction, one.replicates, part)
            results[i] = _said(_about(one, population, ratio, sample), unresampled)
    return [results[i] for i in range(len(wanted))]


def rank_distribution(
    table: RankTable | RankCounts | Sample, method: str = "auto", **parameters: Any
) -> tuple[NDArray[np.int64], Float]:
    """The estimated distribution of global ranks, P(R), as (edges, mass).

    Bin ``j`` holds ranks ``edges[j] .. edges[j + 1] - 1`` with probability ``mass[j]``; the top
    ranks have bins of their own. Linear methods (bv, mn) may give negative masses.
    """
    sample = prepare(table)
    chosen = "exact" if method == "auto" and sample.exact and not parameters else method
    weighting = sample.by_user
    mass = weighting.mass(make_method(chosen, parameters))
    return weighting.problem.grid.edges.copy(), mass.copy()


def _metrics(metrics: MetricLike | Sequence[MetricLike]) -> list[Metric]:
    several = isinstance(metrics, Iterable) and not isinstance(metrics, str)
    wanted = [as_metric(m) for m in metrics] if several else [as_metric(metrics)]  # type: ignore[arg-type,union-attr]
    if not wanted:
        raise InvalidArgumentError("metrics", [], "at least one metric, such as 'ndcg@10'")
    return wanted


def _check_cutoffs(metrics: list[Metric], sample: Sample) -> None:
    largest = int(sample.ranks.n_items.max())
    for metric in metrics:
        if metric.k is not None and metric.k > largest:
            raise InvalidArgumentError(
                "metric", str(metric), f"with K at most the {largest:,} candidates"
            )


def _resamples(method: str, n_boot: int | None, sample: Sample) -> tuple[int, str]:
    """How many resamples to draw; and what is wrong with them, where users are in buckets."""
    if n_boot is None:
        if not sample.resamples:
            return 0, NO_BUCKETS
        return (100 if method in SLOW_TO_REFIT else 1000), _few_buckets(sample)
    check_resamples(n_boot, fewest=0)
    if n_boot and not sample.resamples:
        raise InvalidDataError(f"{NO_BUCKETS}, or pass " + option("n_boot", 0))
    return n_boot, _few_buckets(sample) if n_boot else ""


def _few_buckets(sample: Sample) -> str:
    """A sentence where many users are in so few buckets that these tell little about chance."""
    if sample.one_row_each or not sample.n_units < FEW_USERS <= sample.n_users:
        return ""
    return (
        f"the {sample.n_users:,} users are in {sample.n_units} buckets, too few for a reliable "
        "interval; count them with a hash into 200"
    )


def _said(found: Estimate, note: str) -> Estimate:
    """The estimate with one note more, if there is one."""
    if not note:
        return found
    notes = (*found.diagnostics.notes, note)
    return replace(found, diagnostics=replace(found.diagnostics, notes=notes))


MOST_RESAMPLES = 1_000_000
"""Percentiles gain nothing beyond, and each takes memory: 8 bytes per distinct rank and metric."""


def check_resamples(n_boot: int, *, fewest: int) -> None:
    """A number of resamples that is enough, and that memory can hold."""
    if not fewest <= n_boot <= MOST_RESAMPLES:
        raise InvalidArgumentError(
            "n_boot", n_boot, f"at least {fewest} and at most {MOST_RESAMPLES:,}", "try 1000"
        )


def _certified(
    sample: Sample, metric: Metric, n_boot: int, seed: int, confidence: float
) -> Estimate:
    """A metric that a screen certifies: a sum over exact ranks, and bounds that hold for sure."""
    values = certified_values(sample, metric)
    found = sample.resampled_means(values, sample.row_weights(metric), n_boot=n_boot, seed=seed)
    low, high = certified_bounds(sample, metric, confidence)
    said = (
        f"{CERTIFIED}: for these users {metric} is at least {low:.6g}, from exact "
        f"ranks alone; targets that were screened out add at most {high - low:.2g} at "
        f"{confidence:.0%} confidence"
    )
    notes = Diagnostics(
        bounds=(low, high),
        suspicions=sample.suspicions,
        scored=sample.n_scored,
        notes=tuple(filter(None, [*sample.suspicions, said, sample.ranks.adapted])),
    )
    return _result(metric, np.clip(found, *metric.limits), notes, sample.n_users, "auto")


def _grouped(
    metrics: list[Metric], sample: Sample, done: Collection[int]
) -> list[tuple[Weighting, list[int]]]:
    """Metrics that weigh the rows alike share one fit; with one target a user, all do."""
    groups: dict[int, tuple[Weighting, list[int]]] = {}
    for i, metric in enumerate(metrics):
        if i in done:
            continue
        weighting = sample.weighting(sample.row_weights(metric))
        groups.setdefault(id(weighting), (weighting, []))[1].append(i)
    return list(groups.values())


def _cut(metric: Metric, values: Float, notes: Diagnostics) -> tuple[Float, Diagnostics]:
    """Values cut at the metric's limits, which is never further from the truth.

    Linear estimators leave them by chance; targets of one user that were sampled apart may all be
    estimated at rank 1, which no list allows.
    """
    low, high = metric.limits
    if not low - ROUNDING <= values[0] <= high + ROUNDING:
        said = f"the estimate {values[0]:.4g} is beyond what {metric} can be, and was cut there"
        notes = replace(notes, notes=(*notes.notes, said))
    return np.clip(values, low, high), notes


def _result(
    metric: Metric, values: Float, diagnostics: Diagnostics, n_users: int, method: str
) -> Estimate:
    replicates = values[1:]
    if n_users < FEW_USERS:
        said = f"{n_users} user{'s are' if n_users > 1 else ' is'} too few for a reliable interval"
        diagnostics = replace(diagnostics, notes=(*diagnostics.notes, said))
    return Estimate(
        metric=str(metric),
        value=float(values[0]),
        # Every resample of one user is that user: how far others may be is not known.
        std_error=float(replicates.std(ddof=1)) if min(len(replicates), n_users) > 1 else math.nan,
        n_users=n_users,
        method=method,
        limits=metric.limits,
        diagnostics=diagnostics,
        replicates=replicates,
    )


def _about(found: Estimate, population: Population, ratio: float, sample: Sample) -> Estimate:
    """The estimate with whose metric it is; resamples drawn in where not all variance counts."""
    if population == "infinite":
        return found
    found = replace(found, population=population, n_population=sample.ranks.header.n_population)
    root = float(np.sqrt(ratio))
    # "The only uncertainty is which users there are" is not true of users that are all there.
    others = () if found.known else found.diagnostics.notes
    notes = (*others, finite_note(found, ratio))
    return replace(
        found,
        std_error=root * found.std_error if root > 0 else 0.0,
        replicates=found.value + root * (found.replicates - found.value),
        diagnostics=replace(found.diagnostics, notes=notes),
    )


def _from_exact_ranks(
    sample: Sample, metrics: list[Metric], *, n_boot: int, seed: int
) -> list[Estimate]:
    """Exact ranks: values per user, then their weighted mean.

    Only here can metrics that are not sums over several items of a user (hit, ap, mrr, auc) be
    had, and only from a table: counts do not know whose items go together. Memory: 40 bytes per
    user.
    """
    notes, table = exact_diagnostics(sample), sample.ranks
    results = []
    if isinstance(table, RankCounts):
        for metric in metrics:
            values = metric.row_values(table.rank, table.n_items)
            weights = sample.row_weights(metric)
            found = sample.resampled_means(values, weights, n_boot=n_boot, seed=seed)
            results.append(_result(metric, found, notes, sample.n_users, "exact"))
        return results
    weight = table.user_weight
    n_users, n_units = len(weight), len(weight)
    number, one = np.arange(n_users), np.zeros(n_users, np.int64)
    if sample.common and sample.block is not None and sample.user is not None:
        n_units = sample.n_units
        number[sample.user] = sample.block
    drawn = UserResamples(n_units, n_boot, seed)
    weights = drawn.sums(one, number, weight, 1)[0]
    for metric in metrics:
        _, values = table.per_user(metric)
        resampled = drawn.sums(one, number, values * weight, 1)[0] / weights
        all_values = [float(values @ weight / weight.sum()), *resampled]
        results.append(_result(metric, np.array(all_values), notes, n_users, "exact"))
    return results
