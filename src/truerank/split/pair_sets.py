"""Sets of (user, item) pairs: who is in both parts, and one vocabulary for parts that differ."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Int, Mask
from truerank.data.id_order import distinct_ids, find_ids
from truerank.data.interactions import Interactions
from truerank.errors import InvalidDataError


def contained(part: Interactions, other: Interactions) -> Mask:
    """For each interaction of ``part`` whether ``other`` has the same (user, item) pair.

    Both must be over the same vocabularies.
    """
    wanted, known = _codes(part), _codes(other)
    if len(known) == 0:
        return np.zeros(len(wanted), dtype=np.bool_)
    # Pairs of an Interactions come sorted, so a binary search is enough.
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.asarray(known[at] == wanted, dtype=np.bool_)


def _codes(data: Interactions) -> Int:
    return data.users.astype(np.int64) * data.n_items + data.indices


def on_common_vocabularies(*parts: Interactions) -> list[Interactions]:
    """The same parts, each over the union of all users and the union of all items."""
    users = _union([part.user_ids for part in parts], "user")
    items = _union([part.item_ids for part in parts], "item")
    return [_renumbered(part, users, items) for part in parts]


def _union(vocabularies: list[NDArray[Any]], name: str) -> NDArray[Any]:
    kinds = {vocabulary.dtype.kind for vocabulary in vocabularies if len(vocabulary)}
    if len(kinds) > 1:
        raise InvalidDataError(
            f"{name} ids are strings in one part and whole numbers in another; convert one to the "
            "type of the other before splitting"
        )
    first = vocabularies[0]
    if all(np.array_equal(first, vocabulary) for vocabulary in vocabularies[1:]):
        return first
    return distinct_ids(np.concatenate([v for v in vocabularies if len(v)]))[0]


def _renumbered(part: Interactions, users: NDArray[Any], items: NDArray[Any]) -> Interactions:
    row, column = find_ids(users, part.user_ids), find_ids(items, part.item_ids)
    counts = np.zeros(len(users), dtype=np.int64)
    counts[row] = part.user_counts
    indices = column[part.indices]
    order: slice | NDArray[np.intp] = slice(None)
    if np.any(row[1:] < row[:-1]) or np.any(column[1:] < column[:-1]):
        # Ids that are all numbers in one part and not in another stand in another order.
        order = np.lexsort((indices, row[part.users]))
    return Interactions(
        indptr=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        indices=indices[order].astype(np.int32),
        user_ids=users,
        item_ids=items,
        weights=None if part.weights is None else part.weights[order],
        timestamps=None if part.timestamps is None else part.timestamps[order],
    )
