r"""Scores, compiled, and who beats whom.

**Which precision decides.** Scores from factors are products in float32, as fast as the
machine multiplies, and each lies within

.. math::  \varepsilon_{ui} = (d + 8)\, 2^{-24}\, \|x_u\| \|y_i\|

of the true value [higham2002]_. A rival further away than that is decided at once; one inside
is decided by the same dot product summed in float64 in one fixed order. Ranks are thus those
of float64 scores, bit for bit the same for every block size, thread count and BLAS. Scores
from an item-item matrix are summed in float64 in the order of the user's items. Scores from
foreign scorers are compared as they come.
"""

# ruff: noqa: ARG001  # numba asks for the arguments in a stub and in its overload alike
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from truerank.numerics.prefetch import prefetch_row
from truerank.numerics.ties import ABOVE, TIED_ABOVE, Ties, compare_to_target

UNDERFLOW = 1e-35
"""More than what float32 products can lose below their smallest number."""

STRETCH = 256
"""Rivals counted at a time: only a stretch that holds a near-tie is looked at twice."""

AHEAD = 8
"""Rivals whose rows are asked for before their turn; 8 and 16 were equally fast, 24 slower."""


class FactorArrays(NamedTuple):
    """Scores are dot products of rows of ``user`` and ``item``; float32 copies for speed."""

    user32: NDArray[np.float32]
    item32: NDArray[np.float32]
    user: NDArray[Any]
    item: NDArray[Any]
    error_bound: NDArray[np.float64]
    error_coefficient: NDArray[np.float64]
    item_norm: NDArray[np.float32]


class ListedItems(NamedTuple):
    """Items in the order in which they are counted: that of the catalogue, or any other.

    Attributes:
        vectors: Factors of the item at each place of the list.
        norms: Their lengths, a little overestimated.
        names: Its index.
    """

    vectors: NDArray[np.float32]
    norms: NDArray[np.float32]
    names: NDArray[np.int32]


class ItemItemArrays(NamedTuple):
    """Scores are sums of rows of a dense item-item matrix over the user's history."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    weights: NDArray[Any]
    row: NDArray[np.float64]
    owner: NDArray[np.int64]


class SparseItemItemArrays(NamedTuple):
    """The same with the item-item matrix in compressed sparse rows."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    w_indptr: NDArray[np.int64]
    w_indices: NDArray[np.int32]
    w_values: NDArray[Any]
    row: NDArray[np.float64]
    owner: NDArray[np.int64]


@njit(nogil=True, cache=True, fastmath=False)
def exact_dot(X: NDArray[Any], u: int, Y: NDArray[Any], i: int) -> float:
    """Row u of X times row i of Y, in float64 from left to right: the same bits everywhere.

    The option is given although it is the default: a kernel without it takes that of its caller.
    """
    total = 0.0
    for k in range(X.shape[1]):
        total += np.float64(X[u, k]) * np.float64(Y[i, k])
    return total


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def fast_dot(X: NDArray[np.float32], u: int, Y: NDArray[np.float32], i: int) -> np.float32:
    """The same in float32, in whatever order is fastest; good to within the error bound.

    Indexed in place: a view of a row would count references, and threads would fight for them.
    """
    total = np.float32(0.0)
    for k in range(X.shape[1]):
        total += X[u, k] * Y[i, k]
    return total


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def count_above_and_reached(
    X: NDArray[np.float32],
    u: int,
    Y: NDArray[np.float32],
    rivals: NDArray[np.int64],
    start: int,
    stop: int,
    last: int,
    low: np.float32,
    high: np.float32,
) -> tuple[int, int]:
    """How many of the rivals ``start..stop-1`` score above ``high``, and how many reach ``low``.

    Four at a time: the user's row is read once, and no sum waits for another. No branch: a wrong
    guess would stop the loads of the rivals to come, which end before ``last``.
    """
    above, reached = np.int64(0), np.int64(0)
    i, end, final = np.uint64(start), np.uint64(stop), np.uint64(last - 1)
    while i + np.uint64(4) <= end:
        for ahead in range(i + np.uint64(AHEAD), i + np.uint64(AHEAD + 4)):
            prefetch_row(Y, rivals[ahead if ahead < final else final])
        a, b = np.uint64(rivals[i]), np.uint64(rivals[i + np.uint64(1)])
        c, d = np.uint64(rivals[i + np.uint64(2)]), np.uint64(rivals[i + np.uint64(3)])
        s = t = v = w = np.float32(0.0)
        for k in range(X.shape[1]):
            x = X[u, k]
            s += x * Y[a, k]
            t += x * Y[b, k]
            v += x * Y[c, k]
            w += x * Y[d, k]
        above += (s > high) + (t > high) + (v > high) + (w > high)
        reached += (s >= low) + (t >= low) + (v >= low) + (w >= low)
        i += np.uint64(4)
    while i < end:
        score = fast_dot(X, u, Y, rivals[i])
        above += score > high
        reached += score >= low
        i += np.uint64(1)
    return int(above), int(reached)


