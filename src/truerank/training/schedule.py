r"""Learning rate and early stopping: what a check of the validation users leads to.

After each epoch there is a value, the larger the better (without validation users, minus the loss).
When ``lr_patience`` checks in a row brought nothing better, the learning rate is halved, down to a
floor; after ``patience`` of them training stops, if there are validation users. The first epochs
may have given rates; the rate of those after them follows from the last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.arrays import Float


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How long and how fast to train.

    Attributes:
        rates: Learning rates of the first epochs; the last of them goes on.
        epochs: Passes over the data, at most.
        patience: Checks without a better value before training stops.
        lr_patience: Checks without a better value before the rate is halved; None for never.
        min_rate: The rate is never halved below this.
        check_every: Epochs between checks.
    """

    rates: tuple[float, ...]
    epochs: int
    patience: int
    lr_patience: int | None = None
    min_rate: float = 0.0
    check_every: int = 1


@dataclass(slots=True, kw_only=True)
class Counters:
    """Where training stands.

    Attributes:
        epoch: Epochs done.
        step: Steps done.
        rate: Of the last epoch, halved if a check said so.
        waited: Checks since the value was better than before.
        best_epoch: The epoch with the best value; 0 for the start, or for none yet.
        best_value: That value.
        stopped: Whether the checks have said enough.
    """

    epoch: int = 0
    step: int = 0
    rate: float = 0.0
    waited: int = 0
    best_epoch: int = 0
    best_value: float = -np.inf
    stopped: bool = False


def rate_of_epoch(at: Counters, schedule: Schedule) -> float:
    """The learning rate of the epoch to come."""
    return schedule.rates[at.epoch] if at.epoch < len(schedule.rates) else at.rate


def count_check(at: Counters, schedule: Schedule, *, better: bool) -> None:
    """What a check does to the rate of the epochs that have none given."""
    at.waited = 0 if better else at.waited + 1
    if schedule.lr_patience and at.waited and at.waited % schedule.lr_patience == 0:
        at.rate = max(at.rate / 2, min(schedule.min_rate, at.rate))


def rates_of(values: Float, schedule: Schedule) -> Float:
    """The rate that each epoch had, from the values that decided on it, NaN where none did."""
    at = Counters()
    rates = np.empty(len(values))
    for epoch, value in enumerate(values):
        at.epoch = epoch
        at.rate = rate_of_epoch(at, schedule)
        rates[epoch] = at.rate
        if not np.isnan(value):
            count_check(at, schedule, better=value > at.best_value)
            at.best_value = max(at.best_value, value)
    return rates
