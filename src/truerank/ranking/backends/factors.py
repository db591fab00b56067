"""Ranks from factors: tiles of a matrix product, counted while they are in the cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Int
from truerank.errors import InvalidDataError
from truerank.numerics.ties import ranks_from
from truerank.ranking.backends.base import CompiledBackend, as_float
from truerank.ranking.backends.full_rank_single import SingleTargetBlock, count_one_target
from truerank.ranking.backends.listed import ListedRows, share_evenly
from truerank.ranking.backends.rank_kernels import (
    SeveralTargetsBlock,
    count_in_tile,
    score_targets,
)
from truerank.ranking.backends.rounding import UNDERFLOW, FactorArrays, ListedItems
from truerank.ranking.rows import TargetRows, read_only
from truerank.ranking.stages import SampleState

TILE_ITEMS = 1024
"""Width of a tile of scores: 256 x 1024 float32 stay in the cache until they are counted."""

HUGE = 1e30
"""Lengths and products beyond this are left to the scorer itself: float32 ends at 3e38."""

MOST_COLUMNS = 2**20
"""With more columns than this the rounding of float32 would leave nothing to trust."""


@dataclass(frozen=True, slots=True, eq=False)
class FactorBackend(CompiledBackend):
    """Dot products of factors.

    Memory: float32 copies of factors that are not float32 already, and one tile of
    512 x 1024 scores per thread, whatever the number of users.
    """

    factors: FactorArrays
    catalogue: ListedItems
    users_per_block: int = 512

    @classmethod
    def of(cls, user_factors: Any, item_factors: Any) -> Self | None:
        """None where float32 cannot be trusted: factors not finite, or huge."""
        user, item = as_float(user_factors), as_float(item_factors)
        if user.ndim != 2 or item.ndim != 2 or user.shape[1] != item.shape[1]:
            raise InvalidDataError(
                f"user_factors of shape {user.shape} and item_factors of shape {item.shape} have "
                "no dot products; they must be matrices with equally many columns"
            )
        if not 0 < user.shape[1] <= MOST_COLUMNS:
            return None
        with np.errstate(all="ignore"):  # what overflows is inf, and goes to the scorer itself
            norms, item_norms = _norms(user), _norms(item)
            longest = item_norms.max(initial=0.0)
            farthest = norms.max(initial=0.0)
            if not (farthest < HUGE and longest < HUGE and farthest * longest < HUGE):
                return None
        factors = FactorArrays(
            read_only(user.astype(np.float32, copy=False)),
            read_only(item.astype(np.float32, copy=False)),
            read_only(user),
            read_only(item),
            read_only(error_bounds(norms, longest, user.shape[1])),
            read_only(_unit(user.shape[1]) * norms),
            read_only(item_norms.astype(np.float32)),
        )
        natural = read_only(np.arange(len(item), dtype=np.int32))
        return cls(factors, ListedItems(factors.item32, factors.item_norm, natural))

    @property
    def n_users(self) -> int:
        return len(self.factors.user)

    @property
    def n_items(self) -> int:
        return len(self.factors.item)

    def arrays(self) -> FactorArrays:
        return self.factors

    def score_pairs(
        self, users: Int, items: Int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        x, y = self.factors.user[users], self.factors.item[items]
        terms = np.einsum("ud,und->und", x, y, dtype=np.float64)
        return terms.sum(axis=-1), (x.shape[1] + 8) * np.abs(terms).sum(axis=-1)

    def parts(self) -> dict[str, NDArray[Any]]:
        return {"user_factors": self.factors.user, "item_factors": self.factors.item}

    @classmethod
    def from_parts(cls, parts: dict[str, NDArray[Any]]) -> Self:
        backend = cls.of(**parts)
        if backend is None:
            raise InvalidDataError("the factors changed on disk: they are no longer finite")
        return backend

    def full(self, rows: TargetRows) -> Int:
        users, starts = rows.grouped()
        found = SampleState.new(len(rows))
        own = ListedRows(
            rows, users, starts, rows.targets, rows.excluded_items,
            rows.excluded_indptr[users], rows.excluded_indptr[users + 1],
        )  # fmt: skip
        self.count_listed(self.catalogue, own, found)
        whole = np.ones(len(rows), np.bool_)
        return ranks_from(found.better, found.tied, found.heads, rows.tie_rule, whole)

    def listed(self, order: NDArray[np.int32]) -> ListedItems:
        """Items in this order. Memory: a copy of their float32 factors."""
        factors = self.factors
        return ListedItems(
            read_only(factors.item32[order]), read_only(factors.item_norm[order]), read_only(order)
        )

    def count_listed(self, items: ListedItems, some: ListedRows, found: SampleState) -> None:
        n_items = len(items.names)
        found.scored[:] += share_evenly(n_items, some.starts)
        if len(some.users) == len(some.rows):
            self._count_one_target(items, some, found)
            return
        x = self.factors.user32[some.users]
        block = SeveralTargetsBlock(
            some.users, some.starts, some.rows.targets, some.places, some.excluded_places,
            some.begins.copy(), some.ends,
            score_targets(self.factors, some.rows.users, some.rows.targets),
            found.better, found.tied, found.heads, some.rows.ties,
        )  # fmt: skip
        tile = np.empty((len(x), TILE_ITEMS), dtype=np.float32)
        for first in range(0, n_items, TILE_ITEMS):
            y = items.vectors[first : first + TILE_ITEMS]
            scores = tile if len(y) == TILE_ITEMS else np.empty((len(x), len(y)), np.float32)
            np.matmul(x, y.T, out=scores)
            count_in_tile(scores, first, len(y), self.factors, items, block)

    def _count_one_target(self, items: ListedItems, some: ListedRows, found: SampleState) -> None:
        """The same where every user has one row: counted without storing a score."""
        block = SingleTargetBlock(
            some.users, some.rows.targets, some.places, some.excluded_places,
            some.begins.copy(), some.ends, np.empty(len(some.rows)),
            found.better, found.tied, found.heads, some.rows.ties,
        )  # fmt: skip
        count_one_target(self.factors, items, block)


def error_bounds(norms: NDArray[np.float64], longest: float, d: int) -> NDArray[np.float64]:
    """How far any float32 score of each user may lie from the true one; see :mod:`.rounding`."""
    return np.asarray(_unit(d) * norms * longest + UNDERFLOW)


def _unit(d: int) -> float:
    u = (d + 8) * 2.0**-24
    return u / (1.0 - u)


def _norms(factors: NDArray[Any]) -> NDArray[np.float64]:
    """Lengths of the rows, a little overestimated: they bound errors.

    Squares are summed in the factors' own precision, which rounds d times and loses what is
    below the smallest number, d times at most.
    """
    d = factors.shape[1]
    squares = np.einsum("ud,ud->u", factors, factors).astype(np.float64)
    return np.asarray(np.sqrt(squares * (1.0 + (d + 1) * 2.0**-22) + d * 2.0**-126))
