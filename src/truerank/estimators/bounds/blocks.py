"""Rows whose counts are one multinomial, for the sets of :mod:`.bounds`.

With a known design that is all rows. Without one, sizes are taken as assigned whatever the outcome,
and each size is a block; more than a dozen sizes share blocks with their neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.arrays import Float, Int
from truerank.errors import InvalidDataError
from truerank.estimators.problem import Problem
from truerank.ranking.stages import Stages

MOST_BLOCKS = 12
"""Foreign tables: sizes with bands of their own; more are pooled into neighbours."""

MOST_STRATA = 256
"""Distinct (n, N) whose likelihood is computed; more are pooled, r - 1 scaled along."""


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """Rows of one number of candidates and one schedule of sizes."""

    n_items: int
    stages: Stages
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Rows whose counts are one multinomial: cells belong to a stage, ranks are cut alike."""

    strata: list[Stratum]
    share: float
    stage: Int  # of each observed cell
    rank: Int
    seen: Float

    @property
    def depth(self) -> int:
        return max(len(stratum.stages.sizes) for stratum in self.strata)


def one_block(problem: Problem, shares: Float, stages: Stages) -> Block:
    """Everything is one block; numbers of candidates are pooled to few strata."""
    cells = problem.cells
    group, n_items = _pool(cells.n_items, shares, MOST_STRATA // 8)
    strata, stage, rank = [], np.empty(len(cells), dtype=np.int64), cells.rank.copy()
    for g, size in enumerate(n_items):
        inside = np.flatnonzero(group == g)
        n = cells.n_sampled[inside]
        if stages.n_blocks is not None:
            own = _of_candidates(stages, int(size))
            stage[inside], rank[inside] = _at_stages(own, n, cells.n_items[inside], rank[inside])
            strata.append(Stratum(int(size), own, float(shares[inside].sum())))
            continue
        own = stages.capped(int(size), replacement=cells.replacement)
        # A row that holds all its candidates ended at the last stage, whatever their number.
        at = np.where(n >= cells.n_items[inside], len(own.sizes) - 1, np.searchsorted(own.sizes, n))
        at = np.minimum(at, len(own.sizes) - 1)
        stage[inside] = at
        odd = (own.sizes[at] != n) & (at < len(own.sizes) - 1)
        if odd.any():
            raise InvalidDataError(
                f"a row has sample size {int(n[odd][0])}, where the design cannot end (its sizes: "
                f"{', '.join(map(str, own.sizes))}); pass the design of this table, or none"
            )
        strata.append(Stratum(int(size), own, float(shares[inside].sum())))
    return Block(strata, 1.0, stage, rank, shares)


def _of_candidates(stages: Stages, n_items: int) -> Stages:
    """Stages of places in the catalogue as sizes of samples: the candidates' part of the places."""
    part = n_items / max(int(stages.sizes[-1]), n_items)
    sizes = np.maximum(2, np.rint(stages.sizes * part).astype(np.int64))
    exact = stages.sizes[-1] >= n_items
    sizes[-1] = n_items if exact else min(int(sizes[-1]), n_items - 1)
    first = np.unique(sizes, return_index=True)[1]
    max_rank = stages.max_rank[first].copy()
    max_rank[-1] = 0
    return Stages(sizes[first], max_rank, stages.continue_prob[first])


def _at_stages(own: Stages, n: Int, n_items: Int, rank: Int) -> tuple[Int, Int]:
    """The stage whose size is nearest, which varies a little by user, and r - 1 scaled to it."""
    middle = np.sqrt(own.sizes[1:] * own.sizes[:-1].astype(np.float64))
    at = np.where(n >= n_items, len(own.sizes) - 1, np.searchsorted(middle, n))
    scaled = 1 + np.rint((rank - 1) * (own.sizes[at] - 1) / np.maximum(n - 1, 1))
    return at, np.where(n >= n_items, rank, scaled).astype(np.int64)


def block_for_each_size(problem: Problem, shares: Float) -> list[Block]:
    """A block for each size, neighbouring ones pooled; exact rows are a block of their own."""
    cells = problem.cells
    exact = cells.n_sampled >= cells.n_items
    blocks = []
    if shares[exact].sum() > 0:
        at, n_items = np.flatnonzero(exact), problem.grid.n_items
        blocks.append(_one_level(problem, shares, at, np.zeros(len(at), np.int64), [n_items]))
    at = np.flatnonzero(~exact & (shares > 0))
    if len(at) == 0:
        return blocks
    block, _ = _pool(cells.n_sampled[at], shares[at], MOST_BLOCKS)
    most = max(1, MOST_STRATA // (int(block.max()) + 1))
    for b in range(int(block.max()) + 1):
        own = at[block == b]
        stratum, sizes = _pool(cells.n_sampled[own], shares[own], most)
        blocks.append(_one_level(problem, shares, own, stratum, sizes.tolist()))
    return blocks


def _one_level(problem: Problem, shares: Float, at: Int, stratum: Int, sizes: list[int]) -> Block:
    """Cells at hand, each in a stratum of the given size: r - 1 is scaled to that size."""
    cells, strata = problem.cells, []
    total = float(shares[at].sum())
    rank = cells.rank[at].copy()
    for s, n in enumerate(sizes):
        inside = stratum == s
        own = at[inside]
        part = float(shares[own].sum())
        exact = bool((cells.n_sampled[own] >= cells.n_items[own]).all())
        n_items = n if exact else max(n + 1, round(_mean(cells.n_items[own], shares[own])))
        if not exact:
            scale = (n - 1) / np.maximum(cells.n_sampled[own] - 1, 1)
            rank[inside] = 1 + np.rint((rank[inside] - 1) * scale).astype(np.int64)
        only = Stages(np.array([n]), np.array([0]), np.array([1.0]))
        strata.append(Stratum(n_items, only, part / total))
    return Block(strata, total, np.zeros(len(at), np.int64), rank, shares[at])


def _pool(sizes: Int, weight: Float, most: int) -> tuple[Int, Int]:
    """Group of each size and the mean size of each group; at most ``most`` groups, geometric."""
    distinct, index = np.unique(sizes, return_inverse=True)
    if len(distinct) > most:
        span = np.log(distinct / distinct[0]) / np.log((distinct[-1] + 1) / distinct[0])
        _, merged = np.unique((span * most).astype(np.int64), return_inverse=True)
        index = merged[index]
    group = np.bincount(index, weights=weight) + 1e-300
    mean = np.bincount(index, weights=weight * sizes + 1e-300 * sizes) / group
    return index, np.rint(mean).astype(np.int64)


def _mean(sizes: Int, weight: Float) -> float:
    return float(sizes @ weight / weight.sum())
