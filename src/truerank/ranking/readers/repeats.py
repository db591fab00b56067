"""Pairs as single numbers, each of which may occur once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.data.input_columns import index_ids
from truerank.errors import InvalidDataError


def refuse_repeats(user: NDArray[Any], item: NDArray[Any], where: str) -> None:
    """Each (user, item) pair may have one row; external ids."""
    users, user_names = index_ids(user, None, "user")
    items, item_names = index_ids(item, None, "item")
    distinct_keys(users, user_names, items, item_names, where)


def distinct_keys(
    users: NDArray[np.int64],
    user_names: NDArray[Any],
    items: NDArray[np.int64],
    item_names: NDArray[Any],
    where: str,
) -> NDArray[np.int64]:
    """``users * n_items + items``, or a sentence about the first pair that is there twice."""
    keys = users * len(item_names) + items
    ordered = np.sort(keys)
    repeated = ordered[1:] == ordered[:-1]
    if repeated.any():
        who, what = divmod(int(ordered[np.argmax(repeated)]), len(item_names))
        raise InvalidDataError(
            f"{int(repeated.sum()):,} of {len(keys):,} rows of {where} repeat a (user, item) pair, "
            f"the first is user {user_names[who]}, item {item_names[what]}; each pair may have one "
            "row: drop the repeats, or keep each model in a file of its own"
        )
    return keys
