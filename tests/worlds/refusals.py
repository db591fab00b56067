"""The only errors that a world may meet, and when refusing is right.

An error of ours that is not in this table, or is there and met where its condition does not hold,
is a failure: a default that refuses small data would hide behind "our own error" otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import truerank as tr
from truerank.metrics import as_metric

from .world import World


@dataclass(frozen=True)
class Refusal:
    """A sentence of ours, and the worlds in which it is right."""

    sentence: str
    right: Callable[[World], bool]
    why: str


def _nothing_to_hold_out(world: World) -> bool:
    counts = np.unique(world.rows.user, return_counts=True)[1]
    least = {"leave_one_out": 2, "leave_k_out 2": 3, "leave_k_out 5": 6, "ratio 0.2": 3}
    return int(counts.max()) < least.get(world.plan.split, 2)


def _always(world: World) -> bool:
    return True


def _is_split(name: str) -> Callable[[World], bool]:
    return lambda world: world.plan.split == name


def _asked_for_too_many(world: World) -> bool:
    """Only a size that the world asked for by number may be refused, never a default."""
    design = world.inner
    room = int(world.n_candidates.min())
    if world.shares_rivals:
        return False
    if isinstance(design, tr.Sampled):
        return design.n > room - int(design.replacement)
    if isinstance(design, tr.Adaptive) and world.plan.design != "adaptive":
        return design.n0 > room - int(design.replacement)
    return False


def _cutoff_beyond(world: World) -> bool:
    most = int(world.n_candidates.min())
    return any((as_metric(m).k or 0) > most for m in world.metrics)


def _several_targets(world: World) -> bool:
    return world.several_targets and any(not as_metric(m).linear for m in world.metrics)


def _nobody_else(world: World) -> bool:
    targets = np.bincount(world.users)[world.users]
    return bool((targets >= world.n_candidates).any())


def _sizes_differ(world: World) -> bool:
    table = world.table
    return len(np.unique(table.n_sampled)) > 1 or len(np.unique(table.n_items)) > 1


def _nobody_to_learn_from(world: World) -> bool:
    """LearnedLinear learns from users with two items and not all, and sets a tenth aside."""
    train = world.split.train
    long = train.user_counts >= 2
    aside = max(1, round(0.1 * int(long.sum())))
    learners = int((long & (train.user_counts < train.n_items)).sum())
    return "LearnedLinear" in world.plan.models and learners <= aside


REFUSALS = (
    Refusal(
        "no user has two items|no user is left to learn from",
        _nobody_to_learn_from,
        "one to learn from and one to validate with are needed",
    ),
    Refusal("nothing can be held out", _nothing_to_hold_out, "users have too few items"),
    Refusal("nothing is held out", _always, "the world's own rules may drop everything"),
    Refusal("nothing is left to train on", _always, "the world may hold out everything"),
    Refusal("a cut at time", _is_split("temporal"), "all times are equal"),
    Refusal("^n_users must be", _is_split("strong"), "too few users to take some away"),
    Refusal("^n0? must be (at most|less than)", _asked_for_too_many, "asked for by number"),
    Refusal(
        "^ties must be .* where a screen is certified",
        lambda world: world.plan.ties == "half" and isinstance(world.inner, tr.Screened),
        "half of the ties is no place in a sample",
    ),
    Refusal(
        "for a scorer made of functions",
        lambda world: world.plan.executor == "processes",
        "functions cannot be sent to another process",
    ),
    Refusal(
        "each pair needs at least one negative",
        lambda world: int(world.n_candidates.min()) == 1,
        "the target is the only candidate",
    ),
    Refusal(
        "dim 2 was asked of PureSVD",
        lambda world: "PureSVD dim=2" in world.plan.models,
        "asked for by number",
    ),
    Refusal("with K at most|^the cutoff of", _cutoff_beyond, "a list has no such place"),
    Refusal("a weighted sum over held-out items", _several_targets, "needs joint ranks"),
    Refusal("no candidate that is not held out", _nobody_else, "auc has no pair"),
    Refusal("needs one sample size and one number", _sizes_differ, "the method is for one size"),
    Refusal(
        "method 'exact' needs every row",
        lambda world: world.plan.method == "exact" and not world.table.is_exact.all(),
        "sampled ranks are not exact",
    ),
    Refusal(
        "samples of at least 2 items",
        lambda world: int(world.table.n_sampled.min()) == 1,
        "the target alone",
    ),
    Refusal(
        "for method 'cls'",
        lambda world: world.plan.method == "cls" and world.plan.population == "finite",
        "errors of a finite population need a distribution of ranks",
    ),
    Refusal(
        "a monotone function of the rank",
        lambda world: world.plan.method == "cls",
        "the method says so",
    ),
)


def right_to_refuse(world: World, error: Exception) -> bool:
    """Whether this error of ours is the right answer to this world."""
    said = str(error)
    return any(re.search(known.sentence, said) and known.right(world) for known in REFUSALS)
