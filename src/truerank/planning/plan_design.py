r"""``plan``: how many users and items to rank for a wanted error, before anything is ranked.

What is wanted is one of three:

* ``rel_error`` or ``abs_error``: the root mean squared error of the metric (bias included), as a
  part of its value or absolute, for future users, of whom those there are are a sample; with
  ``population="finite"`` about the metric of these users ranked in full. A 95 % interval is about
  twice as wide on either side.
* ``detect``: a difference between two models that a paired test of size ``1 - confidence`` finds
  with probability ``power``, for future users: the users are a sample even if all
  are ranked. The error of the difference must be at most :math:`d / (z_{\alpha/2} + z_\beta)`.

The error of a difference, with :math:`\rho` the correlation of the models' values over users,

.. math::  \mathrm{MSE}_d = 2 (1 - \rho)\,\mathrm{MSE}_{users} + 2\,\mathrm{MSE}_{items}
           + 2\,\mathrm{bias}^2 :

what sampling items does to the two is taken as independent. That is mostly cautious, since both
models meet the same rivals: for three pairs of models on ml-1m the factor in place of 2 was .4
to 1.2 at n = 100, 1.2 to 2.3 at n = 1,000 and .8 to 1.9 for ``Adaptive()``.

How errors are predicted is in :mod:`truerank.planning.predicted_error`, what is assumed about ranks
in :mod:`truerank.planning.distributions` and :mod:`truerank.planning.pilots`, costs in
:mod:`truerank.planning.costs`; docs/planning.md holds predictions against what was then observed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from truerank.deprecation import renamed_parameters
from truerank.errors import InvalidArgumentError
from truerank.estimators.population import Population, checked_population
from truerank.execution import Progress
from truerank.metrics import Metric, MetricLike, as_metric
from truerank.planning.costs import Rates, rates_of, scored_pairs
from truerank.planning.distributions import SHAPES, RankDistribution, typical_distributions
from truerank.planning.numbers import checked_sizes, is_finite
from truerank.planning.pilots import checked_pilot, pilot_distributions, pilot_value
from truerank.planning.precision_target import PrecisionTarget
from truerank.planning.predicted_error import TRIALS, PredictedError, predict
from truerank.planning.result import Plan, PlanOption
from truerank.ranking import Adaptive, Full, RankTable, Sampled, Screened, Users
from truerank.ranking.design_spec import format_design
from truerank.ranking.designs import MISS, InnerDesign
from truerank.ranking.screening.certificate import plan_ladder
from truerank.rng import checked_seed

QUICK_SECONDS = 10.0
"""Where ranking everything takes no longer, nothing is gained by estimating."""

RULE_OF_THUMB = 10_000
"""Users that the dissertation advises to rank in full."""

MOST_SCREENED = 1_000
"""The largest cutoff for which screens are tried unasked: beyond, they save little."""

_LADDER = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)


@renamed_parameters(level="confidence")
def plan(
    n_items: int,
    n_users: int,
    metric: MetricLike = "recall@10",
    *,
    expected: float | None = None,
    pilot: RankTable | None = None,
    rel_error: float | None = None,
    abs_error: float | None = None,
    detect: float | None = None,
    correlation: float = 0.5,
    power: float = 0.8,
    confidence: float = 0.95,
    pairs_per_second: float | tuple[float, float] | tuple[float, float, float] | None = None,
    designs: Sequence[InnerDesign] | None = None,
    population: Population = "infinite",
    trials: int = TRIALS,
    seed: int = 0,
    progress: bool | None = None,
) -> Plan:
    """Designs with their predicted error and cost, and the one to take.

    Args:
        n_items: Items of the catalogue.
        n_users: Users there are, each with one held-out item.
        metric: The metric that matters.
        expected: Its value, roughly. Give this or ``pilot``.
        pilot: A table of some users, ranked by any design; better than a guess. Best are
            2,000 users ranked in full, ``Users(2000)``.
        rel_error: Wanted root mean squared error, as a part of the value. One of these three.
        abs_error: The same, absolute.
        detect: Difference of two models to be found.
        correlation: Of the two models' values over users, for ``detect``.
        power: Probability to find it.
        confidence: 1 - confidence is the size of the test.
        pairs_per_second: Speed of scoring. One number is that of a scorer that is called pair by
            pair; of products (full, sampled) or (full, sampled, shared), the last that of blocks of
            users who share their rivals. Measured if not given.
        designs: Ways to rank a user. If not given, a list that suits the catalogue; or none but
            full ranking, where that is precise enough and takes ten seconds at most.
        population: Whose metric the error is about: ``infinite``, future users, of whom the
            ``n_users`` are a sample; or ``finite``, these users themselves.
        trials: Simulated tables per design and number of users.
        seed: Of the trials. Predicted errors depend on nothing else; seconds that are measured
            vary, and with them the order of designs that cost about the same.
        progress: Show a bar; only on a terminal if not given.

    Returns:
        The plan. ``recommended`` is the quickest design that is precise enough, or ``Full()`` where
        that takes ten seconds at most.

    >>> found = plan(
    ...     n_items=20_000, n_users=50_000, metric="recall@10", expected=0.1, rel_error=0.05,
    ...     pairs_per_second=(1e7, 1e7), designs=[Full()],
    ... )
    >>> found.recommended.words  # 9 / m <= 0.05 ** 2
    'users m=4000 full'
    """
    chosen = as_metric(metric)
    n_items, n_users, trials = checked_sizes(n_items, n_users, trials, chosen)
    checked_seed(seed)
    wanted = PrecisionTarget.of(
        rel_error, abs_error, detect, correlation=correlation, power=power, confidence=confidence,
        population=checked_population(population),
    )  # fmt: skip
    distributions, value, source = _assumed(n_items, chosen, expected, pilot, seed)
    rates = rates_of(pairs_per_second, n_items)
    target = wanted.target(value)
    sizes: dict[str, Any] = {"n_items": n_items, "n_users": n_users, "rates": rates}
    full = predict(Full(), distributions, chosen, n_users=n_users)
    everything = _option(full, n_users, wanted, value, **sizes)
    quick = everything.error <= target and everything.seconds <= QUICK_SECONDS
    only_full = designs is None and quick
    if designs is not None:
        ways = [_priced(way, rates, n_users) for way in _checked_designs(designs)]
    else:
        ways = [] if only_full else _default_designs(n_items, chosen)
    ways = [way for way in dict.fromkeys(ways) if not isinstance(way, Full)]
    predictions = [full]
    with Progress("trying designs", total=2 * trials * len(ways), enabled=progress) as bar:
        for way in ways:
            found = predict(
                way,
                distributions,
                chosen,
                n_users=n_users,
                trials=trials,
                seed=seed,
                step=bar.advance,
            )
            predictions.append(found)
    options = [
        _option(found, m, wanted, value, **sizes)
        for found in predictions
        for m in _sizes(found, wanted, target / value, n_users)
    ]
    options = [replace(option, meets=option.error <= target) for option in options]
    if not any(option.meets for option in options):
        raise wanted.unreachable(min(option.error for option in options), value, n_users)
    options = _with_pareto(sorted(options, key=lambda option: (option.seconds, option.error)))
    return Plan(
        n_items=n_items,
        n_users=n_users,
        metric=str(chosen),
        value=value,
        wanted=str(wanted),
        population=wanted.population,
        target=target,
        source=source,
        rates=rates,
        options=tuple(options),
        recommended=_recommended(options),
        only_full=only_full,
    )


def _assumed(
    n_items: int, metric: Metric, expected: float | None, pilot: RankTable | None, seed: int
) -> tuple[list[RankDistribution], float, str]:
    if (expected is None) == (pilot is None):
        raise InvalidArgumentError(
            "expected", expected, "given, or a pilot in its place, and not both",
            "a rough guess such as expected=0.1 will do",
        )  # fmt: skip
    if pilot is not None and not isinstance(pilot, RankTable):
        raise InvalidArgumentError(
            "pilot", type(pilot).__name__, "a RankTable, as tr.rank makes and tr.read_ranks reads"
        )
    if pilot is not None:
        sample = checked_pilot(pilot, n_items, metric)
        found = pilot_distributions(sample, n_items, metric, seed=seed)
        return found, pilot_value(sample, metric), f"ranks as in a pilot of {pilot.n_users:,} users"
    if not is_finite(expected):
        raise InvalidArgumentError("expected", expected, f"a number, roughly the {metric} there is")
    guess = float(expected or 0.0)
    distributions = typical_distributions(n_items, metric, guess)
    return (
        distributions,
        guess,
        f"{len(SHAPES)} typical rank distributions with {metric} = {guess:g}",
    )


def _checked_designs(designs: object) -> list[InnerDesign]:
    ways: list[Any] = list(designs) if isinstance(designs, Sequence) else [None]
    if not all(isinstance(way, InnerDesign) for way in ways):
        raise InvalidArgumentError(
            "designs", designs, "a list of Full(), Sampled(n), Adaptive(...) or Screened(...)",
            "how many users to rank is found by the plan",
        )  # fmt: skip
    return ways


def _priced(way: InnerDesign, rates: Rates, n_users: int) -> InnerDesign:
    """A screen for a time as the budget that the time pays for, to two digits."""
    if not isinstance(way, Screened) or way.seconds is None:
        return way
    budget = float(f"{max(1.0, way.seconds * rates.full / n_users):.2g}")
    return replace(way, seconds=None, budget=budget)


def _default_designs(n_items: int, metric: Metric) -> list[InnerDesign]:
    """Samples and screens that leave most of the catalogue unscored."""
    most = n_items / 3
    ways: list[InnerDesign] = []
    grown = (Adaptive(), Adaptive(n0=100, n_max=3_200))
    ways += [way for way in grown if way.first_size(n_items) <= most]
    ways += [Sampled(n) for n in (100, 1_000, 10_000) if n <= most]
    ways += [Adaptive(budget=n) for n in (2_000, 10_000) if n <= most]
    top = Screened().k if metric.k is None else metric.k
    if top > MOST_SCREENED:
        return ways
    if metric.k is not None and plan_ladder(top, MISS, n_items).cost <= n_items / 2:
        ways.append(Screened(k=top))
    return ways + [Screened(k=top, budget=n) for n in (2_000, 5_000, 20_000) if n <= most]


def _sizes(
    found: PredictedError, wanted: PrecisionTarget, target: float, n_users: int
) -> list[int]:
    """Numbers of users worth a row: all of them, and as few as are precise enough."""
    sizes = {n_users}
    for m in _rounded(n_users):
        if wanted.error(found, m, n_users) <= target:
            sizes.add(m)
            break
    if isinstance(found.design, Full) and n_users > RULE_OF_THUMB:
        sizes.add(RULE_OF_THUMB)
    return sorted(sizes)


def _rounded(n_users: int) -> list[int]:
    """Round numbers from 100 up to below n_users."""
    powers = range(2, len(str(n_users)) + 1)
    return [m for p in powers for m in (round(x * 10**p) for x in _LADDER) if m < n_users]


def _option(
    found: PredictedError,
    m: int,
    wanted: PrecisionTarget,
    value: float,
    *,
    n_items: int,
    n_users: int,
    rates: Rates,
) -> PlanOption:
    design = found.design if m == n_users else Users(m, found.design)
    bias, rest = wanted.parts(found, m, n_users)
    pairs = scored_pairs(found.design, n_users=m, n_items=n_items, per_row=found.per_row)
    return PlanOption(
        design=design,
        words=format_design(design),
        n_users=m,
        error=value * float(np.sqrt(bias + rest)),
        bias=value * float(np.sqrt(bias)),
        std_error=value * float(np.sqrt(rest)),
        pairs=pairs,
        seconds=rates.seconds(
            found.design, pairs, n_users=m, n_items=n_items, in_full=m * found.in_full
        ),
        meets=False,
        pareto=False,
    )


def _with_pareto(options: list[PlanOption]) -> list[PlanOption]:
    """Options in order of time, marked where none before has as small an error."""
    marked, smallest = [], float("inf")
    for option in options:
        marked.append(replace(option, pareto=option.error < smallest))
        smallest = min(smallest, option.error)
    return marked


def _recommended(options: list[PlanOption]) -> PlanOption:
    full = next(option for option in options if isinstance(option.design, Full))
    if full.meets and full.seconds <= QUICK_SECONDS:
        return full
    return next(option for option in options if option.meets)
