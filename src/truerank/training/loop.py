"""The epoch loop: learn, guard against NaN, check, keep the best, write a checkpoint, stop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Float
from truerank.errors import DivergedError
from truerank.execution import Progress
from truerank.training.checkpoints import Checkpoint, write_checkpoint
from truerank.training.schedule import Counters, Schedule, count_check, rate_of_epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class NanGuard:
    """Stops training with a sentence as soon as a number of it is NaN or infinite.

    Attributes:
        epoch: The epoch at work, from 1.
        cause: What is likely to be wrong, and what to try.
    """

    epoch: int
    cause: str

    def check_loss(self, step: int, loss: float) -> None:
        """The mean loss of a step of this epoch, from 1."""
        if not np.isfinite(loss):
            raise DivergedError(
                "Training diverged: the loss is NaN or infinite. It became "
                f"{loss} in step {step} of epoch {self.epoch}: {self.cause}"
            )

    def check_parameters(self, *parameters: NDArray[Any]) -> None:
        """What has been learned after this epoch."""
        if not all(np.isfinite(array).all() for array in parameters):
            raise DivergedError(
                "Training diverged: some parameters are NaN or infinite. They became so in "
                f"epoch {self.epoch}: {self.cause}"
            )


class Learner(Protocol):
    """What a model hands to the loop: parameters that change in place, and what to do with them."""

    def epoch(self, at: Counters, guard: NanGuard) -> tuple[float, int]:
        """One pass at ``at.rate``: the mean loss, and the number of steps taken."""

    def evaluate(self) -> float:
        """The value that the validation users give the parameters as they are."""

    def keep(self) -> None:
        """Note the parameters as they are: the best so far."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that a checkpoint must hold: parameters, optimiser states, and the best so far."""


@dataclass(slots=True, kw_only=True, eq=False)
class History:
    """Where training stands, and what it went through.

    Attributes:
        at: The counters.
        losses: Mean loss of each epoch.
        validations: Value of each epoch; NaN where nobody was asked.
    """

    at: Counters = field(default_factory=Counters)
    losses: Float = field(default_factory=lambda: np.empty(0))
    validations: Float = field(default_factory=lambda: np.empty(0))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Those that grow by a number an epoch."""
        return {"losses": self.losses, "validations": self.validations}


def train(
    learner: Learner,
    history: History,
    schedule: Schedule,
    *,
    metric: str | None,
    checkpoint: Checkpoint | None = None,
    likely_cause: str,
    label: str,
) -> None:
    """Go on from where ``history`` stands, in place, until the schedule ends.

    Args:
        learner: What is trained.
        history: Where it stands; added to.
        schedule: How long and how fast.
        metric: What the validation users are asked for; None where there are none: then the loss
            decides on the learning rate, and nothing stops training early.
        checkpoint: Where to write checkpoints.
        likely_cause: What to say of a loss that is not a number.
        label: Of the progress bar.
    """
    at, validated = history.at, metric is not None
    with Progress(label, total=schedule.epochs) as bar:
        bar.done = at.epoch
        written = at.epoch
        while at.epoch < schedule.epochs and not at.stopped:
            kept = f"; {checkpoint.path} has epoch {written}" if checkpoint and written else ""
            at.rate = rate_of_epoch(at, schedule)
            guard = NanGuard(epoch=at.epoch + 1, cause=f"{likely_cause}{kept}")
            loss, n_steps = learner.epoch(at, guard)
            at.epoch += 1
            at.step += n_steps
            history.losses = np.append(history.losses, loss)
            value = _check(learner, history, schedule, validated=validated)
            history.validations = np.append(history.validations, value)
            said = f", {metric} {value:.4f}" if validated else ""
            bar.label = f"epoch {at.epoch}: loss {loss:.4g}{said}"
            bar.advance()
            over = at.stopped or at.epoch == schedule.epochs
            if checkpoint and (over or at.epoch % checkpoint.every == 0):
                write_checkpoint(checkpoint, at, learner.arrays() | history.arrays())
                written = at.epoch
        if validated and at.epoch % schedule.check_every:
            # Out of turn, after the checkpoint: training that goes on has not seen it.
            history.validations[-1] = look(learner, history, validated=True)


def _check(learner: Learner, history: History, schedule: Schedule, *, validated: bool) -> float:
    """The value of this epoch, NaN if nobody was asked, and what follows from it."""
    at = history.at
    if validated and at.epoch % schedule.check_every:
        return np.nan
    before = at.best_epoch
    value = look(learner, history, validated=validated)
    count_check(at, schedule, better=at.best_epoch > before)
    at.stopped = validated and at.waited >= schedule.patience
    return value if validated else np.nan


def look(learner: Learner, history: History, *, validated: bool) -> float:
    """The value of the parameters as they are, which are kept if it is the best so far."""
    at = history.at
    value = learner.evaluate() if validated else -float(history.losses[-1])
    if value > at.best_value:
        at.best_value, at.best_epoch = value, at.epoch
        if validated:
            learner.keep()
    return value
