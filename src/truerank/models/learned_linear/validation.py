"""Who says when to stop: users set aside, a fifth of whose items must be found again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.data.interactions import Interactions
from truerank.errors import InvalidDataError
from truerank.numerics.ties import half_of_ties, ranks_in_rows
from truerank.rng import Stream, addresses

CUTOFF = 100
"""Of the nDCG that decides, as in the dissertation's tables."""

MOST_USERS = 1000
"""Users set aside at most: more make the check dear and hardly more certain."""

HELD_OUT = 0.2
"""The part of a set-aside user's items that must be found."""

CELLS = 2**23
"""Scores held at once."""

ScoreRows = Callable[[sparse.csr_array], NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """Histories and what they should find.

    Attributes:
        history: Users x items: what the model is told.
        wanted: Users x items: what it should rank high; nobody without any.
    """

    history: sparse.csr_array
    wanted: sparse.csr_array

    @classmethod
    def of(cls, fold_in: Interactions, held_out: Interactions) -> Validation:
        """Users that were held out elsewhere."""
        if fold_in.n_items != held_out.n_items or fold_in.n_users != held_out.n_users:
            raise InvalidDataError(
                "the two parts of the validation users differ in users or items; take fold_in and "
                "held_out of one split"
            )
        users = np.flatnonzero((held_out.user_counts > 0) & (fold_in.user_counts > 0))
        if len(users) == 0:
            raise InvalidDataError(
                "no validation user has both a history and held-out items; give some who have"
            )
        return cls(fold_in.matrix()[users], held_out.matrix()[users])

    @classmethod
    def from_training(cls, train: Interactions, users: NDArray[np.int64], seed: int) -> Validation:
        """A fifth of each user's items, one at least, chosen at random."""
        mine = train.select(np.isin(train.users, users))
        words = addresses(seed, Stream.FOLD_IN, mine.users, mine.indices)
        order = np.lexsort((words, mine.users))
        place = np.arange(len(mine)) - mine.indptr[:-1][mine.users]
        n_held = np.maximum(1, np.floor(HELD_OUT * mine.user_counts + 0.5)).astype(np.int64)
        held = np.zeros(len(mine), dtype=np.bool_)
        held[order] = place < n_held[mine.users]
        return cls.of(mine.select(~held), mine.select(held))

    def ndcg(self, scores_of: ScoreRows) -> float:
        """Mean nDCG@100 over the users; items of the history are no candidates, ties go by half."""
        n_users, n_items = self.history.shape
        k, block = min(CUTOFF, n_items), max(1, CELLS // n_items)
        discount = 1.0 / np.log2(np.arange(2, k + 2))
        total = 0.0
        for first in range(0, n_users, block):
            seen = self.history[first : first + block]
            wanted = self.wanted[first : first + block]
            scores = np.asarray(scores_of(seen), dtype=np.float64)
            hits = np.zeros((len(scores), k), np.bool_)
            rank = np.empty(wanted.nnz, np.int64)
            rows = np.arange(len(scores))
            ties = half_of_ties(wanted.indptr, wanted.indices)
            ranks_in_rows(scores, rows, seen.indptr, seen.indices, ties, rank)
            found = rank <= k
            hits[np.repeat(rows, np.diff(wanted.indptr))[found], rank[found] - 1] = True
            ideal = np.cumsum(discount)[np.minimum(np.diff(wanted.indptr), k) - 1]
            total += float(((hits @ discount) / ideal).sum())
        return total / n_users


def learners_and_judges(
    train: Interactions,
    given: tuple[Interactions, Interactions] | None,
    *,
    share: float,
    seed: int,
    fewest: int,
) -> tuple[NDArray[np.int64], Validation]:
    """The positive pairs to learn from, by their positions, and who judges the result.

    Args:
        train: The training data.
        given: Histories and held-out items of other users, who are then the judges.
        share: Otherwise, the part of the training users who are: they are not learned from.
        seed: Decides who that is.
        fewest: Items that a user must have to be learned from; having all is as useless.
    """
    able = (train.user_counts >= fewest) & (train.user_counts < train.n_items)
    if given is not None:
        judges = Validation.of(*given)
    else:
        aside = _set_aside(train, share, seed)
        judges = Validation.from_training(train, aside, seed)
        able[aside] = False
    pairs = np.flatnonzero(able[train.users])
    if len(pairs) == 0:
        raise InvalidDataError(
            "no user is left to learn from: each has too few items, or all of them, or is set "
            "aside for validation; give more data"
        )
    return pairs, judges


def _set_aside(train: Interactions, share: float, seed: int) -> NDArray[np.int64]:
    """Some of the users with two items or more, drawn by their address."""
    long = np.flatnonzero(train.user_counts >= 2)
    if len(long) == 0:
        raise InvalidDataError(
            "no user has two items, so none can say when to stop learning; give longer histories, "
            "or validation users"
        )
    words = addresses(seed, Stream.USER_SAMPLE, long)
    n = min(MOST_USERS, max(1, round(share * len(long))))
    return np.sort(long[np.argsort(words, kind="stable")[:n]])
