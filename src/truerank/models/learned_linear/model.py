"""Nearby: a linear model, moved a little by what ranks well."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.checks import (
    check_counts,
    check_dropout,
    check_not_negative,
    check_positive,
    is_number,
)
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError
from truerank.models.input_checks import check_training_data
from truerank.models.learned_linear.bases import (
    base_of,
    check_spectral,
    form_of,
    sparsified,
    spectral_form,
    words_of,
)
from truerank.models.learned_linear.draws import Rows, Rule
from truerank.models.learned_linear.forms import BLOCKS, Form, LowRank, Sparse
from truerank.models.learned_linear.learning import Learned, Schedule, learn
from truerank.models.learned_linear.parameters import coefficients
from truerank.models.learned_linear.scoring import LinearModel
from truerank.models.learned_linear.validation import learners_and_judges
from truerank.models.linear.spectrum import Spectrum, decompose
from truerank.numerics.memory import check_room
from truerank.rng import checked_seed


@dataclass(slots=True, eq=False)
class Nearby(LinearModel):
    r"""Models near a linear model :math:`W`, found by BPR (the dissertation's chapter 2).

    .. math::
        W_{HT} &= \mathrm{diag}(H)\, W \,\mathrm{diag}(T), \qquad
        H = \delta(h), \; T = \delta(t) \\
        W_S &= S \odot W \odot [W \ge \text{threshold}], \qquad S = \delta(s) \\
        W_\lambda &= V_k\, \mathrm{diag}\Bigl(\frac{\sigma_i^2}{\sigma_i^2 + \lambda_i}\Bigr)
        V_k^\top, \qquad \lambda_i = \lambda + c \tanh(\alpha_i)

    (the last on LRR only), in any combination but the last two together, by Adam on the BPR loss
    of :mod:`.learning`. :math:`\delta` is the logistic function and all parameters start at 0:
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
        c: How far a lambda_i may be from the lambda of an LRR; 0 learns none.
        head_tail: Learn H and T.
        threshold: Keep only entries of W from here on, and learn S; None keeps W as it is.
        negative: With a threshold: keep entries of at most ``-threshold`` as well.
        zero_diagonal: Remove the diagonal.
        scale: t of the loss.
        dropout: Chance of each item of the input row to be left out, in [0, 1).
        n_negatives: Items drawn per positive, among those the user has not.
        remove_positive: Take the positive out of its input row.
        rate: Step of Adam.
        batch_size: Positive pairs per step.
        epochs: Passes over all pairs, at most.
        patience: Epochs without a better value before it stops.
        validation_share: Part of the users set aside (at most 1,000 of them), unless :meth:`fit`
            is given others. Their items are in W all the same.
        seed: Of all draws.

    After :meth:`fit` there are ``head`` and ``tail`` (H and T), ``sigma`` and ``lambdas``, as far
    as they were learned; ``losses`` of each epoch, and ``values``, the nDCG@100 of the validation
    users before the first epoch and after each.
    """

    base: str = "ease"
    c: float = 0.0
    head_tail: bool = True
    threshold: float | None = None
    negative: bool = False
    zero_diagonal: bool = False
    scale: float = 100.0
    dropout: float = 0.5
    n_negatives: int = 8
    remove_positive: bool = True
    rate: float = 1e-3
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
        check_positive(scale=self.scale, rate=self.rate)
        check_counts(
            n_negatives=self.n_negatives, batch_size=self.batch_size, epochs=self.epochs,
            patience=self.patience,
        )  # fmt: skip
        check_not_negative(c=self.c)
        check_dropout(dropout=self.dropout)
        if not is_number(self.validation_share) or not 0 < self.validation_share < 1:
            raise InvalidArgumentError(
                "validation_share", self.validation_share, "between 0 and 1, both excluded"
            )
        if self.threshold is not None:
            check_not_negative(threshold=self.threshold)
        if self.c > 0 and self.threshold is not None:
            raise InvalidArgumentError(
                "threshold", self.threshold, "None where lambda_i is learned",
                "the entries would move under it; learn lambda_i first, then sparsify the result",
            )  # fmt: skip
        if not (self.c > 0 or self.head_tail or self.threshold is not None):
            raise InvalidArgumentError(
                "head_tail", False, "True where nothing else is learned",
                "or give c or a threshold",
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
            spectrum: For ``c > 0``: the decomposition of the interactions, if at hand.
            validation: Histories and held-out items of other users (``fold_in`` and ``held_out``
                of a split); otherwise some of these users are set aside.
            workers: Threads.
        """
        check_training_data(interactions)
        self.forget()
        form = self._form(interactions, base, spectrum)
        learned = self._learn(form, interactions, validation, workers)
        self.losses, self.values = learned.losses, learned.values
        if self.head_tail:
            co = coefficients(learned.theta, form.n_items)
            self.head, self.tail = co.head, co.tail
        if isinstance(form, LowRank) and form.shrinkage is not None:
            self.sigma = form.shrinkage.sigma
            self.lambdas = form.shrinkage.lambdas(learned.theta["alpha"])
        self.keep(form, learned.theta, interactions, zero_diagonal=self.zero_diagonal)
        self.record_training_data(interactions)
        return self

    @property
    def best_epoch(self) -> int:
        """The epoch that was kept; 0 where nothing was better than the base."""
        return int(np.argmax(self.values))

    def _form(self, interactions: Interactions, base: Any, spectrum: Spectrum | None) -> Form:
        given = base is not None
        base = base if given else base_of(self.base)
        form: Form
        if self.c > 0:
            check_spectral(base)
            form = spectral_form(base, self.c, spectrum or decompose(interactions, base.rank))
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
        pairs, judges = learners_and_judges(
            interactions,
            validation,
            share=self.validation_share,
            seed=self.seed,
            fewest=2 if self.remove_positive else 1,
        )
        rule = Rule(
            scale=float(self.scale),
            dropout=float(self.dropout),
            n_negatives=int(self.n_negatives),
            remove_positive=bool(self.remove_positive),
            zero_diagonal=self.zero_diagonal or getattr(form, "zero_diagonal", False),
        )
        schedule = Schedule(
            rate=self.rate,
            batch_size=self.batch_size,
            epochs=self.epochs,
            patience=self.patience,
            seed=checked_seed(self.seed),
        )
        return learn(
            form,
            Rows.of(interactions),
            rule,
            pairs,
            judges,
            schedule,
            head_tail=self.head_tail,
            workers=workers,
        )
