"""Smaller data from data: pure functions, :class:`Interactions` in and out.

All but :func:`k_core` and :func:`compact` keep the vocabularies, so indices mean the same
before and after, and users or items may be left with nothing; :func:`compact` drops those.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from truerank.arrays import Mask
from truerank.checks import check_counts
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError

Data = TypeVar("Data", bound=Interactions)

Time = int | str | np.datetime64
"""An integer as the data have it, or a date such as ``"2015-06-30"``, read as seconds, UTC."""


def at_least(data: Interactions, threshold: float) -> Interactions:
    """The interactions with ``weight >= threshold``, weights included; keeps the vocabularies.

    >>> data = Interactions.from_arrays([1, 1, 2], [7, 8, 8], weight=[5, 2, 4])
    >>> at_least(data, 4)
    Interactions(2 users x 2 items, 2 interactions)
    """
    if data.weights is None:
        raise InvalidDataError(
            "these interactions have no weights to compare with a threshold; name their column "
            "with weight= when you read them"
        )
    if not np.isfinite(threshold):
        raise InvalidArgumentError("threshold", threshold, "a finite number")
    highest = data.weights.max(initial=-np.inf)
    return _kept(
        data,
        data.weights >= threshold,
        f"no weight reaches {threshold:g}, the highest is {highest:g}",
    )


def between(data: Interactions, start: Time | None, end: Time | None) -> Interactions:
    """The interactions with ``start <= timestamp < end``; keeps the vocabularies.

    None leaves a side open, so ``between(data, None, t)`` and ``between(data, t, None)`` are
    two halves that together are everything.
    """
    if data.timestamps is None:
        raise InvalidDataError(
            "these interactions have no timestamps to select by; name their column with "
            "timestamp= when you read them"
        )
    keep = np.ones(len(data), dtype=bool)
    if start is not None:
        keep &= data.timestamps >= _seconds(start, "start")
    if end is not None:
        keep &= data.timestamps < _seconds(end, "end")
    low, high = (int(data.timestamps.min()), int(data.timestamps.max())) if len(data) else (0, 0)
    return _kept(
        data, keep, f"no timestamp lies from {start} to {end}, they run from {low} to {high}"
    )


def active_users(data: Interactions, n: int) -> Interactions:
    """The interactions of users who have at least ``n`` of them; keeps the vocabularies."""
    check_counts(n=n)
    counts = data.user_counts
    keep = np.repeat(counts >= n, counts)
    most = counts.max(initial=0)
    return _kept(data, keep, f"no user has {n} interactions, the most active has {most}")


def k_core(data: Interactions, *, user: int = 5, item: int = 5) -> Interactions:
    r"""The largest part where every user and every item keeps enough interactions; compacts.

    .. math::  \text{each user} \ge \texttt{user}, \quad \text{each item} \ge \texttt{item}

    within the part that remains. Dropping sparse users makes items sparse and the other way
    round, so it is repeated until nothing more goes; the result does not depend on the order.
    Users and items that are gone leave the vocabularies too.

    Args:
        data: Interactions.
        user: Fewest interactions of a remaining user, at least 1.
        item: Fewest interactions of a remaining item, at least 1.
    """
    check_counts(user=user, item=item)
    alive = np.arange(len(data))
    users, items = data.users, data.indices
    while len(alive):
        enough_user = np.bincount(users, minlength=data.n_users) >= user
        enough_item = np.bincount(items, minlength=data.n_items) >= item
        keep = enough_user[users] & enough_item[items]
        if keep.all():
            break
        alive, users, items = alive[keep], users[keep], items[keep]
    mask = np.zeros(len(data), dtype=bool)
    mask[alive] = True
    return compact(_kept(data, mask, f"there is no ({user}, {item})-core in these data"))


def without_weights(data: Interactions) -> Interactions:
    """The same pairs, all counting 1; keeps the vocabularies and timestamps."""
    return replace(data, weights=None)


def compact(data: Data, *, users: bool = True, items: bool = True) -> Data:
    """Drops the users and items without interactions from the vocabularies and renumbers.

    Users or items may be left alone.

    >>> data = Interactions.from_arrays([3], [8], user_ids=[1, 3], item_ids=[7, 8, 9])
    >>> compact(data).item_ids.tolist()
    [8]
    """
    rows = (data.user_counts > 0) | (not users)
    columns = (data.item_counts > 0) | (not items)
    if rows.all() and columns.all():
        return data
    place = np.cumsum(columns, dtype=np.int32) - np.int32(1)
    return replace(
        data,
        indptr=np.concatenate([[0], data.indptr[1:][rows]]),
        indices=place[data.indices],
        user_ids=data.user_ids[rows],
        item_ids=data.item_ids[columns],
    )


def _kept(data: Interactions, keep: Mask, reason: str) -> Interactions:
    if not keep.any():
        raise InvalidDataError(f"nothing is left: {reason}; ask for less")
    return data.select(keep)


def _seconds(time: Time, name: str) -> int:
    if isinstance(time, int | np.integer):
        return int(time)
    try:
        date = np.asarray(time, dtype="datetime64[s]")
    except (TypeError, ValueError):
        date = np.asarray("NaT", dtype="datetime64[s]")
    if np.isnat(date):
        raise InvalidArgumentError(name, time, "an integer or a date like '2015-06-30'")
    return int(date.astype(np.int64))
