"""One ranking job as pure tasks over blocks of rows, for any executor.

An executor outside this process finds the job in a folder: arrays laid down once and
memory-mapped by whoever works on them, never sent.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

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
from truerank.ranking.stages import Stages

RowDesign = Full | Sampled | Adaptive | Screened | FixedNegatives
"""The designs that rank a row; Users only chooses rows."""


Arrays = dict[str, NDArray[Any]]
BACKENDS: dict[str, type[FactorBackend | ItemItemBackend]] = {
    "factors": FactorBackend,
    "item-item": ItemItemBackend,
}


@dataclass(frozen=True, slots=True, eq=False)
class RankJob:
    """All rows to rank, ascending by user, with the backend and the design.

    ``stages`` are those of a sampled design, planned before the job begins.
    """

    rows: TargetRows
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
            case FixedNegatives():
                indptr = self.design.indptr[start : stop + 1]
                negatives = self.design.items[indptr[0] : indptr[-1]]
                ranks = self.backend.fixed_negatives(rows, indptr - indptr[0], negatives)
                return ranks, np.diff(indptr) + 1
            case Sampled() | Adaptive():
                stages = self.stages or self.design.stages(self.backend.n_items)
                return self.backend.sampled(rows, stages, self.design.replacement)


@dataclass(frozen=True, slots=True, eq=False)
class BlockTask:
    """One block of a job: the job itself within this process, else the folder it lies in."""

    job: RankJob | str
    start: int
    stop: int


def rank_block(task: BlockTask) -> tuple[int, Int, Int]:
    """Where the block begins, its ranks and its sample sizes."""
    job = task.job if isinstance(task.job, RankJob) else load_job(task.job)
    rank, size = job.run(task.start, task.stop)
    return task.start, rank, size


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
    return RankJob(
        rows=TargetRows(
            **rows, tie_rule=described["tie_rule"], tie_word=np.uint64(described["tie_word"])
        ),
        backend=backend,
        design=_design(described["design"], place / "design"),
        stages=described["levels"] and Stages.from_dict(described["levels"]),
    )


def _arrays(folder: Path) -> Arrays:
    return {file.stem: np.load(file, mmap_mode="r") for file in folder.glob("*.npy")}


def _design(described: dict[str, Any], folder: Path) -> RowDesign:
    design = design_from_dict(described)
    if isinstance(design, Full | Sampled | Adaptive):
        return design
    return FixedNegatives.from_lists(**_arrays(folder))
