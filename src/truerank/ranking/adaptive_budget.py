r"""Who goes on from each stage of an adaptive sample, so that a budget is kept.

Let :math:`C` be the mean number of items that may be scored per row. The step from size
:math:`n` to :math:`n'` may use, of what is left of it, the part

.. math::  \min\Bigl(1,\; 2\,\frac{\log(n'/n)}{\log(N/n)}\Bigr),

twice an even spread over the doublings to come: most steps need less. From each stage, rows that
look like the top (rank 1, or an estimated rank :math:`rN/n` within ``top``) go on, smallest ranks
first; of the rank at which the allowance runs out, each is kept with the same probability. Stages
below 100 are cheap and let everybody on.

Unless it is given, :math:`C` is what the dissertation's design would score on the same users,
:math:`100 + \sum n\, s(n)` over :math:`n = 100, 200, \dots, 1600`, where :math:`s(n)` is the share
of rows whose target is first among n, dropping undone. Stages not reached yet are taken to cost
what the last one did.

All this is found on a pilot, a few thousand rows chosen by address, stage by stage, and then fixed:
a row depends on nothing but itself and the plan, so blocks, threads and order cannot
change it. (A table ranked in separate jobs has a plan per job.) Dropping depends only on
what was seen and on chance, so the likelihood stands, and no weights are needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Int
from truerank.ranking.designs import Adaptive
from truerank.ranking.stages import Stages

PILOT_ROWS = 4096

FRONT = 2.0
"""How much more than an even part of what is left a step may use."""

PLAIN_START = 100
"""Where the dissertation's design starts; below, nobody is dropped."""

RunPilot = Callable[[Stages, Int], tuple[Int, Int]]
"""Ranks and sample sizes of some of the pilot's rows under some stages."""


def plan_sample_sizes(
    design: Adaptive, n_items: int, run: RunPilot, *, n_pilot: int, n_rows: int
) -> Stages:
    """The stages of the design, with who goes on so chosen that its budget holds.

    Args:
        design: The adaptive design.
        n_items: Number of candidates.
        run: Ranks rows of the pilot. Rows that stopped are not asked for again, so the pilot
            is scored about twice over.
        n_pilot: Rows of the pilot.
        n_rows: TargetRows of the whole table; if the pilot is smaller, survivors are overestimated
            by one standard deviation, so that the budget is rarely overdrawn.
    """
    stages = design.stages(n_items)
    if not design.limited:
        return stages
    sizes, max_rank = stages.sizes, stages.max_rank.copy()
    continue_prob = stages.continue_prob.copy()
    spent, kept, first_shares = float(sizes[0]), 1.0, []
    rank, size, going = np.empty(n_pilot, np.int64), np.empty(n_pilot, np.int64), np.arange(n_pilot)
    for j in range(len(sizes) - 1):
        so_far = Stages(sizes[: j + 1], np.append(max_rank[:j], 0), continue_prob[: j + 1])
        rank[going], size[going] = run(so_far, going)
        here, step = size == sizes[j], float(sizes[j + 1] - sizes[j])
        first_shares.append(float((here & (rank == 1)).mean()) / kept)
        alive = np.sort(rank[here & (rank <= max_rank[j])])
        # Of a few survivors in a pilot there may well be more in the table.
        spare = math.sqrt(len(alive)) + 1.0 if len(rank) < n_rows else 0.0
        expected = len(alive) + spare
        total = design.budget or plain_cost(sizes[: j + 1], np.array(first_shares))
        part = FRONT * math.log(sizes[j + 1] / sizes[j]) / math.log(n_items / sizes[j])
        affordable = max(0.0, total - spent) * min(1.0, part) / step * len(rank)
        if expected > affordable and (design.budget is not None or sizes[j] >= PLAIN_START):
            scale = expected / max(len(alive), 1)
            last = int(alive[min(int(affordable / scale), len(alive) - 1)]) if len(alive) else 1
            before, at = scale * (alive < last).sum(), scale * (alive == last).sum()
            max_rank[j] = last
            continue_prob[j] = min(1.0, max(0.0, affordable - before) / max(at, spare, 1e-9))
            expected = min(expected, affordable)
        spent += expected / len(rank) * step
        kept *= continue_prob[j] if max_rank[j] == 1 else 1.0
        going = np.flatnonzero(here & (rank <= max_rank[j]))
        if kept == 0.0 or len(going) == 0:
            break
    return Stages(sizes, max_rank, continue_prob)


def plain_cost(sizes: Int, first_shares: NDArray[np.float64]) -> float:
    """What doubling from 100 to 3200 while the target is first would score per row.

    Args:
        sizes: Stages reached so far.
        first_shares: Share of rows whose target is first at each.

    >>> plain_cost(np.array([100, 200, 400]), np.array([0.5, 0.2, 0.1]))  # 100 + 50 + 3 * 40 + ...
    310.0
    """
    total = float(PLAIN_START)
    for n in (100, 200, 400, 800, 1600):
        if n <= sizes[-1]:
            share = float(np.interp(math.log(n), np.log(sizes), first_shares))
        else:
            share = float(first_shares[-1]) * float(sizes[-1]) / n
        total += n * share
    return total
