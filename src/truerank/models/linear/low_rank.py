r"""Linear models of low rank: :math:`W = A B^\top`, never written out, and its scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.arrays import Indices
from truerank.data.interactions import Interactions
from truerank.models.base import TrainingInfo
from truerank.models.factor_model import FactorModel
from truerank.models.scores_of_pairs import score_pairs_by_rows
from truerank.numerics.dtypes import Precision, dtype_of
from truerank.numerics.memory import check_room
from truerank.numerics.products import sparse_times
from truerank.numerics.threads import on_all_cores


class LowRankModel(FactorModel):
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
        r""":math:`W = A B^\top` written out, n_items x n_items: for small catalogues.

        >>> import truerank as tr
        >>> data = tr.load_dataset("demo", n_users=80, n_items=60)
        >>> tr.models.LRR(dim=4).fit(data).item_item_matrix().shape
        (60, 60)
        """
        return np.asarray(self.encoder @ self.item_factors.T)


@dataclass(frozen=True, slots=True, eq=False)
class LowRankScorer:
    r"""Scores :math:`x_u (UV^\top - \mathrm{diag}(UV^\top))`.

    The diagonal matters only for items that the user has already.
    """

    history: sparse.csr_array
    U: NDArray[Any]
    V: NDArray[Any]
    name: str = "EDLAE"
    folded_from: TrainingInfo | None = None

    @property
    def n_items(self) -> int:
        return len(self.V)

    def score_all(self, users: Indices) -> NDArray[Any]:
        """Scores of all items, shape ``(len(users), n_items)``."""
        x = self.history[users]
        scores = (x @ self.U) @ self.V.T
        own = np.einsum("ik,ik->i", self.U, self.V)
        row = np.repeat(np.arange(len(scores)), np.diff(x.indptr))
        scores[row, x.indices] -= x.data * own[x.indices]
        return np.asarray(scores)

    def score_pairs(self, users: Indices, items: Indices) -> NDArray[Any]:
        """Scores of given items, in the shape of ``items``."""
        return score_pairs_by_rows(self.score_all, users, items, self.n_items)
