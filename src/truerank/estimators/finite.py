r"""Some of the users, drawn without replacement: the error about all of them.

``Users(m)`` ranks :math:`m` of :math:`M` users, and the metric wanted is that of these :math:`M`.
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

The ratio to :math:`\mathrm{Var}(\hat T)` is kept within [0, 1]. Resamples are moved towards the
estimate by its root, so that intervals agree. Valid where bias is small: none of this sees a bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.estimators.problem import Problem
from truerank.estimators.samples import Sample
from truerank.metrics import Metric
from truerank.ranking.table import RankTable

Float = NDArray[np.float64]
Population = Literal["auto", "finite", "infinite"]

_SMALL = 1e-300


def sampled_fraction(table: RankTable, population: Population = "auto") -> float:
    """The part of the wanted users that the table holds, m / M; 0 for users without end.

    ``auto`` is finite for ``Users(m)`` designs that know how many users there are. Any other table,
    one of all users too, is a sample of users to come.

    >>> table = RankTable.from_arrays([1, 5], 10, 10)
    >>> sampled_fraction(table), sampled_fraction(table, "infinite")
    (0.0, 0.0)
    """
    if population not in get_args(Population):
        raise InvalidArgumentError("population", population, "'auto', 'finite' or 'infinite'")
    there_are = table.header.n_population
    if population == "infinite":
        return 0.0
    if population == "auto" and (table.header.design.get("kind") != "users" or there_are is None):
        return 0.0
    if there_are is None:
        raise InvalidArgumentError(
            "population", population, "'infinite' for a table that does not say n_population",
            "give it a header with n_population, the number of users there are",
        )  # fmt: skip
    if table.n_users > there_are:
        raise InvalidDataError(
            f"the table holds {table.n_users:,} users and says that there are {there_are:,}; "
            "correct n_population in its header, or pass population='infinite'"
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
    sample: Sample,
    problem: Problem,
    metric: Metric,
    mass: Float,
    *,
    row_weights: Float,
    shares: Float,
    factors: Float,
) -> UserPart:
    """The part of one metric, under an estimated distribution of ranks.

    Args:
        sample: The rows.
        problem: Their cells, grid and likelihood.
        metric: The metric.
        mass: Estimated masses of the grid's bins; negative ones count as 0.
        row_weights: Weight of each row in the metric.
        shares: As :meth:`Sample.shares` gives them, the sample itself first.
        factors: Likewise.
    """
    F = problem.grid.metric_values(metric)
    pi = np.maximum(mass, 0.0)
    p = np.maximum(problem.A @ pi, _SMALL)
    mean = problem.A @ (pi * F) / p
    variance = np.maximum(problem.A @ (pi * F**2) / p - mean**2, 0.0)
    spread = np.bincount(sample.user, row_weights * np.sqrt(variance)[sample.cell])
    hidden = float((spread**2).sum()) / sample.total**2
    return UserPart((factors * (mean @ shares))[1:], hidden)


def finite_ratio(fraction: float, replicates: Float, part: UserPart | None = None) -> float:
    """Variance about the metric of all M users, as a part of that of the resamples.

    Args:
        fraction: m / M, by :func:`sampled_fraction`.
        replicates: The estimate (or a difference of two) over resamples of the users.
        part: The users' own part over the same resamples; None for exact ranks.

    >>> round(finite_ratio(0.75, np.array([0.1, 0.2, 0.4])), 12)
    0.25
    """
    if fraction == 0 or len(replicates) < 2:
        return 1.0
    if part is None:
        return 1.0 - fraction
    variance = float(replicates.var(ddof=1))
    if variance == 0:
        return 1.0
    together = float(np.cov(replicates, part.known)[0, 1])
    own = float(part.known.var(ddof=1)) + part.hidden
    return float(np.clip(1.0 - fraction * (2.0 * together - own) / variance, 0.0, 1.0))


def finite_note(table: RankTable, ratio: float) -> str:
    """The correction in words."""
    m, M = table.n_users, table.header.n_population or 0
    return (
        f"{m:,} of {M:,} users were ranked and the estimate is about these {M:,}: its standard "
        f"error is {np.sqrt(ratio):.0%} of what it would be for users to come"
    )
