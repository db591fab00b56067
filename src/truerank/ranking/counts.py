"""A table of ranks reduced to what estimators need: how often each distinct row occurs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.arrays import Float, Int
from truerank.ranking.grouping import count_triples, group_triples


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
    """Rows reduced to their counts, in one pass."""
    if len(weight) and np.all(weight == 1.0):
        triples, counts = count_triples(rank, n_sampled, n_items)
        return _counts(triples, counts, counts.astype(np.float64))
    return _group(rank, n_sampled, n_items, np.ones(len(rank), dtype=np.int64), weight)


def _group(rank: Int, n_sampled: Int, n_items: Int, n_rows: Int, weight: Float) -> Counts:
    triples, _, group = group_triples(rank, n_sampled, n_items)
    rows = np.zeros(len(triples), np.int64)
    np.add.at(rows, group, n_rows)
    # Weights are added in ascending order: the same bits whatever the order of the rows.
    order = np.lexsort((weight, group))
    total = np.bincount(group[order], weights=weight[order], minlength=len(triples))
    return _counts(triples, rows, total.astype(np.float64))


def _counts(triples: Int, n_rows: Int, weight: Float) -> Counts:
    rank, n_sampled, n_items = (np.ascontiguousarray(column) for column in triples.T)
    return Counts(rank=rank, n_sampled=n_sampled, n_items=n_items, n_rows=n_rows, weight=weight)
