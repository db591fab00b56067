"""What every backend does, and what the two compiled ones share."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Int
from truerank.ranking.backends.listed import ListedRows
from truerank.ranking.backends.rank_kernels import rank_fixed_negatives, rank_sampled
from truerank.ranking.rows import TargetRows
from truerank.ranking.scorer import check_real
from truerank.ranking.stages import SampleState, Stages, most_rivals

Scratch = tuple[NDArray[np.uint8], Int]


class Backend(Protocol):
    """Ranks blocks of rows; one per kind of scorer."""

    @property
    def users_per_block(self) -> int:
        """How many users make a task of a good size."""

    @property
    def releases_lock(self) -> bool:
        """Whether threads can work at the same time."""

    @property
    def n_users(self) -> int | None:
        """How many users there are, None if only the scorer knows."""

    @property
    def n_items(self) -> int:
        """How many items there are."""

    def full(self, rows: TargetRows) -> Int:
        """Ranks among all candidates."""

    def sampled(
        self, rows: TargetRows, stages: Stages, replacement: bool, state: SampleState
    ) -> Int:
        """Ranks among sampled candidates; ``state`` is what was met before, and then after."""

    def fixed_negatives(self, rows: TargetRows, indptr: Int, negatives: Int) -> Int:
        """Ranks among the given negatives, ``negatives[indptr[k]:indptr[k + 1]]`` of row k."""

    def listed(self, order: NDArray[np.int32]) -> Any:
        """Some items in this order, ready for :meth:`count_listed`."""

    def count_listed(self, items: Any, some: ListedRows, found: SampleState) -> None:
        """Add to ``found`` what a list of items says about some rows.

        And what was scored for each: a user is scored once for all its rows.
        """


class CompiledBackend(ABC):
    """Sampled and given designs by the kernels, for scores that the kernels can compute."""

    __slots__ = ()
    releases_lock: ClassVar[bool] = True

    @property
    @abstractmethod
    def n_items(self) -> int:
        """How many items there are."""

    @abstractmethod
    def arrays(self) -> Any:
        """What the kernels score with; for one thread."""

    @abstractmethod
    def score_pairs(
        self, users: Int, items: Int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scores of a few pairs in float64, to compare with the scorer's own, and their sizes.

        The size of a score of n terms is (n + 8) times the sum of their absolute values: whoever
        adds them up with rounding errors of u, in whatever order, is within u times that
        [higham2002]_. Where terms cancel, it is all that a score can be compared to.
        """

    @abstractmethod
    def parts(self) -> dict[str, NDArray[Any]]:
        """The arrays to lay on disk for other processes."""

    @classmethod
    @abstractmethod
    def from_parts(cls, parts: dict[str, NDArray[Any]]) -> Self:
        """The backend back from its arrays."""

    def sampled(
        self, rows: TargetRows, stages: Stages, replacement: bool, state: SampleState
    ) -> Int:
        rank = np.empty(len(rows), np.int64)
        with scratch(self.n_items) as room:
            rank_sampled(
                self.arrays(), rows.users, rows.targets, rows.keys,
                rows.excluded_indptr, rows.excluded_items, rows.n_candidates,
                most_rivals(rows.n_candidates, replacement), self.n_items,
                (stages.sizes, stages.max_rank, stages.continue_prob), replacement, rows.ties,
                room, state, rank,
            )  # fmt: skip
        return rank

    def fixed_negatives(self, rows: TargetRows, indptr: Int, negatives: Int) -> Int:
        rank = np.empty(len(rows), np.int64)
        rank_fixed_negatives(
            self.arrays(), rows.users, rows.targets, indptr, negatives, rows.ties, rank,
        )  # fmt: skip
        return rank


_local = threading.local()


@contextmanager
def scratch(n_items: int) -> Iterator[Scratch]:
    """Marks and room for the draws, one set per thread.

    Memory: a bit and 8 bytes per item. The kernels leave the marks as they found them. What was
    interrupted may not have: a set is taken away while in use, and comes back for the next
    block only if all went well.
    """
    kept: Scratch | None = _local.__dict__.pop("kept", None)
    if kept is None or len(kept[1]) < n_items:
        kept = (np.zeros(n_items // 8 + 1, np.uint8), np.empty(n_items, np.int64))
    yield kept
    _local.kept = kept


def as_float(values: Any) -> NDArray[Any]:
    """Contiguous float32 or float64: the two kinds that the kernels are compiled for."""
    array = np.asarray(values)
    check_real(array, "the factors (or the item-item matrix) have", "what is multiplied")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    return np.ascontiguousarray(array)
