"""EASE: a linear item-item model in closed form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError
from truerank.models.item_item import ItemItemModel


@dataclass(slots=True, eq=False)
class EASE(ItemItemModel):
    r"""Embarrassingly shallow autoencoder [steck2019]_.

    .. math::
        \min_W \|X - XW\|_F^2 + \lambda \|W\|_F^2 \quad\text{subject to}\quad \mathrm{diag}(W) = 0

    With :math:`P = (X^\top X + \lambda I)^{-1}` the solution is
    :math:`W_{ij} = -P_{ij} / P_{jj}` off the diagonal.

    Memory: two n_items x n_items float64 matrices while fitting, one float32 matrix after.

    Attributes:
        l2: The penalty lambda, positive.
    """

    l2: float = 500.0
    history: sparse.csr_array = field(init=False)
    item_item: NDArray[np.float32] = field(init=False)

    def __post_init__(self) -> None:
        if not self.l2 > 0:
            raise InvalidArgumentError("l2", self.l2, "positive")

    def fit(self, interactions: Interactions) -> Self:
        """Solve for W by Cholesky."""
        self.history = interactions.matrix()
        X = interactions.matrix(dtype=np.float64)
        gram = (X.T @ X).toarray()
        gram[np.diag_indices_from(gram)] += self.l2
        factor = linalg.cho_factor(gram, lower=True, overwrite_a=True)
        P = linalg.cho_solve(factor, np.eye(len(gram)), overwrite_b=True)
        W = -P / np.diag(P)  # scales column j by 1 / P_jj
        np.fill_diagonal(W, 0.0)
        self.item_item = W.astype(np.float32)
        return self
