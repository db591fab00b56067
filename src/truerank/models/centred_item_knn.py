"""Item neighbourhoods about the means: how far the user departs from each item's average."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.data.interactions import Interactions
from truerank.models.given import check_history
from truerank.models.kept import KeptModel
from truerank.models.similarities import Similarity, check_neighbourhood

Indices = NDArray[np.integer[Any]]

BLOCK_BYTES = 64 * 2**20
"""Most that scores of whole rows may take while a few of each are picked."""


@dataclass(slots=True, eq=False)
class CentredItemKNN(KeptModel):
    r"""Item-kNN as a weighted average of departures from the means [sarwar2001]_.

    .. math::
        s_{ui} = m_i + \frac{\sum_j S_{ji}\,(X_{uj} - m_j)}{\sum_j S_{ji}}

    with :math:`m_j` the mean of column :math:`j` over all users, zeros included, and :math:`S`
    as in :class:`~truerank.models.ItemKNN`, cut to the ``k`` largest entries of each column. An
    item without neighbours scores :math:`m_i`. This is the item-kNN of the BARS benchmark: the
    published Recall@20 of Gowalla and Yelp2018 come out with cosine and 100 neighbours, and with
    Pearson and 150.

    Memory: as :class:`~truerank.models.ItemKNN`, and 4 bytes per item. Computed in float64 and
    kept in float32, as there.

    Attributes:
        k: Neighbours per item.
        similarity: ``"cosine"``, ``"jaccard"``, ``"dice"`` or ``"pearson"``.
        shrink: Added to the denominator of the similarity, at least 0.
    """

    k: int = 100
    similarity: Similarity = "cosine"
    shrink: float = 0.0
    seen: sparse.csr_array = field(init=False, repr=False)
    shares: sparse.csr_array = field(init=False, repr=False)
    offset: NDArray[np.float32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_neighbourhood(self.k, self.similarity, self.shrink)

    def fit(self, interactions: Interactions, *, workers: int | None = None) -> Self:
        """Find the neighbours of every item, on all cores or ``workers`` threads."""
        from truerank.models.neighbours import nearest_rows

        by_item = interactions.matrix(dtype=np.float64).T.tocsr()
        found = nearest_rows(
            by_item, by_item, k=self.k, similarity=self.similarity, shrink=self.shrink,
            own=np.arange(interactions.n_items), label="item-kNN", workers=workers,
        )  # fmt: skip
        total = np.asarray(found.sum(axis=1, dtype=np.float64)).ravel()
        values = found.data / np.repeat(total, np.diff(found.indptr))
        means = np.asarray(by_item.sum(axis=1)).ravel() / interactions.n_users
        rows = sparse.csr_array((values, found.indices, found.indptr), shape=found.shape)
        # What the means add to every score does not depend on the user.
        self.offset = (means - rows @ means).astype(np.float32)
        self.shares = rows.T.tocsr().astype(np.float32)
        self.seen = interactions.matrix()
        self.remember(interactions)
        return self

    @property
    def n_items(self) -> int:
        return len(self.offset)

    def score_all(self, users: Indices) -> NDArray[np.float32]:
        """Scores of all items, shape ``(len(users), n_items)``."""
        scores: NDArray[np.float32] = (self.seen[users] @ self.shares).toarray()
        scores += self.offset
        return scores

    def score_pairs(self, users: Indices, items: Indices) -> NDArray[np.float32]:
        """Scores of given items, in the shape of ``items``."""
        users, items = np.asarray(users), np.asarray(items)
        scores = np.empty(items.shape, np.float32)
        step = max(1, BLOCK_BYTES // (4 * self.n_items))
        for first in range(0, len(users), step):
            some = slice(first, first + step)
            scores[some] = np.take_along_axis(self.score_all(users[some]), items[some], axis=1)
        return scores

    def fold_in(self, history: Interactions) -> CentredItemKNN:
        """The same neighbours and means for users known only by their history."""
        check_history(history, self.n_items)
        other = CentredItemKNN(self.k, self.similarity, self.shrink)
        other.shares, other.offset, other.seen = self.shares, self.offset, history.matrix()
        return other
