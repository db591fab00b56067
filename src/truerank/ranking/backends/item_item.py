"""Ranks from a history and an item-item matrix, a user at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Int
from truerank.errors import InvalidDataError
from truerank.ranking.backends.base import CompiledBackend, as_float
from truerank.ranking.backends.listed import ListedRows, share_evenly
from truerank.ranking.backends.rank_kernels import count_item_item, rank_item_item
from truerank.ranking.backends.rounding import ItemItemArrays, SparseItemItemArrays
from truerank.ranking.rows import TargetRows, read_only
from truerank.ranking.stages import SampleState

HUGE = 1e300
"""Sums that might pass this are left to the scorer itself: float64 ends at 2e308."""


class Csr(NamedTuple):
    """Compressed sparse rows."""

    indptr: Int
    indices: NDArray[np.int32]
    values: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class ItemItemBackend(CompiledBackend):
    """``history @ item_item`` with a dense or sparse item-item matrix.

    Memory: one row of n_items float64 per thread.
    """

    history: Csr
    weights: NDArray[Any] | Csr
    users_per_block: int = 512

    @classmethod
    def of(cls, history: Any, item_item: Any) -> Self | None:
        """None where sums could leave the numbers: values not finite, or huge."""
        if history.ndim != 2 or not history.shape[1:] * 2 == item_item.shape:
            raise InvalidDataError(
                f"history of shape {history.shape} and item_item of shape {item_item.shape} have "
                "no product; item_item must be square, with one row per column of history"
            )
        seen = _csr(history)
        dense = isinstance(item_item, np.ndarray)
        weights = read_only(as_float(item_item)) if dense else _csr(item_item)
        stored = weights.values if isinstance(weights, Csr) else weights
        longest = int(np.diff(seen.indptr).max(initial=0))
        with np.errstate(all="ignore"):  # what overflows is inf, and goes to the scorer itself
            most = longest * _largest(seen.values) * _largest(stored)
        return cls(seen, weights) if most < HUGE else None

    @property
    def n_users(self) -> int:
        return len(self.history.indptr) - 1

    @property
    def n_items(self) -> int:
        return len(self.weights.indptr) - 1 if isinstance(self.weights, Csr) else len(self.weights)

    def arrays(self) -> ItemItemArrays | SparseItemItemArrays:
        row, owner = np.empty(self.n_items), np.full(1, -1, dtype=np.int64)
        if isinstance(self.weights, Csr):
            return SparseItemItemArrays(*self.history, *self.weights, row, owner)
        return ItemItemArrays(*self.history, self.weights, row, owner)

    def score_pairs(
        self, users: Int, items: Int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        indptr, indices, values = self.history
        scores, sizes = np.zeros(items.shape), np.zeros(items.shape)
        for k, user in enumerate(users):
            for at in range(indptr[user], indptr[user + 1]):
                terms = float(values[at]) * self._weights(indices[at], items[k])
                scores[k] += terms
                sizes[k] += (indptr[user + 1] - indptr[user] + 8) * np.abs(terms)
        return scores, sizes

    def _weights(self, row: int, columns: Int) -> NDArray[np.float64]:
        """Some entries of one row of the item-item matrix."""
        if not isinstance(self.weights, Csr):
            return np.asarray(self.weights[row, columns], dtype=np.float64)
        indptr, indices, values = self.weights
        stored = indices[indptr[row] : indptr[row + 1]]
        here = values[indptr[row] : indptr[row + 1]].astype(np.float64)
        return np.array([here[stored == column].sum() for column in columns])

    def parts(self) -> dict[str, NDArray[Any]]:
        parts = {f"history_{name}": array for name, array in self.history._asdict().items()}
        if isinstance(self.weights, Csr):
            items = self.weights._asdict().items()
            return parts | {f"weights_{name}": array for name, array in items}
        return parts | {"weights": self.weights}

    @classmethod
    def from_parts(cls, parts: dict[str, NDArray[Any]]) -> Self:
        def csr(name: str) -> Csr:
            return Csr(**{part: read_only(parts[f"{name}_{part}"]) for part in Csr._fields})

        dense = "weights" in parts
        return cls(csr("history"), read_only(parts["weights"]) if dense else csr("weights"))

    def full(self, rows: TargetRows) -> Int:
        rank = np.empty(len(rows), np.int64)
        rank_item_item(
            self.arrays(), rows.users, rows.targets, rows.excluded_indptr, rows.excluded_items,
            rows.ties, rank,
        )  # fmt: skip
        return rank

    def listed(self, order: NDArray[np.int32]) -> NDArray[np.int32]:
        """The order itself: nothing of the matrix is copied."""
        return order

    def count_listed(self, items: NDArray[np.int32], some: ListedRows, found: SampleState) -> None:
        count_item_item(
            self.arrays(), items, some.users, some.starts, some.rows.targets,
            some.places, some.excluded_places, some.begins, some.ends, some.rows.ties,
            (found.better, found.tied, found.heads), np.empty(len(items)),
        )  # fmt: skip
        found.scored[:] += share_evenly(len(items), some.starts)


def _csr(sparse: Any) -> Csr:
    matrix = sparse.tocsr()
    return Csr(
        read_only(matrix.indptr.astype(np.int64, copy=False)),
        read_only(matrix.indices.astype(np.int32, copy=False)),
        read_only(as_float(matrix.data)),
    )


def _largest(values: NDArray[Any]) -> float:
    """The largest absolute value, NaN where there is one, without a copy of the values."""
    return float(np.maximum(values.max(initial=0.0), -values.min(initial=0.0)))
