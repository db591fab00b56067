r"""What one positive pair meets in training: its input row and its negatives; compiled.

Every draw is addressed by (key of the epoch, position of the pair, number of the draw), as in
:mod:`truerank.numerics.streams`. A pair therefore meets the same negatives whichever thread asks,
and may be asked twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from truerank.data.interactions import Interactions
from truerank.numerics.sorted_rows import absent_item
from truerank.numerics.streams import below, mix, uniform, word

_NEGATIVES = np.uint64(0x5851F42D4C957F2D)  # sets the negatives apart from the dropout


class UserRows(NamedTuple):
    """The training data in compressed rows, items ascending in each."""

    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    values: NDArray[np.float64]
    user: NDArray[np.int32]  # of each interaction
    n_items: int

    @classmethod
    def of(cls, data: Interactions) -> UserRows:
        """The rows of these interactions, their weights or ones as values."""
        values = data.matrix(dtype=np.float64).data
        return cls(data.indptr, data.indices, values, data.users, data.n_items)


class PairRule(NamedTuple):
    """How a pair is trained on."""

    scale: float  # t of the objective
    dropout: float
    n_negatives: int
    remove_positive: bool
    zero_diagonal: bool


@njit(nogil=True, cache=True)
def draw_input(
    rows: UserRows,
    rule: PairRule,
    key: np.uint64,
    pair: int,
    items: NDArray[np.int64],
    x: NDArray[np.float64],
) -> int:
    """The user's row after dropout, and without the positive if the rule says so.

    What is kept grows by 1 / (1 - dropout), so that scores keep their expectation.

    Args:
        rows: The training data.
        rule: How a pair is trained on.
        key: Of the epoch.
        pair: Position of the positive pair in the data.
        items: Filled with the items that are left, ascending.
        x: Filled with their values.

    Returns:
        How many are left.
    """
    user = rows.user[pair]
    own, first, n = word(key, pair), rows.indptr[user], 0
    for at in range(first, rows.indptr[user + 1]):
        if rule.remove_positive and at == pair:
            continue
        if uniform(word(own, at - first)) >= rule.dropout:
            items[n] = rows.items[at]
            x[n] = rows.values[at] / (1.0 - rule.dropout)
            n += 1
    return n


@njit(nogil=True, cache=True)
def draw_targets(rows: UserRows, key: np.uint64, pair: int, targets: NDArray[np.int64]) -> None:
    """The positive item, then items that the user has not, uniformly and with replacement.

    The r-th absent item is found among the present ones by bisection: no draw is rejected, even
    for a user who has nearly everything.
    """
    user = rows.user[pair]
    first, last = rows.indptr[user], rows.indptr[user + 1]
    own = mix(word(key, pair) ^ _NEGATIVES)
    targets[0] = rows.items[pair]
    for i in range(1, len(targets)):
        r = below(word(own, i), rows.n_items - (last - first))
        targets[i] = absent_item(rows.items, first, last, r)
