"""What adapters return: Scorers by calls, by factors and by an item-item matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.adapters.numbering import Numbering
from truerank.arrays import Int, Scores
from truerank.errors import InvalidDataError
from truerank.models.item_item import ItemItemScorer
from truerank.models.scores_of_pairs import score_pairs_by_rows
from truerank.ranking.scorer import FactorScorer, Scorer


@dataclass(frozen=True, slots=True, eq=False)
class CalledScorer:
    """Asks the model for the scores of all items of some users, and renumbers them.

    Items that the model does not know get -inf: it can never recommend them, so they rank last.
    A user that it does not know is an error. Memory: 64 MB of scores at a time in
    ``score_pairs``, and what the model itself needs.

    Attributes:
        rows: From their numbers of users to scores of all their items, a row each.
        numbering: Ours in theirs.
        name: What to call the model in tables.
    """

    rows: Callable[[Int], Scores]
    numbering: Numbering
    name: str

    @property
    def n_items(self) -> int:
        return len(self.numbering.items)

    def score_all(self, users: NDArray[Any]) -> Scores:
        """Scores of all items, shape ``(len(users), n_items)``."""
        theirs = self.numbering.users[users]
        if (theirs < 0).any():
            who = self.numbering.data.user_ids[users[np.argmax(theirs < 0)]]
            raise InvalidDataError(
                f"{self.name} does not know user {who}; fit it on the same data, or leave such "
                "users out of the split"
            )
        scores = np.asarray(self.rows(theirs))
        if scores.shape != (len(users), self.numbering.n_items):
            raise InvalidDataError(
                f"{self.name} returned scores of shape {scores.shape} for {len(users)} users and "
                f"{self.numbering.n_items:,} items; the adapter does not know this version of "
                "the library"
            )
        items = self.numbering.items
        ours = scores[:, items]  # of unknown items: of the last column, and replaced
        ours[:, items < 0] = -np.inf
        return ours

    def score_pairs(self, users: NDArray[Any], items: NDArray[Any]) -> Scores:
        """Scores of given items, in the shape of ``items``."""
        return score_pairs_by_rows(self.score_all, users, items, self.n_items)


def by_factors(called: CalledScorer, user_factors: Any, item_factors: Any) -> Scorer:
    """The fast path by factors if the model scores so, else by calls."""
    at = called.numbering
    user, item = np.asarray(user_factors), np.asarray(item_factors)
    if not at.is_complete or (len(user), len(item)) != (at.n_users, at.n_items):
        return called
    fast = FactorScorer(user[at.users], item[at.items], name=called.name)
    return fast if agree(fast, called) else called


def by_item_item(called: CalledScorer, history: Any, item_item: Any) -> Scorer:
    """The fast path by an item-item matrix if the model scores so, else by calls.

    Args:
        called: The model by calls.
        history: Their users x items, as the model sees it when it scores.
        item_item: Their items x items, dense or sparse.
    """
    at = called.numbering
    shapes = [(at.n_users, at.n_items), (at.n_items, at.n_items)]
    if not at.is_complete or [history.shape, item_item.shape] != shapes:
        return called
    seen = sparse.csr_array(history)[at.users][:, at.items]
    is_sparse = hasattr(item_item, "tocsr")
    square: Any = sparse.csr_array(item_item) if is_sparse else np.asarray(item_item)
    fast = ItemItemScorer(seen, square[at.items][:, at.items], called.name)
    return fast if agree(fast, called) else called


def agree(fast: Scorer, called: CalledScorer) -> bool:
    """Whether two scorers rank alike for a few users: equal scores, up to rounding.

    A fast path stands on how a library stores its model, which no library promises; its scores
    are what it returns. So a fast path that contradicts them is not taken. Where the library
    returns nothing (-inf), the fast path may say anything below all that is returned.
    """
    users = np.unique(np.linspace(0, len(called.numbering.users) - 1, 3).astype(np.int64))
    theirs, ours = np.asarray(called.score_all(users)), np.asarray(fast.score_all(users))
    listed = ~np.isneginf(theirs)
    near = 1e-4 * float(np.abs(theirs[listed]).max(initial=0.0))
    lowest = np.where(listed, theirs, np.inf).min(axis=1, keepdims=True)
    below = np.where(listed, -np.inf, ours) <= lowest + near
    same = np.allclose(ours[listed], theirs[listed], rtol=1e-3, atol=near)
    return bool(same and below.all())
