"""Cells: the distinct (rank, n_sampled, n_items) of a sample, sizes that hardly differ pooled."""

from __future__ import annotations

import numpy as np

from truerank.arrays import Float, Int
from truerank.ranking.counts import RankCounts
from truerank.ranking.grouping import group_triples
from truerank.ranking.header import Header

SIZE_STEP = 0.005
"""Numbers of candidates closer than this are pooled: they differ by user, the likelihood hardly."""


MOST_CELLS = 20_000


def cells_of(
    rank: Int,
    n_sampled: Int,
    n_items: Int,
    weight: Float,
    *,
    replacement: bool,
    n_rows: Int | None = None,
) -> tuple[RankCounts, Int]:
    """Group rows into cells; also the cell of each row.

    Exact rows keep their number of candidates. Sampled rows whose numbers of candidates differ
    by less than half a per cent are pooled at their mean. If more than 20,000 cells remain,
    sample sizes are pooled as well, ever more coarsely, r - 1 being scaled along: with so many
    different sizes a cell holds a row or two, and the likelihood hardly sees the difference.

    Args:
        rank: Sampled rank of each row.
        n_sampled: Its sample size.
        n_items: Its number of candidates.
        weight: Its weight.
        replacement: Whether rivals were drawn with replacement.
        n_rows: How many rows it stands for, 1 if not given.
    """
    exact = n_sampled >= n_items
    pooled = n_items
    if n_items.min() < n_items.max():
        near = _pool(n_items, SIZE_STEP, n_rows)
        pooled = np.where(exact, n_items, np.maximum(near, n_sampled + 1))
    triples, times, cell = group_triples(rank, n_sampled, pooled)
    step = SIZE_STEP
    while len(triples) > MOST_CELLS and step < 0.5:
        size = np.where(exact, n_sampled, np.minimum(_pool(n_sampled, step, n_rows), pooled - 1))
        scaled = 1 + np.rint((rank - 1) * (size - 1) / np.maximum(n_sampled - 1, 1))
        triples, times, cell = group_triples(scaled.astype(np.int64), size, pooled)
        step *= 2
    first_rank, first_n, first_items = (np.ascontiguousarray(column) for column in triples.T)
    if n_rows is not None:
        times = np.bincount(cell, n_rows, len(triples)).astype(np.int64)
    total = np.bincount(cell, weights=weight, minlength=len(triples)).astype(np.float64)
    return (
        RankCounts(
            rank=first_rank,
            n_sampled=first_n,
            n_items=first_items,
            n_targets=np.ones_like(times),
            n_rows=times,
            weight=total,
            squared_weight=total**2 / times,
            n_scored=first_n * times,
            bucket=None,
            header=Header(replacement=replacement),
        ),
        cell,
    )


def _pool(sizes: Int, step: float, n_rows: Int | None) -> Int:
    """Sizes replaced by the mean of those within the same geometric step."""
    group = np.floor(np.log(sizes) / np.log1p(step)).astype(np.int64)
    _, index = np.unique(group, return_inverse=True)
    total = sizes if n_rows is None else sizes * n_rows.astype(np.float64)
    mean = np.bincount(index, weights=total) / np.bincount(index, weights=n_rows)
    return np.asarray(np.rint(mean)[index], dtype=np.int64)
