"""Stages of a sample that grows: its sizes, who goes on, and the one loop that follows them.

A sample of one size is one stage. A row that goes on from a stage keeps the rivals it has met and
meets more of them, up to the size of the next stage or all that its user has. What it has met is
its :class:`SampleState`: with that it can stop after any stage and go on later, and no rival is
scored twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Float, Int
from truerank.deprecation import renamed_parameters
from truerank.numerics.jit import strict


@renamed_parameters(go_on="max_rank", keep="continue_prob")
@dataclass(frozen=True, slots=True)
class Stages:
    """Sample sizes, and who goes on from each.

    From stage ``j``, rows of rank below ``max_rank[j]`` go on to stage ``j + 1``, and rows of rank
    ``max_rank[j]`` with probability ``continue_prob[j]``.

    Attributes:
        sizes: Sample sizes, the target included, ascending.
        max_rank: Largest rank that may go on, 0 for none.
        continue_prob: Probability of that rank to go on.
        n_blocks: Blocks of users that meet the same rivals, None where every row has its own. The
            sizes are then those of a part of the catalogue, of which a row meets its candidates.
    """

    sizes: Int
    max_rank: Int
    continue_prob: Float
    n_blocks: int | None = None

    def describe(self) -> dict[str, Any]:
        """Plain values, for the header of the table, under the names that files have for them."""
        blocks = {} if self.n_blocks is None else {"blocks": self.n_blocks}
        return {
            "sizes": self.sizes.tolist(),
            "go_on": self.max_rank.tolist(),
            "keep": self.continue_prob.tolist(),
            **blocks,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The stages back from plain values."""
        return cls(
            np.array(values["sizes"], np.int64),
            np.array(values["go_on"], np.int64),
            np.array(values["keep"], np.float64),
            values.get("blocks"),
        )

    def capped(self, n_candidates: int, *, replacement: bool) -> Stages:
        """The stages that a row with so many candidates can reach; the last one stops."""
        least = 2 if replacement else 1
        most = max(int(most_rivals(np.asarray(n_candidates), replacement)) + 1, least)
        enough = np.flatnonzero(self.sizes >= most)
        last = int(enough[0]) if len(enough) else len(self.sizes) - 1
        max_rank = self.max_rank[: last + 1].copy()
        max_rank[-1] = 0
        sizes = np.minimum(self.sizes[: last + 1], most)
        return Stages(sizes, max_rank, self.continue_prob[: last + 1])

    def probability(self, stage: int, rank: Int) -> Float:
        """The probability to go on from a stage with each sampled rank."""
        last = self.max_rank[stage]
        return np.where(rank < last, 1.0, np.where(rank == last, self.continue_prob[stage], 0.0))


def most_rivals(n_candidates: Int, replacement: bool) -> Int:
    """The most rivals to draw for rows with so many candidates, the target among them.

    All of them mean an exact rank, which repeated draws never are.
    """
    return np.asarray(n_candidates - (2 if replacement else 1))


class SampleState(NamedTuple):
    """What rows have met so far: arrays of one length, which the kernels read and write.

    Attributes:
        better: Rivals that beat the target.
        tied: Rivals that tie with it.
        heads: Those of them that stand above it by their coin.
        drawn: Rivals met.
        scored: Pairs scored to get here.
    """

    better: Int
    tied: Int
    heads: Int
    drawn: Int
    scored: Int

    @classmethod
    def new(cls, n_rows: int) -> SampleState:
        """Rows that have met nobody."""
        return cls(*np.zeros((len(cls._fields), n_rows), np.int64))

    def take(self, rows: Int | slice) -> SampleState:
        """A copy for some of the rows."""
        return SampleState(*(np.array(column[rows]) for column in self))

    def put(self, rows: Int | slice, state: SampleState) -> None:
        """Write the state of some of the rows."""
        for mine, theirs in zip(self, state, strict=True):
            mine[rows] = theirs


@strict
def goes_on(rank: int, max_rank: int, continue_prob: float, chance: float) -> bool:
    """Whether a row goes on from a stage: ``chance < Stages.probability``, compiled."""
    return rank < max_rank or (rank == max_rank and chance < continue_prob)


def follow_stages(
    stages: Stages,
    n_candidates: Int,
    replacement: bool,
    meet: Callable[[NDArray[Any], Int, Int], Int],
    chance: Callable[[int, NDArray[Any]], Float],
    *,
    drawn: Int | None = None,
    settle: Callable[[int, Int, Int], None] | None = None,
) -> tuple[Int, Int]:
    """Rank and sample size of each row, all rows of a stage together.

    The kernels go through the stages in the same way, a row at a time
    (:func:`truerank.ranking.backends.rank_kernels.rank_sampled`).

    Args:
        stages: Sizes, and who goes on.
        n_candidates: Of each row.
        replacement: Whether rivals are drawn with replacement.
        meet: Called with rows, the number of rivals that each has met and the number it is to have
            met after; gives their ranks. All have met equally many, those of the stages before.
        chance: Called with a stage and rows: a uniform number for each, which decides.
        drawn: Rivals that each row has met before the first stage; none if not given.
        settle: Called after each stage but the last with the stage and the ranks and sample sizes
            of all rows, before anybody goes on: a plan made on the way fills in ``stages``.
    """
    most = most_rivals(n_candidates, replacement)
    rank = np.ones(len(most), np.int64)
    drawn = np.zeros(len(most), np.int64) if drawn is None else drawn.copy()
    active = np.arange(len(most))
    for stage, size in enumerate(stages.sizes):
        wanted = np.minimum(size - 1, most[active])
        if len(active):
            rank[active] = meet(active, drawn[active], wanted)
        elif settle is None:
            break
        drawn[active] = wanted
        if settle is not None and stage < len(stages.sizes) - 1:
            settle(stage, rank, drawn + 1)
        going = chance(stage, active) < stages.probability(stage, rank[active])
        active = active[going & (wanted < most[active])]
    return rank, drawn + 1
