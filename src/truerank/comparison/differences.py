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
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from truerank.comparison.named_tests import choose_test, run_test
from truerank.comparison.outcome import SMALLEST_P
from truerank.data.id_order import distinct_ids
from truerank.errors import InvalidArgumentError
from truerank.estimators import Estimate
from truerank.estimators.finite_difference import difference_ratio
from truerank.metrics import Metric
from truerank.ranking import RankTable

Float = NDArray[np.float64]

RESAMPLED_TESTS = ("z", "bootstrap")
"""Tests for estimates, from joint resamples of the users."""


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
    tables: tuple[RankTable, RankTable],
    estimates: tuple[Estimate, Estimate],
    metric: Metric,
    *,
    test: str,
    level: float,
    n_resamples: int,
    seed: int,
    method: str = "auto",
) -> Difference:
    """The first minus the second.

    ``estimates`` are about users without end (``population="infinite"``), with joint resamples.
    For some of a known number of users the difference is shrunk here, as one: what the users
    have in common cancels in it, and each model's own shrinkage would be too much.
    """
    exact = all(bool(table.is_exact.all()) for table in tables)
    finite = any(table.header.design.get("kind") == "users" for table in tables)
    if test == "auto" and (finite or not exact):
        test = "z"
    if test == "z" or not exact:
        if test not in RESAMPLED_TESTS:
            raise InvalidArgumentError(
                "test", test, f"one of {', '.join(RESAMPLED_TESTS)} or auto for sampled ranks",
                "other tests need the value of every user, which only exact ranks give",
            )  # fmt: skip
        drawn = estimates[0].replicates - estimates[1].replicates
        if finite:
            value = estimates[0].value - estimates[1].value
            ratio = difference_ratio(tables, metric, drawn, method=method, seed=seed)
            drawn = value + ratio**0.5 * (drawn - value)
        return _from_resamples(estimates, drawn, test=test, level=level)
    a, b = (table.per_user(metric)[1] for table in tables)
    weight = _user_weight(tables[0])
    chosen = choose_test(a, b, weight=weight) if test == "auto" else test
    outcome = run_test(chosen, a, b, seed=seed, n_resamples=n_resamples, weight=weight)
    half = _t(len(a), level) * outcome.std_error
    return Difference(
        value=outcome.difference,
        std_error=outcome.std_error,
        low=outcome.difference - half,
        high=outcome.difference + half,
        p_value=outcome.p_value,
        effect_size=outcome.effect_size,
        test=chosen,
        note=outcome.note,
    )


def _from_resamples(
    estimates: tuple[Estimate, Estimate], drawn: Float, *, test: str, level: float
) -> Difference:
    a, b = estimates
    value = a.value - b.value
    error = float(drawn.std(ddof=1))
    if error == 0:
        p, note = 1.0, "no resample of the users changes the difference"
        if value != 0:
            p = SMALLEST_P
    elif test == "bootstrap":
        p, note = float((1 + (abs(drawn - value) >= abs(value)).sum()) / (1 + len(drawn))), ""
    else:
        p, note = max(SMALLEST_P, float(2 * stats.norm.sf(abs(value) / error))), ""
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Difference(
        value=value,
        std_error=error,
        low=float(low),
        high=float(high),
        p_value=p,
        effect_size=value / (error * a.n_users**0.5) if error > 0 else 0.0,
        test=test,
        note=note,
    )


def _user_weight(table: RankTable) -> Float | None:
    """Weight of each user in ascending order of ids; None where all are alike."""
    if np.ptp(table.weight) == 0:
        return None
    return np.asarray(table.weight[np.unique(distinct_ids(table.user)[1], return_index=True)[1]])


def _t(n: int, level: float) -> float:
    return float(stats.t.ppf(0.5 + level / 2, n - 1)) if n > 1 else float("nan")
