r"""The error that a design would have, by trying it on users drawn from the assumed laws.

No formula of variance knows how far off an estimate is where the samples are blind, so the design
is simulated: users are drawn, their samples are drawn, ``auto`` estimates, and the error
:math:`e = \hat T - T_m` about the metric of these users is recorded. Two numbers of users, because
neither the variance nor the bias of a smoothed estimate follows a simple rule in between: the mean
square of :math:`e` is interpolated on a log-log line, falls as :math:`1/m` below the smaller one,
and beyond the larger one as a bias that stays and a variance that falls. That bias is the mean of
:math:`e`, its noise included: what so few trials cannot exclude is counted.

For :math:`m` of :math:`M` users the sampling of users is added,

.. math::  \mathrm{MSE} = E[e^2]
           + (1 - f)\Bigl(\frac{\sigma^2}{m} + 2\,\mathrm{Cov}(e, T_m)\Bigr), \qquad f = m / M,

with :math:`\sigma` the standard deviation of the metric over users. The covariance is negative:
a smoothed estimate does not follow every chance of its users.

All errors here are relative to the metric's value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from truerank.comparison.planning_laws import RankLaw
from truerank.estimators.cells import cells_of
from truerank.estimators.problem import Problem
from truerank.estimators.simulate import simulate
from truerank.estimators.smooth import Smooth
from truerank.metrics import Metric
from truerank.ranking import Adaptive, Full, RankTable, Sampled
from truerank.ranking.designs import InnerDesign, Levels
from truerank.rng import Stream, stream

Float = NDArray[np.float64]

TRIAL_USERS = (2_000, 16_000)
"""Numbers of users of the trials; both at most those there are."""

TRIALS = 12
"""Trials per number of users, divided among the laws."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedError:
    """What one way of ranking a user does to the error, for any number of users.

    Attributes:
        design: How each user is ranked.
        users: Numbers of users that were tried, ascending.
        mean_square: E[e^2] at each, about the metric of these users.
        bias_square: Part of it that is bias.
        correlation: Of e and the users' own metric, at most 0.
        user_spread: Standard deviation of the metric over users.
        per_row: Items scored per user.
    """

    design: InnerDesign
    users: tuple[int, ...] = ()
    mean_square: tuple[float, ...] = ()
    bias_square: tuple[float, ...] = ()
    correlation: float = 0.0
    user_spread: float
    per_row: float

    def own(self, m: float) -> tuple[float, float]:
        """(mean square, bias squared) of e for m users."""
        if not self.users:  # ranked in full: no error about these users
            return 0.0, 0.0
        total = _between(m, self.users, self.mean_square)
        bias = min(total, _between(m, self.users, self.bias_square))
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
    laws: list[RankLaw],
    metric: Metric,
    *,
    n_users: int,
    trials: int = TRIALS,
    seed: int = 0,
    step: Callable[[], None] = lambda: None,
) -> PredictedError:
    """Try a design on users of each law.

    Args:
        design: How each user is ranked.
        laws: What is assumed about the ranks.
        metric: The metric.
        n_users: Users there are: no trial has more.
        trials: Trials per number of users.
        seed: Of users and samples; the users are the same for every design.
        step: Called after each trial.
    """
    moments = [law.moments(metric) for law in laws]
    spread = float(np.mean([sd / mean for mean, sd in moments]))
    if isinstance(design, Full):
        return PredictedError(
            design=design, user_spread=spread, per_row=float(laws[0].grid.n_items)
        )
    users = tuple(sorted({min(m, n_users) for m in TRIAL_USERS}))
    repeats = max(2, -(-trials // len(laws)))
    drawn: list[_Trial] = []
    for which, law in enumerate(laws):
        levels = None
        for m in reversed(users):  # the larger table shows best what the schedule will be
            for repeat in range(repeats):
                own = stream(seed, Stream.PILOT, which, m, repeat)
                exact = law.draw(m, own)
                draw = int(own.integers(2**32))
                table = simulate(exact, design, seed=draw, levels=levels)
                levels = Levels.from_dict(table.header.design["levels"])
                truth = float(_values(metric, exact).mean()) / moments[which][0]
                drawn.append(_Trial(which, m, table, truth))
    estimates = _estimates([trial.table for trial in drawn], metric, step)
    errors = np.array(estimates) / np.array([moments[t.law][0] for t in drawn])
    errors -= [t.truth for t in drawn]
    return _summary(design, drawn, errors, users, spread)


@dataclass(frozen=True, slots=True)
class _Trial:
    law: int
    m: int
    table: RankTable
    truth: float


def _values(metric: Metric, table: RankTable) -> Float:
    return metric.row_values(table.rank, table.n_items if metric.name == "auc" else None)


def _estimates(tables: list[RankTable], metric: Metric, step: Callable[[], None]) -> list[float]:
    """``auto`` on each table; the likelihood, which is most of the work, is made once for all."""
    columns = [np.concatenate([getattr(t, name) for t in tables]) for name in _CELL_COLUMNS]
    replacement = tables[0].header.replacement
    cells, cell = cells_of(*columns, replacement=replacement)
    problem = Problem.of(cells, n_rows=1.0)
    found, start = [], 0
    for table in tables:
        own = cell[start : start + len(table)]
        start += len(table)
        shares = np.bincount(own, minlength=len(cells)) / len(table)
        seen = shares > 0
        few = Problem(cells, problem.grid, problem.A[seen], float(len(table)))
        found.append(float(Smooth().values(few, [metric], shares[seen])[0]))
        step()
    return found


_CELL_COLUMNS = ("rank", "n_sampled", "n_items", "weight")


def _summary(
    design: Sampled | Adaptive,
    drawn: list[_Trial],
    errors: Float,
    users: tuple[int, ...],
    spread: float,
) -> PredictedError:
    size, law = np.array([t.m for t in drawn]), np.array([t.law for t in drawn])
    truth = np.array([t.truth for t in drawn]) - 1.0
    mean_square, bias_square, correlation = [], [], []
    for m in users:
        here = size == m
        means = np.array([errors[here & (law == j)].mean() for j in np.unique(law)])
        mean_square.append(float((errors[here] ** 2).mean()))
        bias_square.append(float((means**2).mean()))
        within = errors[here] - means[law[here]]
        scale = float(np.sqrt((within**2).mean() * (truth[here] ** 2).mean()))
        correlation.append(float((within * truth[here]).mean()) / scale if scale > 0 else 0.0)
    return PredictedError(
        design=design,
        users=users,
        mean_square=tuple(mean_square),
        bias_square=tuple(bias_square),
        correlation=float(np.clip(np.mean(correlation), -1.0, 0.0)),
        user_spread=spread,
        per_row=float(np.mean([t.table.n_scored.mean() for t in drawn if t.m == users[-1]])),
    )