@njit(nogil=True, cache=True)
def rounding_guard(own: float) -> float:
    """What rounding a score and its thresholds to float32 may add to the error bound."""
    return 2.0**-22 * abs(own) + UNDERFLOW


@njit(nogil=True, cache=True, fastmath=False)
def decide_near(
    scorer: FactorArrays,
    user: int,
    target: int,
    rivals: NDArray[np.int64],
    low: np.float32,
    high: np.float32,
    ties: Ties,
) -> tuple[int, int, int]:
    """How many rivals beat the target, tie, and tie above; from ``low`` to ``high`` exactly.

    All are counted anew: compiled here, ``fast_dot`` may round otherwise than where a near-tie
    was seen, and a rival at the edge would count twice or not at all.
    """
    own = exact_dot(scorer.user, user, scorer.item, target)
    better, tied, heads = 0, 0, 0
    for rival in rivals:
        score = fast_dot(scorer.user32, user, scorer.item32, rival)
        if score > high:
            better += 1
        elif score >= low:
            exact = exact_dot(scorer.user, user, scorer.item, rival)
            where = compare_to_target(rival, exact, target, own, ties, user)
            better += where == ABOVE
            tied += where & 1
            heads += where == TIED_ABOVE
    return better, tied, heads


# ---------------------------------------------------------------- scores of a few items


def count_among(
    scorer: Any,
    user: int,
    target: int,
    rivals: NDArray[np.int64],
    first: int,
    last: int,
    ties: Ties,
) -> tuple[int, int, int]:
    """How many of the rivals ``first..last-1`` beat the target, tie with it, and tie above it."""
    raise TypeError("compiled code only")  # pragma: no cover


@overload(count_among)
def _count_among(
    scorer: Any,
    user: Any,
    target: Any,
    rivals: Any,
    first: Any,
    last: Any,
    ties: Any,
) -> Any:
    kind = scorer.instance_class

    def by_factors(
        scorer: Any,
        user: Any,
        target: Any,
        rivals: Any,
        first: Any,
        last: Any,
        ties: Any,
    ) -> tuple[int, int, int]:
        user32, item32 = scorer.user32, scorer.item32
        # Both scores are rounded here, so they may differ by two error bounds and yet be equal.
        own, error_bound = fast_dot(user32, user, item32, target), 2.0 * scorer.error_bound[user]
        high, low = np.float32(own + error_bound), np.float32(own - error_bound)
        better, tied, heads = 0, 0, 0
        for start in range(first, last, STRETCH):
            stop = min(start + STRETCH, last)
            above, reached = count_above_and_reached(
                user32, user, item32, rivals, start, stop, last, low, high
            )
            if reached == above:
                better += above
            else:
                more = decide_near(scorer, user, target, rivals[start:stop], low, high, ties)
                better += more[0]
                tied += more[1]
                heads += more[2]
        return better, tied, heads

    def by_item_item(
        scorer: Any,
        user: Any,
        target: Any,
        rivals: Any,
        first: Any,
        last: Any,
        ties: Any,
    ) -> tuple[int, int, int]:
        # A whole row costs about as much as 1/16 of its entries picked at random.
        if 16 * (last - first) >= len(scorer.row) and scorer.owner[0] != user:
            fill_row(scorer, user)
        own = score_one(scorer, user, target)
        better, tied, heads = 0, 0, 0
        for i in range(first, last):
            score = score_one(scorer, user, rivals[i])
            where = compare_to_target(rivals[i], score, target, own, ties, user)
            better += where == ABOVE
            tied += where & 1
            heads += where == TIED_ABOVE
        return better, tied, heads

    return by_factors if kind is FactorArrays else by_item_item


