r"""The difference of two models on some of the users: how much of its variance counts.

Each model's own ratio must not be used for the difference. What the users have in common cancels
in :math:`\hat T_a - \hat T_b`, and it is the part that a finite population takes away; the chances
of the sampled items stay. So the formula of :mod:`.finite` is applied to the difference itself,
over joint resamples of the users.
"""

from __future__ import annotations

from truerank.arrays import Float
from truerank.errors import InvalidDataError, option
from truerank.estimators.finite import UserPart, finite_ratio, sampled_fraction, user_part
from truerank.estimators.methods.table import make_method
from truerank.estimators.population import Population
from truerank.estimators.problem import Problem
from truerank.estimators.samples import Sample
from truerank.metrics import Metric
from truerank.ranking.table import RankTable


def difference_ratio(
    tables: tuple[RankTable, RankTable],
    metric: Metric,
    replicates: Float,
    *,
    method: str = "auto",
    seed: int = 0,
    population: Population = "finite",
) -> float:
    """Variance of a difference about that of all M users, as a part of that of its resamples.

    Args:
        tables: Ranks of the same users by two models.
        metric: The metric.
        replicates: Differences of the estimates over resamples, made by
            ``estimate(..., paired=True, population="infinite")`` for each table.
        method: Of the estimates.
        seed: Of these resamples.
        population: As for :func:`truerank.estimate`; 1 is returned for future users.
    """
    fractions = [sampled_fraction(table, population) for table in tables]
    if fractions[0] != fractions[1]:
        raise InvalidDataError(
            f"the tables hold {fractions[0]:.3g} and {fractions[1]:.3g} of their users; rank both "
            "models with one design, or pass " + option("population", "infinite")
        )
    fraction = fractions[0]
    if fraction == 0 or method == "naive":
        return 1.0
    if all(bool(table.is_exact.all()) for table in tables):
        return finite_ratio(fraction, replicates)
    a, b = (_part(table, metric, method, len(replicates), seed) for table in tables)
    return finite_ratio(fraction, replicates, a - b)


def _part(table: RankTable, metric: Metric, method: str, n_boot: int, seed: int) -> UserPart:
    sample = Sample.of(table)
    weights = sample.row_weights(metric)
    problem = Problem.of(sample.cells, n_rows=sample.effective_rows(weights))
    shares, factors = sample.shares(weights, n_boot=n_boot, seed=seed, paired=True)
    estimator = make_method("exact" if bool(table.is_exact.all()) else method, {})
    mass = estimator.distribution(problem, shares[:, 0])
    return user_part(
        sample, problem, metric, mass, row_weights=weights, shares=shares, factors=factors
    )
