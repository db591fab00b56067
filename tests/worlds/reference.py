"""Exact ranks the slow way: every score compared with every other, a user at a time.

The joint order of a user's list, for each tie rule. Of equal scores,

* ``random``: the smaller word of (seed, user, item) comes first;
* ``optimistic``: the user's own targets come first, among themselves by item index;
* ``pessimistic``: they come last, among themselves by item index;
* ``half``: they stand together behind the first half (rounded up) of the tied rivals.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.rng import Stream, addresses

Int = NDArray[np.int64]


def scores_of(scorer: Any, user: int) -> NDArray[np.float64]:
    """Scores of all items for one user, summed in float64 from left to right where we sum."""
    if getattr(scorer, "user_factors", None) is not None:
        x, y = scorer.user_factors[user], scorer.item_factors
        total = np.zeros(len(y))
        for k in range(len(x)):
            total += np.float64(x[k]) * y[:, k].astype(np.float64)
        return total
    if getattr(scorer, "history", None) is not None and hasattr(scorer, "item_item"):
        line = scorer.history[[user]].tocsr()
        total = np.zeros(scorer.history.shape[1])
        for value, item in zip(line.data, line.indices, strict=True):
            weights = scorer.item_item[[int(item)]]
            dense = weights.toarray() if hasattr(weights, "toarray") else np.asarray(weights)
            total += np.float64(value) * dense[0].astype(np.float64)
        return total
    return np.asarray(scorer.score_all(np.array([user])))[0].astype(np.float64)


def rank_in_list(
    scores: NDArray[np.float64],
    target: int,
    candidates: NDArray[np.bool_],
    targets: Int,
    rule: str,
    words: NDArray[np.uint64],
) -> int:
    """The rank of one target among its candidates, of whom some are targets as well."""
    better = int(((scores > scores[target]) & candidates).sum())
    tied = (scores == scores[target]) & candidates
    if rule == "random":
        return 1 + better + int((tied & (words < words[target])).sum())
    own = np.sort(targets[tied[targets]])
    rivals = int(tied.sum()) - len(own)
    before = {"optimistic": 0, "half": (rivals + 1) // 2, "pessimistic": rivals}[rule]
    return 1 + better + before + int(np.searchsorted(own, target))


def slow_ranks(
    scorer: Any, users: Int, items: Int, seen: Any, *, ties: str, seed: int, rows: Int
) -> Iterator[tuple[int, int]]:
    """(row, rank) of some rows."""
    order = rows[np.argsort(users[rows], kind="stable")]
    previous, scores, words = -1, np.empty(0), np.empty(0, np.uint64)
    for row in order:
        user, target = int(users[row]), int(items[row])
        if user != previous:
            previous, scores = user, scores_of(scorer, user)
            words = addresses(seed, Stream.TIES, user, np.arange(len(scores)))
        candidates = np.ones(len(scores), dtype=bool)
        if seen is not None:
            candidates[seen.items_of(user)] = False
        own = items[users == user]
        candidates[own] = True  # one list for all of a user's held-out items
        yield int(row), rank_in_list(scores, target, candidates, own, ties, words)
