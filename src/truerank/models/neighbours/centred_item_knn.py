"""Item neighbourhoods about the means: how far the user departs from each item's average."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.arrays import Indices
from truerank.data.interactions import Interactions
from truerank.models.base import Model
from truerank.models.input_checks import check_history, check_training_data
from truerank.models.neighbours.similarities import Similarity, check_neighbourhood
from truerank.models.scores_of_pairs import score_pairs_by_rows
from truerank.numerics.dtypes import Precision, dtype_of


@dataclass(slots=True, eq=False)
class CentredItemKNN(Model):
    r"""Item-kNN as a weighted average of departures from the means [sarwar2001]_.

    .. math::
        s_{ui} = m_i + \frac{\sum_j S_{ji}\,(X_{uj} - m_j)}{\sum_j S_{ji}}

    with :math:`m_j` the mean of column :math:`j` over all users, zeros included, and :math:`S`
    as in :class:`~truerank.models.ItemKNN`, cut to the ``k`` largest entries of each column. An
    item without neighbours scores :math:`m_i`. This is the item-kNN of the BARS benchmark: the
    published Recall@20 of Gowalla and Yelp2018 come out with cosine and 100 neighbours, and with
    Pearson and 150.

    Memory: as :class:`~truerank.models.ItemKNN`, and one number per item.

    Attributes:
        k: Neighbours per item.
        similarity: ``"cosine"``, ``"jaccard"``, ``"dice"`` or ``"pearson"``.
        shrink: Added to the denominator of the similarity, at least 0.
        dtype: ``"float32"`` or ``"float64"``, of the shares and offsets; they are computed in
            float64.
    """

    k: int = 100
    similarity: Similarity = "cosine"
    shrink: float = 0.0
    dtype: Precision = "float32"
    seen: sparse.csr_array = field(init=False, repr=False)
    shares: sparse.csr_array = field(init=False, repr=False)
    offset: NDArray[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_neighbourhood(self.k, self.similarity, self.shrink, self.dtype)

    def fit(self, interactions: Interactions, *, workers: int | None = None) -> Self:
        """Find the neighbours of every item, on all cores or ``workers`` threads."""
        check_training_data(interactions)
        from truerank.models.neighbours.search import nearest_rows

        by_item = interactions.matrix(dtype=np.float64).T.tocsr()
        found = nearest_rows(
            by_item, by_item, k=self.k, similarity=self.similarity, shrink=self.shrink,
            own=np.arange(interactions.n_items), dtype=self.dtype, label="item-kNN",
            workers=workers,
        )  # fmt: skip
        total = np.asarray(found.sum(axis=1, dtype=np.float64)).ravel()
        values = found.data / np.repeat(total, np.diff(found.indptr))
        means = np.asarray(by_item.sum(axis=1)).ravel() / interactions.n_users
        rows = sparse.csr_array((values, found.indices, found.indptr), shape=found.shape)
        # What the means add to every score does not depend on the user.
        kind = dtype_of(self.dtype)
        self.offset = (means - rows @ means).astype(kind)
        self.shares = rows.T.tocsr().astype(kind)
        self.seen = interactions.matrix(dtype=kind)
        self.record_training_data(interactions)
        return self

    @property
    def n_items(self) -> int:
        return len(self.offset)

    def score_all(self, users: Indices) -> NDArray[Any]:
        """Scores of all items, shape ``(len(users), n_items)``."""
        scores: NDArray[Any] = (self.seen[users] @ self.shares).toarray()
        scores += self.offset
        return scores

    def score_pairs(self, users: Indices, items: Indices) -> NDArray[Any]:
        """Scores of given items, in the shape of ``items``."""
        return score_pairs_by_rows(self.score_all, users, items, self.n_items)

    def fold_in(self, history: Interactions) -> CentredItemKNN:
        """The same neighbours and means for users known only by their history."""
        check_history(history, self.n_items)
        other = CentredItemKNN(self.k, self.similarity, self.shrink, self.dtype)
        other.shares, other.offset = self.shares, self.offset
        other.seen = history.matrix(dtype=dtype_of(self.dtype))
        other.note_folded_from(self)
        return other
