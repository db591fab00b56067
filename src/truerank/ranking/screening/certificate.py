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

TYPICAL_TOP = 10.0
"""Ranks of a typical model have density 1 / (R + this), up to the catalogue's end."""


def drop_probability(ranks: Int, n_items: int, stages: Stages) -> Float:
    """At most how likely a target of each rank is dropped; stages that end before N drop it.

    >>> two = Stages(np.array([50, 100]), np.array([1, 0]), np.array([1.0, 1.0]))
    >>> drop_probability(np.array([1, 2]), 100, two).tolist()  # one rival, in the half that is met
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
    k, sizes = min(k, n_items), _ladder(n_items)
    best_cost, best = float(n_items), Stages(
        np.array([max(2, n_items)]), np.array([0]), np.array([1.0]), n_blocks
    )  # fmt: skip
    if n_items <= PREPARATION:
        return best
    for n_partial in range(1, MOST_STAGES):
        limits = np.array([_limit(k, miss / n_partial, n, n_items) for n in sizes.tolist()])
        share = _surviving(limits, sizes, n_items)
        cost, chosen = _cheapest(sizes, share, n_items, n_partial)
        if cost < best_cost * 0.99:
            best_cost = cost
            best = Stages(
                np.append(sizes[chosen], n_items),
                np.append(limits[chosen] + 1, 0),
                np.ones(len(chosen) + 1),
                n_blocks,
            )
    return best


def _ladder(n_items: int) -> Int:
    """Sizes from half of the catalogue downwards, ascending."""
    n_steps = max(0, int(FINER * math.log2(max(1.0, n_items / 2 / FIRST_PLACES))))
    return np.unique((n_items / 2.0 ** (1 + np.arange(n_steps + 1) / FINER)).astype(np.int64))


def _limit(k: int, miss: float, size: int, n_items: int) -> int:
    """The fewest rivals above that must pass, so that rank k is dropped no more often."""
    pmf = _pmf(np.arange(k), np.array(k - 1), size, n_items)
    beyond = np.append(np.cumsum(pmf[::-1])[::-1][1:], 0.0)  # P(H > h)
    return int(np.flatnonzero(beyond <= miss)[0])


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


def _pmf(x: Int, above: Int, size: int, n_items: int) -> Float:
    """P(x of the items above are among ``size`` places of all)."""
    possible = (x <= above) & (x <= size) & (above - x <= n_items - size)
    log = (
        _log_choose(size, x) + _log_choose(n_items - size, above - x) - _log_choose(n_items, above)
    )
    return np.where(possible, np.exp(np.where(possible, log, 0.0)), 0.0)


def _log_choose(n: int, x: Int) -> Float:
    x = np.clip(x, 0, n)
    return np.asarray(-special.betaln(n - x + 1.0, x + 1.0) - math.log1p(n))
