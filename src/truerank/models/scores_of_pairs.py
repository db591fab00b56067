"""Scores of given (user, item) pairs, for models that can only score all items of a user."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from truerank.arrays import Indices, Scores

BLOCK_BYTES = 64 * 2**20
"""Most that whole rows of float64 may take while a few scores of each are taken."""


def score_pairs_by_rows(
    score_all: Callable[[Indices], Scores], users: Indices, items: Indices, n_items: int
) -> Scores:
    """Scores of given items, in the shape of ``items``, by blocks of users.

    Memory: :data:`BLOCK_BYTES` at most, or one row where a row is longer.
    """
    users, items = np.asarray(users), np.asarray(items)
    step = max(1, BLOCK_BYTES // (8 * n_items))
    blocks = [slice(first, first + step) for first in range(0, max(len(users), 1), step)]
    return np.concatenate(
        [np.take_along_axis(score_all(users[some]), items[some], axis=1) for some in blocks]
    )
