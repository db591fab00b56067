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
from truerank.ranking.backends.listed import ListedRows, share_evenly
from truerank.ranking.backends.rank_kernels import count_in_scores
from truerank.ranking.rival_draws import continue_chances, draw_rivals, mark, unmark
from truerank.ranking.rows import TargetRows
from truerank.ranking.scorer import Scorer, checked_scores
from truerank.ranking.stages import SampleState, Stages, follow_stages, most_rivals

BLOCK_BYTES = 64 * 2**20
"""Most that one call of a foreign scorer may return."""


@dataclass(frozen=True, slots=True, eq=False)
class CallBackend:
    """``score_all`` and ``score_pairs`` of any scorer, compared as they come.

    The target is always scored in the same call as its rivals, so that rounding cannot put it above
    or below itself: once more at each stage of a sample. Memory: 64 MB of scores at a time.
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

    def sampled(
        self, rows: TargetRows, stages: Stages, replacement: bool, state: SampleState
    ) -> Int:
        most = most_rivals(rows.n_candidates, replacement)

        def meet(active: NDArray[Any], drawn: Int, wanted: Int) -> Int:
            start = int(drawn[0])  # whoever is still active has drawn every earlier stage in full
            for some in _slices(wanted - start + 1):
                lists = [
                    self._draw(rows, int(row), start, int(wanted[some[0]]), replacement)
                    for row in active[some]
                ]
                self._count(rows, active[some], lists, state)
            whole = (wanted == most[active]) & (not replacement)
            now = state.take(active)
            return ranks_from(now.better, now.tied, now.heads, rows.tie_rule, whole)

        def chance(stage: int, active: NDArray[Any]) -> Float:
            return continue_chances(rows.keys[active], stage)

        rank, _ = follow_stages(
            stages, rows.n_candidates, replacement, meet, chance, drawn=state.drawn
        )
        return rank

    def fixed_negatives(self, rows: TargetRows, indptr: Int, negatives: Int) -> Int:
        state = SampleState.new(len(rows))
        for some in _slices(np.diff(indptr) + 1):
            lists = [negatives[indptr[row] : indptr[row + 1]] for row in some]
            self._count(rows, some, lists, state)
        whole = np.ones(len(rows), np.bool_)
        return ranks_from(state.better, state.tied, state.heads, rows.tie_rule, whole)

    def listed(self, order: NDArray[np.int32]) -> NDArray[np.int32]:
        """The order itself."""
        return order

    def count_listed(self, items: NDArray[np.int32], some: ListedRows, found: SampleState) -> None:
        """By ``score_pairs``: a user's targets, then the listed items, in one line."""
        rows, n_targets = some.rows, np.diff(some.starts)
        for size in np.unique(n_targets):  # lines of one call are equally long
            alike = np.flatnonzero(n_targets == size)
            for part in _slices(np.full(len(alike), int(size) + len(items))):
                chosen = alike[part]
                users, first = some.users[chosen], some.starts[chosen]
                own = rows.targets[first[:, None] + np.arange(size)]
                rivals = np.broadcast_to(items, (len(users), len(items)))
                asked = np.concatenate([own, rivals], axis=1)
                scores = self._checked(
                    self.scorer.score_pairs(users, asked), users, asked.shape, "score_pairs"
                )
                for line, k in enumerate(chosen):
                    excluded = some.excluded_places[some.begins[k] : some.ends[k]]
                    for t in range(size):
                        row = int(first[line]) + t
                        more = count_in_scores(
                            scores[line, size:], scores[line, t], items, excluded,
                            rows.targets[row], some.places[row], users[line], rows.ties,
                        )  # fmt: skip
                        for column, count in zip(found[:3], more, strict=True):
                            column[row] += count
        found.scored[:] += 1 + share_evenly(len(items), some.starts)

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

    def _count(
        self, rows: TargetRows, some: NDArray[Any], lists: list[Int], state: SampleState
    ) -> None:
        """Score the targets (first column) with their rivals, lists of one length, and count."""
        items = np.column_stack([rows.targets[some], np.array(lists, dtype=np.int64)])
        users = rows.users[some]
        scores = self._checked(
            self.scorer.score_pairs(users, items), users, items.shape, "score_pairs"
        )
        state.drawn[some] += items.shape[1] - 1
        state.scored[some] += items.shape[1]
        ties = rows.ties
        for k, (row, rivals) in enumerate(zip(some, lists, strict=True)):
            mine, others = scores[k, 0], scores[k, 1:]
            state.better[row] += int((others > mine).sum())
            for rival in rivals[others == mine]:
                where = compare_tied(rival, rows.targets[row], ties, users[k])
                state.better[row] += where == ABOVE
                state.tied[row] += where & 1
                state.heads[row] += where == TIED_ABOVE

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


def _slices(widths: Int) -> Iterator[NDArray[Any]]:
    """Rows of equal width, in slices whose scores fit into a block: nothing is padded."""
    for width in np.unique(widths):
        rows = np.flatnonzero(widths == width)
        step = max(1, BLOCK_BYTES // (16 * int(width)))
        for first in range(0, len(rows), step):
            yield rows[first : first + step]
