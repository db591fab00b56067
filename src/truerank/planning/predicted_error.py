r"""The error that a design would have, by trying it on users drawn from the assumed distributions.

No formula of variance knows how far off an estimate is where the samples are blind, so the design
is simulated: users are drawn, their samples are drawn, ``auto`` estimates, and the error :math:`e =
\hat T - T_m` about the metric of these users is recorded. Two numbers of users, because neither the
variance nor the bias of a smoothed estimate follows a simple rule in between: the mean square of
:math:`e` over distributions and trials is interpolated on a log-log line, falls as :math:`1/m`
below the smaller one, and beyond the larger one as a bias that stays and a variance that falls. The
squared bias of a distribution is estimated without that of the noise of its :math:`t` trials,

.. math::  \bar e^2 - s^2 / t, \qquad \text{averaged over distributions, at least 0.}

For :math:`m` of :math:`M` users the sampling of users is added,

.. math::  \mathrm{MSE} = E[e^2]
           + (1 - f)\Bigl(\frac{\sigma^2}{m} + 2\,\mathrm{Cov}(e, T_m)\Bigr), \qquad f = m / M,

with :math:`\sigma` the standard deviation of the metric over users. The covariance is negative:
a smoothed estimate does not follow every chance of its users.

The rows of a trial have rivals of their own, also where the design lets blocks of users share them.
Shared draws make the errors of a block's rows alike. Really ranked,
factors with a list for each user have the error that is predicted for a screen with a budget;
where all users share one list, as with popularity, it is about twice as large (docs/planning.md).

All errors here are relative to the metric's value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from truerank.arrays import Float
from truerank.estimators.simulate import simulate
from truerank.metrics import Metric
from truerank.planning.distributions import RankDistribution
from truerank.planning.trials import TRIAL_COLUMNS, auto_values
from truerank.ranking import Adaptive, Full, RankTable, Sampled, Screened
from truerank.ranking.designs import InnerDesign
from truerank.rng import Stream, stream

TRIAL_USERS = (2_000, 20_000)
"""Numbers of users of the trials; both at most those there are."""

TRIALS = 32
"""Trials per number of users, divided among the distributions."""

SCHEDULE_TRIALS = 4
"""Trials that share the stages of a budget: settling them takes as long as a trial or two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedError:
    """What one way of ranking a user does to the error, for any number of users.

    Attributes:
        design: How each user is ranked.
        users: Numbers of users that were tried, ascending.
        mean_square: E[e^2] at each, about the metric of these users.
        bias_square: Part of it that is bias, which users beyond the last number leave as it is.
        correlation: Of e and the users' own metric, at most 0.
        user_spread: Standard deviation of the metric over users.
        per_row: Items scored per user.
        in_full: Those of them that a screen scores for whoever comes to its end.
    """

    design: InnerDesign
    users: tuple[int, ...] = ()
    mean_square: tuple[float, ...] = ()
    bias_square: tuple[float, ...] = ()
    correlation: float = 0.0
    user_spread: float
    per_row: float
    in_full: float = 0.0

    def own(self, m: float) -> tuple[float, float]:
        """(mean square, bias squared) of e for m users."""
        if not self.users:  # ranked in full: no error about these users
            return 0.0, 0.0
        total = _between(m, self.users, self.mean_square)
        bias = float(np.interp(np.log(m), np.log(self.users), self.bias_square))
        bias = min(total, bias)
        if m > self.users[-1]:
            total = bias + (total - bias) * self.users[-1] / m
        elif m < self.users[0]:
            total *= self.users[0] / m
        return total, bias

    def parts(self, m: int, fraction: float) -> tuple[float, float, float]:
        """Mean squares: of the bias, of the items' sampling, of the users' sampling."""
        total, bias = self.own(m)
        users = self.user_spread**2 / m
        together = self.correlation * float(np.sqrt(users * (total - bias)))
        return bias, total - bias, (1.0 - fraction) * max(0.0, users + 2.0 * together)


def _between(m: float, users: tuple[int, ...], values: tuple[float, ...]) -> float:
    """On a log-log line between what was tried; constant outside."""
    logs = np.log(np.maximum(values, 1e-300))
    return float(np.exp(np.interp(np.log(m), np.log(users), logs)))


