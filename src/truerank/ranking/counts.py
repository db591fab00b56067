"""A table of ranks reduced to what estimators need: how often each distinct row occurs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]
Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Distinct (rank, n_sampled, n_items), ascending, each with its rows and weight.

    Counts of shards add up with :meth:`__add__`, in any order, to those of the whole.
    """

    rank: Int
    n_sampled: Int
    n_items: Int
    n_rows: Int
    weight: Float

    def __len__(self) -> int:
        return len(self.rank)

    def __add__(self, other: Counts) -> Counts:
        both = [
            np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("rank", "n_sampled", "n_items", "n_rows", "weight")
        ]
        return _group(*both)


def count_rows(rank: Int, n_sampled: Int, n_items: Int, weight: Float) -> Counts:
    """Rows reduced to their counts; O(rows log rows)."""
    return _group(rank, n_sampled, n_items, np.ones(len(rank), dtype=np.int64), weight)


def _group(rank: Int, n_sampled: Int, n_items: Int, n_rows: Int, weight: Float) -> Counts:
    order = np.lexsort((rank, n_sampled, n_items))
    keys = np.stack([rank, n_sampled, n_items])[:, order]
    new = np.ones(len(rank), dtype=bool)
    new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    first = np.flatnonzero(new)
    empty = len(first) == 0
    return Counts(
        rank=keys[0, first],
        n_sampled=keys[1, first],
        n_items=keys[2, first],
        n_rows=n_rows if empty else np.add.reduceat(n_rows[order], first),
        weight=weight if empty else np.add.reduceat(weight[order], first),
    )
