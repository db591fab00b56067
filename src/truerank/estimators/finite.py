r"""Whose metric is wanted: that of future users, or that of the users there are.

A table holds the ranks of :math:`m` users. By default they are a sample of **future users**, an
infinite population, whatever design chose them: resamples of the users are the error. Asked for in
so many words (``population="finite"``), the metric is that of the :math:`M` users there are, of
whom :math:`m` were drawn without replacement.
What was looked at does not vary any more, so resamples of the users overstate the error. Write
:math:`\hat T` for the estimate, :math:`T_m` for the metric of the ranked users and :math:`T_M` for
that of all; with users in random order and :math:`f = m / M`,

.. math::  \mathrm{Var}(\hat T - T_M) = \mathrm{Var}(\hat T)
           - f\,\bigl(2\,\mathrm{Cov}(\hat T, T_m) - \mathrm{Var}(T_m)\bigr).

* **Exact ranks**: :math:`\hat T = T_m`, so the variance is multiplied by :math:`1 - f`.
* **Sampled ranks**: :math:`T_m` is not seen, but its conditional mean given the samples is. With
  :math:`t_c = E[F(R) \mid c]` and :math:`s_c^2 = \mathrm{Var}(F(R) \mid c)` under the estimated
  distribution of ranks, :math:`\hat T_m = \sum_c P_c t_c` over the resamples gives

  .. math::  \mathrm{Cov}(\hat T, T_m) = \mathrm{Cov}(\hat T, \hat T_m), \qquad
             \mathrm{Var}(T_m) = \mathrm{Var}(\hat T_m) + h,

  where :math:`h` is the hidden part. An estimate that follows its users has a covariance equal to
  :math:`\mathrm{Var}(T_m)`, and then only the users' part shrinks,
  :math:`V - f\,\mathrm{Var}(v)/m`; one that extrapolates follows them less, and shrinks less.
* **Several held-out items a user**: how the hidden parts of one user's items go together is not
  known; they are taken to add up, :math:`h = \sum_u (\sum_t w_t s_t)^2 / m^2`, the largest they can
  be, which makes the error larger, never smaller.

* **The difference of two models**: each model's own ratio must not be used for it. What the users
  have in common cancels in :math:`\hat T_a - \hat T_b`, and it is the part that a finite population
  takes away; the chances of the sampled items stay. So the formula is applied to the difference
  itself, over joint resamples of the users.

The ratio to :math:`\mathrm{Var}(\hat T)` is kept within [0, 1]. Resamples are moved towards the
estimate by its root, so that intervals agree. With all users ranked in full nothing is left to
chance. Valid where bias is small: none of this sees a bias.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.arrays import Float
from truerank.errors import InvalidArgumentError, InvalidDataError, option
from truerank.estimators.methods.table import make_method
from truerank.estimators.population import Population
from truerank.estimators.result import Estimate
from truerank.estimators.samples import Sample, Weighting, prepare
from truerank.metrics import Metric
from truerank.ranking.counts import RankCounts
from truerank.ranking.table import RankTable

_SMALL = 1e-300


def sampled_fraction(table: RankTable | RankCounts, population: Population = "infinite") -> float:
    """The part of the wanted users that the table holds, m / M; 0 for future users.

    >>> sampled_fraction(RankTable.from_arrays([1, 5], 10, 10))
    0.0
    """
    if population == "infinite":
        return 0.0
    there_are = table.header.n_population
    if there_are is None:
        raise InvalidArgumentError(
            "population", population, "'infinite' for a table that does not say n_population",
            "give it a header with n_population, the number of users there are",
        )  # fmt: skip
    if table.n_users > there_are:
        raise InvalidDataError(
            f"the table holds {table.n_users:,} users and says that there are {there_are:,}; "
            "correct n_population in its header, or pass " + option("population", "infinite")
        )
    return table.n_users / there_are


@dataclass(frozen=True, slots=True, eq=False)
class UserPart:
    """What is known of the metric of the ranked users themselves.

    Attributes:
        known: Its conditional mean given the samples, for each resample of the users.
        hidden: Variance of what the samples do not tell.
    """

    known: Float
    hidden: float

    def __sub__(self, other: UserPart) -> UserPart:
        """For the difference of two models on the same users, by the same resamples.

        Hidden parts are taken as independent: where models agree on users, this is too much.
        """
        return UserPart(self.known - other.known, self.hidden + other.hidden)


def user_part(
    weighting: Weighting, metric: Metric, mass: Float, *, shares: Float, factors: Float
) -> UserPart:
    """The part of one metric, under an estimated distribution of ranks.

    Args:
        weighting: The rows with their weights in the metric.
        metric: The metric.
        mass: Estimated masses of the grid's bins; negative ones count as 0.
        shares: As :meth:`Sample.shares` gives them, the sample itself first.
        factors: Likewise.
    """
    sample, problem = weighting.sample, weighting.problem
    F = problem.grid.metric_values(metric)
    pi = np.maximum(mass, 0.0)
    p = np.maximum(problem.A @ pi, _SMALL)
    mean = problem.A @ (pi * F) / p
    variance = np.maximum(problem.A @ (pi * F**2) / p - mean**2, 0.0)
    if isinstance(sample.ranks, RankTable) and sample.user is not None:
        spread = np.bincount(sample.user, weighting.row_weights * np.sqrt(variance)[sample.cell])
        squares = float((spread**2).sum())
    else:  # users are not known: (a_1 + ... + a_m)^2 <= m (a_1^2 + ... + a_m^2), = for one item
        rows = sample.n_targets * weighting.row_weights**2 / sample.worth
        squares = float((rows * variance[sample.cell]).sum())
    return UserPart((factors * (mean @ shares))[1:], squares / sample.total**2)


def finite_ratio(fraction: float, replicates: Float, part: UserPart | None = None) -> float:
    """Variance about the metric of all M users, as a part of that of the resamples.

    Args:
        fraction: m / M, by :func:`sampled_fraction`.
        replicates: The estimate (or a difference of two) over resamples of the users.
        part: The users' own part over the same resamples; None for exact ranks.

    >>> round(finite_ratio(0.75, np.array([0.1, 0.2, 0.4])), 12)
    0.25
    """
    if fraction == 0:
        return 1.0
    if part is None:
        return 1.0 - fraction
    if len(replicates) < 2:
        return 1.0
    variance = float(replicates.var(ddof=1))
    if variance == 0:
        return 1.0
    together = float(np.cov(replicates, part.known)[0, 1])
    own = float(part.known.var(ddof=1)) + part.hidden
    return float(np.clip(1.0 - fraction * (2.0 * together - own) / variance, 0.0, 1.0))


def finite_note(found: Estimate, ratio: float) -> str:
    """What is said of an estimate about the users there are, whose variance is ``ratio``."""
    m, M = found.n_users, found.n_population or 0
    if found.known:
        return f"all {M:,} users were ranked in full: their metric is known, not estimated"
    return (
        f"{m:,} of {M:,} users were ranked and the estimate is about these {M:,}: its standard "
        f"error is {np.sqrt(ratio):.0%} of what it would be for future users"
    )


def difference_ratio(
    ranks: tuple[RankTable | Sample, RankTable | Sample],
    metric: Metric,
    replicates: Float,
    *,
    method: str = "auto",
    seed: int = 0,
    population: Population = "finite",
) -> float:
    """Variance of a difference about that of all M users, as a part of that of its resamples.

    Args:
        ranks: Those of the same users by two models, tables or what :func:`prepare` made of them.
        metric: The metric.
        replicates: Differences of the estimates over resamples, made by
            ``estimate(..., paired=True, population="infinite")`` for each table.
        method: Of the estimates.
        seed: Of these resamples.
        population: As for :func:`truerank.estimate`; 1 is returned for future users.
    """
    samples = [prepare(one) for one in ranks]
    fractions = [sampled_fraction(sample.ranks, population) for sample in samples]
    if fractions[0] != fractions[1]:
        raise InvalidDataError(
            f"the tables hold {fractions[0]:.3g} and {fractions[1]:.3g} of their users; rank both "
            "models with one design, or pass " + option("population", "infinite")
        )
    fraction = fractions[0]
    if fraction == 0 or method == "naive":
        return 1.0
    if all(sample.exact for sample in samples):
        return finite_ratio(fraction, replicates)
    a, b = (_part(sample, metric, method, len(replicates), seed) for sample in samples)
    return finite_ratio(fraction, replicates, a - b)


def _part(sample: Sample, metric: Metric, method: str, n_boot: int, seed: int) -> UserPart:
    weighting = sample.weighting(sample.row_weights(metric))
    shares, factors = sample.shares(weighting.row_weights, n_boot=n_boot, seed=seed, paired=True)
    mass = weighting.mass(make_method("exact" if sample.exact else method, {}))
    return user_part(weighting, metric, mass, shares=shares, factors=factors)
