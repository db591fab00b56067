"""What every item-item model shares: scores are ``history @ item_item``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.arrays import Indices, Scores
from truerank.data.interactions import Interactions
from truerank.models.base import Model, TrainingInfo
from truerank.models.input_checks import check_history
from truerank.models.scores_of_pairs import score_pairs_by_rows


@dataclass(frozen=True, slots=True, eq=False)
class ItemItemScorer:
    r"""Scores :math:`s_{ui} = \sum_j X_{uj} W_{ji}`.

    Memory: the history, the item-item matrix, and one dense row per scored user.

    Attributes:
        history: Users x items, sparse.
        item_item: Items x items, dense or sparse.
        name: What to call the model in tables.
        folded_from: What the model behind these scores was fitted on, if that is known.
    """

    history: sparse.csr_array
    item_item: NDArray[Any] | sparse.csr_array
    name: str = "item-item"
    folded_from: TrainingInfo | None = None

    @property
    def n_items(self) -> int:
        return int(self.item_item.shape[1])

    def score_all(self, users: Indices) -> Scores:
        """Scores of all items, shape ``(len(users), n_items)``."""
        scores = self.history[users] @ self.item_item
        return np.asarray(scores.toarray() if sparse.issparse(scores) else scores)

    def score_pairs(self, users: Indices, items: Indices) -> Scores:
        """Scores of given items, in the shape of ``items``."""
        return score_pairs_by_rows(self.score_all, users, items, self.n_items)

    def fold_in(self, history: Interactions) -> ItemItemScorer:
        """The same matrix for other users, known only by their history."""
        check_history(history, self.n_items)
        return ItemItemScorer(history.matrix(), self.item_item, self.name, self.folded_from)


class ItemItemModel(Model):
    """A fitted model with ``history`` and ``item_item``: a Scorer for its users, and others."""

    __slots__ = ()
    history: sparse.csr_array
    item_item: NDArray[Any] | sparse.csr_array

    @property
    def n_items(self) -> int:
        return int(self.item_item.shape[1])

    def score_all(self, users: Indices) -> Scores:
        """Scores of all items, shape ``(len(users), n_items)``."""
        return self._scorer().score_all(users)

    def score_pairs(self, users: Indices, items: Indices) -> Scores:
        """Scores of given items, in the shape of ``items``."""
        return self._scorer().score_pairs(users, items)

    def fold_in(self, history: Interactions) -> ItemItemScorer:
        """The same item-item matrix for users known only by their history."""
        check_history(history, self.n_items)
        matrix = history.matrix()
        return ItemItemScorer(matrix, self.item_item, type(self).__name__, self.training_info())

    def _scorer(self) -> ItemItemScorer:
        return ItemItemScorer(self.history, self.item_item, type(self).__name__)
