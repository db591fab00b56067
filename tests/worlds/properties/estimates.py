"""What must hold of estimates: they are numbers of the metric, inside intervals and bounds."""

from __future__ import annotations

import json
import math
from typing import Any

import truerank as tr
from truerank.estimators.methods.table import SLOW_TO_REFIT

from ..world import World
from .holding import SLACK, hold

BOUNDED = frozenset({"auto", "exact", "naive", "mle", "wmle-ap", "wmle-ndcg", "mes"})
"""Methods whose values are means of the metric over a distribution of ranks."""

EARLY_STOP = 1e-3
"""Relative error of a fit that stops before it has converged."""

PROGRAMME = 1e-6
"""Precision of a linear programme."""


def estimates_are_sound(world: World) -> None:
    """The world's method on the world's metrics: values, intervals and bounds make sense."""
    plan, table = world.plan, world.table
    n_boot = min(plan.n_boot, 3) if plan.method in SLOW_TO_REFIT else plan.n_boot
    found = tr.estimate(
        table, world.safe_metrics(table), plan.method, n_boot=n_boot, population=plan.population
    )
    for e in found:
        check_estimate(e, bounded=plan.method in BOUNDED)


def any_metric_is_answered_or_refused(world: World) -> None:
    """Whatever is asked for, beyond the catalogue too, gets a value or a reason."""
    for e in tr.estimate(world.table, world.metrics, n_boot=0, bounds=False):
        check_estimate(e)


def exact_estimates_are_means_over_users(world: World) -> None:
    """From exact ranks the value is the mean over users, each of whom has one in [0, 1]."""
    for e in tr.estimate(
        world.full, world.safe_metrics(world.full), n_boot=world.plan.n_boot,
        population=world.plan.population,
    ):  # fmt: skip
        check_estimate(e)
        values = world.full.per_user(e.metric)[1]
        hold(abs(e.value - values.mean()) < SLACK, f"{e.metric} is not the mean over users")
        inside = values.min() >= 0 and values.max() <= 1 + SLACK
        hold(inside, f"{e.metric} of a user: {values.min()} to {values.max()}")


def estimates_lie_in_their_bounds(world: World) -> None:
    """What the default method says is possible by the identification bounds.

    Not so where some rows have half as many candidates again as others: the estimate says that.
    """
    for e in tr.estimate(world.table, world.safe_metrics(world.table), n_boot=30):
        check_estimate(e)
        said = any("numbers of candidates differ" in note for note in e.diagnostics.notes)
        if e.diagnostics.bounds is not None and not said:
            low, high = e.diagnostics.bounds
            inside = low - PROGRAMME <= e.value <= high + PROGRAMME
            hold(inside, f"{e.metric}: {e.value:.6g} outside its bounds {low:.6g} to {high:.6g}")


def distributions_sum_to_one(world: World) -> None:
    """The estimated distribution of ranks is one: no mass negative, all of them 1."""
    for method in ("auto", "mle"):
        edges, mass = tr.rank_distribution(world.table, method)
        hold(len(edges) == len(mass) + 1 and edges[0] == 1, f"{method}: edges {edges[:3]}")
        hold((mass >= -SLACK).all(), f"{method}: a mass of {mass.min():.4g}")
        hold(abs(mass.sum() - 1) < PROGRAMME, f"{method}: masses sum to {mass.sum():.8g}")


def check_estimate(e: Any, *, bounded: bool = True) -> None:
    """One estimate by itself; ``bounded`` methods have values that the metric can have."""
    hold(math.isfinite(e.value), f"{e.metric} is {e.value}")
    if bounded:
        hold(-SLACK <= e.value <= 1 + SLACK, f"{e.metric} is {e.value}")
    low, high = e.interval()
    if e.n_users == 1 and not e.known:
        # If that user is all there are, nothing may be left to chance: the value itself.
        known = e.n_population == 1 and low == high == e.value
        none = math.isnan(low) and math.isnan(high)
        hold(none or known, f"{e.metric}: an interval from one user")
    elif len(e.replicates) > 1:
        said = f"{e.metric} = {e.value:.6g}: interval {low:.6g} to {high:.6g}"
        hold(-SLACK <= low <= high <= 1 + SLACK, said)
        hold(e.std_error >= 0, f"{e.metric}: standard error {e.std_error}")
        near = SLACK + EARLY_STOP * abs(e.value)
        hold(not bounded or low - near <= e.value <= high + near, said)
    if e.diagnostics.bounds is not None:
        least, most = e.diagnostics.bounds
        inside = -PROGRAMME <= least <= most <= 1 + PROGRAMME
        hold(inside, f"{e.metric}: bounds {least:.6g} to {most:.6g}")
    hold(e.metric in str(e) and json.dumps(e.to_dict()), "no words for the estimate")
