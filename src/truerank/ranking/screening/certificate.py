r"""How likely a screen is to drop a target that is at the top, and stages for which it hardly is.

A target of rank R has R - 1 items above it. Of the first n places of N that its block meets, these
fill a hypergeometric number :math:`H_n(R)`, whoever else is excluded or held out: the places are a
uniform sample of the catalogue. The target is dropped at a stage of size n that lets
:math:`h` rivals above pass if :math:`H_n(R) > h`, so by Bonferroni it is dropped anywhere with
probability at most

.. math::  p(R) = \sum_j P(H_{n_j}(R) > h_j), \qquad
           P(H_n(R) = x) = \binom{n}{x}\binom{N-n}{R-1-x} \Big/ \binom{N}{R-1},

which grows with R. A screen is certified for k when :math:`p(k)` is at most ``miss``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from truerank.arrays import Float, Int
from truerank.ranking.stages import Stages

MOST_STAGES = 7
"""Stages tried; more save less than they cost in small products."""

FINER = 4
"""Sizes tried within each doubling."""

FIRST_PLACES = 64
"""Smallest first stage; below, a product is not worth its preparation."""

PREPARATION = 100.0
"""What a stage costs a row beside its products, in products: measured, roughly."""

LEAST_MISS = 1e-6
"""A budget that pays for less is not spent: nothing more would be learned."""

PARTS, WIDER = (0.2, 0.3, 0.5), 8
"""What a small budget is spent on, stage by stage, and how much larger the second is."""

TYPICAL_TOP = 10.0
"""Ranks of a typical model have density 1 / (R + this), up to the catalogue's end."""


def drop_probability(ranks: Int, n_items: int, stages: Stages) -> Float:
    """At most how likely a target of each rank is dropped; stages that end before N drop it.

    >>> two = Stages(np.array([50, 100]), np.array([1, 0]), np.array([1.0, 1.0]))
    >>> drop_probability(np.array([1, 2]), 100, two).round(9).tolist()  # a rival in the half met
    [0.0, 0.5]
    """
    total = np.zeros(len(ranks))
    if stages.sizes[-1] < n_items:
        return total + 1.0
    for j, size in enumerate(stages.sizes[:-1].tolist()):
        above = np.arange(int(ranks.max()))
        stops = 1.0 - stages.probability(j, above + 1)
        some = np.flatnonzero(stops > 0)
        total += _pmf(above[some][None, :], ranks[:, None] - 1, size, n_items) @ stops[some]
    return np.minimum(total, 1.0)


def certified_stages(k: int, miss: float, n_items: int, n_blocks: int) -> Stages:
    """Stages that drop a target of rank k or better with probability at most ``miss``.

    Of all ladders of sizes, a quarter of an octave apart, the one with the fewest products for a
    typical model; each stage may miss an equal part of ``miss``.
    """
    return plan_ladder(k, miss, n_items).stages(n_blocks)


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """Sizes of the stages, and what is expected of them for a typical model.

    Attributes:
        sizes: Places met by the end of each stage; the last are all.
        limits: Most rivals above a target that goes on, from each stage but the last.
        shares: The part of all rows that goes on from each stage but the last.
        cost: Products a row.
    """

    sizes: Int
    limits: Int
    shares: Float
    cost: float

    def stages(self, n_blocks: int) -> Stages:
        """The stages of these sizes and limits."""
        return Stages(self.sizes, np.append(self.limits + 1, 0), np.ones(len(self.sizes)), n_blocks)


def plan_ladder(k: int, miss: float, n_items: int) -> Ladder:
    """The cheapest ladder that drops rank k with probability at most ``miss``."""
    k, sizes, none = min(k, n_items), _ladder(n_items), np.empty(0)
    best = Ladder(np.array([max(2, n_items)]), none.astype(np.int64), none, float(n_items))
    if n_items <= PREPARATION:
        return best
    for n_partial in range(1, MOST_STAGES):
        limits = _limits(k, miss / n_partial, sizes, n_items)
        shares = _surviving(limits, sizes, n_items)
        cost, chosen = _cheapest(sizes, shares, n_items, n_partial)
        if cost < best.cost * 0.99:
            best = Ladder(np.append(sizes[chosen], n_items), limits[chosen], shares[chosen], cost)
    return best


