"""Ranks from any scorer, by calling it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Float, Int
from truerank.errors import InvalidDataError
from truerank.numerics.ties import ABOVE, TIED_ABOVE, compare_tied, rank_in_row, ranks_from
from truerank.ranking.backends.base import as_float, scratch
from truerank.ranking.backends.listed import Counts, ListedRows, share_evenly
from truerank.ranking.backends.rank_kernels import count_in_scores
from truerank.ranking.rival_draws import continue_chance, draw_rivals, mark, unmark
from truerank.ranking.rows import TargetRows
from truerank.ranking.scorer import Scorer, checked_scores
from truerank.ranking.stages import Stages, follow_stages, most_rivals

BLOCK_BYTES = 64 * 2**20
"""Most that one call of a foreign scorer may return."""


@dataclass(frozen=True, slots=True, eq=False)
class CallBackend:
    """``score_all`` and ``score_pairs`` of any scorer, compared as they come.

    The target is always scored in the same call as its rivals, so that rounding cannot put
    it above or below itself. Memory: 64 MB of scores at a time.
    """

    scorer: Scorer
    user_names: NDArray[Any] | None = None
    users_per_block: int = 256
    releases_lock: ClassVar[bool] = False

    @property
    def n_users(self) -> None:
        return None

    @property
    def n_items(self) -> int:
        return int(self.scorer.n_items)

    def full(self, rows: TargetRows) -> Int:
        users, row_indptr = rows.grouped()
        rank, ties = np.empty(len(rows), np.int64), rows.ties
        step = max(1, BLOCK_BYTES // (8 * self.n_items))
        for first in range(0, len(users), step):
            some = users[first : first + step]
            scores = self._checked(
                self.scorer.score_all(some), some, (len(some), self.n_items), "score_all"
            )
            for k in range(len(some)):
                for row in range(row_indptr[first + k], row_indptr[first + k + 1]):
                    rank[row] = rank_in_row(
                        scores[k], some[k], rows.targets[row], rows.excluded(row), ties
                    )
        return rank

    def sampled(self, rows: TargetRows, stages: Stages, replacement: bool) -> tuple[Int, Int]:
        counts = np.zeros((3, len(rows)), np.int64)
        most = most_rivals(rows.n_candidates, replacement)

        def meet(active: NDArray[Any], drawn: Int, wanted: Int) -> Int:
            start = int(drawn[0])  # whoever is still active has drawn every earlier stage in full
            for some in _slices(np.arange(len(active)), int(wanted.max()) - start + 1):
                lists = [
                    self._draw(rows, int(row), start, int(stop), replacement)
                    for row, stop in zip(active[some], wanted[some], strict=True)
                ]
                self._count(rows, active[some], lists, counts)
            whole = (wanted == most[active]) & (not replacement)
            better, tied, heads = counts[:, active]
            return ranks_from(better, tied, heads, rows.tie_rule, whole)

        def chance(stage: int, active: NDArray[Any]) -> Float:
            return np.array([continue_chance(rows.keys[row], stage) for row in active])

        return follow_stages(stages, rows.n_candidates, replacement, meet, chance)

    def fixed_negatives(self, rows: TargetRows, indptr: Int, negatives: Int) -> Int:
        counts = np.zeros((3, len(rows)), np.int64)
        longest = int(np.diff(indptr).max(initial=0)) + 1
        for some in _slices(np.arange(len(rows)), longest):
            lists = [negatives[indptr[row] : indptr[row + 1]] for row in some]
            self._count(rows, some, lists, counts)
        better, tied, heads = counts
        return ranks_from(better, tied, heads, rows.tie_rule, np.ones(len(rows), np.bool_))

    def listed(self, order: NDArray[np.int32]) -> NDArray[np.int32]:
        """The order itself."""
        return order

    def count_listed(
        self, items: NDArray[np.int32], some: ListedRows, start: int, stop: int, found: Counts
    ) -> Int:
        """By ``score_pairs``: a user's targets, then the listed items, in one line."""
        rows, n_targets = some.rows, np.diff(some.starts)
        for size in np.unique(n_targets):  # lines of one call are equally long
            alike = np.flatnonzero(n_targets == size)
            for chosen in _slices(alike, int(size) + stop - start):
                users, first = some.users[chosen], some.starts[chosen]
                own = rows.targets[first[:, None] + np.arange(size)]
                rivals = np.broadcast_to(items[start:stop], (len(users), stop - start))
                asked = np.concatenate([own, rivals], axis=1)
                scores = self._checked(
                    self.scorer.score_pairs(users, asked), users, asked.shape, "score_pairs"
                )
                for line, k in enumerate(chosen):
                    excluded = some.excluded_places[some.begins[k] : some.ends[k]]
                    for t in range(size):
                        row = int(first[line]) + t
                        more = count_in_scores(
                            scores[line, size:], scores[line, t], items, start, excluded,
                            rows.targets[row], some.places[row], users[line], rows.ties,
                        )  # fmt: skip
                        for column, count in zip(found, more, strict=True):
                            column[row] += count
        return 1 + share_evenly(stop - start, some.starts)

    def _draw(self, rows: TargetRows, row: int, start: int, stop: int, replacement: bool) -> Int:
        """Rivals start..stop-1 of one row. Earlier ones are drawn again: scoring costs far more."""
        with scratch(self.n_items) as (marks, room):
            mark(marks, rows.targets[row], rows.excluded(row))
            n_rivals = int(rows.n_candidates[row]) - 1
            used = 0
            for first, last in ((0, start), (start, stop)):
                used = draw_rivals(
                    room, first, last, rows.keys[row], used, self.n_items, n_rivals,
                    replacement, marks,
                )  # fmt: skip
            unmark(marks, rows.targets[row], rows.excluded(row), room, stop)
            return room[start:stop].copy()

    def _count(self, rows: TargetRows, some: NDArray[Any], lists: list[Int], counts: Int) -> None:
        """Score the targets (first column) with their rivals and count; short lists are padded.

        ``counts`` are those of the rivals that beat each target, tie with it, and tie above it.
        """
        width = 1 + max(len(rivals) for rivals in lists)
        items = np.repeat(rows.targets[some][:, None], width, axis=1)
        for line, rivals in zip(items, lists, strict=True):
            line[1 : 1 + len(rivals)] = rivals
        users = rows.users[some]
        scores = self._checked(
            self.scorer.score_pairs(users, items), users, items.shape, "score_pairs"
        )
        better, tied, heads = counts
        ties = rows.ties
        for k, (row, rivals) in enumerate(zip(some, lists, strict=True)):
            mine, others = scores[k, 0], scores[k, 1 : 1 + len(rivals)]
            better[row] += int((others > mine).sum())
            for rival in rivals[others == mine]:
                where = compare_tied(rival, rows.targets[row], ties, users[k])
                better[row] += where == ABOVE
                tied[row] += where & 1
                heads[row] += where == TIED_ABOVE

    def _checked(
        self, scores: Any, users: Int, shape: tuple[int, ...], method: str
    ) -> NDArray[Any]:
        values = as_float(checked_scores(scores, shape, method))
        bad = np.isnan(values).any(axis=1)
        if bad.any():
            user = users[np.argmax(bad)]
            name = user if self.user_names is None else self.user_names[user]
            raise InvalidDataError(
                f"{method} of the scorer returned NaN for user {name}, and NaN has no rank; "
                "check the model's training, or replace NaN by -inf to rank such items last"
            )
        return values


def _slices(rows: NDArray[Any], width: int) -> Iterator[NDArray[Any]]:
    """Rows in slices whose scores fit into a block."""
    step = max(1, BLOCK_BYTES // (16 * width))
    for first in range(0, len(rows), step):
        yield rows[first : first + step]
