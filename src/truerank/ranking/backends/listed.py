"""Rows to be counted against items in a list: that of the catalogue, or any other order."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Int, Mask
from truerank.numerics.ties import ranks_from
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


class Counts(NamedTuple):
    """How many rivals beat each row's target, tie with it, and of these stand above by a coin."""

    better: Int
    tied: Int
    heads: Int

    @classmethod
    def zeros(cls, n_rows: int) -> Self:
        """Before any rival is met."""
        return cls(*(np.zeros(n_rows, np.int64) for _ in cls._fields))

    def take(self, rows: Int) -> Counts:
        """Copies for some rows."""
        return Counts(*(column[rows] for column in self))

    def put(self, rows: Int, counts: Counts) -> None:
        """Write some rows back."""
        for column, values in zip(self, counts, strict=True):
            column[rows] = values

    def ranks(self, tie_rule: int, whole: Mask) -> Int:
        """Ranks by the tie rule; ``whole`` says which rows have met all their candidates."""
        return ranks_from(*self, tie_rule, whole)


def share_evenly(total: int, starts: Int) -> Int:
    """``total`` for each user, shared among its rows: the first ones take what is left over.

    >>> share_evenly(10, np.array([0, 1, 4])).tolist()
    [10, 4, 3, 3]
    """
    lengths = np.diff(starts)
    within = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    each, left = np.divmod(total, lengths)
    return np.asarray(np.repeat(each, lengths) + (within < np.repeat(left, lengths)))
