"""Rows to be counted against items in a list: that of the catalogue, or any other order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Int
from truerank.ranking.rows import TargetRows


class ListedRows(NamedTuple):
    """Some rows, whole users together, and where in the list their items stand.

    Attributes:
        rows: The rows.
        users: Their distinct users.
        starts: Rows ``starts[k]`` to ``starts[k + 1] - 1`` belong to user k of these.
        places: Place of each row's target.
        excluded_places: Places of excluded items, ascending within a user.
        begins: ``excluded_places[begins[k]:ends[k]]`` are those of user k that matter here.
        ends: See ``begins``.
    """

    rows: TargetRows
    users: Int
    starts: Int
    places: Int
    excluded_places: NDArray[np.int32]
    begins: Int
    ends: Int


def share_evenly(total: int, starts: Int) -> Int:
    """``total`` for each user, shared among its rows: the first ones take what is left over.

    >>> share_evenly(10, np.array([0, 1, 4])).tolist()
    [10, 4, 3, 3]
    """
    if len(starts) == starts[-1] + 1:  # one row each
        return np.full(len(starts) - 1, total, np.int64)
    lengths = np.diff(starts)
    within = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    each, left = np.divmod(total, lengths)
    return np.asarray(np.repeat(each, lengths) + (within < np.repeat(left, lengths)))