def predict(
    design: InnerDesign,
    distributions: list[RankDistribution],
    metric: Metric,
    *,
    n_users: int,
    trials: int = TRIALS,
    seed: int = 0,
    step: Callable[[], None] = lambda: None,
) -> PredictedError:
    """Try a design on users of each distribution.

    Args:
        design: How each user is ranked.
        distributions: What is assumed about the ranks.
        metric: The metric.
        n_users: Users there are: no trial has more.
        trials: Trials per number of users, divided among the distributions; at least two of each.
        seed: Of users and samples; the users are the same for every design.
        step: Called after each trial.
    """
    moments = [distribution.moments(metric) for distribution in distributions]
    spread = float(np.mean([sd / mean for mean, sd in moments]))
    if isinstance(design, Full):
        return PredictedError(
            design=design, user_spread=spread, per_row=float(distributions[0].grid.n_items)
        )
    users = tuple(sorted({min(m, n_users) for m in TRIAL_USERS}))
    repeats = max(2, -(-trials // len(distributions)))
    found = _tried(design, distributions, metric, users, repeats, seed, step)
    return PredictedError(
        design=design,
        users=users,
        mean_square=tuple(float((t.error**2).mean()) for t in found),
        bias_square=tuple(t.bias_square() for t in found),
        correlation=float(np.clip(np.mean([t.correlation() for t in found]), -1.0, 0.0)),
        user_spread=spread,
        per_row=found[-1].per_row,
        in_full=found[-1].in_full,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Trials:
    """Trials with one number of users, relative to the value: shape (distributions, trials)."""

    error: Float
    truth: Float
    per_row: float
    in_full: float = 0.0

    def bias_square(self) -> float:
        """Mean over distributions of the squared bias; see the module."""
        noise = self.error.var(axis=1, ddof=1) / self.error.shape[1]
        return max(0.0, float((self.error.mean(axis=1) ** 2 - noise).mean()))

    def correlation(self) -> float:
        """Of the error and of the users' own metric, within distributions, whose own mean is 1."""
        repeats = self.error.shape[1]
        within = self.error - self.error.mean(axis=1, keepdims=True)
        chance = self.truth - 1.0
        scale = float(np.sqrt((within**2).mean() * (chance**2).mean() * (repeats - 1) / repeats))
        return float((within * chance).mean()) / scale if scale > 0 else 0.0


def _tried(
    design: Sampled | Adaptive | Screened,
    distributions: list[RankDistribution],
    metric: Metric,
    users: tuple[int, ...],
    repeats: int,
    seed: int,
    step: Callable[[], None],
) -> list[_Trials]:
    """Draw users and samples of every distribution, and estimate: a result per number of users."""
    tables, truths = [], []
    for m, (which, distribution) in product(users, enumerate(distributions)):
        for repeat in range(repeats):
            if repeat % SCHEDULE_TRIALS == 0:
                stages = None
            own = stream(seed, Stream.PILOT, which, m, repeat)
            exact = distribution.draw(m, own)
            table = simulate(exact, design, seed=int(own.integers(2**32)), stages=stages)
            stages = table.header.stages
            tables.append(table)
            truths.append(float(_values(metric, exact).mean()))
    shape = (len(users), len(distributions), repeats)
    means = np.array([distribution.moments(metric)[0] for distribution in distributions])[:, None]
    truth = np.reshape(truths, shape) / means
    found = auto_values(tables, metric, columns=TRIAL_COLUMNS, step=step).reshape(shape) / means
    scored = np.reshape([table.n_scored.mean() for table in tables], shape)
    anew = np.reshape([_in_full(design, table) for table in tables], shape)
    return [
        _Trials(
            error=found[j] - truth[j],
            truth=truth[j],
            per_row=float(scored[j].mean()),
            in_full=float(anew[j].mean()),
        )
        for j in range(len(users))
    ]


def _in_full(design: InnerDesign, table: RankTable) -> float:
    """Items scored per row at the end of a screen."""
    if not isinstance(design, Screened):
        return 0.0
    return float((table.n_items * (table.n_sampled >= table.n_items)).mean())


def _values(metric: Metric, table: RankTable) -> Float:
    return metric.row_values(table.rank, table.n_items if metric.needs_n_items else None)
