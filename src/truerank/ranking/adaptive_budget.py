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

All this is found on a pilot, a few thousand rows chosen by address, stage by stage while their own
samples grow, and then fixed: what is scored for the plan is part of the table, and nothing is
scored twice. A row depends on nothing but itself and the plan, so blocks, threads and order cannot
change it. (A table ranked in separate jobs has a plan per job.) Dropping depends only on what was
seen and on chance, so the likelihood stands, and no weights are needed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Int
from truerank.ranking.designs import Adaptive

PILOT_ROWS = 4096

FRONT = 2.0
"""How much more than an even part of what is left a step may use."""

PLAIN_START = 100
"""Where the dissertation's design starts; below, nobody is dropped."""


class Budget:
    """The stages of a design with a budget, settled one after the other as a pilot grows.

    Attributes:
        stages: Those of the design. Who goes on is what the design allows at most, and from a stage
            that is settled what its budget does.
    """

    def __init__(self, design: Adaptive, n_items: int, *, n_pilot: int, n_rows: int) -> None:
        """No stage is settled yet.

        Args:
            design: The adaptive design.
            n_items: Number of candidates.
            n_pilot: Rows of the pilot.
            n_rows: Rows of the whole table; if the pilot is smaller, survivors are overestimated
                by one standard deviation, so that the budget is rarely overdrawn.
        """
        self.stages = design.stages(n_items)
        self._budget, self._n_items = design.budget, n_items
        self._n_pilot, self._whole = n_pilot, n_pilot == n_rows
        self._spent, self._kept = float(self.stages.sizes[0]), 1.0
        self._first_shares: list[float] = []
        self._done = False

    def settle(self, stage: int, rank: Int, size: Int) -> None:
        """Fix who goes on from a stage, by the ranks and sample sizes of the pilot's rows there."""
        if self._done:
            return
        sizes = self.stages.sizes
        here, step = size == sizes[stage], float(sizes[stage + 1] - sizes[stage])
        self._first_shares.append(float((here & (rank == 1)).mean()) / self._kept)
        alive = np.sort(rank[here & (rank <= self.stages.max_rank[stage])])
        # Of a few survivors in a pilot there may well be more in the table.
        spare = 0.0 if self._whole else math.sqrt(len(alive)) + 1.0
        expected = len(alive) + spare
        affordable = self._allowance(stage) / step * self._n_pilot
        given = self._budget is not None
        if expected > affordable and (given or sizes[stage] >= PLAIN_START):
            scale = expected / max(len(alive), 1)
            last = int(alive[min(int(affordable / scale), len(alive) - 1)]) if len(alive) else 1
            before, at = scale * (alive < last).sum(), scale * (alive == last).sum()
            self.stages.max_rank[stage] = last
            share = max(0.0, affordable - before) / max(at, spare, 1e-9)
            self.stages.continue_prob[stage] = min(1.0, share)
        last, share = self.stages.max_rank[stage], float(self.stages.continue_prob[stage])
        # What was kept in reserve and not needed is left to the stages to come.
        going = float((alive < last).sum() + share * (alive == last).sum())
        self._spent += going / self._n_pilot * step
        self._kept *= share if last == 1 else 1.0
        self._done = self._kept == 0.0 or not (here & (rank <= last)).any()

    def _allowance(self, stage: int) -> float:
        """What the step from a stage to the next may score per row."""
        sizes = self.stages.sizes
        total = self._budget or plain_cost(sizes[: stage + 1], np.array(self._first_shares))
        log_step = math.log(sizes[stage + 1] / sizes[stage])
        part = FRONT * log_step / math.log(self._n_items / sizes[stage])
        return max(0.0, total - self._spent) * min(1.0, part)


def plain_cost(sizes: Int, first_shares: NDArray[np.float64]) -> float:
    """What doubling from 100 to 3200 while the target is first would score per row.

    Args:
        sizes: Stages reached so far.
        first_shares: Share of rows whose target is first at each.

    >>> plain_cost(np.array([100, 200, 400]), np.array([0.5, 0.2, 0.1]))  # 100 + 50 + 3 * 40 + ...
    310.0
    """
    total, logs = float(PLAIN_START), np.log(np.maximum(first_shares, 1e-12))
    for n in (100, 200, 400, 800, 1600):
        if n <= sizes[-1]:
            share = float(np.exp(np.interp(math.log(n), np.log(sizes), logs)))
        else:
            share = float(first_shares[-1]) * float(sizes[-1]) / n
        total += n * share
    return total
