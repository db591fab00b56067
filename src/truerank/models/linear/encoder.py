r"""What low-rank linear models share: :math:`W = A B^\top`, never written out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.data.interactions import Interactions
from truerank.models.factor_model import FactorModel
from truerank.numerics.dtypes import Precision, dtype_of
from truerank.numerics.memory import check_room
from truerank.numerics.products import sparse_times
from truerank.numerics.threads import on_all_cores


class EncoderModel(FactorModel):
    r"""A linear autoencoder of rank :math:`k`: user factors :math:`XA`, item factors :math:`B`.

    Scores are :math:`(x_u A) \cdot b_i`, for known users and new ones alike. Memory: two
    n_items x k matrices and one n_users x k; no n_items x n_items matrix.
    """

    __slots__ = ("encoder",)
    encoder: NDArray[Any]
    dtype: Precision

    def set_factors(self, interactions: Interactions, A: NDArray[Any], B: NDArray[Any]) -> None:
        """Store the factors of W, and those of the users that follow from them."""
        dtype = dtype_of(self.dtype)
        check_room(
            (interactions.n_users + 2 * len(B)) * B.shape[1] * np.dtype(dtype).itemsize,
            f"{type(self).__name__} of rank {B.shape[1]:,} on {interactions.n_users:,} users",
            "a smaller dim would fit",
        )
        self.encoder = np.ascontiguousarray(A, dtype=dtype)
        self.item_factors = np.ascontiguousarray(B, dtype=dtype)
        self.user_factors = self.solve_users(interactions)

    def solve_users(self, history: Interactions) -> NDArray[Any]:
        r"""User factors :math:`XA` of these histories."""
        X = history.matrix(dtype=dtype_of(self.dtype))
        with on_all_cores() as each:
            return sparse_times(X, self.encoder, each)

    def item_item_matrix(self) -> NDArray[Any]:
        r""":math:`W = A B^\top` written out, n_items x n_items: for small catalogues."""
        return np.asarray(self.encoder @ self.item_factors.T)
