"""One ranking job as pure tasks over blocks of rows, for any executor."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.errors import InvalidArgumentError
from truerank.ranking.backends import (
    Backend,
    CallBackend,
    FactorBackend,
    Int,
    ItemItemBackend,
    Rows,
)
from truerank.ranking.designs import Adaptive, Full, Given, Sampled

RankDesign = Full | Sampled | Adaptive | Given


@dataclass(frozen=True, slots=True, eq=False)
class RankJob:
    """All rows to rank, ascending by user, with the backend and the design."""

    rows: Rows
    backend: Backend
    design: RankDesign

    def blocks(self) -> list[tuple[int, int]]:
        """Row ranges of about ``users_per_block`` whole users each."""
        _, starts = self.rows.grouped()
        step = self.backend.users_per_block
        if not isinstance(self.design, Full):
            step *= 8  # a sampled row is cheap: fewer, larger tasks
        cuts = [int(starts[k]) for k in range(0, len(starts) - 1, step)]
        return list(zip(cuts, [*cuts[1:], len(self.rows)], strict=True))

    def run(self, start: int, stop: int) -> tuple[Int, Int]:
        """Ranks and sample sizes of the rows of one block: pure, so it may run anywhere."""
        rows = part = self.rows
        part = replace(
            rows,
            **{
                name: getattr(rows, name)[start:stop]
                for name in (
                    "users", "targets", "keys", "tie_keys", "n_candidates",
                )
            },
        )  # fmt: skip
        match self.design:
            case Full():
                return self.backend.full(part), part.n_candidates.copy()
            case Given():
                indptr = self.design.indptr[start : stop + 1]
                negatives = self.design.items[indptr[0] : indptr[-1]]
                ranks = self.backend.given(part, indptr - indptr[0], negatives)
                return ranks, np.diff(indptr) + 1
            case Sampled() | Adaptive():
                levels = self.design.levels(self.backend.n_items)
                return self.backend.sampled(part, levels, self.design.replacement)


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
    """Lay the arrays of a job into a folder, to be memory-mapped by other processes."""
    backend = job.backend
    arrays: dict[str, Any] = {
        name: getattr(job.rows, name) for name in Rows.__slots__ if name != "tie_rule"
    }
    if isinstance(backend, FactorBackend):
        kind = "factors"
        arrays |= {"user_factors": backend.factors.user, "item_factors": backend.factors.item}
    elif isinstance(backend, ItemItemBackend):
        kind = "item-item"
        arrays |= {name: getattr(backend, name) for name in ("indptr", "indices", "values")}
        if isinstance(backend.weights, np.ndarray):
            arrays["weights"] = backend.weights
        else:
            w = backend.weights
            arrays |= {"w_indptr": w.indptr, "w_indices": w.indices, "w_data": w.data}
    else:
        raise InvalidArgumentError(
            "executor", "one outside this process", "Serial() for a scorer made of functions",
            "give the scorer user_factors and item_factors, or history and item_item",
        )  # fmt: skip
    if isinstance(job.design, Given):
        arrays |= {"given_indptr": job.design.indptr, "given_items": job.design.items}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    described = {"backend": kind, "design": job.design.describe(), "tie_rule": job.rows.tie_rule}
    (folder / "job.json").write_text(json.dumps(described))


@lru_cache(maxsize=2)
def load_job(folder: str) -> RankJob:
    """The job back from its folder, its arrays memory-mapped; kept for the next block."""
    place = Path(folder)
    described = json.loads((place / "job.json").read_text())

    def array(name: str) -> NDArray[Any]:
        return np.load(place / f"{name}.npy", mmap_mode="r")

    names = [name for name in Rows.__slots__ if name != "tie_rule"]
    rows = Rows(**{name: array(name) for name in names}, tie_rule=described["tie_rule"])
    return RankJob(rows, _load_backend(described["backend"], array, place), _load_design(
        described["design"], array
    ))  # fmt: skip


def _load_backend(kind: str, array: Any, place: Path) -> Backend:
    if kind == "factors":
        backend = FactorBackend.of(array("user_factors"), array("item_factors"))
        if backend is None:
            raise InvalidArgumentError("factors", "other values", "finite")
        return backend
    history = (array("indptr"), array("indices"), array("values"))
    if (place / "weights.npy").exists():
        return ItemItemBackend(*history, array("weights"))
    from scipy import sparse

    n = len(array("w_indptr")) - 1
    parts = (array("w_data"), array("w_indices"), array("w_indptr"))
    return ItemItemBackend(*history, sparse.csr_array(parts, shape=(n, n)))


def _load_design(described: dict[str, Any], array: Any) -> RankDesign:
    values = {name: value for name, value in described.items() if name != "kind"}
    match described["kind"]:
        case "full":
            return Full()
        case "sampled":
            return Sampled(**values)
        case "adaptive":
            return Adaptive(**values)
        case _:
            items, indptr = array("given_items"), array("given_indptr")
            return Given([items[a:b] for a, b in zip(indptr[:-1], indptr[1:], strict=True)])


def backend_for(scorer: Any, user_names: NDArray[Any] | None) -> Backend:
    """The fastest backend that this scorer allows."""
    if hasattr(scorer, "user_factors") and hasattr(scorer, "item_factors"):
        fast = FactorBackend.of(scorer.user_factors, scorer.item_factors)
        if fast is not None:
            return fast
    if hasattr(scorer, "history") and hasattr(scorer, "item_item"):
        history, weights = scorer.history.tocsr(), scorer.item_item
        if not isinstance(weights, np.ndarray):
            weights = weights.tocsr()
        finite = np.isfinite(weights if isinstance(weights, np.ndarray) else weights.data)
        if finite.all() and np.isfinite(history.data).all():
            return ItemItemBackend(
                history.indptr.astype(np.int64),
                history.indices.astype(np.int32, copy=False),
                history.data,
                np.ascontiguousarray(weights) if isinstance(weights, np.ndarray) else weights,
            )
    return CallBackend(scorer, user_names)
