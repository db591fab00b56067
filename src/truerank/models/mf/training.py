r"""Training: epochs until the judges have seen nothing better for long enough.

After each epoch the judges give a value (without judges, minus the loss). When ``plateau`` checks
in a row brought nothing better, the rate is halved, down to a floor; after ``patience`` of them
judges end the training. The best epoch is kept; without judges the last. Epochs whose rate is given
have that, and the rate of those after them follows from the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from truerank.arrays import Float, Float32
from truerank.errors import DivergedError
from truerank.execution import Progress, available_cores
from truerank.models.mf.checkpoint import Counters, Training, write_checkpoint
from truerank.models.mf.objective import Objective
from truerank.models.mf.rows import Step
from truerank.models.mf.scores import gather
from truerank.models.mf.steps import Steps
from truerank.models.mf.validation import Judges
from truerank.numerics.threads import Each, on_all_cores
from truerank.rng import Stream, addresses, stream

MOST_PARTS = 64
"""Parts that rows are divided into, for more threads than that too; it changes no bit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How long, how fast, and by which draws; ``rates`` are those of the first epochs."""

    optimiser: str
    epsilon: float
    rates: tuple[float, ...]
    min_rate: float
    l2: float
    dropout: float
    batch_size: int
    epochs: int
    plateau: int
    patience: int
    check_every: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Keeping:
    """Where checkpoints go, how often, and what tells them from others."""

    path: Path
    every: int
    identity: dict[str, Any]


def train(
    training: Training,
    objective: Objective,
    schedule: Schedule,
    *,
    judges: Judges | None,
    keeping: Keeping | None,
    likely_cause: str,
    workers: int | None,
) -> None:
    """Go on from where ``training`` stands, in place, until the schedule ends.

    Args:
        training: Factors, states and counters.
        objective: What is minimised.
        schedule: How.
        judges: Who decides which epoch is best; None for the last one.
        keeping: Where to write checkpoints.
        likely_cause: What to say of a loss that is not a number.
        workers: Threads; they change nothing but the time.
    """
    at = training.at
    with on_all_cores(workers) as each, Progress("fitting MF", total=schedule.epochs) as bar:
        bar.done = at.epoch
        parts = min(workers or available_cores(), MOST_PARTS)
        steps = Steps(
            objective, training.users, training.items, each=each, parts=parts,
            batch_size=min(schedule.batch_size, len(objective.pairs.items)),
            dropout=schedule.dropout,
        )  # fmt: skip
        written = at.epoch
        while at.epoch < schedule.epochs and not at.stopped:
            kept = f"; {keeping.path} has epoch {written}" if keeping and written else ""
            loss = _epoch(steps, training, schedule, f"{likely_cause}{kept}")
            training.losses = np.append(training.losses, loss)
            value = _check(training, objective, schedule, judges, each)
            training.validations = np.append(training.validations, value)
            said = "" if judges is None else f", {judges.metric} {value:.4f}"
            bar.label = f"epoch {at.epoch}: loss {loss:.4g}{said}"
            bar.advance()
            over = at.stopped or at.epoch == schedule.epochs
            if keeping and (over or at.epoch % keeping.every == 0):
                write_checkpoint(keeping.path, training, keeping.identity)
                written = at.epoch
        if judges is not None and at.epoch % schedule.check_every:
            # Out of turn, after the checkpoint: training that goes on has not seen it.
            training.validations[-1] = _look(training, objective, judges, each)


def _epoch(steps: Steps, training: Training, schedule: Schedule, cause: str) -> float:
    at, objective = training.at, steps.objective
    at.rate = _rate(at, schedule)

    def step_of(number: int) -> Step:
        return Step.number(
            at.step + number, optimiser=schedule.optimiser, rate=at.rate, l2=schedule.l2,
            cosine=objective.cosine, epsilon=schedule.epsilon,
        )  # fmt: skip

    def check(number: int, loss: float) -> None:
        if not np.isfinite(loss):
            raise DivergedError(
                f"the loss became {loss} in step {number} of epoch {at.epoch + 1}: {cause}"
            )

    n_pairs = len(objective.pairs.items)
    order = stream(schedule.seed, Stream.MF, at.epoch).permutation(n_pairs)
    if objective.plan.in_batch and n_pairs % schedule.batch_size == 1:
        order = order[:-1]  # alone in its batch, it would have no negative but itself
    key = np.uint64(addresses(schedule.seed, Stream.MF, 0, at.epoch)[0])
    loss = steps.epoch(order, key, step_of, check)
    for factors in (training.users.factors, training.items.factors):
        if not np.isfinite(factors).all():
            raise DivergedError(f"factors became infinite or NaN in epoch {at.epoch + 1}: {cause}")
    at.epoch += 1
    at.step += -(-len(order) // schedule.batch_size)
    return loss


def _check(
    training: Training,
    objective: Objective,
    schedule: Schedule,
    judges: Judges | None,
    each: Each,  # type: ignore[type-arg]
) -> float:
    """The judges' value of this epoch, NaN if they were not asked, and what follows from it."""
    at = training.at
    if judges is not None and at.epoch % schedule.check_every:
        return np.nan
    before = at.best_epoch
    value = _look(training, objective, judges, each)
    _count(at, schedule, better=at.best_epoch > before)
    at.stopped = judges is not None and at.waited >= schedule.patience
    return np.nan if judges is None else value


def _rate(at: Counters, schedule: Schedule) -> float:
    return schedule.rates[at.epoch] if at.epoch < len(schedule.rates) else at.rate


def _count(at: Counters, schedule: Schedule, *, better: bool) -> None:
    """What a check does to the rate of the epochs that have none given."""
    at.waited = 0 if better else at.waited + 1
    if at.waited and at.waited % schedule.plateau == 0:
        at.rate = max(at.rate / 2, min(schedule.min_rate, at.rate))


def rates_of(values: Float, schedule: Schedule) -> Float:
    """The rate that each epoch had, from the values that decided on it, NaN where none did."""
    at = Counters()
    rates = np.empty(len(values))
    for epoch, value in enumerate(values):
        at.epoch = epoch
        at.rate = _rate(at, schedule)
        rates[epoch] = at.rate
        if not np.isnan(value):
            _count(at, schedule, better=value > at.best_value)
            at.best_value = max(at.best_value, value)
    return rates


def _look(
    training: Training,
    objective: Objective,
    judges: Judges | None,
    each: Each,  # type: ignore[type-arg]
) -> float:
    """The value of the factors as they are, which are kept if it is the best so far."""
    at, users, items = training.at, training.users.factors, training.items.factors
    if judges is None:
        value = -float(training.losses[-1])
    else:
        cosine = objective.cosine
        value = float(judges.value(unit(users, cosine), unit(items, cosine), each))
    if value > at.best_value:
        at.best_value, at.best_epoch = value, at.epoch
        if judges is not None:
            training.best_users[...], training.best_items[...] = users, items
    return value


def unit(factors: Float32, cosine: bool) -> Float32:
    """Factors whose dot products are the scores: of length 1 for a cosine."""
    if not cosine:
        return factors
    out = np.empty_like(factors)
    gather(factors, np.arange(len(factors), dtype=np.int32), True, out)
    return out
