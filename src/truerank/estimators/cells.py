"""What was observed: distinct (rank, n_sampled, n_items), each with its weight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from truerank.arrays import Float, Int
from truerank.errors import InvalidDataError
from truerank.ranking.grouping import group_triples

SIZE_STEP = 0.005
"""Numbers of candidates closer than this are pooled: they differ by user, the likelihood hardly."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """Distinct observations, ascending by size, with the weight of the rows that made them.

    Attributes:
        rank: Sampled rank.
        n_sampled: Size of the sample, the target included.
        n_items: Number of candidates.
        weight: Total weight of the rows of this cell.
        replacement: Whether rivals were drawn with replacement.
    """

    rank: Int
    n_sampled: Int
    n_items: Int
    weight: Float
    replacement: bool

    def __len__(self) -> int:
        return len(self.rank)

    @property
    def shares(self) -> Float:
        """Weights as parts of one."""
        total = self.weight.sum()
        if not total > 0:
            raise InvalidDataError("all weights are zero: there is nothing to estimate from")
        return np.asarray(self.weight / total)

    @property
    def largest(self) -> int:
        """Most candidates of any row."""
        return int(self.n_items.max())

    @property
    def typical(self) -> float | None:
        r"""The N for which auc, :math:`1 - (R - 1) / (N - 1)`, is the mean over rows that differ.

        :math:`1 / (N - 1)` is the weighted mean of theirs; None where all rows have as many.
        """
        if self.n_items.min() == self.n_items.max():
            return None
        with np.errstate(divide="ignore"):  # a row of one candidate: N = 1, which auc refuses
            return 1.0 + 1.0 / float((self.shares / (self.n_items - 1)).sum())

    def sizes(self) -> Iterator[tuple[int, int, slice]]:
        """Distinct (n_sampled, n_items), each with its run of cells."""
        new = np.ones(len(self), dtype=bool)
        new[1:] = (np.diff(self.n_sampled) != 0) | (np.diff(self.n_items) != 0)
        starts = np.flatnonzero(new)
        for start, stop in zip(starts, [*starts[1:], len(self)], strict=True):
            yield int(self.n_sampled[start]), int(self.n_items[start]), slice(start, stop)

    def reweighted(self, weight: Float) -> Cells:
        """The same cells with other weights."""
        return replace(self, weight=weight)


def cells_of(
    rank: Int, n_sampled: Int, n_items: Int, weight: Float, *, replacement: bool
) -> tuple[Cells, Int]:
    """Group rows into cells; also the cell of each row.

    Exact rows keep their number of candidates. Sampled rows whose numbers of candidates differ
    by less than half a per cent are pooled at their mean. If more than 20,000 cells remain,
    sample sizes are pooled as well, ever more coarsely, r - 1 being scaled along: with so many
    different sizes a cell holds a row or two, and the likelihood hardly sees the difference.
    """
    exact = n_sampled >= n_items
    pooled = n_items
    if n_items.min() < n_items.max():
        pooled = np.where(exact, n_items, np.maximum(_pool(n_items, SIZE_STEP), n_sampled + 1))
    triples, _, cell = group_triples(rank, n_sampled, pooled)
    step = SIZE_STEP
    while len(triples) > MOST_CELLS and step < 0.5:
        size = np.where(exact, n_sampled, np.minimum(_pool(n_sampled, step), pooled - 1))
        scaled = 1 + np.rint((rank - 1) * (size - 1) / np.maximum(n_sampled - 1, 1))
        triples, _, cell = group_triples(scaled.astype(np.int64), size, pooled)
        step *= 2
    first_rank, first_n, first_items = (np.ascontiguousarray(column) for column in triples.T)
    return (
        Cells(
            rank=first_rank,
            n_sampled=first_n,
            n_items=first_items,
            weight=np.bincount(cell, weights=weight, minlength=len(triples)).astype(np.float64),
            replacement=replacement,
        ),
        cell,
    )


MOST_CELLS = 20_000


def _pool(sizes: Int, step: float) -> Int:
    """Sizes replaced by the mean of those within the same geometric step."""
    group = np.floor(np.log(sizes) / np.log1p(step)).astype(np.int64)
    _, index = np.unique(group, return_inverse=True)
    mean = np.bincount(index, weights=sizes) / np.bincount(index)
    return np.asarray(np.rint(mean)[index], dtype=np.int64)
