"""LearnedLinear: a linear model, moved a little by what ranks well."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.arrays import Indices
from truerank.checks import (
    check_counts,
    check_dropout,
    check_not_negative,
    check_positive,
    is_number,
)
from truerank.data.interactions import Interactions
from truerank.deprecation import renamed_parameters
from truerank.errors import InvalidArgumentError
from truerank.models.base import Model, State
from truerank.models.factor_model import FactorScores
from truerank.models.input_checks import check_history, check_training_data
from truerank.models.item_item import ItemItemScorer
from truerank.models.learned_linear.bases import (
    base_of,
    check_spectral,
    form_of,
    sparsified,
    spectral_form,
    words_of,
)
from truerank.models.learned_linear.draws import PairRule
from truerank.models.learned_linear.forms import BLOCKS, Dense, Form, LowRank, Sparse
from truerank.models.learned_linear.learner import Learned, Lesson, learn
from truerank.models.learned_linear.parameters import Parameters, coefficients
from truerank.models.linear.low_rank import LowRankScorer
from truerank.models.linear.spectrum import Spectrum, decompose
from truerank.numerics.memory import check_room
from truerank.rng import checked_seed
from truerank.training.schedule import Schedule

AnyScorer = ItemItemScorer | FactorScores | LowRankScorer


@renamed_parameters(rate="learning_rate", c="lambda_range")
@dataclass(slots=True, eq=False)
class LearnedLinear(Model):
    r"""Models near a linear model :math:`W`, found by BPR (the dissertation's chapter 2).

    .. math::
        W_{HT} &= \mathrm{diag}(H)\, W \,\mathrm{diag}(T), \qquad
        H = \delta(h), \; T = \delta(t) \\
        W_S &= S \odot W \odot [W \ge \text{threshold}], \qquad S = \delta(s) \\
        W_\lambda &= V_k\, \mathrm{diag}\Bigl(\frac{\sigma_i^2}{\sigma_i^2 + \lambda_i}\Bigr)
        V_k^\top, \qquad \lambda_i = \lambda + c \tanh(\alpha_i)

    (the last on LRR only), in any combination but the last two together, by Adam on the BPR loss
    of :mod:`.learner`. :math:`\delta` is the logistic function and all parameters start at 0:
    :math:`\lambda_i = \lambda`, and H, T and S are 1/2 everywhere. The start therefore ranks as the
    base does (thinned, with a threshold), but its W is a quarter of the base's with H and T, and
    half of that with S. Users set aside say after each epoch how good the model is, and the best
    epoch is kept, the start among them.

    With ``zero_diagonal`` (the dissertation's RMD) the diagonal of :math:`W` is removed. **For the
    ranks of unseen items that changes nothing by itself**: an unseen item is not in the row, so
    its diagonal entry is multiplied by zero. It only matters in training, and only if the positive
    stays in its own input row (``remove_positive=False``), where the diagonal gives it away.

    Gradients are as large as the parameters: of items, of the rank, or of the entries kept.
    Memory: the base; 16 arrays of 2 n_items + rank float64; five float64 per kept entry; and in
    the end a second W of the base's form and precision: a low-rank base stays low-rank, and a
    float32 one float32. The same bits for any number of threads.

    Attributes:
        base: The model to start from, in words, where :meth:`fit` is not given one; afterwards
            the one that was used.
        lambda_range: c, how far a lambda_i may be from the lambda of an LRR; 0 learns none.
        head_tail: Learn H and T.
        threshold: Keep only entries of W from here on, and learn S; None keeps W as it is.
        negative: With a threshold: keep entries of at most ``-threshold`` as well.
        zero_diagonal: Remove the diagonal.
        scale: t of the loss.
        dropout: Chance of each item of the input row to be left out, in [0, 1).
        n_negatives: Items drawn per positive, among those the user has not.
        remove_positive: Take the positive out of its input row.
        learning_rate: Step of Adam.
        batch_size: Positive pairs per step.
        epochs: Passes over all pairs, at most.
        patience: Epochs without a better value before it stops.
        validation_share: Part of the users set aside (at most 1,000 of them), unless :meth:`fit`
            is given others. Their items are in W all the same.
        seed: Of all draws.

    After :meth:`fit` there are ``head`` and ``tail`` (H and T), ``sigma`` and ``lambdas``, as far
    as they were learned; ``losses`` of each epoch, and ``values``, the nDCG@100 of the validation
    users before the first epoch and after each. The model itself is in one of three forms:

    =====================  ==========================================================
    it has                 scores of a row x
    =====================  ==========================================================
    encoder, item_factors  (x encoder) item_factors'; and user_factors for its users
    encoder, decoder       the same without the diagonal of the product
    item_item              x item_item, dense or sparse
    =====================  ==========================================================
    """

    base: str = "ease"
    lambda_range: float = 0.0
    head_tail: bool = True
    threshold: float | None = None
    negative: bool = False
    zero_diagonal: bool = False
    scale: float = 100.0
    dropout: float = 0.5
    n_negatives: int = 8
    remove_positive: bool = True
    learning_rate: float = 1e-3
    batch_size: int = 2048
    epochs: int = 50
    patience: int = 3
    validation_share: float = 0.1
    seed: int = 0
    history: sparse.csr_array = field(init=False, repr=False)
    item_item: NDArray[Any] | sparse.csr_array = field(init=False, repr=False)
    user_factors: NDArray[Any] = field(init=False, repr=False)
    item_factors: NDArray[Any] = field(init=False, repr=False)
    encoder: NDArray[Any] = field(init=False, repr=False)
    decoder: NDArray[Any] = field(init=False, repr=False)
    head: NDArray[np.float64] = field(init=False, repr=False)
    tail: NDArray[np.float64] = field(init=False, repr=False)
    sigma: NDArray[np.float64] = field(init=False, repr=False)
    lambdas: NDArray[np.float64] = field(init=False, repr=False)
    losses: NDArray[np.float64] = field(init=False, repr=False)
    values: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_positive(scale=self.scale, learning_rate=self.learning_rate)
        check_counts(
            n_negatives=self.n_negatives, batch_size=self.batch_size, epochs=self.epochs,
            patience=self.patience,
        )  # fmt: skip
        check_not_negative(lambda_range=self.lambda_range)
        check_dropout(dropout=self.dropout)
        if not is_number(self.validation_share) or not 0 < self.validation_share < 1:
            raise InvalidArgumentError(
                "validation_share", self.validation_share, "between 0 and 1, both excluded"
            )
        if self.threshold is not None:
            check_not_negative(threshold=self.threshold)
        if self.lambda_range > 0 and self.threshold is not None:
            raise InvalidArgumentError(
                "threshold", self.threshold, "None where lambda_i is learned",
                "the entries would move under it; learn lambda_i first, then sparsify the result",
            )  # fmt: skip
        if not (self.lambda_range > 0 or self.head_tail or self.threshold is not None):
            raise InvalidArgumentError(
                "head_tail", False, "True where nothing else is learned",
                "or give lambda_range or a threshold",
            )  # fmt: skip
        checked_seed(self.seed)

    def fit(
        self,
        interactions: Interactions,
        *,
        base: Any = None,
        spectrum: Spectrum | None = None,
        validation: tuple[Interactions, Interactions] | None = None,
        workers: int | None = None,
    ) -> Self:
        """Learn around a base model.

        Args:
            interactions: What the base was fitted on.
            base: A fitted linear model, or an items x items matrix, dense or sparse; the model
                named at the start if not given.
            spectrum: For ``lambda_range > 0``: the decomposition of the interactions, if at hand.
            validation: Histories and held-out items of other users (``fold_in`` and ``held_out``
                of a split); otherwise some of these users are set aside.
            workers: Threads.
        """
        check_training_data(interactions)
        self._forget()
        form = self._form(interactions, base, spectrum)
        learned = self._learn(form, interactions, validation, workers)
        self.losses, self.values = learned.losses, learned.values
        if self.head_tail:
            co = coefficients(learned.theta, form.n_items)
            self.head, self.tail = co.head, co.tail
        if isinstance(form, LowRank) and form.shrinkage is not None:
            self.sigma = form.shrinkage.sigma
            self.lambdas = form.shrinkage.lambdas(learned.theta["alpha"])
        self._keep(form, learned.theta, interactions, zero_diagonal=self.zero_diagonal)
        self.record_training_data(interactions)
        return self

    def _keep(
        self, form: Form, theta: Parameters, interactions: Interactions, *, zero_diagonal: bool
    ) -> None:
        """Take what was learned, in the form of the base."""
        if isinstance(form, LowRank):
            self.encoder, decoder = form.factors(theta)
            if not (zero_diagonal or form.zero_diagonal):
                self.item_factors = decoder
                self.user_factors = self._encoded(interactions)
                return
            self.decoder = decoder
        elif isinstance(form, Dense):
            check_room(
                form.W.nbytes, f"a second matrix of {form.n_items:,} items",
                "a low-rank base would fit",
            )  # fmt: skip
            self.item_item = form.matrix(theta, zero_diagonal=zero_diagonal)
        else:
            self.item_item = form.matrix(theta)
        self.history = interactions.matrix()

    @property
    def n_items(self) -> int:
        return self._scorer().n_items

    def score_all(self, users: Indices) -> NDArray[Any]:
        """Scores of all items, shape ``(len(users), n_items)``."""
        return self._scorer().score_all(users)

    def score_pairs(self, users: Indices, items: Indices) -> NDArray[Any]:
        """Scores of given items, in the shape of ``items``."""
        return self._scorer().score_pairs(users, items)

    def fold_in(self, history: Interactions) -> AnyScorer:
        """The same model for users known only by their history."""
        check_history(history, self.n_items)
        if hasattr(self, "item_factors"):
            users, name = self._encoded(history), type(self).__name__
            return FactorScores(users, self.item_factors, name, self.training_info())
        return replace(self._of_history(history.matrix()), folded_from=self.training_info())

    def state(self) -> State:
        """What ``fit`` has found: factors or a matrix, and what was learned."""
        names = [f.name for f in fields(self) if not f.init]
        found = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return found or Model.state(self)  # which refuses, in the words of every model

    @classmethod
    def arrays_of(cls, parameters: dict[str, Any], found: set[str]) -> set[str]:
        """Those of the form that was found, and of what was learned."""
        if "item_item" in found:
            form = {"item_item", "history"}
        elif "decoder" in found:
            form = {"encoder", "decoder", "history"}
        else:
            form = {"encoder", "item_factors", "user_factors"}
        ends = {"head", "tail"} if parameters["head_tail"] else set()
        penalties = {"sigma", "lambdas"} if parameters["lambda_range"] > 0 else set()
        return form | ends | penalties | {"losses", "values"}

    def _forget(self) -> None:
        """Drop what an earlier ``fit`` has found: another base may have another form."""
        for f in fields(self):
            if not f.init and hasattr(self, f.name):
                delattr(self, f.name)

    def _scorer(self) -> AnyScorer:
        if hasattr(self, "item_factors"):
            return FactorScores(self.user_factors, self.item_factors, type(self).__name__)
        return self._of_history(self.history)

    def _of_history(self, history: sparse.csr_array) -> ItemItemScorer | LowRankScorer:
        if hasattr(self, "item_item"):
            return ItemItemScorer(history, self.item_item, type(self).__name__)
        rows = history.astype(self.encoder.dtype)
        return LowRankScorer(rows, self.encoder, self.decoder, type(self).__name__)

    def _encoded(self, history: Interactions) -> NDArray[Any]:
        return np.asarray(history.matrix(dtype=self.encoder.dtype.type) @ self.encoder)

    @property
    def best_epoch(self) -> int:
        """The epoch that was kept; 0 where nothing was better than the base."""
        return int(np.argmax(self.values))

    def _form(self, interactions: Interactions, base: Any, spectrum: Spectrum | None) -> Form:
        given = base is not None
        base = base if given else base_of(self.base)
        form: Form
        if self.lambda_range > 0:
            check_spectral(base)
            form = spectral_form(
                base, self.lambda_range, spectrum or decompose(interactions, base.dim)
            )
        else:
            form = form_of(base if given else base.fit(interactions), interactions.n_items)
        if given:
            self.base = words_of(base)
        if self.threshold is not None:
            form = sparsified(form, self.threshold, negative=self.negative)
        if self.zero_diagonal and isinstance(form, Sparse):
            form = form.without_diagonal()
        return form

    def _learn(
        self,
        form: Form,
        interactions: Interactions,
        validation: tuple[Interactions, Interactions] | None,
        workers: int | None,
    ) -> Learned:
        n, rank = interactions.n_items, form.A.shape[1] if isinstance(form, LowRank) else 0
        check_room(
            BLOCKS * (2 * n + rank) * 8, f"learning on {n:,} items", "a smaller catalogue would fit"
        )
        lesson = Lesson.of(
            interactions,
            validation,
            share=self.validation_share,
            seed=self.seed,
            fewest=2 if self.remove_positive else 1,
        )
        rule = PairRule(
            scale=float(self.scale),
            dropout=float(self.dropout),
            n_negatives=int(self.n_negatives),
            remove_positive=bool(self.remove_positive),
            zero_diagonal=self.zero_diagonal or getattr(form, "zero_diagonal", False),
        )
        schedule = Schedule(rates=(self.learning_rate,), epochs=self.epochs, patience=self.patience)
        return learn(
            form,
            rule,
            lesson,
            schedule,
            batch_size=self.batch_size,
            seed=checked_seed(self.seed),
            head_tail=self.head_tail,
            workers=workers,
        )
