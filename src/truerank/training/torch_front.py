"""Train any torch module on the loop of :mod:`.loop`, for models that need autograd.

A module gives scores: ``module(users, items)`` takes user indices ``(batch,)`` and item indices
``(batch, n)``, and returns ``(batch, n)``. Everything else is that of all trained models: any loss
of :data:`truerank.losses.LOSSES` or a function of the same shape, negatives drawn by address, the
optimisers of :mod:`.optimisers`, the schedule, validation users and early stopping, checkpoints
without pickle, and a guard against NaN. The same seed gives the same bits, after a restart too:
torch has one thread meanwhile, and its own random numbers (dropout) are seeded epoch by epoch.

Memory: the parameters, their gradients and optimiser states, the best parameters, and for a batch
what the module needs; the validation users are scored in blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from truerank.adaptive_defaults import adaptation_note, adaptive, is_adaptive
from truerank.arrays import Float
from truerank.checks import check_counts, check_not_negative, check_one_of, check_positive
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.losses import inputs_of
from truerank.losses.checks import check_has_gradient, check_unreduced
from truerank.rng import Stream, addresses, checked_seed, stream
from truerank.training.batches import Batch, BatchPlan, make_batch
from truerank.training.checkpoints import Arrays, Checkpoint, plain_settings, read_checkpoint
from truerank.training.loop import History, NanGuard, train
from truerank.training.negative_sampling import Pairs, negative_sampler
from truerank.training.objective import Objective, objective_of
from truerank.training.optimisers import DENSE_OPTIMISERS, DenseOptimiser
from truerank.training.schedule import Counters, Schedule
from truerank.training.validation import ValidationUsers, validation_users_of

NEGATIVES = ("uniform", "popularity")

_ORDER, _DRAWS, _TORCH = 0, 1, 2  # purposes within the stream of torch modules


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchSettings:
    """How a module is trained; the names are those of all models (docs/conventions.md).

    Attributes:
        loss: A name of :data:`truerank.losses.LOSSES`, or a torch function of the same shape.
        loss_params: Parameters of the loss.
        negatives: ``"uniform"`` or ``"popularity"``.
        n_negatives: Negatives of each pair; at most the number of items.
        popularity_power: Popularity counts to this power.
        exclude_positives: Draw no negative that the user has.
        n_extra_positives: Further positives per pair, for debiased losses.
        n_hidden_positives: Unknown positives of every user, for debiased losses.
        optimiser: ``"adam"``, ``"adagrad"`` or ``"sgd"``, on all parameters in every step.
        learning_rate: Of the first epoch.
        min_learning_rate: The learning rate is never halved below this.
        lr_patience: Checks without a better value before the learning rate is halved.
        l2: Times the parameter, added to its gradient.
        batch_size: Pairs per step.
        epochs: Passes over all pairs, at most.
        patience: Checks without a better value before training stops.
        validation_share: Part of the users who have items held out; 0 for none.
        validation_metric: What they are asked for.
        validation_every: Epochs between checks.
        seed: Of all draws.
    """

    loss: str | Callable[..., Any] = "bpr"
    loss_params: dict[str, Any] | None = None
    negatives: str = "uniform"
    n_negatives: int = adaptive(16)
    popularity_power: float = 0.75
    exclude_positives: bool = False
    n_extra_positives: int = 10
    n_hidden_positives: float = 0.0
    optimiser: str = "adam"
    learning_rate: float = 1e-3
    min_learning_rate: float = 1e-6
    lr_patience: int = 2
    l2: float = 0.0
    batch_size: int = 1024
    epochs: int = 100
    patience: int = 6
    validation_share: float = adaptive(0.1)
    validation_metric: str = adaptive("ndcg@20")
    validation_every: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        check_one_of("negatives", self.negatives, NEGATIVES)
        check_one_of("optimiser", self.optimiser, DENSE_OPTIMISERS)
        check_counts(
            n_negatives=self.n_negatives, n_extra_positives=self.n_extra_positives,
            lr_patience=self.lr_patience, batch_size=self.batch_size, epochs=self.epochs,
            patience=self.patience, validation_every=self.validation_every,
        )  # fmt: skip
        check_positive(learning_rate=self.learning_rate)
        check_not_negative(
            l2=self.l2, min_learning_rate=self.min_learning_rate,
            popularity_power=self.popularity_power, n_hidden_positives=self.n_hidden_positives,
        )  # fmt: skip
        checked_seed(self.seed)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TorchTraining:
    """A trained module, and how its training went.

    Attributes:
        module: With the parameters of its best epoch, in the mode of evaluation.
        losses: Mean loss of each epoch.
        validations: Value of each epoch; NaN where nobody was asked.
        best_epoch: The epoch whose parameters the module has, from 1.
        adapted: A sentence for each default that gave way to the data.
    """

    module: torch.nn.Module
    losses: Float
    validations: Float
    best_epoch: int
    adapted: tuple[str, ...]


def train_module(
    make_module: Callable[[Interactions], torch.nn.Module],
    interactions: Interactions,
    settings: TorchSettings | None = None,
    *,
    validation: Interactions | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 1,
) -> TorchTraining:
    """Make a module and train it; the result has it with the parameters of its best epoch.

    Args:
        make_module: Makes the module of the interactions that it may learn from: what is held out
            for validation is not among them. torch's random numbers are seeded meanwhile.
        interactions: The positive pairs.
        settings: How.
        validation: Held-out items of the same users; otherwise some of the interactions are held
            out, see ``validation_share``.
        checkpoint: A file to write all that is needed to go on. If it is there already, training
            goes on from it, to the same bits as if it had never stopped.
        checkpoint_every: Epochs between writing it.
    """
    how = settings or TorchSettings()
    check_counts(checkpoint_every=checkpoint_every)
    if not len(interactions):
        raise InvalidDataError("there is no interaction to learn from; fit needs some")
    learned, users, adapted = validation_users_of(
        interactions, validation, share=how.validation_share, metric=how.validation_metric,
        n_sampled=None, seed=how.seed,
    )  # fmt: skip
    n_negatives = _n_negatives(how, interactions.n_items, adapted)
    history = History()
    with _one_thread():
        with seeded(how.seed):
            module = make_module(learned)
        learner = TorchLearner(module, _objective(how, learned, n_negatives), how, users)
        kept = None
        if checkpoint is not None:
            identity = _identity(how, interactions, validation)
            kept = Checkpoint(path=Path(checkpoint), every=checkpoint_every, identity=identity)
            held = read_checkpoint(kept, learner.arrays() | history.arrays(), epochs=how.epochs)
            if held is not None:
                at, arrays = held
                learner.restore(arrays, at)
                history = History(at=at, losses=arrays["losses"], validations=arrays["validations"])
        train(
            learner,
            history,
            Schedule(
                rates=(how.learning_rate,), epochs=how.epochs, patience=how.patience,
                lr_patience=how.lr_patience, min_rate=how.min_learning_rate,
                check_every=how.validation_every,
            ),
            metric=None if users is None else str(users.metric),
            checkpoint=kept,
            likely_cause=f"the learning rate {how.learning_rate:g} is probably too large; try a "
            "tenth of it",
            label=f"training {type(module).__name__}",
        )  # fmt: skip
        if users is not None:
            learner.load_best()
    module.eval()
    return TorchTraining(
        module=module,
        losses=history.losses,
        validations=history.validations,
        best_epoch=history.at.epoch if users is None else history.at.best_epoch,
        adapted=tuple(adapted),
    )


class TorchLearner:
    """Epochs of a torch module, for :func:`truerank.training.loop.train`.

    Args:
        module: Changed in place.
        objective: What is minimised.
        settings: How a step is made.
        validation: The validation users; None for nobody.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        objective: Objective,
        settings: TorchSettings,
        validation: ValidationUsers | None,
    ) -> None:
        self.module, self.objective, self.settings = module, objective, settings
        self.validation = validation
        # Arrays that share their memory with the parameters: a step moves both.
        self.theta = {name: p.detach().numpy() for name, p in module.named_parameters()}
        self.optimiser = DenseOptimiser(settings.optimiser, l2=settings.l2)
        self.optimiser.start(self.theta)
        n_users = len(objective.pairs.indptr) - 1
        self._places = (
            np.full(n_users, -1, np.int32), np.full(objective.pairs.n_items, -1, np.int32)
        )  # fmt: skip
        self.best: Arrays = {}
        self.keep()

    def epoch(self, at: Counters, guard: NanGuard) -> tuple[float, int]:
        """All pairs once, in the order of this epoch."""
        seed, size = self.settings.seed, self.settings.batch_size
        order = stream(seed, Stream.TORCH, _ORDER, at.epoch).permutation(
            len(self.objective.pairs.items)
        )
        key = np.uint64(addresses(seed, Stream.TORCH, _DRAWS, at.epoch)[0])
        self.optimiser.rate = at.rate
        self.module.train()
        starts, total = range(0, len(order), size), 0.0
        with seeded(seed, at.epoch):
            for number, first in enumerate(starts):
                batch = self._batch(order[first : first + size], key, number)
                total += self._step(batch, number + 1, guard) * len(batch.users)
        guard.check_parameters(*self.theta.values())
        return total / len(order), len(starts)

    def evaluate(self) -> float:
        """The mean of the metric over the validation users."""
        if self.validation is None:
            return np.nan
        self.module.eval()
        items = torch.arange(self.objective.pairs.n_items)

        def score_rows(who: NDArray[np.int64]) -> NDArray[Any]:
            with torch.no_grad():
                users = torch.from_numpy(who)
                scores = self.module(users, items.expand(len(who), -1))
            return np.ascontiguousarray(scores.numpy())

        return self.validation.evaluate(score_rows, _in_turn)

    def keep(self) -> None:
        """The parameters (and buffers) as they are become the best."""
        self.best = {name: array.copy() for name, array in self._state().items()}

    def arrays(self) -> Arrays:
        """Parameters, what the optimiser remembers, and the best so far."""
        parts = (
            ("module", self._state()), ("optimiser", self.optimiser.states), ("best", self.best)
        )  # fmt: skip
        return {f"{part}.{name}": array for part, held in parts for name, array in held.items()}

    def restore(self, arrays: Arrays, at: Counters) -> None:
        """Go on from the arrays of a checkpoint."""
        for mine, name in ((self._state(), "module"), (self.optimiser.states, "optimiser")):
            for key, array in mine.items():
                array[...] = arrays[f"{name}.{key}"]
        self.best = {key: arrays[f"best.{key}"] for key in self.best}
        self.optimiser.step = at.step

    def load_best(self) -> None:
        """Give the module the best parameters."""
        for name, array in self._state().items():
            array[...] = self.best[name]

    def _state(self) -> Arrays:
        """Parameters and buffers, in the module's own memory."""
        return {name: t.detach().numpy() for name, t in self.module.state_dict().items()}

    def _batch(self, chosen: NDArray[np.int64], key: np.uint64, number: int) -> Batch:
        o = self.objective
        return make_batch(
            o.pairs, o.sampler, o.plan, o.user_of_pair, chosen, chosen, key, number, *self._places
        )

    def _step(self, batch: Batch, number: int, guard: NanGuard) -> float:
        """One step; the mean loss before it."""
        o, first = self.objective, 1 + self.objective.plan.n_extra
        users = torch.from_numpy(batch.users.astype(np.int64))
        items = torch.from_numpy(batch.own.astype(np.int64))
        scores = self.module(users, items)
        if tuple(scores.shape) != tuple(items.shape):
            raise InvalidArgumentError(
                "module", f"scores of shape {tuple(scores.shape)}",
                f"a function of (users, items) with scores of the shape of items, "
                f"{tuple(items.shape)}",
            )  # fmt: skip
        further = o.further_inputs(batch, o.levels(batch, o.plan.n_own))
        inputs = {name: torch.from_numpy(np.ascontiguousarray(x)) for name, x in further.items()}
        if o.plan.n_extra:
            inputs["extra_pos"] = scores[:, 1:first]
        loss: Any = o.loss
        values = loss(scores[:, 0], scores[:, first:], **inputs)
        check_unreduced(values, scores[:, 0])
        check_has_gradient(values)
        mean = values.mean()
        guard.check_loss(number, float(mean.detach()))
        self.module.zero_grad()
        mean.backward()
        gradient = {
            name: np.zeros_like(self.theta[name]) if p.grad is None else p.grad.numpy()
            for name, p in self.module.named_parameters()
        }
        self.optimiser.move(self.theta, gradient)
        return float(mean.detach())


