"""Sorting (user, item) pairs, and making one row of the rows that repeat a pair."""

from __future__ import annotations

import numpy as np

from truerank.arrays import Float32, Int, Mask
from truerank.data.input_columns import DuplicateRule


def pair_order(rows: Int, columns: Int, n_columns: int) -> Int | None:
    """The order that sorts by row, then by column, then as the caller had it; None if it is so.

    Memory: 24 bytes per pair while it runs.
    """
    key = rows * n_columns + columns
    if not np.any(key[1:] < key[:-1]):
        return None
    if int(key.max()).bit_length() + len(key).bit_length() < 64:
        return _stable_order(key)
    order = _stable_order(columns)
    return order[_stable_order(rows[order])]


def _stable_order(key: Int) -> Int:
    # Sorting key and position as one word is stable, and several times faster than argsort.
    # Users and items are below 2**31, so 32 bits remain for the position.
    bits = len(key).bit_length()
    packed = key << bits
    packed |= np.arange(len(key))
    packed.sort()
    packed &= (1 << bits) - 1
    return packed


def merge_duplicates(
    rows: Int,
    columns: Int,
    weights: Float32 | None,
    times: Int | None,
    repeated: Mask,
    rule: DuplicateRule,
) -> tuple[Int, Int, Float32 | None, Int | None]:
    """One row per pair. Rows come sorted by pair, within a pair in the caller's order.

    Args:
        rows: Row of each pair, ascending.
        columns: Column of each pair, ascending within a row.
        weights: Weight of each pair, or None.
        times: Time of each pair, or None.
        repeated: ``repeated[k]`` says that pair ``k + 1`` is pair ``k`` again.
        rule: Which of them to keep, see :meth:`Interactions.from_arrays`.
    """
    first = np.flatnonzero(np.concatenate([[True], ~repeated]))
    last = np.concatenate([first[1:], [len(rows)]]) - 1
    order = _order_of_repeats(weights, times, repeated, by_weight=rule in ("sum", "max"))
    if order is not None:
        weights = None if weights is None else weights[order]
        times = None if times is None else times[order]
    at = first if rule == "first" else last
    merged: Float32 | None
    if rule == "sum":
        ones = np.ones(len(rows)) if weights is None else weights.astype(np.float64)
        merged = np.add.reduceat(ones, first).astype(np.float32)
    elif rule == "max" and weights is not None:
        merged = np.maximum.reduceat(weights, first)
    else:
        merged = None if weights is None else weights[at]
    return rows[at], columns[at], merged, None if times is None else times[at]


def _order_of_repeats(
    weights: Float32 | None,
    times: Int | None,
    repeated: Mask,
    *,
    by_weight: bool,
) -> Int | None:
    """Sorts the rows of each pair by time, equal times by weight, so that row order is no matter.

    Without times the caller's order is what "first" and "last" mean, and it is kept; a sum has
    its terms in the order of weights either way, because float addition is not associative.
    """
    keys: list[Float32 | Int] = []
    if weights is not None and (by_weight or times is not None):
        keys.append(weights)
    if times is not None:
        keys.append(times)
    if not keys:
        return None
    again = np.concatenate([[False], repeated])
    members = np.flatnonzero(again | np.concatenate([repeated, [False]]))
    group = np.cumsum(~again)
    order = np.arange(len(again))
    order[members] = members[np.lexsort([key[members] for key in (*keys, group)])]
    return order
