r"""Who goes on from each level of an adaptive sample, so that a budget is kept.

The step from size :math:`n` to :math:`n'` may cost, per row of the whole table,

.. math::  B \, \frac{\log(n'/n)}{\log(N/n_0)}

scored items, so a row costs at most :math:`n_0 + B` on average, whatever the model. From each
level, rows that look like the top (rank 1, or an estimated rank :math:`rN/n` within ``top``) go
on, smallest ranks first; of the rank at which the budget runs out, each is kept with the same
probability. That rank and probability are found on a pilot, a few thousand rows chosen by
address, level by level, and then fixed for all rows: so a row still depends on nothing but itself
and the schedule, and blocks, threads and shards cannot change it. Dropping depends only on what
was seen and on chance, so the likelihood stands, and no weights are needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from truerank.ranking.designs import Adaptive, Levels

Int = NDArray[np.int64]
PILOT_ROWS = 4096

RunPilot = Callable[[Levels], tuple[Int, Int]]
"""Ranks and sample sizes of the pilot's rows under some levels."""


def scheduled_levels(design: Adaptive, n_items: int, run: RunPilot, *, n_rows: int) -> Levels:
    """The levels of the design, with who goes on so chosen that its budget holds.

    Args:
        design: The adaptive design.
        n_items: Number of candidates.
        run: Ranks the pilot.
        n_rows: Rows of the whole table; if the pilot is smaller, survivors are overestimated
            by one standard deviation, so that the budget is rarely overdrawn.
    """
    levels = design.levels(n_items)
    if design.spending is None:
        return levels
    sizes, go_on, keep = levels.sizes, levels.go_on.copy(), levels.keep.copy()
    for j in range(len(sizes) - 1):
        rank, size = run(Levels(sizes[: j + 1], np.append(go_on[:j], 0), keep[: j + 1]))
        alive = np.sort(rank[(size == sizes[j]) & (rank <= go_on[j])])
        # Of a few survivors in a pilot there may well be more in the table.
        doubt = math.sqrt(len(alive)) + 1.0 if len(rank) < n_rows else 0.0
        part = math.log(sizes[j + 1] / sizes[j]) / math.log(n_items / sizes[0])
        affordable = design.spending * part / float(sizes[j + 1] - sizes[j]) * len(rank)
        if len(alive) + doubt <= affordable:
            continue
        scale = (len(alive) + doubt) / max(len(alive), 1)
        last = int(alive[min(int(affordable / scale), len(alive) - 1)]) if len(alive) else 1
        before, at = scale * (alive < last).sum(), scale * (alive == last).sum()
        go_on[j] = last
        keep[j] = min(1.0, max(0.0, affordable - before) / max(at, doubt, 1e-9))
    return Levels(sizes, go_on, keep)