def score_one(scorer: Any, user: int, item: int) -> float:
    """The score of one item, from the filled row where there is one."""
    raise TypeError("compiled code only")  # pragma: no cover


@overload(score_one)
def _score_one(scorer: Any, user: Any, item: Any) -> Any:
    def dense(scorer: Any, user: Any, item: Any) -> Any:
        if scorer.owner[0] == user:
            return scorer.row[item]
        total = 0.0
        for k in range(scorer.indptr[user], scorer.indptr[user + 1]):
            total += np.float64(scorer.values[k]) * np.float64(
                scorer.weights[scorer.indices[k], item]
            )
        return total

    def sparse(scorer: Any, user: Any, item: Any) -> Any:
        if scorer.owner[0] != user:
            fill_row(scorer, user)
        return scorer.row[item]

    return dense if scorer.instance_class is ItemItemArrays else sparse


def fill_row(scorer: Any, user: int) -> None:
    """Scores of all items for one user, summed in the order of the user's items."""
    raise TypeError("compiled code only")  # pragma: no cover


@overload(fill_row)
def _fill_row(scorer: Any, user: Any) -> Any:
    def dense(scorer: Any, user: Any) -> None:
        row = scorer.row
        row[:] = 0.0
        for k in range(scorer.indptr[user], scorer.indptr[user + 1]):
            value = np.float64(scorer.values[k])
            line = scorer.weights[scorer.indices[k]]
            for j in range(len(row)):
                row[j] += value * np.float64(line[j])
        scorer.owner[0] = user

    def sparse(scorer: Any, user: Any) -> None:
        row = scorer.row
        row[:] = 0.0
        for k in range(scorer.indptr[user], scorer.indptr[user + 1]):
            value = np.float64(scorer.values[k])
            item = scorer.indices[k]
            for m in range(scorer.w_indptr[item], scorer.w_indptr[item + 1]):
                row[scorer.w_indices[m]] += value * np.float64(scorer.w_values[m])
        scorer.owner[0] = user

    return dense if scorer.instance_class is ItemItemArrays else sparse


def fill_listed(scorer: Any, user: int, names: NDArray[np.int32], room: Any) -> None:
    """Scores of the named items for one user: the very sums of :func:`fill_row`."""
    raise TypeError("compiled code only")  # pragma: no cover


@overload(fill_listed)
def _fill_listed(scorer: Any, user: Any, names: Any, room: Any) -> Any:
    def dense(scorer: Any, user: Any, names: Any, room: Any) -> None:
        room[:] = 0.0
        for k in range(scorer.indptr[user], scorer.indptr[user + 1]):
            value = np.float64(scorer.values[k])
            line = scorer.weights[scorer.indices[k]]
            for j in range(len(names)):
                room[j] += value * np.float64(line[names[j]])

    def sparse(scorer: Any, user: Any, names: Any, room: Any) -> None:
        if scorer.owner[0] != user:
            fill_row(scorer, user)
        for j in range(len(names)):
            room[j] = scorer.row[names[j]]

    return dense if scorer.instance_class is ItemItemArrays else sparse
