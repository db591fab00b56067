r"""Values per user from the joint ranks of all of the user's held-out items.

*Joint* means: all :math:`m` held-out items of a user stand in one list, so their ranks
:math:`R_1 < R_2 < \dots < R_m` differ. Two equal ranks (a tie rule may give them) are taken one
after the other, and no formula leaves [0, 1] because of them.

No function here loops over users: rows are sorted by (user, rank) once and summed by segments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.metrics.functions import PerRow, checked_ranks, checked_sizes

PerUser = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """Rows sorted by user and, within a user, by rank.

    Attributes:
        users: Each user once, ascending.
        first: Position of each user's first row, which holds the best rank.
        size: Held-out items of each user, :math:`m`.
        rank: Rank of each row.
        place: 1 for the best ranked item of a user, 2 for the next, ...
        n_items: Candidates of each row, or None where the caller did not say.
    """

    users: NDArray[Any]
    first: NDArray[np.int64]
    size: NDArray[np.int64]
    rank: PerRow
    place: NDArray[np.int64]
    n_items: PerRow | None

    def sums(self, rows: PerRow) -> PerUser:
        """The sum of the rows of each user."""
        return np.asarray(np.add.reduceat(rows, self.first), dtype=np.float64)


def grouped(user: ArrayLike, rank: ArrayLike, n_items: ArrayLike | None = None) -> Grouped:
    """Sort rows by (user, rank); refuse what cannot be ranks of held-out items."""
    who, R = np.asarray(user), checked_ranks(rank)
    if R.ndim != 1 or who.shape != R.shape:
        raise InvalidArgumentError(
            "user", f"shape {who.shape}", f"of shape ({R.size},) like rank, one per row"
        )
    if R.size == 0:
        raise InvalidDataError("there are no rows: no rank, no metric; check what was ranked")
    N = None if n_items is None else checked_sizes(n_items, R)
    order = np.lexsort((R, who))
    who, R = who[order], R[order]
    first = np.flatnonzero(np.concatenate([[True], who[1:] != who[:-1]]))
    size = np.diff(np.append(first, len(who)))
    return Grouped(
        users=who[first],
        first=first,
        size=size,
        rank=R,
        place=np.arange(len(who)) - np.repeat(first, size) + 1,
        n_items=None if N is None else N[order],
    )


def hit(rows: Grouped, k: int) -> PerUser:
    r"""1 if any held-out item is in the top K.

    .. math::  \mathrm{Hit}_K = \mathbb 1[R_1 \le K]
    """
    return (rows.rank[rows.first] <= k).astype(np.float64)


def mrr(rows: Grouped, k: int | None) -> PerUser:
    r"""One over the rank of the first held-out item.

    .. math::  \mathrm{RR}_K = \mathbb 1[R_1 \le K] / R_1
    """
    best = rows.rank[rows.first]
    return np.where(best <= (np.inf if k is None else k), 1.0 / best, 0.0)


def ap(rows: Grouped, k: int | None) -> PerUser:
    r"""Average precision over all held-out items, found or not.

    .. math::  \mathrm{AP}_K = \frac1m \sum_{j=1}^{m} \mathbb 1[R_j \le K] \frac{j}{R_j}

    The precision at :math:`R_j` is :math:`j / R_j`: that many of the first :math:`R_j` are held
    out. This is trec_eval's ``map`` and ``map_cut``.
    """
    return _precisions(rows, k) / rows.size


def ap_capped(rows: Grouped, k: int) -> PerUser:
    r"""Average precision over the held-out items that K places can hold.

    .. math::  \frac1{\min(K, m)} \sum_{j=1}^{m} \mathbb 1[R_j \le K] \frac{j}{R_j}

    A perfect list scores 1 even where :math:`m > K`.
    """
    # More than K items share the top K places only where ranks are tied.
    return np.minimum(_precisions(rows, k) / np.minimum(rows.size, k), 1.0)


def _precisions(rows: Grouped, k: int | None) -> PerUser:
    at_rank = np.minimum(rows.place, rows.rank) / rows.rank  # the minimum acts on tied ranks only
    return rows.sums(np.where(rows.rank <= (np.inf if k is None else k), at_rank, 0.0))


def auc(rows: Grouped) -> PerUser:
    r"""The part of all (held-out, other) pairs that are in the right order.

    .. math::  \mathrm{AUC} = 1 - \frac{1}{m (N - m)} \sum_{j=1}^{m} (R_j - j)

    :math:`R_j - j` others stand above the item of rank :math:`R_j`: held-out items are not rivals
    of each other.
    """
    if rows.n_items is None:
        raise InvalidArgumentError("n_items", None, "given: auc counts the items below as well")
    N = rows.n_items[rows.first]
    uneven = rows.n_items != np.repeat(N, rows.size)
    if uneven.any():
        who = np.repeat(rows.users, rows.size)[np.argmax(uneven)]
        raise InvalidDataError(
            f"the rows of user {who} differ in n_items; held-out items of one user must be ranked "
            "among the same candidates to share a list"
        )
    others = N - rows.size
    if np.any(others < 1):
        who = rows.users[np.argmax(others < 1)]
        raise InvalidDataError(
            f"user {who} has no candidate that is not held out, so auc has no pair to compare; "
            "drop such users"
        )
    limit = np.repeat(others, rows.size)
    above = np.clip(rows.rank - rows.place, 0.0, limit)  # acts on tied ranks only
    return 1.0 - rows.sums(above) / (rows.size * others)
