"""Scores that are dot products: what every scorer with factors of users and items shares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Indices, Scores


class DotProducts:
    r"""Scores :math:`s_{ui} = w_u \cdot h_i` of rows of ``user_factors`` and ``item_factors``."""

    __slots__ = ()
    user_factors: NDArray[Any]
    item_factors: NDArray[Any]

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self.item_factors)

    def score_all(self, users: Indices) -> Scores:
        """Scores of all items, shape ``(len(users), n_items)``."""
        return np.asarray(self.user_factors[users] @ self.item_factors.T)

    def score_pairs(self, users: Indices, items: Indices) -> Scores:
        """Scores of given items, in the shape of ``items``. Memory: len(users) x n x d."""
        return np.asarray(
            np.einsum("ud,und->un", self.user_factors[users], self.item_factors[items])
        )
