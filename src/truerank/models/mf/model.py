"""MF: user and item factors, trained with any loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from truerank.adaptive_defaults import adaptation_note, adaptive, is_adaptive
from truerank.checks import (
    check_counts,
    check_dropout,
    check_not_negative,
    check_one_of,
    check_positive,
    is_number,
)
from truerank.data.interactions import Interactions
from truerank.deprecation import current_names, renamed_parameters
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.losses import inputs_of
from truerank.metrics import parse
from truerank.models.base import State
from truerank.models.factor_model import FactorModel, Factors, start_factors
from truerank.models.input_checks import check_training_data
from truerank.models.mf.fold_in import fold_in
from truerank.models.mf.learner import (
    FactorLearner,
    FactorTables,
    StepSettings,
    check_steps,
    unit,
)
from truerank.models.mf.settings import (
    check_correction,
    check_debiased,
    check_fits,
    check_flags,
    check_in_batch,
    check_loss,
    check_single,
    checked_negatives_per,
    likely_cause,
)
from truerank.numerics.threads import available_cores, on_all_cores
from truerank.rng import checked_seed
from truerank.training.batches import WHOLE_BATCH, BatchPlan
from truerank.training.checkpoints import Checkpoint, plain_settings, read_checkpoint
from truerank.training.loop import History, train
from truerank.training.negative_sampling import Pairs, negative_sampler
from truerank.training.objective import NEGATIVES, Objective, objective_of
from truerank.training.optimisers import OPTIMISERS
from truerank.training.schedule import Schedule, rates_of
from truerank.training.validation import validation_users_of

SIMILARITIES = ("dot", "cosine")


def _negatives_per(shared: Any) -> Any:
    """What the old ``shared`` means: True, False or a number of pairs."""
    known = {True: "batch", "true": "batch", False: "pair", "false": "pair"}
    is_pairs = isinstance(shared, int) and not isinstance(shared, bool)
    return shared if is_pairs else known.get(shared, shared)


@renamed_parameters(
    {"shared": _negatives_per},
    rate="learning_rate",
    min_rate="min_learning_rate",
    hidden="n_hidden_positives",
    shared="negatives_per",
    plateau="lr_patience",
    correct="correct_for_sampling",
    n_positives="n_extra_positives",
)
@dataclass(slots=True, eq=False)
class MF(FactorModel):
    r"""Matrix factorisation by gradient steps on a loss of sampled scores.

    .. math::
        \min_{W,H} \frac1{|P|} \sum_{(u,i) \in P}
        E_{j \sim q}\, \ell\bigl(s_{ui}, (s_{uj})_{j=1}^{n}\bigr), \qquad
        s_{ui} = w_u \cdot h_i \;\text{ or }\; \frac{w_u \cdot h_i}{|w_u|\,|h_i|}

    over the positive pairs P, by steps on batches of them. Weights of interactions do not matter.
    Losses by name have fused gradients (:mod:`truerank.losses.gradients`) and need no torch; any
    other function of (pos, neg) goes through autograd on the same path.

    **Negatives** are n draws from q for each positive. ``negatives_per`` says for how many pairs:
    the same draws for a whole batch, or for every so many pairs. That changes nothing in
    expectation and turns the work into matrix products, so that many more negatives cost less; but
    an item is then met in few steps, by many pairs at once, of which Adam makes little. With less
    than some hundred negatives try a set for every 64 pairs: little more expensive, and much better
    for most losses (docs/decisions/0010-sets-of-negatives.md). ``"in-batch"`` takes the positives
    of the other pairs, which come by popularity. With ``exclude_positives`` a shared negative that
    the user has is replaced by another one of its set, if there is one. ``correct_for_sampling``
    takes :math:`t \log(q_j |I|)` off the score of a negative, t the temperature (of a function: in
    ``loss_params``, bound to it, or its default; else 1): exponentials then have
    the expectation of uniform negatives. ``"sampled_softmax"`` corrects by itself, and losses
    that are not of logits (squared error, CCL) cannot be corrected so.

    **Debiased losses** draw ``n_extra_positives`` further items of the user for each pair, and
    assume that the user likes :math:`\tau_u = ((1 + \alpha)|I_u| + K) / |I|` of all items; their
    negatives must be uniform (or corrected, for InfoNCE) and not leave positives out.

    **Steps** touch only the rows of a batch (:mod:`.rows`; ``"dense-adam"`` moves the others too),
    and so does ``l2``: the gradient of a touched row has l2 times the row added. With a cosine
    only directions matter, and Adam turns a vector by about learning_rate / length in a step: it is
    ``learning_rate / init_std`` that says how fast training starts, and it slows down as vectors
    grow. Short ones (``init_std=1e-3``, as in the published code of CCL) start fast and are worth a
    try.

    **Stopping**: a tenth of the users have a fifth of their items held out and are asked after each
    epoch; the best epoch is kept, and trained without those items. :meth:`refit` then trains on
    everything, for as many epochs; ``validation_share=0`` does to the last epoch. See
    :mod:`truerank.training.schedule` for the learning rate.

    A user without interactions is never drawn and gets the zero vector; so does an item that is
    nobody's positive, unless it is drawn as a negative (uniform ones are). With a cosine, the
    factors kept are of length 1, so that dot products are the scores. New users: :mod:`.fold_in`.

    Memory: both factor matrices three times (Adam), four with validation users, the buffers of
    :mod:`.steps`, and while those are asked vectors of length 1 for a cosine, all in float32: for
    gowalla, dim 64, batches of 1,024 and 800 negatives 100 MB at the peak, 115 MB with a cosine
    (``make bench-mf``). The same seed gives the same bits for any number of threads.

    Attributes:
        loss: A name of :data:`truerank.losses.LOSSES`, or a torch function of the same shape.
        dim: Dimensions of the factors.
        similarity: ``"dot"`` or ``"cosine"``.
        loss_params: Parameters of the loss, such as ``{"temperature": 0.12}``.
        negatives: ``"uniform"``, ``"popularity"`` or ``"in-batch"``.
        n_negatives: n, at most the number of items, and that where 64 are too many and nobody asked
            for them; in-batch: as many as the batch has.
        negatives_per: ``"batch"`` to draw negatives for a whole batch, ``"pair"`` to draw them for
            each pair, a number to draw them for so many pairs.
        popularity_power: q is in proportion to counts to this power.
        exclude_positives: Draw no negative that the user has.
        correct_for_sampling: Correct for q, see above.
        n_extra_positives: Further positives per pair, for debiased losses.
        n_hidden_positives: K, unknown positives of every user, for debiased losses.
        alpha: Unknown positives for each known one, for debiased losses.
        optimiser: ``"adam"``, ``"adagrad"`` or ``"sgd"`` move the rows that a batch touches;
            ``"dense-adam"`` lets the others go on by their momentum, which favours rare users and
            items (:mod:`truerank.training.optimisers`), and wants a smaller rate.
        learning_rate: Of the first epoch, or a list with those of the first epochs; later ones
            follow from the last of them.
        epsilon: Of Adam and Adagrad, beside the root of v. Gradients about as small do not reach
            full steps: losses whose positives weigh little (``"mse_debiased"``) want less.
        min_learning_rate: The rate is never halved below this.
        lr_patience: Checks without a better value before the rate is halved.
        l2: Penalty of touched rows.
        dropout: Part of a user's vector that is left out at random in each pair of training
            (:mod:`.dropout`).
        batch_size: Pairs per step.
        epochs: Passes over all pairs, at most.
        patience: Checks without a better value before it stops.
        validation_share: Part of the users who validate (5,000 at most); 0 for none, and none where
            nobody can and nobody asked for it.
        validation_metric: Any metric of ranks, such as ``"ndcg@20"``, whose cutoff gives way to
            small catalogues where nobody asked for it.
        validation_negatives: Rank held-out items among so many; None for all.
        validation_every: Epochs between checks.
        init_std: Length of the vectors at the start, about.
        seed: Of all draws.

    After :meth:`fit` there are ``losses``, the mean of each epoch, and ``validations``, the value
    of each epoch (NaN where nobody was asked); ``best_epoch`` was kept; ``rates`` are the rates.
    """

    loss: str | Callable[..., Any] = "bpr"
    dim: int = 64
    similarity: Literal["dot", "cosine"] = "dot"
    loss_params: dict[str, Any] | None = None
    negatives: Literal["uniform", "popularity", "in-batch"] = "uniform"
    n_negatives: int = adaptive(64)
    negatives_per: int | str = "batch"
    popularity_power: float = 0.75
    exclude_positives: bool = False
    correct_for_sampling: bool = False
    n_extra_positives: int = 10
    n_hidden_positives: float = 0.0
    alpha: float = 0.0
    optimiser: Literal["adam", "dense-adam", "adagrad", "sgd"] = "adam"
    learning_rate: float | list[float] = 1e-3
    epsilon: float = 1e-8
    min_learning_rate: float = 1e-6
    lr_patience: int = 2
    l2: float = 0.0
    dropout: float = 0.0
    batch_size: int = 1024
    epochs: int = 100
    patience: int = 6
    validation_share: float = adaptive(0.1)
    validation_metric: str = adaptive("ndcg@20")
    validation_negatives: int | None = None
    validation_every: int = 1
    init_std: float = 0.1
    seed: int = 0
    user_factors: Factors = field(init=False, repr=False)
    item_factors: Factors = field(init=False, repr=False)
    item_counts: NDArray[np.int64] = field(init=False, repr=False)
    losses: NDArray[np.float64] = field(init=False, repr=False)
    validations: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_loss(self.loss, self.loss_params)
        check_one_of("similarity", self.similarity, SIMILARITIES)
        check_one_of("negatives", self.negatives, NEGATIVES)
        check_one_of("optimiser", self.optimiser, OPTIMISERS)
        check_counts(
            dim=self.dim, n_negatives=self.n_negatives, n_extra_positives=self.n_extra_positives,
            lr_patience=self.lr_patience, batch_size=self.batch_size, epochs=self.epochs,
            patience=self.patience, validation_every=self.validation_every,
        )  # fmt: skip
        if self.validation_negatives is not None:
            check_counts(validation_negatives=self.validation_negatives)
        if isinstance(self.learning_rate, list | tuple | np.ndarray):
            if not len(self.learning_rate):
                raise InvalidArgumentError(
                    "learning_rate", self.learning_rate, "a number, or a list of some"
                )
            for rate in self.learning_rate:
                check_positive(learning_rate=rate)
            self.learning_rate = [float(rate) for rate in self.learning_rate]
        else:
            check_positive(learning_rate=self.learning_rate)
        check_positive(init_std=self.init_std)
        check_not_negative(
            popularity_power=self.popularity_power, alpha=self.alpha,
            n_hidden_positives=self.n_hidden_positives,
            min_learning_rate=self.min_learning_rate, l2=self.l2,
        )  # fmt: skip
        if not is_number(self.epsilon) or not 1e-30 <= self.epsilon < np.inf:
            raise InvalidArgumentError("epsilon", self.epsilon, "a number of at least 1e-30")
        check_single(l2=self.l2, init_std=self.init_std, learning_rate=max(self._rates))
        if isinstance(self.loss, str):
            given = (self.loss_params or {}).items()
            check_single(**{name: value for name, value in given if value is not None})
        check_dropout(dropout=self.dropout)
        if not is_number(self.validation_share) or not 0 <= self.validation_share <= 1:
            raise InvalidArgumentError("validation_share", self.validation_share, "from 0 to 1")
        if self.exclude_positives and self._debiased:
            raise InvalidArgumentError(
                "exclude_positives", True, "False for a debiased loss",
                "it takes the positives off itself, and would do so twice",
            )  # fmt: skip
        self.negatives_per = checked_negatives_per(self.negatives_per, self.negatives)
        check_flags(
            exclude_positives=self.exclude_positives,
            correct_for_sampling=self.correct_for_sampling,
        )
        check_correction(self.loss, self.loss_params, self.correct_for_sampling)
        check_debiased(self.loss, self.negatives, self.popularity_power, self.correct_for_sampling)
        if not isinstance(self.validation_metric, str):
            raise InvalidArgumentError(
                "validation_metric", self.validation_metric, "a metric such as 'ndcg@20'"
            )
        parse(self.validation_metric)
        checked_seed(self.seed)

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
            validation: Held-out items of the same users, to validate with; otherwise some of the
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
        learned, users_asked, adapted = validation_users_of(
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
        kept = None
        if checkpoint is not None:
            identity = self._identity(interactions, validation)
            kept = Checkpoint(path=Path(checkpoint), every=checkpoint_every, identity=identity)
        tables, history = self._start(interactions, kept, validated=users_asked is not None)
        temperature = (self.loss_params or {}).get("temperature")
        with on_all_cores(workers) as each:
            train(
                FactorLearner(
                    tables, objective, self._step_settings(), validation=users_asked, each=each,
                    workers=workers,
                ),
                history,
                self._schedule(),
                metric=None if users_asked is None else str(users_asked.metric),
                checkpoint=kept,
                likely_cause=likely_cause(
                    self.loss, self.similarity, max(self._rates), temperature
                ),
                label="fitting MF",
            )  # fmt: skip
        users, items = tables.users.factors, tables.items.factors
        if users_asked is not None:
            users, items = tables.best_users, tables.best_items
        self.user_factors = unit(users, self._cosine).copy()
        self.user_factors[interactions.user_counts == 0] = 0.0
        self.item_factors = unit(items, self._cosine).copy()
        self.item_factors[_never_met(learned, objective)] = 0.0
        self.item_counts = interactions.item_counts
        self.losses, self.validations = history.losses, history.validations
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
        """A new model that learns from everything, now that the validation users have chosen.

        It has as many epochs as the best, each at the rate it had here, and no validation users:
        their held-out items are trained on too.

        Args:
            interactions: The positive pairs; all that there are.
            seed: Of the new model; the same if not given.
            checkpoint: As for :meth:`fit`; not the file of this model.
            checkpoint_every: Epochs between writing it.
            workers: Threads.
        """
        settings = self.parameters() | {
            "learning_rate": self.rates[: self.best_epoch].tolist(),
            "epochs": self.best_epoch,
            "validation_share": 0.0,
            "seed": self.seed if seed is None else seed,
        }
        return self.from_state(settings, {}).fit(
            interactions, checkpoint=checkpoint, checkpoint_every=checkpoint_every, workers=workers
        )

    @property
    def rates(self) -> NDArray[np.float64]:
        """The learning rate of each epoch."""
        validated = not np.isnan(self.validations).all()
        return rates_of(self.validations if validated else -self.losses, self._schedule())

    @property
    def best_epoch(self) -> int:
        """The epoch that was kept, from 1: the best by the validation users, else the last."""
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
        given = self.learning_rate
        return tuple(given) if isinstance(given, list) else (given,)

    @property
    def _debiased(self) -> bool:
        return "extra_pos" in inputs_of(self.loss) and "extra_pos" not in (self.loss_params or {})

    def _plan(self, n_items: int) -> BatchPlan:
        in_batch, n = self.negatives == "in-batch", int(self.n_negatives)
        per = self.negatives_per
        if is_adaptive(self.n_negatives):
            n = min(n, n_items)
        return BatchPlan(
            n_extra=self.n_extra_positives if self._debiased else 0,
            n_own=n if per == "pair" else 0,
            n_shared=n if per != "pair" and not in_batch else 0,
            in_batch=in_batch,
            exclude=bool(self.exclude_positives),
            sharing=per if isinstance(per, int) else WHOLE_BATCH,
        )

    def _objective(
        self, pairs: Interactions, counts: NDArray[np.int64], plan: BatchPlan, **more: Any
    ) -> Objective:
        return objective_of(
            loss=self.loss,
            parameters=self.loss_params or {},
            pairs=Pairs.of(pairs),
            user_of_pair=pairs.users,
            sampler=negative_sampler(self.negatives, counts, self.popularity_power),
            plan=plan,
            cosine=self._cosine,
            correct=self.correct_for_sampling,
            hidden=self.n_hidden_positives,
            alpha=self.alpha,
            **more,
        )

    def _schedule(self) -> Schedule:
        return Schedule(
            rates=self._rates,
            epochs=self.epochs,
            patience=self.patience,
            lr_patience=self.lr_patience,
            min_rate=self.min_learning_rate,
            check_every=self.validation_every,
        )

    def _step_settings(self) -> StepSettings:
        return StepSettings(
            optimiser=self.optimiser,
            epsilon=self.epsilon,
            l2=self.l2,
            dropout=self.dropout,
            batch_size=self.batch_size,
            seed=checked_seed(self.seed),
        )

    def _start(
        self, data: Interactions, checkpoint: Checkpoint | None, *, validated: bool
    ) -> tuple[FactorTables, History]:
        """Where training begins: random factors, or what a checkpoint holds."""
        n_users, n_items = data.n_users, data.n_items
        tables = FactorTables.empty(
            n_users, n_items, self.dim, optimiser=self.optimiser, validated=validated
        )
        history = History()
        if checkpoint is not None:
            room = tables.arrays() | history.arrays()
            held = read_checkpoint(
                checkpoint,
                room,
                epochs=self.epochs,
                check=check_steps,
                current=partial(current_names, MF),
            )
            if held is not None:
                at, arrays = held
                history = History(at=at, losses=arrays["losses"], validations=arrays["validations"])
                return FactorTables.of_arrays(arrays), history
        tables.start(
            start_factors(n_users + n_items, self.dim, self.init_std, self.seed, "float32")
        )
        return tables, history

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
    sampler, positive = objective.sampler, learned.item_counts > 0
    if objective.plan.in_batch:
        return ~positive
    drawn = sampler.share > 0 if len(sampler.share) else np.ones(learned.n_items, np.bool_)
    return np.asarray(~(positive | drawn))
