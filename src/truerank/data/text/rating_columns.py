"""Columns that hold ratings by their name, so that dislikes are not counted without a word."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from truerank.errors import DataWarning, Message

if TYPE_CHECKING:
    import pyarrow as pa

RATING_NAMES = (
    "rating", "ratings", "bookrating", "userrating", "rate", "stars", "overall", "score", "vote",
    "preference", "like", "liked", "label", "click", "clicked", "feedback", "count", "counts",
    "plays", "playcount", "hours", "quantity",
)  # fmt: skip
"""As :func:`plain_name` writes them; the first that is there is taken."""


def plain_name(name: str) -> str:
    """A name without what differs between habits: case, blanks and marks, RecBole's types.

    >>> plain_name("User-ID"), plain_name("user_id:token"), plain_name("movieId")
    ('userid', 'userid', 'movieid')
    """
    name = re.sub(r":(token|float|token_seq|float_seq)$", "", name)
    return re.sub(r"[\W_]", "", name).lower()


def unread_ratings(names: Sequence[str], read: Sequence[str]) -> str | None:
    """The column of ratings that nobody asked for, if there is one.

    >>> unread_ratings(["user_id", "item_id", "Book-Rating"], ["user_id", "item_id"])
    'Book-Rating'
    """
    plain = [plain_name(name) for name in names]
    for usual in RATING_NAMES:
        if plain.count(usual) == 1 and (name := names[plain.index(usual)]) not in read:
            return name
    return None


def warn_of_dislikes(ratings: pa.Array, name: str) -> None:
    """Say that rows count as positives whose rating, which was not asked for, is 0 or less."""
    import pyarrow as pa

    kind = ratings.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return
    n = np.count_nonzero(ratings.to_numpy(zero_copy_only=False) <= 0)
    if n:
        warnings.warn(
            f"{n:,} of {len(ratings):,} rows have 0 or less in column {name!r} and count as "
            f"positives all the same, since it was not named; leave them out with "
            + Message(f"weight={name!r}", f"--rating-column {name}")
            + ", or say that they count with "
            + Message("min_rating=-inf", "--min-rating -inf")
            + " beside it",
            DataWarning,
            stacklevel=4,
        )
