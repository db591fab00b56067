"""How each kind of scorer ranks a block of rows: by factors, by item-item matrix, by calls."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from truerank.errors import InvalidDataError
from truerank.ranking.designs import Levels
from truerank.ranking.draws import draw_rivals, keep_chance, mark, undo_shuffle
from truerank.ranking.kernels import (
    count_in_tile,
    rank_given,
    rank_in_row,
    rank_item_item,
    rank_sampled,
    ranks_from,
    score_targets,
)
from truerank.ranking.scorer import Scorer
from truerank.ranking.scores import (
    FactorArrays,
    ItemItemArrays,
    SparseItemItemArrays,
    standing,
)

Int = NDArray[np.int64]
Words = NDArray[np.uint64]

TILE_ITEMS = 1024
"""Width of a tile of scores: 256 x 1024 float32 stay in the cache until they are counted."""

BLOCK_BYTES = 64 * 2**20
"""Most that one call of a foreign scorer may return."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A block of (user, target) rows, ascending by user, and all that decides their ranks."""

    users: Int
    targets: Int
    keys: Words
    tie_keys: Words
    excluded_indptr: Int
    excluded_items: NDArray[np.int32]
    n_candidates: Int
    tie_rule: int

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if name != "tie_rule":
                object.__setattr__(self, name, read_only(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.users)

    def excluded(self, row: int) -> NDArray[np.int32]:
        """Items left out for one row's user."""
        user = self.users[row]
        return self.excluded_items[self.excluded_indptr[user] : self.excluded_indptr[user + 1]]

    def grouped(self) -> tuple[Int, Int]:
        """Distinct users, and where the rows of each begin."""
        new = np.concatenate([[True], self.users[1:] != self.users[:-1]])
        starts = np.flatnonzero(new)
        return self.users[starts], np.append(starts, len(self.users))


class Backend(Protocol):
    """Ranks blocks of rows; one per kind of scorer."""

    users_per_block: int
    releases_lock: ClassVar[bool]

    @property
    def n_items(self) -> int: ...

    def full(self, rows: Rows) -> Int: ...

    def sampled(self, rows: Rows, levels: Levels, replacement: bool) -> tuple[Int, Int]: ...

    def given(self, rows: Rows, indptr: Int, negatives: Int) -> Int: ...


class _Compiled:
    """What the two compiled backends share: sampled and given designs."""

    releases_lock: ClassVar[bool] = True

    @property
    def n_items(self) -> int:
        raise TypeError("defined by each backend")  # pragma: no cover

    def arrays(self) -> Any:
        """What the kernels score with."""
        raise TypeError("defined by each backend")  # pragma: no cover

    def sampled(self, rows: Rows, levels: Levels, replacement: bool) -> tuple[Int, Int]:
        rank, size = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        rank_sampled(
            self.arrays(), rows.users, rows.targets,
            (rows.keys, rows.tie_keys),
            rows.excluded_indptr, rows.excluded_items, rows.n_candidates, self.n_items,
            (levels.sizes, levels.go_on, levels.keep), replacement, rows.tie_rule,
            _scratch(self.n_items), (rank, size),
        )  # fmt: skip
        return rank, size

    def given(self, rows: Rows, indptr: Int, negatives: Int) -> Int:
        rank = np.empty(len(rows), np.int64)
        rank_given(
            self.arrays(), rows.users, rows.targets, rows.tie_keys, indptr, negatives,
            rows.tie_rule, rank,
        )  # fmt: skip
        return rank


@dataclass(frozen=True, slots=True, eq=False)
class FactorBackend(_Compiled):
    """Dot products of factors: tiles of a matrix product, counted while they are in cache.

    Memory: float32 copies of factors that are not float32 already, and one tile of
    256 x 1024 scores per thread, whatever the number of users.
    """

    factors: FactorArrays
    users_per_block: int = 256

    @classmethod
    def of(cls, user_factors: NDArray[Any], item_factors: NDArray[Any]) -> FactorBackend | None:
        """None where float32 cannot be trusted: factors not finite, or huge."""
        user = np.ascontiguousarray(_as_float(user_factors))
        item = np.ascontiguousarray(_as_float(item_factors))
        norms = np.sqrt(np.einsum("ud,ud->u", user, user, dtype=np.float64))
        longest = np.sqrt(np.einsum("id,id->i", item, item, dtype=np.float64)).max(initial=0.0)
        largest = norms.max(initial=0.0) * longest
        if not (np.isfinite(largest) and largest < 1e30 and longest < 1e30):
            return None
        margin = (user.shape[1] + 4) * 2.0**-24 * norms * longest + 1e-37
        return cls(
            FactorArrays(
                read_only(user.astype(np.float32, copy=False)),
                read_only(item.astype(np.float32, copy=False)),
                read_only(user),
                read_only(item),
                read_only(margin),
            )
        )

    @property
    def n_items(self) -> int:
        return len(self.factors.item)

    def arrays(self) -> FactorArrays:
        return self.factors

    def score_pairs(self, users: Int, items: Int) -> NDArray[np.float64]:
        """Dot products of the pairs in float64."""
        x, y = self.factors.user[users], self.factors.item[items]
        return np.einsum("ud,und->un", x, y, dtype=np.float64)

    def full(self, rows: Rows) -> Int:
        users, row_indptr = rows.grouped()
        x = self.factors.user32[users]
        own = score_targets(self.factors, rows.users, rows.targets)
        better, tied = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        cursor = rows.excluded_indptr[users].copy()
        tile = np.empty((len(users), TILE_ITEMS), dtype=np.float32)
        for first in range(0, self.n_items, TILE_ITEMS):
            y = self.factors.item32[first : first + TILE_ITEMS]
            scores = tile if len(y) == TILE_ITEMS else np.empty((len(users), len(y)), np.float32)
            np.matmul(x, y.T, out=scores)
            count_in_tile(
                scores, first, len(y), self.factors, users, row_indptr, rows.targets, own,
                rows.tie_keys, rows.excluded_indptr, rows.excluded_items, cursor,
                rows.tie_rule, better, tied,
            )  # fmt: skip
        return ranks_from(better, tied, rows.tie_rule)


@dataclass(frozen=True, slots=True, eq=False)
class ItemItemBackend(_Compiled):
    """``history @ item_item`` with a dense or sparse item-item matrix, a user at a time.

    Memory: one row of n_items float64 per thread.
    """

    indptr: Int
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    weights: Any
    users_per_block: int = 512

    @property
    def n_items(self) -> int:
        return int(self.weights.shape[1])

    def arrays(self) -> ItemItemArrays | SparseItemItemArrays:
        row, owner = np.empty(self.n_items), np.full(1, -1, dtype=np.int64)
        history = (read_only(self.indptr), read_only(self.indices), read_only(self.values))
        if isinstance(self.weights, np.ndarray):
            return ItemItemArrays(*history, read_only(self.weights), row, owner)
        return SparseItemItemArrays(
            *history,
            read_only(self.weights.indptr.astype(np.int64, copy=False)),
            read_only(self.weights.indices.astype(np.int32, copy=False)),
            read_only(self.weights.data),
            row,
            owner,
        )

    def score_pairs(self, users: Int, items: Int) -> NDArray[np.float64]:
        """History times item-item matrix at the pairs, in float64."""
        scores = np.zeros(items.shape)
        for k, user in enumerate(users):
            mine = slice(self.indptr[user], self.indptr[user + 1])
            block = self.weights[self.indices[mine]][:, items[k]]
            dense = block if isinstance(block, np.ndarray) else block.toarray()
            scores[k] = self.values[mine].astype(np.float64) @ dense.astype(np.float64)
        return scores

    def full(self, rows: Rows) -> Int:
        rank = np.empty(len(rows), np.int64)
        rank_item_item(
            self.arrays(), rows.users, rows.targets, rows.tie_keys, rows.excluded_indptr,
            rows.excluded_items, rows.tie_rule, rank,
        )  # fmt: skip
        return rank


@dataclass(frozen=True, slots=True, eq=False)
class CallBackend:
    """Any other scorer, through ``score_all`` and ``score_pairs``, compared as they come.

    The target is always scored in the same call as its rivals, so that rounding cannot put
    it above or below itself. Memory: 64 MB of scores at a time.
    """

    scorer: Scorer
    user_names: NDArray[Any] | None = None
    users_per_block: int = 256
    releases_lock: ClassVar[bool] = False

    @property
    def n_items(self) -> int:
        return int(self.scorer.n_items)

    def full(self, rows: Rows) -> Int:
        users, row_indptr = rows.grouped()
        rank = np.empty(len(rows), np.int64)
        step = max(1, BLOCK_BYTES // (8 * self.n_items))
        for first in range(0, len(users), step):
            some = users[first : first + step]
            scores = self._checked(
                self.scorer.score_all(some), some, (len(some), self.n_items), "score_all"
            )
            for k in range(len(some)):
                for row in range(row_indptr[first + k], row_indptr[first + k + 1]):
                    rank[row] = rank_in_row(
                        scores[k], rows.targets[row], rows.excluded(row), rows.tie_rule,
                        rows.tie_keys[row],
                    )  # fmt: skip
        return rank

    def sampled(self, rows: Rows, levels: Levels, replacement: bool) -> tuple[Int, Int]:
        n = len(rows)
        better, tied, drawn = (np.zeros(n, np.int64) for _ in range(3))
        rank, active = np.ones(n, np.int64), np.arange(n)
        for level, size in enumerate(levels.sizes):
            n_rivals = rows.n_candidates[active] - 1
            most = n_rivals - int(replacement)
            wanted = np.minimum(size - 1, most)
            for some in _slices(active, int((wanted - drawn[active]).max(initial=1)) + 1):
                start, stop = int(drawn[some[0]]), wanted[np.searchsorted(active, some)]
                lists = [
                    self._draw(rows, int(row), start, int(end), replacement)
                    for row, end in zip(some, stop, strict=True)
                ]
                self._count(rows, some, lists, better, tied)
            drawn[active] = wanted
            rank[active] = ranks_from(better[active], tied[active], rows.tie_rule)
            chance = np.array([keep_chance(rows.keys[row], level) for row in active])
            going = (rank[active] <= levels.go_on[level]) & (chance < levels.keep[level])
            active = active[going & (wanted < most)]
            if len(active) == 0:
                break
        return rank, drawn + 1

    def given(self, rows: Rows, indptr: Int, negatives: Int) -> Int:
        better, tied = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        longest = int(np.diff(indptr).max(initial=0)) + 1
        for some in _slices(np.arange(len(rows)), longest):
            lists = [negatives[indptr[row] : indptr[row + 1]] for row in some]
            self._count(rows, some, lists, better, tied)
        return ranks_from(better, tied, rows.tie_rule)

    def _draw(self, rows: Rows, row: int, start: int, stop: int, replacement: bool) -> Int:
        """Rivals start..stop-1 of one row. Earlier ones are drawn again: scoring costs far more."""
        marks, permutation, swapped, room = _scratch(self.n_items)
        mark(marks, rows.targets[row], rows.excluded(row), 1)
        used = draw_rivals(
            room, stop, rows.keys[row], 0, self.n_items, replacement, marks, permutation, swapped
        )
        mark(marks, rows.targets[row], rows.excluded(row), 0)
        if not replacement:
            undo_shuffle(permutation, swapped, used)
        return room[start:stop].copy()

    def _count(
        self, rows: Rows, some: NDArray[Any], lists: list[Int], better: Int, tied: Int
    ) -> None:
        """Score the targets (first column) with their rivals and count; short lists are padded."""
        width = 1 + max(len(rivals) for rivals in lists)
        items = np.repeat(rows.targets[some][:, None], width, axis=1)
        for line, rivals in zip(items, lists, strict=True):
            line[1 : 1 + len(rivals)] = rivals
        users = rows.users[some]
        scores = self._checked(
            self.scorer.score_pairs(users, items), users, items.shape, "score_pairs"
        )
        for k, (row, rivals) in enumerate(zip(some, lists, strict=True)):
            mine, others = scores[k, 0], scores[k, 1 : 1 + len(rivals)]
            better[row] += int((others > mine).sum())
            for rival in rivals[others == mine]:
                outcome = standing(
                    rival, mine, rows.targets[row], mine, rows.tie_rule, rows.tie_keys[row]
                )
                better[row] += outcome == 2
                tied[row] += outcome == 1

    def _checked(
        self, scores: Any, users: Int, shape: tuple[int, ...], method: str
    ) -> NDArray[Any]:
        values = np.asarray(scores)
        if values.shape != shape:
            raise InvalidDataError(
                f"{method} of the scorer returned an array of shape {values.shape} for "
                f"{len(users)} users; it must be {shape}"
            )
        if values.dtype.kind != "f":
            values = values.astype(np.float64)
        bad = np.isnan(values).any(axis=1)
        if bad.any():
            user = users[np.argmax(bad)]
            name = user if self.user_names is None else self.user_names[user]
            raise InvalidDataError(
                f"{method} of the scorer returned NaN for user {name}, and NaN has no rank; "
                "check the model's training, or replace NaN by -inf to rank such items last"
            )
        return np.ascontiguousarray(values)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A plain view nobody writes to: kernels are then compiled once, not once per kind."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


_local = threading.local()


def _scratch(n_items: int) -> tuple[NDArray[np.uint8], NDArray[np.int32], Int, Int]:
    """Marks, an identity permutation, its swaps and room for the draws, one set per thread.

    Memory: 21 bytes per item. The kernels leave marks and permutation as they found them.
    """
    kept = getattr(_local, "scratch", None)
    if kept is None or len(kept[0]) < n_items:
        kept = _local.scratch = (
            np.zeros(n_items, np.uint8),
            np.arange(n_items, dtype=np.int32),
            np.empty(n_items, np.int64),
            np.empty(n_items, np.int64),
        )
    marks, permutation, swapped, room = kept
    return marks, permutation, swapped, room


def _slices(rows: NDArray[Any], width: int) -> Iterator[NDArray[Any]]:
    """Rows in slices whose scores fit into a block."""
    step = max(1, BLOCK_BYTES // (16 * width))
    for first in range(0, len(rows), step):
        yield rows[first : first + step]


def _as_float(values: NDArray[Any]) -> NDArray[Any]:
    array = np.asarray(values)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
