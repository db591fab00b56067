r"""The difference of two models: its size, its error, and whether it may be chance.

Two ways, by what the tables hold:

* **every rank exact**: the values of each user under both models are known, and a paired test
  of :mod:`.paired_tests` uses them.
* **sampled ranks**: no user has a value, only the population has an estimate. Users are
  resampled, with the same resamples for both models, and the estimators run again:

  .. math::  \widehat{\mathrm{SE}}^2 = \mathrm{Var}_b(\hat\theta_a^{(b)} - \hat\theta_b^{(b)}),
     \qquad z = (\hat\theta_a - \hat\theta_b) / \widehat{\mathrm{SE}}.

  Both models met the same rivals (common random numbers), so what they share cancels. Valid
  for the difference of what the estimators aim at: a bias that differs between the models stays.

All of this is about future users. About the users there are (``population="finite"``):

* **all of them ranked in full**: the difference is known; there is no error and nothing to test.
* **some of them, or sampled ranks**: resamples again, drawn in by
  :func:`~truerank.estimators.finite.difference_ratio`, for exact ranks too. The paired
  tests of users' values know of no finite population and are refused.

Intervals are cut at the largest difference that the metric allows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from truerank.arrays import Float
from truerank.comparison.named_tests import choose_test, run_test
from truerank.comparison.outcome import SMALLEST_P
from truerank.comparison.values import ONE_USER, ROUNDING, Pairs
from truerank.errors import InvalidArgumentError, InvalidDataError, option
from truerank.estimators import Estimate, Sample
from truerank.estimators.finite import difference_ratio
from truerank.estimators.population import Population
from truerank.metrics import Metric
from truerank.ranking import RankTable

RESAMPLED_TESTS = ("z", "bootstrap")
"""Tests for estimates, from joint resamples of the users."""

FEW_USERS = "so few users could all differ one way by chance: no interval"

KNOWN = "known"
"""In place of a test, where there is nothing to test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What two models differ by, on one metric, before any correction."""

    value: float
    std_error: float
    low: float
    high: float
    p_value: float
    effect_size: float
    test: str
    note: str = ""


def difference(
    samples: tuple[Sample, Sample],
    estimates: tuple[Estimate, Estimate],
    metric: Metric,
    *,
    test: str,
    confidence: float,
    n_resamples: int,
    seed: int,
    method: str = "auto",
    population: Population = "infinite",
) -> Difference:
    """The first minus the second.

    ``estimates`` are about future users (``population="infinite"``), with joint resamples.
    For the users there are the difference is shrunk here, as one: what the users have in common
    cancels in it, and each model's own shrinkage would be too much.
    """
    exact = all(sample.exact for sample in samples)
    tables = _table(samples[0]), _table(samples[1])
    finite = population == "finite"
    if test == "auto" and (finite or not exact):
        test = "z"
    if test == "z" or finite or not exact:
        _check_resampled(test, exact=exact)
        if finite and exact and all(t.n_users == t.header.n_population for t in tables):
            return _known(tables, metric)
        drawn = estimates[0].replicates - estimates[1].replicates
        if finite:
            value = estimates[0].value - estimates[1].value
            ratio = difference_ratio(samples, metric, drawn, method=method, seed=seed)
            drawn = value + ratio**0.5 * (drawn - value)
        return _from_resamples(estimates, drawn, metric, test=test, confidence=confidence)
    a, b = (table.per_user(metric)[1] for table in tables)
    weight = _user_weight(tables[0])
    chosen = choose_test(a, b, weight=weight) if test == "auto" else test
    outcome = run_test(chosen, a, b, seed=seed, n_resamples=n_resamples, weight=weight)
    half = _t(len(a), confidence) * outcome.std_error
    low, high = _within(metric, outcome.difference - half, outcome.difference + half)
    return Difference(
        value=outcome.difference,
        std_error=outcome.std_error,
        low=low,
        high=high,
        p_value=outcome.p_value,
        effect_size=outcome.effect_size,
        test=chosen,
        note=outcome.note,
    )


def _table(sample: Sample) -> RankTable:
    if not isinstance(sample.ranks, RankTable):
        raise InvalidDataError("counts do not know their users, so no two can be compared")
    return sample.ranks


def _check_resampled(test: str, *, exact: bool) -> None:
    if test in RESAMPLED_TESTS:
        return
    known = f"one of {', '.join(RESAMPLED_TESTS)} or auto"
    if exact:
        raise InvalidArgumentError(
            "test", test, f"{known} for " + option("population", "finite"),
            "other tests are about future users, of whom these are a sample",
        )  # fmt: skip
    raise InvalidArgumentError(
        "test", test, f"{known} for sampled ranks",
        "other tests need the value of every user, which only exact ranks give",
    )  # fmt: skip


def _known(tables: tuple[RankTable, RankTable], metric: Metric) -> Difference:
    """All users ranked in full: no error, and p only says whether there is a difference."""
    a, b = (table.per_user(metric)[1] for table in tables)
    pairs = Pairs.of(a, b, _user_weight(tables[0]))
    value = 0.0 if abs(pairs.mean) <= ROUNDING else pairs.mean
    return Difference(
        value=value,
        std_error=0.0,
        low=value,
        high=value,
        p_value=1.0 if value == 0 else 0.0,
        effect_size=pairs.d_z if pairs.n > 1 else 0.0,
        test=KNOWN,
    )


def _within(metric: Metric, low: float, high: float) -> tuple[float, float]:
    """An interval of a difference, cut where no difference of the metric can be."""
    least, most = metric.limits
    span = most - least
    return float(np.clip(low, -span, span)), float(np.clip(high, -span, span))


def _from_resamples(
    estimates: tuple[Estimate, Estimate],
    drawn: Float,
    metric: Metric,
    *,
    test: str,
    confidence: float,
) -> Difference:
    r"""The difference with the interval that belongs to its test, so that they never disagree.

    ``z``: :math:`d \pm z\,\mathrm{SE}`. ``bootstrap``: :math:`d \pm q`, with q the quantile of
    :math:`|d^{(b)} - d|`, whose tail beyond :math:`|d|` is p. Where n users all speak for one
    model, chance would let them do so with probability :math:`2^{1 - n}`: p is never below it, and
    where that exceeds 1 - confidence no interval is given.
    """
    a, b = estimates
    value = a.value - b.value
    error = float(drawn.std(ddof=1)) if a.n_users > 1 else float("nan")
    least_p = max(SMALLEST_P, 2.0 ** (1 - min(a.n_users, 1000)))
    note = ""
    if error == 0:
        p, half = (least_p if value else 1.0), 0.0
        note = "no resample of the users changes the difference"
    elif test == "bootstrap":
        far = abs(drawn - value)
        p = float((1 + (far >= abs(value)).sum()) / (1 + len(drawn)))
        half = float(np.quantile(far, confidence))
    else:
        p = float(2 * stats.norm.sf(abs(value) / error))
        half = float(stats.norm.ppf(0.5 + confidence / 2)) * error
    if least_p > 1 - confidence:
        half, note = float("nan"), ONE_USER if a.n_users == 1 else FEW_USERS
    low, high = _within(metric, value - half, value + half)
    return Difference(
        value=value,
        std_error=error,
        low=low,
        high=high,
        p_value=1.0 if a.n_users == 1 else max(p, least_p),
        effect_size=value / (error * a.n_users**0.5) if error > 0 else 0.0,
        test=test,
        note=note,
    )


def _user_weight(table: RankTable) -> Float | None:
    """Weight of each user in ascending order of ids; None where all are alike."""
    return None if np.ptp(table.weight) == 0 else table.user_weight


def _t(n: int, confidence: float) -> float:
    return float(stats.t.ppf(0.5 + confidence / 2, n - 1)) if n > 1 else float("nan")
