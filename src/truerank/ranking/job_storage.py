"""A job laid into a folder, so that other processes can map it; and the tasks they run."""

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
from truerank.files import readable_errors
from truerank.ranking.backends.base import Backend
from truerank.ranking.backends.factors import FactorBackend
from truerank.ranking.backends.item_item import ItemItemBackend
from truerank.ranking.designs import Adaptive, Full, Given, Sampled
from truerank.ranking.jobs import RankJob, RowDesign
from truerank.ranking.rows import Rows
from truerank.ranking.stages import Stages

Arrays = dict[str, NDArray[Any]]
BACKENDS: dict[str, type[FactorBackend | ItemItemBackend]] = {
    "factors": FactorBackend,
    "item-item": ItemItemBackend,
}


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
    if isinstance(job.design, Given):
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
        rows=Rows(
            **rows, tie_rule=described["tie_rule"], tie_word=np.uint64(described["tie_word"])
        ),
        backend=backend,
        design=_design(described["design"], place / "design"),
        stages=described["levels"] and Stages.from_dict(described["levels"]),
    )


def _arrays(folder: Path) -> Arrays:
    return {file.stem: np.load(file, mmap_mode="r") for file in folder.glob("*.npy")}


def _design(described: dict[str, Any], folder: Path) -> RowDesign:
    values = {name: value for name, value in described.items() if name != "kind"}
    match described["kind"]:
        case "full":
            return Full()
        case "sampled":
            return Sampled(**values)
        case "adaptive":
            return Adaptive(**values)
        case _:
            return Given.from_lists(**_arrays(folder))