def affordable_ladder(k: int, budget: float, n_items: int) -> Ladder:
    """The ladder with the smallest miss of rank k among those that cost no more than a budget.

    Where a budget does not pay for a screen that keeps half of the targets at rank k, it is spent
    in three parts: on everybody, on those who look best, on the whole catalogue for the best of
    these.
    """
    least, most = LEAST_MISS, 0.5
    best, found = plan_ladder(k, least, n_items), plan_ladder(k, most, n_items)
    if best.cost <= budget:
        return best
    if found.cost > budget:
        return _parts(budget, n_items)
    for _ in range(12):
        middle = math.sqrt(least * most)
        tried = plan_ladder(k, middle, n_items)
        if tried.cost > budget:
            least = middle
        else:
            most, found = middle, tried
    return found


def _parts(budget: float, n_items: int) -> Ladder:
    """The budget in parts: for a first stage, one that is WIDER times as large, and the rest."""
    if budget < FIRST_PLACES / PARTS[0]:
        only = np.array([max(2, min(int(budget), n_items))])
        return Ladder(only, np.empty(0, np.int64), np.empty(0), float(only[0]))
    first, middle, last = (part * budget for part in PARTS)
    sizes = np.array([int(first), min(WIDER * int(first), n_items // 2), n_items])
    if sizes[1] <= sizes[0]:
        sizes, shares = sizes[[0, 2]], np.array([(middle + last) / n_items])
    else:
        shares = np.array([middle / (sizes[1] - sizes[0]), last / n_items])
    anyone = np.full(len(shares), n_items)  # their ranks are not limited, only their number
    return Ladder(sizes, anyone, np.minimum(shares, 1.0), budget)


def _ladder(n_items: int) -> Int:
    """Sizes from half of the catalogue downwards, ascending."""
    n_steps = max(0, int(FINER * math.log2(max(1.0, n_items / 2 / FIRST_PLACES))))
    return np.unique((n_items / 2.0 ** (1 + np.arange(n_steps + 1) / FINER)).astype(np.int64))


def _limits(k: int, miss: float, sizes: Int, n_items: int) -> Int:
    """For each size the fewest rivals above that must pass, to drop rank k no more often."""
    pmf = _pmf(np.arange(k)[None, :], np.array(k - 1), sizes[:, None], n_items)
    beyond = np.cumsum(pmf[:, ::-1], axis=1)[:, ::-1] - pmf  # P(H > h)
    return np.asarray(np.argmax(beyond <= miss, axis=1))


def _surviving(limits: Int, sizes: Int, n_items: int) -> Float:
    """Share of the rows of a typical model that pass each size, if it were the only one."""
    edges = np.unique(np.geomspace(1, n_items, 200).astype(np.int64))
    mass = np.diff(np.log(edges + TYPICAL_TOP))
    middle = np.sqrt(edges[1:] * edges[:-1].astype(np.float64))
    part = np.minimum((middle[None, :] - 1) / n_items, 1.0)
    passing = special.bdtr(limits[:, None].astype(np.float64), sizes[:, None], part)
    return np.asarray(passing @ mass / mass.sum())


def _cheapest(sizes: Int, share: Float, n_items: int, n_partial: int) -> tuple[float, Int]:
    """The ladder of so many sizes with the fewest products a row, and how many these are."""
    n = len(sizes)
    # best[i]: of all ladders that end with size i, the cost up to it.
    best, back = sizes + PREPARATION, []
    for _ in range(n_partial - 1):
        step = best[:, None] + share[:, None] * (sizes[None, :] - sizes[:, None] + PREPARATION)
        step[np.tril_indices(n)] = np.inf
        back.append(np.argmin(step, axis=0))
        best = step.min(axis=0)
    total = best + share * (n_items + PREPARATION)
    last = int(np.argmin(total))
    chosen = [last]
    for before in reversed(back):
        chosen.append(int(before[chosen[-1]]))
    return float(total[last]), np.array(chosen[::-1])


def _pmf(x: Int, above: Int, size: int | Int, n_items: int) -> Float:
    """P(x of the items above are among ``size`` places of all)."""
    possible = (x <= above) & (x <= size) & (above - x <= n_items - size)
    log = (
        _log_choose(size, x) + _log_choose(n_items - size, above - x) - _log_choose(n_items, above)
    )
    return np.where(possible, np.exp(np.where(possible, log, 0.0)), 0.0)


def _log_choose(n: int | Int, x: Int) -> Float:
    x = np.clip(x, 0, n)
    return np.asarray(-special.betaln(n - x + 1.0, x + 1.0) - np.log1p(n))