@contextmanager
def seeded(seed: int, *key: int) -> Iterator[None]:
    """Torch's random numbers of this seed within the block; as they were after it."""
    word = int(addresses(seed, Stream.TORCH, _TORCH, *key)[0])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(word % 2**63)
        yield


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums in one order, whatever the machine: the same bits for any number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _in_turn(work: Callable[[Any], object], tasks: Iterable[Any]) -> None:
    for task in tasks:
        work(task)


def _n_negatives(how: TorchSettings, n_items: int, adapted: list[str]) -> int:
    n = int(how.n_negatives)
    if n <= n_items:
        return n
    if not is_adaptive(how.n_negatives):
        raise InvalidArgumentError(
            "n_negatives", n, f"at most the number of items, {n_items:,}", "draw fewer negatives"
        )
    adapted.append(adaptation_note("n_negatives", n_items, n, "there are no more items"))
    return n_items


def _objective(how: TorchSettings, data: Interactions, n_negatives: int) -> Objective:
    debiased = "extra_pos" in inputs_of(how.loss)
    return objective_of(
        loss=how.loss,
        parameters=how.loss_params or {},
        pairs=Pairs.of(data),
        user_of_pair=data.users,
        sampler=negative_sampler(how.negatives, data.item_counts, how.popularity_power),
        plan=BatchPlan(
            n_extra=how.n_extra_positives if debiased else 0,
            n_own=n_negatives,
            n_shared=0,
            in_batch=False,
            exclude=how.exclude_positives,
        ),
        cosine=False,
        correct=False,
        hidden=how.n_hidden_positives,
        alpha=0.0,
        autograd=True,
    )


def _identity(
    how: TorchSettings, data: Interactions, validation: Interactions | None
) -> dict[str, Any]:
    """What must be the same for training to go on."""
    settings = asdict(how)
    del settings["epochs"]
    if not isinstance(how.loss, str):
        function = how.loss.func if isinstance(how.loss, partial) else how.loss
        settings["loss"] = getattr(function, "__qualname__", type(function).__name__)
    judged_by = "" if validation is None else validation.fingerprint()
    return {"data": f"{data.fingerprint()} {judged_by}", "settings": plain_settings(settings)}
