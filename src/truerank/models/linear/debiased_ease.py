"""EASE under the debiased squared loss, in closed form."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.checks import check_l2
from truerank.data.interactions import Interactions
from truerank.deprecation import renamed_parameters
from truerank.models.input_checks import check_history, check_training_data
from truerank.models.item_item import ItemItemModel, ItemItemScorer
from truerank.models.linear.gram import divide_by_diagonal, gram, inverse_gram, mirror
from truerank.models.positive_ratios import check_positive_ratio, positive_ratios
from truerank.numerics.dtypes import Precision, dtype_of
from truerank.numerics.memory import check_room
from truerank.numerics.threads import on_all_cores


@renamed_parameters(c="positive_ratio", hidden="n_hidden_positives")
@dataclass(slots=True, eq=False)
class DebiasedEASE(ItemItemModel):
    r"""EASE where each user has :math:`c_u` times as many positives as were seen.

    .. math::
        \min_W \sum_u \Bigl[c_u |x_u - x_u W|^2 - (c_u - 1) |x_u W|^2\Bigr] + \lambda \|W\|_F^2
        \quad\text{subject to}\quad \mathrm{diag}(W) = 0

    This is the debiased squared loss with the weight 1 on what is unobserved, for binary
    :math:`X`. The squares of :math:`x_u W` cancel but for one, so with
    :math:`P = (X^\top X + \lambda I)^{-1}` and :math:`C = \mathrm{diag}(c_u)` the solution is

    .. math::
        W = P X^\top C X - P\,\mathrm{diag}(\gamma), \qquad
        \gamma_j = (P X^\top C X)_{jj} / P_{jj}

    for any :math:`c_u`. **It is an EASE** where :math:`c_u = c` for all users: :math:`W = c` times
    that of EASE with the *same* :math:`\lambda`, and no ranking differs. (Divided by :math:`c` the
    objective is :math:`\|X - XW\|^2 - \alpha \|XW\|^2 + (\lambda/c) \|W\|^2` with
    :math:`\alpha = (c - 1)/c < 1`; the dissertation prints :math:`c - 1` and another
    :math:`\lambda'`.)

    Weights of interactions are not used. Memory: as :class:`EASE`, and three such matrices with
    ``n_hidden_positives``.

    Attributes:
        l2: The penalty lambda, positive.
        positive_ratio: c, positives there are for each one seen, at least 1.
        n_hidden_positives: K, positives unseen besides, the same number for every user:
            :math:`c_u = c + K / |I_u|`.
        dtype: ``"float32"`` or ``"float64"``.
    """

    l2: float = 500.0
    positive_ratio: float = 1.2
    n_hidden_positives: float = 0.0
    dtype: Precision = "float32"
    history: sparse.csr_array = field(init=False, repr=False)
    item_item: NDArray[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_l2(self.l2)
        check_positive_ratio(self.positive_ratio, self.n_hidden_positives)
        dtype_of(self.dtype)

    def fit(self, interactions: Interactions) -> Self:
        """Solve for W in closed form."""
        check_training_data(interactions)
        binary, n = replace(interactions, weights=None), interactions.n_items
        if self.n_hidden_positives > 0:
            check_room(
                3 * n * n * np.dtype(self.dtype).itemsize,
                f"DebiasedEASE with n_hidden_positives on {n:,} items",
                "n_hidden_positives=0 needs a third of that, and DebiasedIALS (low rank) would fit",
            )
        P = inverse_gram(binary, self.l2, self.dtype, "DebiasedEASE")
        if self.n_hidden_positives == 0:
            divide_by_diagonal(P)
            P *= self.positive_ratio
            self.item_item = P
        else:
            self.item_item = self._with_ratios(binary, P)
        self.history = binary.matrix()
        self.record_training_data(interactions)
        return self

    def fold_in(self, history: Interactions) -> ItemItemScorer:
        """The same W for users known only by their history, the weights of which are not used."""
        check_history(history, self.n_items)
        return ItemItemModel.fold_in(self, replace(history, weights=None))

    def _with_ratios(self, binary: Interactions, P: NDArray[Any]) -> NDArray[Any]:
        """W for c_u that differ; ``P`` is given by its lower triangle."""
        with on_all_cores() as each:
            mirror(P, each)
        ratios = positive_ratios(binary.user_counts, self.positive_ratio, self.n_hidden_positives)
        X = binary.matrix(dtype=np.float64)
        X.data = np.sqrt(np.repeat(ratios, binary.user_counts))
        W = P @ gram(X, dtype=dtype_of(self.dtype))
        W -= P * (np.diag(W) / np.diag(P))
        np.fill_diagonal(W, 0.0)
        return np.asarray(W)
