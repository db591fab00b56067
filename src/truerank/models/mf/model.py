"""MF: user and item factors, trained with any loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from truerank.checks import (
    check_counts,
    check_dropout,
    check_not_negative,
    check_one_of,
    check_positive,
    is_number,
)
from truerank.errors import InvalidArgumentError
from truerank.metrics import parse
from truerank.models.adaptive_defaults import adaptive
from truerank.models.factor_model import Factors
from truerank.models.mf.fitting import TrainedMF
from truerank.models.mf.objective import NEGATIVES
from truerank.models.mf.rows import OPTIMISERS
from truerank.models.mf.settings import (
    check_correction,
    check_debiased,
    check_flags,
    check_loss,
    check_single,
    checked_shared,
)
from truerank.rng import checked_seed

SIMILARITIES = ("dot", "cosine")


@dataclass(slots=True, eq=False)
class MF(TrainedMF):
    r"""Matrix factorisation by gradient steps on a loss of sampled scores.

    .. math::
        \min_{W,H} \frac1{|P|} \sum_{(u,i) \in P}
        E_{j \sim q}\, \ell\bigl(s_{ui}, (s_{uj})_{j=1}^{n}\bigr), \qquad
        s_{ui} = w_u \cdot h_i \;\text{ or }\; \frac{w_u \cdot h_i}{|w_u|\,|h_i|}

    over the positive pairs P, by steps on batches of them. Weights of interactions do not matter.
    Losses by name have fused gradients (:mod:`truerank.losses.gradients`) and need no torch; any
    other function of (pos, neg) goes through autograd on the same path.

    **Negatives** are n draws from q for each positive. ``shared``: the same draws for all pairs of
    a batch, or for every so many of them. That changes nothing in expectation and turns the work
    into matrix products, so that many more negatives cost less; but an item is then met in few
    steps, by many pairs at once, of which Adam makes little. With less than some hundred negatives
    try a set for every 64 pairs: little dearer, and much better for most losses
    (docs/decisions/0010-sets-of-negatives.md). ``"in-batch"`` takes the positives of the
    other pairs, which come by popularity. With ``exclude_positives`` a shared negative that the
    user has is replaced by another one of its set, if there is one. ``correct`` takes
    :math:`t \log(q_j |I|)` off the score of a negative, t the temperature (of a function: in
    ``loss_params``, bound to it, or its default; else 1): exponentials then have
    the expectation of uniform negatives. ``"sampled_softmax"`` corrects by itself, and losses
    that are not of logits (squared error, CCL) cannot be corrected so.

    **Debiased losses** draw ``n_positives`` further items of the user for each pair, and assume
    that the user likes :math:`\tau_u = ((1 + \alpha)|I_u| + K) / |I|` of all items; their
    negatives must be uniform (or corrected, for InfoNCE) and not leave positives out.

    **Steps** touch only the rows of a batch (:mod:`.rows`; ``"dense-adam"`` moves the others too),
    and so does ``l2``: the gradient of a touched row has l2 times the row added. With a cosine
    only directions matter, and Adam turns a vector by about rate / length in a step: it is
    ``rate / init_std`` that says how fast training starts, and it slows down as vectors grow.
    Short ones (``init_std=1e-3``, as in the published code of CCL) start fast and are worth a try.

    **Stopping**: a tenth of the users have a fifth of their items held out and judge after each
    epoch; the best epoch is kept, and trained without those items. :meth:`refit` then trains on
    everything, for as many epochs; ``validation_share=0`` does to the last epoch. See
    :mod:`.training` for the rate.

    A user without interactions is never drawn and gets the zero vector; so does an item that is
    nobody's positive, unless it is drawn as a negative (uniform ones are). With a cosine, the
    factors kept are of length 1, so that dot products are the scores. New users: :mod:`.fold_in`.

    Memory: both factor matrices three times (Adam), four with judges, the buffers of :mod:`.steps`,
    and while the judges look vectors of length 1 for a cosine, all in float32: for gowalla, dim 64,
    batches of 1,024 and 800 negatives 100 MB at the peak, 115 MB with a cosine (``make
    bench-mf``). The same seed gives the same bits for any number of threads.

    Attributes:
        loss: A name of :data:`truerank.losses.LOSSES`, or a torch function of the same shape.
        dim: Dimensions of the factors.
        similarity: ``"dot"`` or ``"cosine"``.
        loss_params: Parameters of the loss, such as ``{"temperature": 0.12}``.
        negatives: ``"uniform"``, ``"popularity"`` or ``"in-batch"``.
        n_negatives: n, at most the number of items, and that where 64 are too many and nobody asked
            for them; in-batch: as many as the batch has.
        shared: True to draw negatives for a whole batch, a number to draw them for so many pairs,
            False to draw them for each pair.
        popularity_power: q is in proportion to counts to this power.
        exclude_positives: Draw no negative that the user has.
        correct: Correct for q, see above.
        n_positives: Further positives per pair, for debiased losses.
        hidden: K, unknown positives of every user, for debiased losses.
        alpha: Unknown positives for each known one, for debiased losses.
        optimiser: ``"adam"``, ``"adagrad"`` or ``"sgd"`` move the rows that a batch touches;
            ``"dense-adam"`` lets the others go on by their momentum, which favours rare users and
            items (:mod:`.momentum`), and wants a smaller rate.
        rate: Of the first epoch, or a list with those of the first epochs; later ones follow
            from the last of them.
        epsilon: Of Adam and Adagrad, beside the root of v. Gradients about as small do not reach
            full steps: losses whose positives weigh little (``"mse_debiased"``) want less.
        min_rate: The rate is never halved below this.
        plateau: Checks without a better value before the rate is halved.
        l2: Penalty of touched rows.
        dropout: Part of a user's vector that is left out at random in each pair of training
            (:mod:`.dropout`).
        batch_size: Pairs per step.
        epochs: Passes over all pairs, at most.
        patience: Checks without a better value before it stops.
        validation_share: Part of the users who judge (5,000 at most); 0 for none, and none where
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
    shared: bool | int = True
    popularity_power: float = 0.75
    exclude_positives: bool = False
    correct: bool = False
    n_positives: int = 10
    hidden: float = 0.0
    alpha: float = 0.0
    optimiser: Literal["adam", "dense-adam", "adagrad", "sgd"] = "adam"
    rate: float | list[float] = 1e-3
    epsilon: float = 1e-8
    min_rate: float = 1e-6
    plateau: int = 2
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
            dim=self.dim, n_negatives=self.n_negatives, n_positives=self.n_positives,
            plateau=self.plateau, batch_size=self.batch_size, epochs=self.epochs,
            patience=self.patience, validation_every=self.validation_every,
        )  # fmt: skip
        if self.validation_negatives is not None:
            check_counts(validation_negatives=self.validation_negatives)
        if isinstance(self.rate, list | tuple | np.ndarray):
            if not len(self.rate):
                raise InvalidArgumentError("rate", self.rate, "a number, or a list of some")
            for rate in self.rate:
                check_positive(rate=rate)
            self.rate = [float(rate) for rate in self.rate]
        else:
            check_positive(rate=self.rate)
        check_positive(init_std=self.init_std)
        check_not_negative(
            popularity_power=self.popularity_power, hidden=self.hidden, alpha=self.alpha,
            min_rate=self.min_rate, l2=self.l2,
        )  # fmt: skip
        if not is_number(self.epsilon) or not 1e-30 <= self.epsilon < np.inf:
            raise InvalidArgumentError("epsilon", self.epsilon, "a number of at least 1e-30")
        check_single(l2=self.l2, init_std=self.init_std, rate=max(self._rates))
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
        self.shared = checked_shared(self.shared, self.negatives)
        check_flags(exclude_positives=self.exclude_positives, correct=self.correct)
        check_correction(self.loss, self.loss_params, self.correct)
        check_debiased(self.loss, self.negatives, self.popularity_power, self.correct)
        if not isinstance(self.validation_metric, str):
            raise InvalidArgumentError(
                "validation_metric", self.validation_metric, "a metric such as 'ndcg@20'"
            )
        parse(self.validation_metric)
        checked_seed(self.seed)
