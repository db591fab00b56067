r"""Learning by BPR: Adam on the parameters of :mod:`.parameters`, stopped by validation users.

.. math::
    \mathcal L = \frac1{|P|} \sum_{(u,i) \in P} \frac1m \sum_{j=1}^{m}
    -\log \delta\bigl(t\, \tilde x_u (W_{*i} - W_{*j})\bigr), \qquad j \sim X_u^- ,

:math:`P` all positive pairs of the users learned from, :math:`\tilde x_u` the user's row after
dropout and without :math:`i`. An epoch visits every pair once, in random order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.data.interactions import Interactions
from truerank.errors import InvalidDataError
from truerank.metrics import parse
from truerank.models.learned_linear.draws import PairRule, UserRows
from truerank.models.learned_linear.forms import Form, PairBatch
from truerank.models.learned_linear.parameters import Parameters
from truerank.numerics.threads import Each, on_all_cores
from truerank.rng import Stream, addresses, stream
from truerank.training.loop import History, NanGuard, look, train
from truerank.training.optimisers import DenseOptimiser
from truerank.training.schedule import Counters, Schedule
from truerank.training.validation import ValidationUsers, set_users_aside

CUTOFF = 100
"""Of the nDCG that decides, as in the dissertation's tables."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Learned:
    """The best parameters, by the validation users.

    Attributes:
        theta: Those of the best epoch.
        losses: Mean training loss of each epoch.
        values: nDCG@100 of the validation users, before the first epoch and after each.
    """

    theta: Parameters
    losses: NDArray[np.float64]
    values: NDArray[np.float64]

    @property
    def best_epoch(self) -> int:
        """0 where nothing beat the base model."""
        return int(np.argmax(self.values))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lesson:
    """What is learned from, and who validates the result.

    Attributes:
        rows: The training data.
        pairs: Positions of the positive pairs to learn from.
        history: What the model is told of the validation users.
        validation: Who decides which epoch is best.
    """

    rows: UserRows
    pairs: NDArray[np.int64]
    history: Any
    validation: ValidationUsers

    @classmethod
    def of(
        cls,
        train: Interactions,
        given: tuple[Interactions, Interactions] | None,
        *,
        share: float,
        seed: int,
        fewest: int,
    ) -> Lesson:
        """The pairs to learn from, and the validation users.

        Args:
            train: The training data.
            given: Histories and held-out items of other users, who are then asked.
            share: Otherwise, the part of the training users who are: they are not learned from.
            seed: Decides who that is.
            fewest: Items that a user must have to be learned from; having all is as useless.
        """
        able = (train.user_counts >= fewest) & (train.user_counts < train.n_items)
        if given is not None:
            history, held_out = given
        else:
            aside, history, held_out = set_users_aside(train, share=share, seed=seed)
            able &= ~aside
        metric = parse(f"ndcg@{min(CUTOFF, train.n_items)}")
        validation = ValidationUsers.of_histories(history, held_out, metric=metric)
        pairs = np.flatnonzero(able[train.users])
        if len(pairs) == 0:
            raise InvalidDataError(
                "no user is left to learn from: each has too few items, or all of them, or is set "
                "aside for validation; give more data"
            )
        return cls(
            rows=UserRows.of(train), pairs=pairs, history=history.matrix(), validation=validation
        )


class LinearLearner:
    """Epochs of a learned linear model, for :func:`truerank.training.loop.train`.

    Args:
        form: The W to learn around.
        rule: How a pair is trained on.
        lesson: What is learned from, and who validates the result.
        batch_size: Pairs of a step.
        seed: Of all draws.
        head_tail: Whether H and T are learned.
        each: Runs tasks on all cores.
    """

    def __init__(
        self,
        form: Form,
        rule: PairRule,
        lesson: Lesson,
        *,
        batch_size: int,
        seed: int,
        head_tail: bool,
        each: Each,  # type: ignore[type-arg]
    ) -> None:
        self.form, self.rule, self.lesson, self.each = form, rule, lesson, each
        self.batch_size, self.seed = batch_size, seed
        self.theta = form.start(head_tail=head_tail)
        self.best: Parameters = {}
        self.adam = DenseOptimiser("adam")
        self.adam.start(self.theta)

    def epoch(self, at: Counters, guard: NanGuard) -> tuple[float, int]:
        """All pairs once, in the order of this epoch."""
        pairs, total = self.lesson.pairs, 0.0
        self.adam.rate = at.rate
        order = stream(self.seed, Stream.LEARNED_LINEAR, at.epoch).permutation(pairs)
        key = np.uint64(addresses(self.seed, Stream.LEARNED_LINEAR, at.epoch)[0])
        starts = range(0, len(order), self.batch_size)
        for number, first in enumerate(starts, start=1):
            chosen = order[first : first + self.batch_size]
            batch = PairBatch(self.lesson.rows, self.rule, key, chosen)
            mean, gradient = self.form.gradient(batch, self.theta, self.each)
            guard.check_loss(number, mean)
            self.adam.move(self.theta, gradient)
            total += mean * len(chosen)
        guard.check_parameters(*self.theta.values())
        return total / len(pairs), len(starts)

    def evaluate(self) -> float:
        """NDCG of the validation users."""

        def score_rows(who: NDArray[np.int64]) -> NDArray[Any]:
            return self.form.scores(self.lesson.history[who], self.theta)

        return self.lesson.validation.evaluate(score_rows, self.each)

    def keep(self) -> None:
        """The parameters as they are become the best."""
        self.best = {name: array.copy() for name, array in self.theta.items()}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Parameters, what Adam remembers, and the best so far."""
        parts = ("theta", self.theta), ("adam", self.adam.states), ("best", self.best)
        return {f"{part}.{name}": array for part, held in parts for name, array in held.items()}


def learn(
    form: Form,
    rule: PairRule,
    lesson: Lesson,
    schedule: Schedule,
    *,
    batch_size: int,
    seed: int,
    head_tail: bool,
    workers: int | None = None,
) -> Learned:
    """Learn until ``schedule.patience`` epochs in a row have not been better than the best.

    The base model itself, before the first epoch, is one of those that the best is chosen from.
    """
    history = History()
    with on_all_cores(workers) as each:
        learner = LinearLearner(
            form, rule, lesson, batch_size=batch_size, seed=seed, head_tail=head_tail, each=each
        )
        before = look(learner, history, validated=True)
        rate = schedule.rates[0]
        train(
            learner,
            history,
            schedule,
            metric=str(lesson.validation.metric),
            likely_cause=f"the learning rate {rate:g} is probably too large; try a tenth of it",
            label="learning",
        )
    values = np.concatenate([[before], history.validations])
    return Learned(theta=learner.best, losses=history.losses, values=values)
