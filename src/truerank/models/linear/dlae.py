"""DLAE: the linear denoising autoencoder, in closed form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.checks import check_dropout, check_l2
from truerank.data.interactions import Interactions
from truerank.deprecation import renamed_parameters
from truerank.errors import InvalidArgumentError
from truerank.models.input_checks import check_training_data
from truerank.models.item_item import ItemItemModel
from truerank.models.linear.gram import inverse_gram, mirror
from truerank.numerics.dtypes import Precision, dtype_of
from truerank.numerics.threads import on_all_cores


@renamed_parameters(p="dropout")
@dataclass(slots=True, eq=False)
class DLAE(ItemItemModel):
    r"""Denoising linear autoencoder [steck2020]_.

    .. math::
        \min_W \|X - XW\|_F^2 + \|\Lambda^{1/2} W\|_F^2, \qquad
        \Lambda = \tfrac{p}{1-p}\,\mathrm{diag}(X^\top X) + \lambda I

    This is what is left on average of :math:`\|X - ZW\|_F^2` where :math:`Z` is :math:`X/(1-p)`
    with each entry dropped with probability :math:`p`. With :math:`P = (X^\top X +
    \Lambda)^{-1}` the solution is :math:`W = P X^\top X = I - P\Lambda`. Its diagonal is not zero:
    an item speaks for itself. For a solution of low rank see ``LRR().fit(data,
    penalty=dropout_penalty(data, dropout, l2))``.

    Memory and time: as :class:`~truerank.models.linear.ease.EASE`.

    Attributes:
        dropout: The probability p of an entry to be dropped, from 0 and below 1.
        l2: The penalty lambda, at least 0; not 0 where ``dropout`` is.
        dtype: ``"float32"`` or ``"float64"``, of the work and of the result.
    """

    dropout: float = 0.33
    l2: float = 0.0
    dtype: Precision = "float32"
    history: sparse.csr_array = field(init=False, repr=False)
    item_item: NDArray[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_denoising(self.dropout, self.l2)
        dtype_of(self.dtype)

    def fit(self, interactions: Interactions) -> Self:
        """Solve for W by an inverse in place."""
        check_training_data(interactions)
        penalty = dropout_penalty(interactions, self.dropout, self.l2)
        W = inverse_gram(interactions, penalty, self.dtype, "DLAE")
        with on_all_cores() as each:
            mirror(W, each)
        W *= -penalty.astype(W.dtype)
        W[np.diag_indices_from(W)] += 1
        self.item_item = W
        self.history = interactions.matrix()
        self.record_training_data(interactions)
        return self


def dropout_penalty(interactions: Interactions, dropout: float, l2: float) -> NDArray[np.float64]:
    r"""The diagonal of :math:`\Lambda = \frac{p}{1-p} \mathrm{diag}(X^\top X) + \lambda I`.

    Where it would be zero (an item nobody touched, without ``l2``) it is one: any positive number
    gives the same W, whose row and column there are zero.
    """
    square = interactions.matrix(dtype=np.float64)
    square.data **= 2
    penalty = dropout / (1 - dropout) * np.asarray(square.sum(axis=0)).ravel() + l2
    return np.where(penalty > 0, penalty, 1.0)


def check_denoising(dropout: float, l2: float) -> None:
    """Dropout or a penalty there must be: without either W = I is best, and says nothing."""
    check_dropout(dropout=dropout)
    check_l2(l2, zero=True)
    if dropout == 0 and l2 == 0:
        raise InvalidArgumentError(
            "dropout", dropout, "positive where l2 is 0",
            "without either, the best W copies its input",
        )  # fmt: skip
