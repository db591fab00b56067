"""Where targets stand in lists of scored items: sorting and counting, no loop over users."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from truerank.data.columns import index_ids
from truerank.data.id_order import find_ids
from truerank.data.ids import in_one_type
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.ranking.foreign.repeats import distinct_keys

Int = NDArray[np.int64]
ListTieRule = Literal["half", "optimistic", "pessimistic"]


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
        others: Other targets of the user in the list.
        better_others: Those with a higher score.
        tied_others: Those with the same score.
    """

    length: Int
    found: NDArray[np.bool_]
    better: Int
    tied: Int
    others: Int
    better_others: Int
    tied_others: Int


def place(lists: Lists, user: NDArray[Any], item: NDArray[Any]) -> Placed:
    """Find each target in its user's list and count who stands above and beside it.

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
    counts = [np.zeros(len(who), np.int64) for _ in range(5)]
    counts[0][found], counts[1][found] = standings(users, lists.score, at)
    own, all_own = users[at], np.arange(len(at))
    counts[2][found] = np.bincount(own, minlength=len(user_names))[own] - 1
    counts[3][found], counts[4][found] = standings(own, lists.score[at], all_own)
    return Placed(length, found, *counts)


def standings(users: Int, scores: NDArray[np.float64], rows: Int) -> tuple[Int, Int]:
    """How many rows of the same user score higher than each of ``rows``, and how many the same.

    Takes the first of each user's rows, then the second, and so on: no sort, and time in
    proportion to the sum over users of (rows asked for) x (rows there are).
    """
    who, own = users[rows], scores[rows]
    order = np.argsort(who, kind="stable")
    first = np.concatenate([[True], who[order][1:] != who[order][:-1]])[: len(who)]
    turn = np.empty(len(who), np.int64)
    turn[order] = np.arange(len(who)) - np.maximum.accumulate(np.arange(len(who)) * first)
    better, tied = np.zeros(len(who), np.int64), np.zeros(len(who), np.int64)
    n_users = int(users.max(initial=0)) + 1
    target = np.full(n_users, np.nan)  # of users without a row in this turn: nothing exceeds NaN
    for now in range(int(turn.max(initial=-1)) + 1):
        some = np.flatnonzero(turn == now)
        target.fill(np.nan)
        target[who[some]] = own[some]
        against = target[users]
        if now:
            still = ~np.isnan(against)
            users, scores, against = users[still], scores[still], against[still]
        better[some] = np.bincount(users[scores > against], minlength=n_users)[who[some]]
        tied[some] = np.bincount(users[scores == against], minlength=n_users)[who[some]] - 1
    return better, tied


def ranks_of(better: Int, tied: Int, ties: ListTieRule) -> Int:
    """1-based ranks by the tie rules of :mod:`truerank.ranking.ties`.

    >>> ranks_of(np.array([3]), np.array([3]), "half")
    array([6])
    """
    if ties not in get_args(ListTieRule):
        raise InvalidArgumentError(
            "ties", ties, f"one of {', '.join(get_args(ListTieRule))}",
            "to break ties at random, rank the model itself with tr.rank_pairs",
        )  # fmt: skip
    share = {"half": (tied + 1) // 2, "optimistic": 0 * tied, "pessimistic": tied}[ties]
    return 1 + better + share


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
