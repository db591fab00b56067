r"""Learning by BPR: Adam on the parameters of :mod:`.parameters`, stopped by validation users.

.. math::
    \mathcal L = \frac1{|P|} \sum_{(u,i) \in P} \frac1m \sum_{j=1}^{m}
    -\log \delta\bigl(t\, \tilde x_u (W_{*i} - W_{*j})\bigr), \qquad j \sim X_u^- ,

:math:`P` all positive pairs of the users learned from, :math:`\tilde x_u` the user's row after
dropout and without :math:`i`. An epoch visits every pair once, in random order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.execution import Progress
from truerank.models.learned_linear.draws import Rows, Rule
from truerank.models.learned_linear.forms import Batch, Form
from truerank.models.learned_linear.parameters import Parameters
from truerank.models.learned_linear.validation import Validation
from truerank.numerics.threads import on_all_cores
from truerank.rng import Stream, addresses, stream


@dataclass(slots=True, eq=False)
class Adam:
    r"""Adam [kingma2015]_: steps of about ``rate`` along the sign of a steady gradient.

    .. math::
        m \leftarrow \beta_1 m + (1 - \beta_1) \nabla, \quad
        v \leftarrow \beta_2 v + (1 - \beta_2) \nabla^2, \quad
        \theta \leftarrow \theta - \eta \frac{m / (1 - \beta_1^s)}
        {\sqrt{v / (1 - \beta_2^s)} + \epsilon}
    """

    rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    step: int = 0
    m: Parameters = field(default_factory=dict)
    v: Parameters = field(default_factory=dict)

    def move(self, theta: Parameters, gradient: Parameters) -> None:
        """One step, in place."""
        self.step += 1
        for name, g in gradient.items():
            m, v = (held.setdefault(name, np.zeros_like(g)) for held in (self.m, self.v))
            m += (1 - self.beta1) * (g - m)
            v += (1 - self.beta2) * (g * g - v)
            size = np.sqrt(v / (1 - self.beta2**self.step)) + self.epsilon
            theta[name] -= self.rate * (m / (1 - self.beta1**self.step)) / size


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How long, how fast, and by which draws."""

    rate: float
    batch_size: int
    epochs: int
    patience: int
    seed: int


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


def learn(
    form: Form,
    rows: Rows,
    rule: Rule,
    pairs: NDArray[np.int64],
    validation: Validation,
    schedule: Schedule,
    *,
    head_tail: bool,
    workers: int | None = None,
) -> Learned:
    """Learn until ``patience`` epochs in a row have not been better than the best.

    Args:
        form: The W to learn around.
        rows: The training data.
        rule: How a pair is trained on.
        pairs: Positions of the positive pairs to learn from.
        validation: Who decides which epoch is best.
        schedule: How long, how fast, and by which draws.
        head_tail: Whether H and T are learned.
        workers: Threads; they change nothing but the time.
    """
    theta = form.start(head_tail=head_tail)
    adam, losses = Adam(schedule.rate), []
    with on_all_cores(workers) as each, Progress("learning", total=schedule.epochs) as bar:
        values = [validation.ndcg(_scoring(form, theta))]
        best = {name: array.copy() for name, array in theta.items()}
        for epoch in range(schedule.epochs):
            loss = 0.0
            for batch in _batches(rows, rule, pairs, schedule, epoch):
                mean, gradient = form.gradient(batch, theta, each)
                adam.move(theta, gradient)
                loss += mean * len(batch.pairs)
            losses.append(loss / len(pairs))
            values.append(validation.ndcg(_scoring(form, theta)))
            bar.advance()
            if values[-1] > max(values[:-1]):
                best = {name: array.copy() for name, array in theta.items()}
            elif len(values) - 1 - int(np.argmax(values)) >= schedule.patience:
                break
    return Learned(theta=best, losses=np.array(losses), values=np.array(values))


def _scoring(form: Form, theta: Parameters) -> Callable[[Any], NDArray[Any]]:
    return lambda history: form.scores(history, theta)


def _batches(
    rows: Rows, rule: Rule, pairs: NDArray[np.int64], schedule: Schedule, epoch: int
) -> Iterator[Batch]:
    """All pairs once, in the order of this epoch."""
    order = stream(schedule.seed, Stream.NEARBY, epoch).permutation(pairs)
    key = np.uint64(addresses(schedule.seed, Stream.NEARBY, epoch)[0])
    for first in range(0, len(order), schedule.batch_size):
        yield Batch(rows, rule, key, order[first : first + schedule.batch_size])
