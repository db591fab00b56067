r"""What a pilot leaves open about the ranks: smooth distributions drawn from their posterior.

``auto`` fits the log-density of ranks by splines :math:`Qb` under a curvature penalty, whose
strength the data choose (:mod:`truerank.estimators.methods.smooth`). Penalised likelihood is Bayes
with a smoothing prior, so what the pilot leaves open is, nearly,

.. math::  b \sim \mathcal N(\hat b, V), \qquad V^{-1} = \text{penalised information at } \hat b,

and each distribution is :math:`\pi_j \propto w_j \exp\{(Qb)_j\}` of one draw. The mean squared
error over distributions and trials is then what is to be expected *given the pilot*: curved
distributions, in which a blind design is off, count as much as the pilot allows them.

Not ``auto``'s distribution of the pilot's own users, nor resamples of that: these give every exact
rank its own spike, are rougher than any distribution of many users, and predict too large an error.
Nor the fit :math:`\hat b` alone: ``auto`` is at its best where the distribution is as smooth as it
guessed.

**Steps.** Where all users share one list, single items make steps that no smooth distribution has.
In a pilot ranked in full the counts :math:`k_R` of the top ranks show it: they vary more than
Poisson counts do. If a gamma factor of mean 1 and variance :math:`1/\kappa` per rank explains them
better, by more than :math:`\tfrac12 \log` of the number of ranks (BIC), each draw gets factors

.. math::  g_R \sim \mathrm{Gamma}(\kappa + k_R) / (\kappa + \mu_R), \qquad \mu_R = m \pi_R .

Valid for pilots of any design, but only one ranked in full can show steps, and 2,000 users show
those of a half of the value or more; smaller ones are smoothed away. See docs/planning.md.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from truerank.arrays import Float
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.estimators import prepare, rank_distribution
from truerank.estimators.grid import RankGrid
from truerank.estimators.methods.smooth import Smooth, SplineBasis, fit_smooth
from truerank.estimators.samples import Sample
from truerank.metrics import Metric
from truerank.planning.distributions import RankDistribution
from truerank.ranking import RankTable
from truerank.rng import Stream, stream

PILOT_DISTRIBUTIONS = 16
"""Draws from the posterior. Each costs one schedule for an adaptive design, about 40 ms."""

STEP_SIZES = (0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
"""Standard deviations of a rank's factor that are tried, as parts of the smooth distribution."""


def pilot_value(pilot: RankTable | Sample, metric: Metric) -> float:
    """The metric by ``auto`` from the pilot: a plain mean where it is ranked in full."""
    edges, mass = rank_distribution(pilot)
    return float(RankGrid(edges).metric_values(metric) @ mass)


def pilot_distributions(
    pilot: RankTable | Sample, n_items: int, metric: Metric, *, seed: int = 0
) -> list[RankDistribution]:
    """Distributions that the pilot allows, or a sentence about why it cannot tell.

    Args:
        pilot: A table, or what :func:`checked_pilot` made of it.
        n_items: Items of the catalogue.
        metric: What is planned for.
        seed: Of the draws.
    """
    sample = pilot if isinstance(pilot, Sample) else checked_pilot(pilot, n_items, metric)
    rows, problem = sample.effective_rows(sample.weight), sample.problem
    shares, _ = sample.shares(sample.weight, n_boot=0, seed=0)
    basis = SplineBasis.of(problem.grid, Smooth().n_splines)
    fit = fit_smooth(problem.A, rows * shares[:, 0], basis)
    root = np.linalg.cholesky((fit.covariance + fit.covariance.T) / 2.0)
    top = int((problem.grid.widths == 1).sum())
    seen = np.zeros(top)
    exact = sample.exact
    if exact:
        cells = sample.cells.rank <= top
        np.add.at(seen, sample.cells.rank[cells] - 1, rows * shares[cells, 0])
    kappa = step_strength(seen, rows * basis.density(fit.b)[:top]) if exact else None
    distributions = []
    for draw in range(PILOT_DISTRIBUTIONS):
        own = stream(seed, Stream.BOOTSTRAP, draw)
        mass = basis.density(fit.b + root @ own.standard_normal(len(fit.b)))
        if kappa is not None:
            mass[:top] *= own.gamma(kappa + seen) / (kappa + rows * mass[:top])
            mass /= mass.sum()
        distributions.append(RankDistribution(problem.grid, mass))
    return distributions


def step_strength(seen: Float, smooth: Float) -> float | None:
    r"""Strength of the steps in counts of ranks, about a smooth distribution, or None.

    The counts given the strength :math:`\kappa` are negative binomial,

    .. math::  P(k) = \frac{\Gamma(k + \kappa)}{\Gamma(\kappa)\, k!}
               \Bigl(\frac{\kappa}{\kappa + \mu}\Bigr)^\kappa
               \Bigl(\frac{\mu}{\kappa + \mu}\Bigr)^k .

    Args:
        seen: Users at each rank.
        smooth: Users that the smooth distribution expects there.
    """
    k, mu = seen, np.maximum(smooth * seen.sum() / smooth.sum(), 1e-12)
    poisson = float((k * np.log(mu) - mu).sum())
    gains = []
    for size in STEP_SIZES:
        c = size**-2.0
        log_p = gammaln(k + c) - gammaln(c) + c * np.log(c / (c + mu)) + k * np.log(mu / (c + mu))
        gains.append(float(log_p.sum()) - poisson)
    best = int(np.argmax(gains))
    return STEP_SIZES[best] ** -2.0 if gains[best] > 0.5 * np.log(len(k)) else None


def checked_pilot(pilot: RankTable, n_items: int, metric: Metric) -> Sample:
    """The pilot made ready once for all that planning asks it, or a sentence about its fault."""
    if len(pilot) == 0:
        raise InvalidDataError(
            "the pilot has no rows, so it says nothing about ranks; rank some users, best "
            "Users(2000), or give expected= instead"
        )
    if len(pilot) > pilot.n_users:
        raise InvalidDataError(
            "the pilot has users with several held-out items; planning takes one a user: keep "
            "one row of each, and count the pairs for as many as there will be"
        )
    largest = int(pilot.n_items.max())
    if not 0.8 * n_items <= largest <= n_items:
        raise InvalidArgumentError(
            "n_items", n_items, f"that of the pilot, which has {largest:,} candidates",
            "plan for the catalogue that the pilot was ranked in",
        )  # fmt: skip
    sample = prepare(pilot)
    if not pilot_value(sample, metric) > 0:
        raise InvalidDataError(
            f"the pilot's {metric} is 0, so it says nothing about its error; take a larger pilot, "
            "a larger K, or give expected= instead"
        )
    return sample
