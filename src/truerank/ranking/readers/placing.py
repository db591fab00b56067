"""Where targets stand in lists of scored items: sorting and counting, no loop over users."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Int
from truerank.data.id_order import find_ids
from truerank.data.ids import in_one_type
from truerank.data.input_columns import index_ids
from truerank.errors import InvalidDataError
from truerank.numerics.ties import TieRule, tie_code
from truerank.ranking.readers.repeats import distinct_keys
from truerank.rng import Stream, addresses

Order = Callable[[Int], NDArray[Any]]
"""From rows to what orders tied ones, the smallest first."""

_NUMBER = re.compile("0|-?[1-9][0-9]{0,17}")
"""A whole number as it is written, and that fits: 007 is a name."""


class Lists(NamedTuple):
    """Scored items, a row each: external ids and scores."""

    user: NDArray[Any]
    item: NDArray[Any]
    score: NDArray[np.float64]


class Placed(NamedTuple):
    """Where each target stands.

    Attributes:
        length: Length of its user's list, 0 where there is none.
        found: Whether the target is in that list.
        better: Items of the list with a higher score.
        tied: Other items of the list with the same score.
        before: Those of them that come first: by chance if the rule is random, else targets of
            the user with a smaller id.
        others: Other targets of the user in the list.
        better_others: Those with a higher score.
        tied_others: Those with the same score.
        before_others: Those of them that come first.
    """

    length: Int
    found: NDArray[np.bool_]
    better: Int
    tied: Int
    before: Int
    others: Int
    better_others: Int
    tied_others: Int
    before_others: Int


def place(
    lists: Lists, user: NDArray[Any], item: NDArray[Any], *, ties: TieRule, seed: int
) -> Placed:
    """Find each target in its user's list and count who stands above and beside it.

    A random order is addressed by (seed, user id, item id): neither the order of the rows nor what
    else a file holds can change it.

    Memory: about 100 bytes per list row while it runs.
    """
    # In one type before they are numbered: sorted as text, 10 stands before 9.
    listed_users, user = in_one_type([lists.user, user])
    listed_items, item = in_one_type([lists.item, item])
    users, user_names = index_ids(listed_users, None, "user")
    items, item_names = index_ids(listed_items, None, "item")
    _check_scores(lists, users, user_names)
    key = distinct_keys(users, user_names, items, item_names, "the lists")
    who, what = _look_up(user, user_names, "user"), _look_up(item, item_names, "item")
    if (who < 0).all():
        raise InvalidDataError(
            f"none of the {len(np.unique(user)):,} users with targets has a list, the first is "
            f"{user[0]}; the two tables may be swapped, or name their users differently"
        )
    sizes = np.bincount(users, minlength=len(user_names))
    length = np.where(who >= 0, sizes[who], 0)
    known = (who >= 0) & (what >= 0)
    row = _rows_of(key, np.where(known, who * len(item_names) + what, -1))
    found = row >= 0
    at = row[found]
    by_chance = ties == "random"
    order = _random_order(seed, users, user_names, items, item_names) if by_chance else _by(items)
    counts = [np.zeros(len(who), np.int64) for _ in range(7)]
    found_counts = list(standings(users, lists.score, at, order if by_chance else None))
    own = users[at]
    found_counts.append(np.bincount(own, minlength=len(user_names))[own] - 1)
    targets = np.arange(len(at))
    found_counts += standings(own, lists.score[at], targets, lambda rows: order(at[rows]))
    if not by_chance:
        found_counts[2] = found_counts[6]
    for count, known_count in zip(counts, found_counts, strict=True):
        count[found] = known_count
    return Placed(length, found, *counts)


def standings(
    users: Int, scores: NDArray[np.float64], rows: Int, order: Order | None = None
) -> tuple[Int, Int, Int]:
    """How many rows of the same user score higher than each of ``rows``, and how many the same.

    The third counts those of the same score that ``order`` puts first. Takes the first of each
    user's rows, then the second, and so on: no sort, and time in proportion to the sum over users
    of (rows asked for) x (rows there are).
    """
    who, own = users[rows], scores[rows]
    by_user = np.argsort(who, kind="stable")
    first = np.concatenate([[True], who[by_user][1:] != who[by_user][:-1]])[: len(who)]
    turn = np.empty(len(who), np.int64)
    turn[by_user] = np.arange(len(who)) - np.maximum.accumulate(np.arange(len(who)) * first)
    better, tied, before = (np.zeros(len(who), np.int64) for _ in range(3))
    n_users = int(users.max(initial=0)) + 1
    target = np.full(n_users, np.nan)  # of users without a row in this turn: nothing exceeds NaN
    at = np.full(n_users, -1)
    left: Int | None = None  # all of them
    for now in range(int(turn.max(initial=-1)) + 1):
        some = np.flatnonzero(turn == now)
        target.fill(np.nan)
        target[who[some]] = own[some]
        against = target[users]
        if now:
            still = np.flatnonzero(~np.isnan(against))
            users, scores, against = users[still], scores[still], against[still]
            left = still if left is None else left[still]
        better[some] = np.bincount(users[scores > against], minlength=n_users)[who[some]]
        same = np.flatnonzero(scores == against)
        tied[some] = np.bincount(users[same], minlength=n_users)[who[some]] - 1
        if order is not None and tied[some].any():
            at[who[some]] = rows[some]
            theirs = same if left is None else left[same]
            ahead = same[order(theirs) < order(at[users[same]])]
            before[some] = np.bincount(users[ahead], minlength=n_users)[who[some]]
    return better, tied, before


def ranks_of(placed: Placed, ties: TieRule, *, without: NDArray[np.bool_]) -> Int:
    """1-based ranks by the rules of :mod:`truerank.numerics.ties`.

    ``without`` says in which rows the user's other targets do not count.
    """
    better = placed.better - np.where(without, placed.better_others, 0)
    before = placed.before - np.where(without, placed.before_others, 0)
    return 1 + better + before + share_of(placed.tied - placed.tied_others, ties)


def share_of(tied: Int, ties: TieRule) -> Int:
    """How many of the tied items that are no targets stand above; those by chance are counted.

    >>> share_of(np.array([3]), "half")
    array([2])
    """
    tie_code(ties)
    if ties == "half":
        return (tied + 1) // 2
    return tied if ties == "pessimistic" else np.zeros_like(tied)


def id_words(names: NDArray[Any]) -> NDArray[np.uint64]:
    """A word for each external id: itself if it is or reads as a number, else a digest.

    >>> bool(id_words(np.array([7])) == id_words(np.array(["7"])))
    True
    """
    if names.dtype.kind in "iu":
        return names.astype(np.uint64)
    return np.array([_word(str(name)) for name in names], dtype=np.uint64)


def _word(name: str) -> int:
    if _NUMBER.fullmatch(name):
        return int(name) % 2**64
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def _by(values: Int) -> Order:
    return lambda rows: values[rows]


def _random_order(
    seed: int, users: Int, user_names: NDArray[Any], items: Int, item_names: NDArray[Any]
) -> Order:
    who, what = id_words(user_names), id_words(item_names)
    return lambda rows: addresses(seed, Stream.TIES, who[users[rows]], what[items[rows]])


def _check_scores(lists: Lists, users: Int, user_names: NDArray[Any]) -> None:
    bad = np.isnan(lists.score)
    if bad.any():
        raise InvalidDataError(
            f"{int(bad.sum()):,} of {len(bad):,} scores are NaN, the first for user "
            f"{user_names[users[np.argmax(bad)]]}, and NaN has no rank; check the model, or "
            "replace NaN by -inf to rank such items last"
        )


def _look_up(ids: NDArray[Any], names: NDArray[Any], side: str) -> Int:
    """The index of each id among the names of its type, -1 where it is not there."""
    index, distinct = index_ids(ids, None, side)
    return find_ids(names, distinct)[index]


def _rows_of(key: Int, wanted: Int) -> Int:
    """The row of each wanted key, -1 where there is none; by hashing the wanted ones."""
    import pyarrow as pa
    import pyarrow.compute as pc

    which = pc.index_in(pa.array(key), value_set=pa.array(wanted)).fill_null(-1).to_numpy()
    rows = np.full(len(wanted), -1, np.int64)
    hits = np.flatnonzero(which >= 0)
    rows[which[hits]] = hits
    return rows
