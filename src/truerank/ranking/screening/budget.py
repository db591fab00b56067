"""A screen for a price: who goes on is settled on the first rows, so that a budget is kept.

A ladder of stages is planned for a typical model (:func:`.affordable_ladder`), with the part of all
rows that goes on from each stage. What ranks these parts have differs by model, so it is read off
a pilot: the rows of the first blocks, a few thousand. They go through the stages together, the
limit of a stage is set before anybody goes on from it, and all other rows follow the finished plan.
The pilot's rows are rows of the table, and nothing is scored twice. Who goes on depends only on
what was seen and on chance, so the likelihood stands.
"""

from __future__ import annotations

import time

import numpy as np

from truerank.arrays import Int
from truerank.execution import available_cores
from truerank.ranking.backends.base import Backend
from truerank.ranking.rows import TargetRows
from truerank.ranking.screening.certificate import Ladder
from truerank.ranking.stages import Stages

PILOT_ROWS = 2048

TIMED_USERS = 128
"""Users ranked in full to learn how fast this machine scores, after a few to get going."""

WARM_USERS = 8


class ScreenBudget:
    """The stages of a ladder, whose limits are settled one after the other.

    Attributes:
        stages: Those of the ladder; where a stage is settled, with limits that the budget pays.
    """

    def __init__(self, ladder: Ladder, n_blocks: int, budget: float) -> None:
        """No stage is settled yet."""
        self.stages: Stages = ladder.stages(n_blocks)
        self._most = self.stages.max_rank.copy()
        self._steps = np.diff(ladder.sizes).astype(np.float64)
        if len(self._steps):
            self._steps[-1] = ladder.sizes[-1]  # the last stage ranks anew
        self._shares, self._left = ladder.shares, budget - float(ladder.sizes[0])

    def settle(self, stage: int, rank: Int, n_rows: int) -> None:
        """Fix who goes on from a stage, by the ranks there of all rows that came so far.

        The part of all rows that goes on is the ladder's, times what is left of the budget over
        what the ladder would still spend; but no rank beyond the ladder's own limit goes on. Of the
        rank at which the part runs out, each goes on with the same probability.
        """
        if stage >= len(self._shares):
            return
        to_come = float(self._shares[stage:] @ self._steps[stage:])
        part = min(1.0, float(self._shares[stage]) * self._left / max(to_come, 1e-9))
        alive, wanted = np.sort(rank), part * n_rows
        last = int(alive[min(int(wanted), len(alive) - 1)])
        before, at = int((alive < last).sum()), int((alive == last).sum())
        chance = float(np.clip((wanted - before) / at, 0.0, 1.0))
        if last > self._most[stage]:
            last, chance = int(self._most[stage]), 1.0
            before, at = int((alive < last).sum()), int((alive == last).sum())
        self.stages.max_rank[stage], self.stages.continue_prob[stage] = last, chance
        self._left -= (before + chance * at) / n_rows * float(self._steps[stage])


def affordable(
    backend: Backend, rows: TargetRows, seconds: float, n_users: int
) -> tuple[float, TargetRows, Int]:
    """Items a user that can be scored in so many seconds, to two digits; found by ranking a few.

    Returns:
        The budget, the rows that were ranked in full for it, and their ranks.
    """
    _, starts = rows.grouped()
    cuts = [int(starts[min(n, len(starts) - 1)]) for n in (0, WARM_USERS, WARM_USERS + TIMED_USERS)]
    ranks = [backend.full(rows.part(0, cuts[1]))]
    begun = time.perf_counter()
    timed = min(TIMED_USERS, len(starts) - 1 - WARM_USERS)
    if cuts[2] > cuts[1]:
        ranks.append(backend.full(rows.part(cuts[1], cuts[2])))
    else:
        begun, timed = begun - 1e-3, 1  # so few users that any budget will do
    cores = available_cores() if backend.releases_lock else 1
    rate = cores * timed * backend.n_items / max(time.perf_counter() - begun, 1e-6)
    budget = float(f"{max(1.0, seconds * rate / n_users):.2g}")
    return budget, rows.part(0, cuts[2]), np.concatenate(ranks)
