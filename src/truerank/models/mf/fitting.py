"""From settings and data to a fitted model: the parts are put together here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from truerank.checks import check_counts
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.files import check_folder, check_target
from truerank.losses import inputs_of
from truerank.models.adaptive_defaults import adaptation_note, is_adaptive
from truerank.models.base import State
from truerank.models.factor_model import FactorModel, Factors, start_factors
from truerank.models.input_checks import check_training_data
from truerank.models.mf.batches import WHOLE_BATCH, Plan
from truerank.models.mf.checkpoint import Training, plain_settings, read_checkpoint
from truerank.models.mf.choosing_judges import choose_judges
from truerank.models.mf.draws import Pairs, law_of
from truerank.models.mf.fold_in import fold_in
from truerank.models.mf.objective import Objective, objective_of
from truerank.models.mf.settings import check_fits, check_in_batch, likely_cause
from truerank.models.mf.training import Keeping, Schedule, rates_of, train, unit
from truerank.numerics.threads import available_cores
from truerank.rng import checked_seed


class TrainedMF(FactorModel):
    """A factor model fitted by :mod:`.training`; the settings are those of :class:`.model.MF`."""

    __slots__ = ("item_counts", "losses", "validations")
    loss: str | Callable[..., Any]
    dim: int
    similarity: str
    loss_params: dict[str, Any] | None
    negatives: str
    n_negatives: int
    shared: bool | int
    popularity_power: float
    exclude_positives: bool
    correct: bool
    n_positives: int
    hidden: float
    alpha: float
    optimiser: str
    epsilon: float
    rate: float | list[float]
    min_rate: float
    plateau: int
    l2: float
    dropout: float
    batch_size: int
    epochs: int
    patience: int
    validation_share: float
    validation_metric: str
    validation_negatives: int | None
    validation_every: int
    init_std: float
    seed: int
    item_counts: NDArray[np.int64]
    losses: NDArray[np.float64]
    validations: NDArray[np.float64]

    def fit(
        self,
        interactions: Interactions,
        *,
        validation: Interactions | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 1,
        workers: int | None = None,
    ) -> Self:
        """Train; the result has the same bits for any number of ``workers`` (threads).

        Args:
            interactions: The positive pairs.
            validation: Held-out items of the same users, to judge by; otherwise some of the
                interactions are held out, see ``validation_share``.
            checkpoint: A file to write all that is needed to go on. If it is there already,
                training goes on from it, to the same bits as if it had never stopped. ``epochs``
                may have grown meanwhile; other settings and the data must be the same. Of a loss
                of your own only the name and what ``functools.partial`` binds can be compared.
            checkpoint_every: Epochs between writing it.
            workers: Threads.
        """
        check_training_data(interactions)
        check_counts(checkpoint_every=checkpoint_every)
        if workers is not None:
            check_counts(workers=workers)
        if not len(interactions):
            raise InvalidDataError("there is no interaction to learn from; fit needs some")
        learned, judges, adapted = choose_judges(
            interactions, validation, share=self.validation_share, metric=self.validation_metric,
            n_sampled=self.validation_negatives, seed=self.seed,
        )  # fmt: skip
        plan = self._plan(interactions.n_items)
        n = max(plan.n_own, plan.n_shared)
        if 0 < n < self.n_negatives:
            adapted.append(
                adaptation_note("n_negatives", n, self.n_negatives, "there are no more items")
            )
        objective = self._objective(learned, learned.item_counts, plan)
        check_fits(
            interactions, objective.plan, self.batch_size, self.dim,
            threads=workers or available_cores(), by_autograd=objective.fused is None,
        )  # fmt: skip
        if objective.plan.in_batch:
            check_in_batch(learned, self.batch_size)
        keeping = None
        if checkpoint is not None:
            identity = self._identity(interactions, validation)
            keeping = Keeping(path=Path(checkpoint), every=checkpoint_every, identity=identity)
        training = self._start(interactions, keeping, judged=judges is not None)
        temperature = (self.loss_params or {}).get("temperature")
        train(
            training,
            objective,
            self._schedule(),
            judges=judges,
            keeping=keeping,
            likely_cause=likely_cause(self.loss, self.similarity, max(self._rates), temperature),
            workers=workers,
        )
        users, items = training.users.factors, training.items.factors
        if judges is not None:
            users, items = training.best_users, training.best_items
        self.user_factors = unit(users, self._cosine).copy()
        self.user_factors[interactions.user_counts == 0] = 0.0
        self.item_factors = unit(items, self._cosine).copy()
        self.item_factors[_never_met(learned, objective)] = 0.0
        self.item_counts = interactions.item_counts
        self.losses, self.validations = training.losses, training.validations
        self.record_training_data(interactions, adapted=adapted)
        return self

    def refit(
        self,
        interactions: Interactions,
        *,
        seed: int | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 1,
        workers: int | None = None,
    ) -> Self:
        """A new model that learns from everything, now that the judges have chosen.

        It has as many epochs as the best, each at the rate it had here, and no judges: their
        held-out items are trained on too.

        Args:
            interactions: The positive pairs; all that there are.
            seed: Of the new model; the same if not given.
            checkpoint: As for :meth:`fit`; not the file of this model.
            checkpoint_every: Epochs between writing it.
            workers: Threads.
        """
        settings = self.parameters() | {
            "rate": self.rates[: self.best_epoch].tolist(),
            "epochs": self.best_epoch,
            "validation_share": 0.0,
            "seed": self.seed if seed is None else seed,
        }
        return self.from_state(settings, {}).fit(
            interactions, checkpoint=checkpoint, checkpoint_every=checkpoint_every, workers=workers
        )

    @property
    def rates(self) -> NDArray[np.float64]:
        """The rate of each epoch."""
        judged = not np.isnan(self.validations).all()
        return rates_of(self.validations if judged else -self.losses, self._schedule())

    @property
    def best_epoch(self) -> int:
        """The epoch that was kept, from 1: the best by the judges, else the last."""
        if np.isnan(self.validations).all():
            return len(self.losses)
        return 1 + int(np.nanargmax(self.validations))

    def solve_users(self, history: Interactions) -> Factors:
        """By a few steps on the same loss, the items fixed; see :mod:`.fold_in`."""
        n = self.batch_size if self.negatives == "in-batch" else self.n_negatives
        plan = self._plan(self.n_items)._replace(
            n_own=0, n_shared=min(int(n), self.n_items), in_batch=False, sharing=WHOLE_BATCH
        )
        objective = self._objective(history, self.item_counts, plan)
        lengths = np.linalg.norm(self.user_factors, axis=1)
        usual = float(np.median(lengths[lengths > 0])) if lengths.any() else 1.0
        return fold_in(
            objective, self.item_factors, length=usual, seed=self.seed, epsilon=self.epsilon
        )

    def state(self) -> State:
        """What ``fit`` has found; only of a loss that has a name."""
        if not isinstance(self.loss, str):
            raise InvalidArgumentError(
                "loss", getattr(self.loss, "__name__", self.loss),
                "a name of truerank.losses for the model to be saved",
                "a function cannot be kept in a file; keep user_factors and item_factors, for "
                "instance with numpy.savez",
            )  # fmt: skip
        return FactorModel.state(self)

    @property
    def _cosine(self) -> bool:
        return self.similarity == "cosine"

    @property
    def _rates(self) -> tuple[float, ...]:
        return tuple(self.rate) if isinstance(self.rate, list) else (self.rate,)

    @property
    def _debiased(self) -> bool:
        return "extra_pos" in inputs_of(self.loss) and "extra_pos" not in (self.loss_params or {})

    def _plan(self, n_items: int) -> Plan:
        in_batch, n = self.negatives == "in-batch", int(self.n_negatives)
        if is_adaptive(self.n_negatives):
            n = min(n, n_items)
        return Plan(
            n_extra=self.n_positives if self._debiased else 0,
            n_own=0 if self.shared else n,
            n_shared=n if self.shared and not in_batch else 0,
            in_batch=in_batch,
            exclude=bool(self.exclude_positives),
            sharing=WHOLE_BATCH if isinstance(self.shared, bool) else self.shared,
        )

    def _objective(
        self, pairs: Interactions, counts: NDArray[np.int64], plan: Plan, **more: Any
    ) -> Objective:
        return objective_of(
            loss=self.loss,
            parameters=self.loss_params or {},
            pairs=Pairs.of(pairs),
            user_of_pair=pairs.users,
            law=law_of(self.negatives, counts, self.popularity_power),
            plan=plan,
            cosine=self._cosine,
            correct=self.correct,
            hidden=self.hidden,
            alpha=self.alpha,
            **more,
        )

    def _schedule(self) -> Schedule:
        return Schedule(
            optimiser=self.optimiser,
            epsilon=self.epsilon,
            rates=self._rates,
            min_rate=self.min_rate,
            l2=self.l2,
            dropout=self.dropout,
            batch_size=self.batch_size,
            epochs=self.epochs,
            plateau=self.plateau,
            patience=self.patience,
            check_every=self.validation_every,
            seed=checked_seed(self.seed),
        )

    def _start(self, data: Interactions, keeping: Keeping | None, *, judged: bool) -> Training:
        """Where training begins: random factors, or what a checkpoint holds."""
        room = Training.empty(
            data.n_users, data.n_items, self.dim, optimiser=self.optimiser, judged=judged
        )
        if keeping is not None and check_target(keeping.path).exists():
            held = read_checkpoint(keeping.path, keeping.identity, room)
            if held.at.epoch > self.epochs:
                raise InvalidArgumentError(
                    "epochs", self.epochs, f"at least {held.at.epoch}, which {keeping.path} has",
                    "ask for as many, or name another file",
                )  # fmt: skip
            return held
        if keeping is not None:
            check_folder(keeping.path)
        start = start_factors(
            data.n_users + data.n_items, self.dim, self.init_std, self.seed, "float32"
        )
        sides = (room.users, room.best_users), (room.items, room.best_items)
        for (table, best), side in zip(sides, np.split(start, [data.n_users]), strict=True):
            table.factors[...] = side
            best[...] = side[: len(best)]
        return room

    def _identity(self, data: Interactions, validation: Interactions | None) -> dict[str, Any]:
        """What must be the same for training to go on."""
        settings = self.parameters()
        del settings["epochs"]
        settings["loss_params"] = self.loss_params or {}
        if not isinstance(self.loss, str):
            settings["loss"] = _name_of(self.loss)
        judged_by = "" if validation is None else validation.fingerprint()
        return {"data": f"{data.fingerprint()} {judged_by}", "settings": plain_settings(settings)}


def _name_of(loss: Callable[..., Any]) -> str:
    """What can be told of a function: its name, and what is bound to it."""
    if isinstance(loss, partial):
        bound = [*map(repr, loss.args), *(f"{k}={v!r}" for k, v in sorted(loss.keywords.items()))]
        return f"{_name_of(loss.func)}({', '.join(bound)})"
    return str(getattr(loss, "__qualname__", type(loss).__name__))


def _never_met(learned: Interactions, objective: Objective) -> NDArray[np.bool_]:
    """Items that are no positive and are drawn as no negative: they would keep their start."""
    law, positive = objective.law, learned.item_counts > 0
    if objective.plan.in_batch:
        return ~positive
    drawn = law.share > 0 if len(law.share) else np.ones(learned.n_items, np.bool_)
    return np.asarray(~(positive | drawn))
