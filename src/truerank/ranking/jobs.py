"""One ranking job as pure tasks over blocks of rows, for any executor.

An executor outside this process finds the job in a folder: arrays laid down once and
memory-mapped by whoever works on them, never sent.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Int
from truerank.errors import InvalidArgumentError
from truerank.execution import available_cores
from truerank.files import readable_errors
from truerank.ranking.backends.base import Backend
from truerank.ranking.backends.factors import FactorBackend
from truerank.ranking.backends.item_item import ItemItemBackend
from truerank.ranking.designs import (
    Adaptive,
    FixedNegatives,
    Full,
    Sampled,
    Screened,
    design_from_dict,
)
from truerank.ranking.rows import TargetRows
from truerank.ranking.screening.screened_ranks import Screen, rank_screened
from truerank.ranking.stages import SampleState, Stages

RowDesign = Full | Sampled | Adaptive | Screened | FixedNegatives
"""The designs that rank a row; Users only chooses rows."""


Arrays = dict[str, NDArray[Any]]
BACKENDS: dict[str, type[FactorBackend | ItemItemBackend]] = {
    "factors": FactorBackend,
    "item-item": ItemItemBackend,
}


class Ranked(NamedTuple):
    """What became of some rows.

    Attributes:
        rank: Rank of each.
        size: Among how many, itself included.
        scored: Pairs scored for it.
    """

    rank: Int
    size: Int
    scored: Int

    @classmethod
    def empty(cls, n_rows: int) -> Ranked:
        """Room for so many rows."""
        return cls(*np.empty((len(cls._fields), n_rows), np.int64))

    def put(self, rows: Int | slice, ranked: Ranked) -> None:
        """Write what became of some of the rows."""
        for mine, theirs in zip(self, ranked, strict=True):
            mine[rows] = theirs


@dataclass(frozen=True, slots=True, eq=False)
class RankJob:
    """All rows to rank, ascending by user, with the backend and the design.

    ``stages`` are those of a sampled design. Where a ``state`` is given, samples go on from it and
    leave in it where they ended; such a job stays in this process. Where users share their rivals
    there is a ``screen``, by whose blocks the rows stand.
    """

    rows: TargetRows
    backend: Backend
    design: RowDesign
    stages: Stages | None = None
    state: SampleState | None = None
    screen: Screen | None = None

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

    def run(self, start: int, stop: int) -> Ranked:
        """What becomes of the rows of one block, by themselves: so it may run anywhere."""
        rows = self.rows.part(start, stop)
        if self.screen is not None:
            ranks, met = rank_screened(self.backend, rows, self.screen)
            return Ranked(ranks, met.drawn + 1, met.scored)
        match self.design:
            case Full():
                scored = shared_cost(rows, self.backend.n_items)
                return Ranked(self.backend.full(rows), rows.n_candidates.copy(), scored)
            case FixedNegatives():
                indptr = self.design.indptr[start : stop + 1]
                negatives = self.design.items[indptr[0] : indptr[-1]]
                ranks = self.backend.fixed_negatives(rows, indptr - indptr[0], negatives)
                size = np.diff(indptr) + 1
                return Ranked(ranks, size, size)
            case Screened():
                raise InvalidArgumentError("screen", None, "there for a screened design")
            case Sampled() | Adaptive():
                stages = self.stages or self.design.stages(self.backend.n_items)
                known = self.state
                state = (
                    SampleState.new(len(rows)) if known is None else known.take(slice(start, stop))
                )
                ranks = self.backend.sampled(rows, stages, self.design.replacement, state)
                if known is not None:
                    known.put(slice(start, stop), state)
                return Ranked(ranks, state.drawn + 1, state.scored)


def shared_cost(rows: TargetRows, n_items: int) -> Int:
    """Scores of all items, once for each user: shared by the user's rows, first items first.

    >>> from types import SimpleNamespace
    >>> rows = SimpleNamespace(users=np.array([4, 4, 4, 7]), targets=np.array([9, 2, 5, 1]))
    >>> shared_cost(rows, 11).tolist()
    [3, 4, 4, 11]
    """
    order = np.lexsort((rows.targets, rows.users))
    _, first, number, times = np.unique(
        rows.users[order], return_index=True, return_inverse=True, return_counts=True
    )
    place = np.arange(len(order)) - first[number]
    scored = np.empty(len(order), np.int64)
    scored[order] = n_items // times[number] + (place < n_items % times[number])
    return scored


@dataclass(frozen=True, slots=True, eq=False)
class BlockTask:
    """One block of a job: the job itself within this process, else the folder it lies in."""

    job: RankJob | str
    start: int
    stop: int


def rank_block(task: BlockTask) -> tuple[int, Ranked]:
    """Where the block begins, and what became of its rows."""
    job = task.job if isinstance(task.job, RankJob) else load_job(task.job)
    return task.start, job.run(task.start, task.stop)


def save_job(job: RankJob, folder: Path) -> None:
    """One ``.npy`` file per array, and the rest in ``job.json``."""
    kind = next((k for k, backend in BACKENDS.items() if isinstance(job.backend, backend)), None)
    if kind is None or not isinstance(job.backend, BACKENDS[kind]):
        raise InvalidArgumentError(
            "executor", "one outside this process", "Serial() for a scorer made of functions",
            "give the scorer user_factors and item_factors, or history and item_item",
        )  # fmt: skip
    groups: dict[str, Arrays] = {"rows": job.rows.arrays(), "scores": job.backend.parts()}
    if isinstance(job.design, FixedNegatives):
        groups["design"] = {"indptr": job.design.indptr, "items": job.design.items}
    described = {
        "backend": kind,
        "design": job.design.describe(),
        "levels": job.stages and job.stages.describe(),
        "tie_rule": job.rows.tie_rule,
        "tie_word": int(job.rows.tie_word),
    }
    if job.screen is not None:
        groups["screen"] = job.screen.arrays()
    with readable_errors(folder):
        for group, arrays in groups.items():
            (folder / group).mkdir()
            for name, array in arrays.items():
                np.save(folder / group / f"{name}.npy", array)
        (folder / "job.json").write_text(json.dumps(described))


@lru_cache(maxsize=2)
def load_job(folder: str) -> RankJob:
    """The job back from its folder, its arrays memory-mapped; kept for the next block."""
    place = Path(folder)
    described = json.loads((place / "job.json").read_text())
    rows: Any = _arrays(place / "rows")
    backend: Backend = BACKENDS[described["backend"]].from_parts(_arrays(place / "scores"))
    stages = described["levels"] and Stages.from_dict(described["levels"])
    screen: Any = _arrays(place / "screen")
    return RankJob(
        rows=TargetRows(
            **rows, tie_rule=described["tie_rule"], tie_word=np.uint64(described["tie_word"])
        ),
        backend=backend,
        design=_design(described["design"], place / "design"),
        stages=stages,
        screen=Screen(**screen, stages=stages) if screen else None,
    )


def _arrays(folder: Path) -> Arrays:
    return {file.stem: np.load(file, mmap_mode="r") for file in folder.glob("*.npy")}


def _design(described: dict[str, Any], folder: Path) -> RowDesign:
    design = design_from_dict(described)
    if isinstance(design, Full | Sampled | Adaptive | Screened):
        return design
    return FixedNegatives.from_lists(**_arrays(folder))
