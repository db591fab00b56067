r"""Scores of an item-item matrix in factors, its diagonal left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.models.base import TrainingInfo
from truerank.models.scores_of_pairs import score_pairs_by_rows

Matrix = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class LowRankScorer:
    r"""Scores :math:`x_u (UV^\top - \mathrm{diag}(UV^\top))`.

    The diagonal matters only for items that the user has already.
    """

    history: sparse.csr_array
    U: Matrix
    V: Matrix
    name: str = "EDLAE"
    folded_from: TrainingInfo | None = None

    @property
    def n_items(self) -> int:
        return len(self.V)

    def score_all(self, users: NDArray[np.integer[Any]]) -> Matrix:
        """Scores of all items, shape ``(len(users), n_items)``."""
        x = self.history[users]
        scores = (x @ self.U) @ self.V.T
        own = np.einsum("ik,ik->i", self.U, self.V)
        row = np.repeat(np.arange(len(scores)), np.diff(x.indptr))
        scores[row, x.indices] -= x.data * own[x.indices]
        return np.asarray(scores)

    def score_pairs(self, users: NDArray[np.integer[Any]], items: NDArray[Any]) -> Matrix:
        """Scores of given items, in the shape of ``items``."""
        return score_pairs_by_rows(self.score_all, users, items, self.n_items)
