r"""Early pruning: a race over growing subsets of the users.

A trial is ranked on a random subset of the validation users, then on four times as many, and so on.
After each stage but the last it is compared, user by user, with the best trial so far, which was
ranked on the same users and against the same rivals. If it is significantly worse it is dropped.

With :math:`J` trials and :math:`L` looks at each, a trial is dropped if its one-sided p-value is
below :math:`\alpha / (L (J - 1))`. The truly best trial is dropped only if some other one looks
significantly better at some look; there are :math:`L (J - 1)` such events, each at most of that
probability. So

.. math::  P(\text{the best is dropped}) \le \alpha,

in whatever order the trials come. Valid as the p-values are: paired t of exact ranks (McNemar where
values are 0 or 1), z of estimates from joint resamples. The first subset is not small, for their
sake. The users of a stage are drawn from the validation users without replacement, so with respect
to what *these* users would have said the bound holds with room to spare.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank.arrays import Int
from truerank.comparison import compare
from truerank.comparison.named_tests import choose_test, run_test
from truerank.errors import InvalidArgumentError
from truerank.ranking import RankTable, Users
from truerank.rng import Stream, addresses
from truerank.search.examination import N_BOOT, Examination, joined

FIRST = 250
"""Users of the first stage, at least: fewer leave p-values to luck."""

GROWTH = 4
"""Between stages: a useless trial costs a 64th, and looks are few."""

MOST_STAGES = 4


@dataclass(frozen=True, slots=True, eq=False)
class Race:
    """Who is ranked when, and when a trial is dropped.

    Attributes:
        examination: What is asked.
        stages: Rows of the held-out part that each stage adds.
        threshold: Largest one-sided p-value that drops a trial.
    """

    examination: Examination
    stages: tuple[Int, ...]
    threshold: float

    @classmethod
    def of(cls, examination: Examination, size: float, n_trials: int) -> Race:
        """The stages for this validation part; one stage where nothing may be dropped.

        Args:
            examination: What is asked.
            size: Largest probability to drop the best trial; 0 for no pruning.
            n_trials: How many trials there will be.
        """
        if not 0 <= size < 1:
            raise InvalidArgumentError(
                "prune", size, "a probability below 1", "0.05 drops the best trial at most so often"
            )
        if size > 0 and isinstance(examination.design, Users):
            raise InvalidArgumentError(
                "design", "Users", "Full, Sampled or Adaptive where prune is above 0",
                "pruning ranks subsets of the users itself",
            )  # fmt: skip
        row_users = examination.validation.held_out.users.astype(np.int64)
        if size == 0:
            return cls(examination, (np.arange(len(row_users)),), 0.0)
        stages = user_stages(row_users, seed=examination.seed)
        looks = max(1, (len(stages) - 1) * (n_trials - 1))
        return cls(examination, stages, size / looks)

    def run(self, scorer: Any, leader: RankTable | None) -> tuple[RankTable, bool]:
        """Rank stage by stage; the table so far, and whether all users are in it.

        Args:
            scorer: Of the trial.
            leader: Ranks of the best trial so far on all users; None to drop nothing.
        """
        if len(self.stages) == 1:
            return self.examination.rank(scorer), True
        tables: list[RankTable] = []
        for done, rows in enumerate(self.stages, start=1):
            tables.append(self.examination.rank(scorer, rows))
            table = joined(tables, list(self.stages[:done]))
            if done == len(self.stages) or leader is None:
                continue
            if self.p_worse(table, leader) < self.threshold:
                return table, False
        return table, True

    def p_worse(self, table: RankTable, leader: RankTable) -> float:
        """One-sided p-value of "not worse than the leader", on the users of ``table``.

        ``leader`` must hold all rows of ``table``; it may hold more.
        """
        known, exam = set_rows(leader, table), self.examination
        if bool(table.all_exact and known.all_exact):
            own, best = (t.per_user(exam.metric)[1] for t in (table, known))
            outcome = run_test(choose_test(own, best), own, best)
            return outcome.p_value / 2 if outcome.difference < 0 else 1.0
        row = compare(
            {"own": table, "best": known}, exam.metric, method=exam.method, correction="none",
            baseline="best", n_boot=N_BOOT, seed=exam.seed, bounds=False, progress=False,
        ).comparisons[0]  # fmt: skip
        return row.p_value / 2 if row.difference < 0 else 1.0


def user_stages(row_users: Int, *, seed: int) -> tuple[Int, ...]:
    """Rows of each stage: nested random subsets of the users, the last one all of them.

    >>> [len(rows) for rows in user_stages(np.arange(20_000), seed=0)]
    [312, 938, 3750, 15000]
    >>> [len(rows) for rows in user_stages(np.arange(400), seed=0)]
    [400]
    """
    users = np.unique(row_users)
    sizes = [len(users)]
    while len(sizes) < MOST_STAGES and sizes[0] // GROWTH >= FIRST:
        sizes.insert(0, sizes[0] // GROWTH)
    place = np.empty(len(users), np.int64)
    words = addresses(seed, Stream.RACE_USERS, users)
    place[np.argsort(words, kind="stable")] = np.arange(len(users))
    stage = np.searchsorted(sizes, place, side="right")[np.searchsorted(users, row_users)]
    return tuple(np.flatnonzero(stage == s) for s in range(len(sizes)))


def set_rows(table: RankTable, like: RankTable) -> RankTable:
    """The rows of ``table`` for the (user, item) pairs of ``like``, in its order."""
    if len(table) == len(like):
        return table
    users, items = np.unique(table.user), np.unique(table.item)

    def codes(t: RankTable) -> Int:
        row, column = np.searchsorted(users, t.user), np.searchsorted(items, t.item)
        return np.asarray(row * len(items) + column)

    known = codes(table)
    order = np.argsort(known, kind="stable")
    return table[order[np.searchsorted(known, codes(like), sorter=order)]]
