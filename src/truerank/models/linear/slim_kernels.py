"""Coordinate descent for SLIM, compiled: one column at a time, on small sets of coordinates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from truerank.numerics.top import extended, keep_largest

FIRST = 64
"""Weights in the first working set; later ones take in as many as have been found so far."""

MOST_ROUNDS = 1000
"""Working sets per column, and sweeps over one, at most; real data need about 6 and 30."""


class GramRows(NamedTuple):
    """The matrix by rows and by columns, and the rows of its Gram matrix that are kept.

    Attributes:
        user_indptr: Items of user u are ``user_items[user_indptr[u] : user_indptr[u + 1]]``.
        user_items: Item of each entry, by user.
        user_values: Value of each entry, by user.
        item_indptr: Users of item i are ``item_users[item_indptr[i] : item_indptr[i + 1]]``.
        item_users: User of each entry, by item.
        item_values: Value of each entry, by item.
        kept: Rows of X'X of the items that are expensive to compute.
        slot: Which row of ``kept`` an item has, -1 for none.
        diagonal: Diagonal of X'X.
    """

    user_indptr: NDArray[Any]
    user_items: NDArray[Any]
    user_values: NDArray[np.float64]
    item_indptr: NDArray[Any]
    item_users: NDArray[Any]
    item_values: NDArray[np.float64]
    kept: NDArray[np.floating[Any]]
    slot: NDArray[np.int64]
    diagonal: NDArray[np.float64]


@njit(nogil=True, cache=True, error_model="numpy")
def solve_columns(
    start: int,
    stop: int,
    data: GramRows,
    l1: float,
    l2: float,
    nonnegative: bool,
    screen: bool,
    tol: float,
    k: int,
    room: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], float]:
    """Weights of columns start..stop-1: how many, of which items, and the largest step left.

    ``screen`` says that neither data nor weights are negative, ``k`` how many weights to keep,
    ``room`` how many entries of the Gram matrix a thread may hold for one column.

    Where most items are candidates and all rows of X'X are kept, these rows are used as they
    are. Otherwise rows of members of the working set are stored at the candidates only.
    """
    n = len(data.diagonal)
    item, place = np.empty(n, np.int64), np.full(n, -1, np.int64)
    r, w, diagonal = np.empty(n), np.empty(n), np.empty(n)
    product, gain, mover = np.empty(n), np.empty(n), np.empty(n, np.int64)
    is_member, member = np.zeros(n, np.bool_), np.empty(n, np.int64)
    gram = np.empty((2 * FIRST, 2 * FIRST), data.kept.dtype)
    store = np.empty(4096, data.kept.dtype)
    counts = np.zeros(stop - start, np.int64)
    items, values = np.empty(64 * (stop - start), np.int32), np.empty(64 * (stop - start))
    filled, step_left = 0, 0.0
    for column in range(start, stop):
        fill_row(data, column, product)
        size = _choose(data, column, product, screen, l1, item)
        whole = len(data.kept) == n and 4 * size > n
        if whole:
            # Every item has its place; who is not a candidate has no diagonal, and never moves.
            for i in range(n):
                diagonal[i] = 0.0
            for c in range(size):
                diagonal[item[c]] = data.diagonal[item[c]]
            size = n
            for i in range(n):
                item[i], r[i] = i, product[i]
        else:
            for c in range(size):
                r[c], diagonal[c], place[item[c]] = product[item[c]], data.diagonal[item[c]], c
        for c in range(size):
            w[c] = 0.0
        members, found, largest = 0, 0, 0.0
        most = max(1, min(size, room // max(size, 1)))
        for _ in range(MOST_ROUNDS):
            movers, largest = 0, 0.0
            for c in range(size):
                if diagonal[c] > 0.0:
                    total = diagonal[c] + 2.0 * l2
                    best = _minimiser(r[c] + diagonal[c] * w[c], l1, total, nonnegative)
                    step = abs(best - w[c])
                    largest = max(largest, step)
                    if step > 0.0 and not is_member[c]:
                        gain[movers], mover[movers] = total * step * step, c
                        movers += 1
            if largest <= tol:
                break
            if members == most:  # full: a new set, and the weights of the old one stay
                for a in range(members):
                    is_member[member[a]] = False
                members = 0
                continue
            more = keep_largest(gain, mover, movers, min(max(FIRST, found), most - members))
            if members + more > len(gram):
                gram = _larger(gram, members, 2 * (members + more))
            if not whole and (members + more) * size > len(store):
                store = extended(store, 2 * (members + more) * size)
            for m in range(more):
                member[members], is_member[mover[m]] = mover[m], True
                slot = data.slot[item[mover[m]]]
                row = data.kept[slot] if whole else store[members * size : (members + 1) * size]
                if not whole:
                    _fill_at(data, item[mover[m]], item[:size], place, row)
                members += 1
                for b in range(members):
                    gram[members - 1, b] = gram[b, members - 1] = row[member[b]]
            fine = max(0.25 * tol, 0.1 * largest)
            steps, found = _descend(
                member[:members], r, w, diagonal, gram, l1, l2, nonnegative, fine
            )
            for a in range(members):
                if steps[a] != 0.0:
                    slot = data.slot[item[member[a]]]
                    row = data.kept[slot] if whole else store[a * size : (a + 1) * size]
                    for c in range(size):
                        r[c] -= steps[a] * row[c]
        step_left = max(step_left, largest)
        for a in range(members):
            is_member[member[a]] = False
        kept = 0
        for c in range(size):
            place[item[c]] = -1
            if w[c] != 0.0:
                gain[kept], mover[kept] = abs(w[c]), item[c]
                product[item[c]] = w[c]
                kept += 1
        kept = keep_largest(gain, mover, kept, k)
        if filled + kept > len(items):
            longer = max(2 * len(items), filled + kept)
            items, values = extended(items, longer), extended(values, longer)
        for m in range(kept):
            items[filled + m], values[filled + m] = mover[m], product[mover[m]]
        counts[column - start] = kept
        filled += kept
    return counts, items[:filled].copy(), values[:filled].copy(), step_left


@njit(nogil=True, cache=True)
def _choose(
    data: GramRows,
    column: int,
    product: NDArray[np.float64],
    screen: bool,
    l1: float,
    item: NDArray[np.int64],
) -> int:
    """The items that may get a weight in this column; how many.

    Without negative products, residuals only fall from their start X'x: what is not above l1
    there will never get a weight.
    """
    size = 0
    for i in range(len(product)):
        item[size] = i
        allowed = (i != column) & (data.diagonal[i] > 0.0)
        size += allowed & ((not screen) | (product[i] > l1))
    return size


@njit(nogil=True, cache=True, error_model="numpy")
def _descend(
    some: NDArray[np.int64],
    residual: NDArray[np.float64],
    weight: NDArray[np.float64],
    diagonals: NDArray[np.float64],
    gram: NDArray[Any],
    l1: float,
    l2: float,
    nonnegative: bool,
    tol: float,
) -> tuple[NDArray[np.float64], int]:
    """Lower the objective over some weights, the others fixed.

    Sweeps end when no step is larger than ``tol``; steps below a tenth of it are not worth the
    update of all residuals, and are left for a finer round.

    Returns:
        By how much each weight has moved, for the caller to update ``residual``; and how many
        of these weights are not 0.
    """
    w, r, diagonal = np.empty(len(some)), np.empty(len(some)), np.empty(len(some))
    for a in range(len(some)):
        w[a], r[a], diagonal[a] = weight[some[a]], residual[some[a]], diagonals[some[a]]
    for _ in range(MOST_ROUNDS):
        largest = 0.0
        for a in range(len(w)):
            best = _minimiser(r[a] + diagonal[a] * w[a], l1, diagonal[a] + 2.0 * l2, nonnegative)
            step = best - w[a]
            if abs(step) > 0.1 * tol:
                w[a] = best
                largest = max(largest, abs(step))
                row = gram[a]
                for b in range(len(w)):
                    r[b] -= step * row[b]
        if largest <= tol:
            break
    found = 0
    for a in range(len(some)):
        before, weight[some[a]] = weight[some[a]], w[a]
        found += w[a] != 0.0
        w[a] -= before
    return w, found


@njit(nogil=True, cache=True, error_model="numpy")
def _minimiser(pull: float, l1: float, total: float, nonnegative: bool) -> float:
    """Of l1 |w| + total w^2 / 2 - pull w, over all w or those from 0."""
    if pull > l1:
        return (pull - l1) / total
    if pull < -l1 and not nonnegative:
        return (pull + l1) / total
    return 0.0


@njit(nogil=True, cache=True)
def _fill_at(
    data: GramRows,
    item: int,
    wanted: NDArray[np.int64],
    place: NDArray[np.int64],
    row: NDArray[Any],
) -> None:
    """A row of X'X at the wanted items, whose places are known."""
    slot = data.slot[item]
    if slot >= 0:
        kept = data.kept[slot]
        for c in range(len(wanted)):
            row[c] = kept[wanted[c]]
        return
    row[:] = 0.0
    for at in range(data.item_indptr[item], data.item_indptr[item + 1]):
        user, value = data.item_users[at], data.item_values[at]
        for there in range(data.user_indptr[user], data.user_indptr[user + 1]):
            c = place[data.user_items[there]]
            if c >= 0:
                row[c] += value * data.user_values[there]


@njit(nogil=True, cache=True)
def fill_row(data: GramRows, item: int, row: NDArray[np.float64]) -> None:
    """A whole row of X'X."""
    slot = data.slot[item]
    if slot >= 0:
        for i in range(len(row)):
            row[i] = data.kept[slot, i]
        return
    row[:] = 0.0
    for at in range(data.item_indptr[item], data.item_indptr[item + 1]):
        user, value = data.item_users[at], data.item_values[at]
        for there in range(data.user_indptr[user], data.user_indptr[user + 1]):
            row[data.user_items[there]] += value * data.user_values[there]


@njit(nogil=True, cache=True)
def fill_gram_rows(data: GramRows, items: NDArray[np.int64], out: NDArray[Any]) -> None:
    """Rows of X'X of some items."""
    row = np.empty(out.shape[1])
    for k in range(len(items)):
        fill_row(data, items[k], row)
        for i in range(len(row)):
            out[k, i] = row[i]


@njit(nogil=True, cache=True)
def _larger(gram: NDArray[Any], n: int, size: int) -> NDArray[Any]:
    """A larger square with the same corner."""
    copy = np.empty((size, size), gram.dtype)
    for a in range(n):
        for b in range(n):
            copy[a, b] = gram[a, b]
    return copy
