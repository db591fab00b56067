"""What the training loop moves: factors of users and items, and the states of their optimiser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Float32
from truerank.models.mf.scores import gather
from truerank.models.mf.steps import Steps
from truerank.numerics.threads import Each, available_cores
from truerank.rng import Stream, Training, addresses, stream
from truerank.training.checkpoints import Arrays
from truerank.training.loop import NanGuard
from truerank.training.objective import Objective
from truerank.training.optimisers import Step, Table
from truerank.training.schedule import Counters
from truerank.training.validation import ValidationUsers

MOST_PARTS = 64
"""Parts that rows are divided into, for more threads than that too; it changes no bit."""


@dataclass(slots=True, kw_only=True, eq=False)
class FactorTables:
    """Factors and optimiser states of both sides, and the best factors so far.

    ``best_users`` and ``best_items`` have no rows without validation users: then the last are kept.
    """

    users: Table
    items: Table
    best_users: Float32
    best_items: Float32

    @classmethod
    def empty(
        cls, n_users: int, n_items: int, dim: int, *, optimiser: str, validated: bool
    ) -> FactorTables:
        """Room for factors yet to be filled; what is not filled takes no memory."""
        sizes = (n_users, n_items)
        users, items = (Table.of(np.empty((n, dim), np.float32), optimiser) for n in sizes)
        best = [np.empty((n if validated else 0, dim), np.float32) for n in sizes]
        return cls(users=users, items=items, best_users=best[0], best_items=best[1])

    @classmethod
    def of_arrays(cls, arrays: Arrays) -> FactorTables:
        """Back from a checkpoint."""
        sides = {
            side: Table(*(arrays[f"{side}.{name}"] for name in Table._fields))
            for side in ("users", "items")
        }
        return cls(**sides, best_users=arrays["best.users"], best_items=arrays["best.items"])

    def start(self, factors: Float32) -> None:
        """Begin with these, users first."""
        sides = (self.users, self.best_users), (self.items, self.best_items)
        n_users = len(self.users.factors)
        for (table, best), side in zip(sides, np.split(factors, [n_users]), strict=True):
            table.factors[...] = side
            best[...] = side[: len(best)]

    def arrays(self) -> Arrays:
        """All arrays by name, for a checkpoint."""
        held: Arrays = {
            f"{side}.{name}": array
            for side, table in (("users", self.users), ("items", self.items))
            for name, array in table._asdict().items()
        }
        return held | {"best.users": self.best_users, "best.items": self.best_items}


def check_steps(arrays: Arrays, at: Counters) -> None:
    """No row of a checkpoint was moved in a step to come."""
    for name, array in arrays.items():
        if name.endswith(".last") and len(array) and not 0 <= array.min() <= array.max() <= at.step:
            raise ValueError("rows that were moved in steps to come")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSettings:
    """How a step is made."""

    optimiser: str
    epsilon: float
    l2: float
    dropout: float
    batch_size: int
    seed: int


class FactorLearner:
    """Epochs of MF, for :func:`truerank.training.loop.train`.

    Args:
        tables: Changed in place.
        objective: What is minimised.
        settings: How a step is made.
        validation: The validation users; None for nobody.
        each: Runs tasks on all cores.
        workers: Threads; they change nothing but the time.
    """

    def __init__(
        self,
        tables: FactorTables,
        objective: Objective,
        settings: StepSettings,
        *,
        validation: ValidationUsers | None,
        each: Each,  # type: ignore[type-arg]
        workers: int | None,
    ) -> None:
        self.tables, self.objective, self.settings = tables, objective, settings
        self.validation, self.each = validation, each
        self.steps = Steps(
            objective, tables.users, tables.items, each=each,
            parts=min(workers or available_cores(), MOST_PARTS),
            batch_size=min(settings.batch_size, len(objective.pairs.items)),
            dropout=settings.dropout,
        )  # fmt: skip

    def epoch(self, at: Counters, guard: NanGuard) -> tuple[float, int]:
        """All pairs once, in the order of this epoch."""
        settings, objective = self.settings, self.objective

        def step_of(number: int) -> Step:
            return Step.number(
                at.step + number, optimiser=settings.optimiser, rate=at.rate, l2=settings.l2,
                cosine=objective.cosine, epsilon=settings.epsilon,
            )  # fmt: skip

        n_pairs = len(objective.pairs.items)
        order = stream(settings.seed, Stream.TRAINING, at.epoch).permutation(n_pairs)
        if objective.plan.in_batch and n_pairs % settings.batch_size == 1:
            order = order[:-1]  # alone in its batch, it would have no negative but itself
        key = np.uint64(addresses(settings.seed, Stream.TRAINING, Training.BATCHES, at.epoch)[0])
        check: Callable[[int, float], None] = guard.check_loss
        loss = self.steps.epoch(order, key, step_of, check)
        guard.check_parameters(self.tables.users.factors, self.tables.items.factors)
        return loss, -(-len(order) // settings.batch_size)

    def evaluate(self) -> float:
        """The mean of the metric over the validation users."""
        if self.validation is None:
            return np.nan
        cosine = self.objective.cosine
        users, items = self.tables.users.factors, self.tables.items.factors
        return self.validation.evaluate_factors(unit(users, cosine), unit(items, cosine), self.each)

    def keep(self) -> None:
        """The factors as they are become the best."""
        self.tables.best_users[...] = self.tables.users.factors
        self.tables.best_items[...] = self.tables.items.factors

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Factors, states and the best."""
        return self.tables.arrays()


def unit(factors: Float32, cosine: bool) -> Float32:
    """Factors whose dot products are the scores: of length 1 for a cosine."""
    if not cosine:
        return factors
    out = np.empty_like(factors)
    gather(factors, np.arange(len(factors), dtype=np.int32), True, out)
    return out
