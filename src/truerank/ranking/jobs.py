"""One ranking job as pure tasks over blocks of rows, for any executor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.arrays import Int
from truerank.execution import available_cores
from truerank.ranking.backends.base import Backend
from truerank.ranking.designs import Adaptive, Full, Given, Sampled
from truerank.ranking.rows import Rows
from truerank.ranking.stages import Stages

RowDesign = Full | Sampled | Adaptive | Given
"""The designs that rank a row; Users only chooses rows."""


@dataclass(frozen=True, slots=True, eq=False)
class RankJob:
    """All rows to rank, ascending by user, with the backend and the design.

    ``stages`` are those of a sampled design, planned before the job begins.
    """

    rows: Rows
    backend: Backend
    design: RowDesign
    stages: Stages | None = None

    def blocks(self) -> list[tuple[int, int]]:
        """Row ranges of about ``users_per_block`` whole users each."""
        _, starts = self.rows.grouped()
        step = self.backend.users_per_block
        if not isinstance(self.design, Full):
            step *= 8  # a sampled row is cheap: fewer, larger tasks
        # Every core gets several blocks, so that none waits long for the last one.
        step = min(step, max(64, -(-(len(starts) - 1) // (2 * available_cores()))))
        cuts = [int(starts[k]) for k in range(0, len(starts) - 1, step)]
        return list(zip(cuts, [*cuts[1:], len(self.rows)], strict=True))

    def run(self, start: int, stop: int) -> tuple[Int, Int]:
        """Ranks and sample sizes of the rows of one block: pure, so it may run anywhere."""
        rows = self.rows.part(start, stop)
        match self.design:
            case Full():
                return self.backend.full(rows), rows.n_candidates.copy()
            case Given():
                indptr = self.design.indptr[start : stop + 1]
                negatives = self.design.items[indptr[0] : indptr[-1]]
                ranks = self.backend.given(rows, indptr - indptr[0], negatives)
                return ranks, np.diff(indptr) + 1
            case Sampled() | Adaptive():
                stages = self.stages or self.design.stages(self.backend.n_items)
                return self.backend.sampled(rows, stages, self.design.replacement)
