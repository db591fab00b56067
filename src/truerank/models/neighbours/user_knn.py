"""User neighbourhoods: what resembling users have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.arrays import Indices
from truerank.data.id_order import find_ids
from truerank.data.interactions import Interactions
from truerank.models.base import Model, TrainingInfo
from truerank.models.input_checks import check_history, check_training_data
from truerank.models.neighbours.similarities import Similarity, check_neighbourhood
from truerank.models.scores_of_pairs import score_pairs_by_rows
from truerank.numerics.dtypes import Precision, dtype_of


@dataclass(frozen=True, slots=True, eq=False)
class UserKNNScorer:
    r"""Scores :math:`s_{ui} = \sum_v S_{uv} X_{vi}`.

    Memory: both sparse matrices, and one dense row per scored user.

    Attributes:
        neighbours: Users to score x known users, sparse.
        known: Known users x items, sparse.
        folded_from: What the model behind these scores was fitted on, if that is known.
    """

    neighbours: sparse.csr_array
    known: sparse.csr_array
    folded_from: TrainingInfo | None = None

    @property
    def n_items(self) -> int:
        return int(self.known.shape[1])

    def score_all(self, users: Indices) -> NDArray[Any]:
        """Scores of all items, shape ``(len(users), n_items)``."""
        scores: NDArray[Any] = (self.neighbours[users] @ self.known).toarray()
        return scores

    def score_pairs(self, users: Indices, items: Indices) -> NDArray[Any]:
        """Scores of given items, in the shape of ``items``."""
        return score_pairs_by_rows(self.score_all, users, items, self.n_items)


@dataclass(slots=True, eq=False)
class UserKNN(Model):
    r"""User-kNN: scores :math:`s_{ui} = \sum_v S_{uv} X_{vi}` over the ``k`` nearest users.

    :math:`S` is as in :class:`~truerank.models.ItemKNN` with users in the place of items, and in
    each row :math:`u` only the ``k`` largest positive entries are kept. A new user is compared
    with the known ones, but not with a known one of the same id.

    Memory: the data twice, at most ``k`` entries per user, and 33 bytes per user and thread. The
    same bits for any number of threads.

    Attributes:
        k: Neighbours per user.
        similarity: ``"cosine"``, ``"jaccard"``, ``"dice"`` or ``"pearson"``.
        shrink: Added to the denominator, at least 0: distrust of short histories.
        dtype: ``"float32"`` or ``"float64"``, of the similarities; they are computed in float64.
    """

    k: int = 100
    similarity: Similarity = "cosine"
    shrink: float = 0.0
    dtype: Precision = "float32"
    neighbours: sparse.csr_array = field(init=False, repr=False)
    known: sparse.csr_array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_neighbourhood(self.k, self.similarity, self.shrink, self.dtype)

    def fit(self, interactions: Interactions, *, workers: int | None = None) -> Self:
        """Find the neighbours of every user, on all cores or ``workers`` threads."""
        check_training_data(interactions)
        self.known = interactions.matrix(dtype=dtype_of(self.dtype))
        self.neighbours = self._nearest(self.known, np.arange(interactions.n_users), workers)
        self.record_training_data(interactions)
        return self

    @property
    def n_items(self) -> int:
        return int(self.known.shape[1])

    def score_all(self, users: Indices) -> NDArray[Any]:
        """Scores of all items, shape ``(len(users), n_items)``."""
        return self._scorer().score_all(users)

    def score_pairs(self, users: Indices, items: Indices) -> NDArray[Any]:
        """Scores of given items, in the shape of ``items``."""
        return self._scorer().score_pairs(users, items)

    def fold_in(self, history: Interactions, *, workers: int | None = None) -> UserKNNScorer:
        """Scores for users known only by their history, from their nearest known users."""
        check_history(history, self.n_items)
        ids = self.trained_on.user_ids
        own = find_ids(ids, history.user_ids)
        near = self._nearest(history.matrix(), own, workers)
        return UserKNNScorer(near, self.known, self.training_info())

    def _nearest(
        self, users: sparse.csr_array, own: NDArray[Any], workers: int | None
    ) -> sparse.csr_array:
        from truerank.models.neighbours.search import nearest_rows

        found = nearest_rows(
            users, self.known, k=self.k, similarity=self.similarity, shrink=self.shrink,
            own=own, dtype=self.dtype, label="user-kNN", workers=workers,
        )  # fmt: skip
        found.sort_indices()
        return found

    def _scorer(self) -> UserKNNScorer:
        return UserKNNScorer(self.neighbours, self.known)
