r"""How a fitted model is examined: ranks of held-out items, then a value with its error.

* **Every rank exact**: users have values :math:`x_u`; the value is their mean and its standard
  error :math:`s / \sqrt n`.
* **Sampled ranks**: :func:`truerank.estimate`, its standard error from resamples of the users; it
  holds both what the users and what the samples leave open.

Both are about future users, of whom the validation users are a sample, ``Users(m)`` or not.

Rivals are addressed by (seed, user, held-out item): every trial meets the same ones, and a user's
rank does not depend on which other users were ranked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from truerank.arrays import Int
from truerank.errors import InvalidArgumentError
from truerank.estimators import Estimate, estimate
from truerank.metrics import Metric
from truerank.ranking import Full, RankTable, Users, rank_pairs
from truerank.ranking.columns import COLUMNS
from truerank.ranking.designs import Design, FixedNegatives
from truerank.split import Split
from truerank.split.pair_sets import contained

USUAL_CUTOFF = 100
"""The K of the metric where none is asked for."""

N_BOOT = 200
"""Resamples behind the standard error of a sampled value: its own error is then 5 %."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examination:
    """What every trial of a search is asked.

    Attributes:
        validation: The split; models are fitted on its ``train``.
        metric: Larger is better.
        design: Whom held-out items are ranked against.
        method: Of the estimate where ranks are sampled.
        candidates: As for :func:`truerank.rank`.
        seed: Of the draws.
    """

    validation: Split
    metric: Metric
    design: Design
    method: str
    candidates: Literal["unseen", "all"]
    seed: int

    def __post_init__(self) -> None:
        if isinstance(self.design, FixedNegatives) or not isinstance(self.design, Design):
            raise InvalidArgumentError(
                "design", type(self.design).__name__, "Full, Sampled, Adaptive or Users",
                "published negatives belong to the test pairs, which a search must not see",
            )  # fmt: skip
        if self.candidates not in ("unseen", "all"):
            raise InvalidArgumentError("candidates", self.candidates, "'unseen' or 'all'")
        there_are = n_candidates(self.validation, self.candidates)
        if self.metric.k is None or len(there_are) == 0:
            return
        # Values of users need so many candidates of each; an estimate, of some.
        most = int(there_are.min() if self.exact else there_are.max())
        if self.metric.k > most:
            whose = "of every validation user" if self.exact else "of some validation user"
            raise InvalidArgumentError(
                "metric", str(self.metric), f"with K at most the {most:,} candidates {whose}",
                f"take {replace(self.metric, k=most)} or a smaller K",
            )  # fmt: skip

    @property
    def exact(self) -> bool:
        """Whether ranks are exact by design."""
        inner = self.design.inner if isinstance(self.design, Users) else self.design
        return isinstance(inner, Full)

    @property
    def all_pairs(self) -> int:
        """Pairs that a full ranking of the held-out rows scores: a whole list for each user."""
        held = self.validation.held_out
        return int(held.user_counts.astype(np.bool_).sum()) * held.n_items

    def scorer(self, model: Any) -> Any:
        """What scores the validation users."""
        known = self.validation.fold_in
        if known is None:
            return model
        if not hasattr(model, "fold_in"):
            raise InvalidArgumentError(
                "model", type(model).__name__, "able to fold in new users",
                "this split holds out whole users: give it fold_in(history) -> Scorer",
            )  # fmt: skip
        return model.fold_in(known)

    def rank(self, scorer: Any, rows: Int | None = None) -> RankTable:
        """Ranks of the held-out pairs of these rows; of all where None."""
        split = self.validation
        held, seen = split.held_out, split.train if split.fold_in is None else split.fold_in
        users, items = held.users.astype(np.int64), held.indices.astype(np.int64)
        some = np.arange(len(users)) if rows is None else rows
        table = rank_pairs(
            scorer, users[some], items[some], self.design, seed=self.seed,
            exclude=seen if self.candidates == "unseen" else None,
            user_ids=split.train.user_ids, item_ids=split.train.item_ids, progress=False,
        )  # fmt: skip
        return replace(table, header=replace(table.header, split=split.fingerprint()))

    def measure(self, table: RankTable) -> Estimate:
        """The metric with its standard error."""
        exact = table.all_exact
        found = estimate(
            table, self.metric, "auto" if exact else self.method,
            n_boot=0 if exact else N_BOOT, seed=self.seed, bounds=False, paired=True,
        )[0]  # fmt: skip
        if not exact:
            return found
        values = table.per_user(self.metric)[1]
        spread = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
        return replace(found, std_error=spread / float(np.sqrt(len(values))))


def n_candidates(validation: Split, candidates: str) -> Int:
    """Candidates of each held-out pair, itself included, as :func:`truerank.rank` counts them."""
    held = validation.held_out
    seen = validation.train if validation.fold_in is None else validation.fold_in
    if candidates == "all":
        return np.full(len(held), seen.n_items)
    # Held-out items that training has as well (overlap="keep") stay candidates of their user.
    kept = np.bincount(held.users[contained(held, seen)], minlength=seen.n_users)
    return np.asarray(seen.n_items - seen.user_counts[held.users] + kept[held.users])


def usual_metric(validation: Split, candidates: str) -> Metric:
    """nDCG@100; in a small catalogue, at as many as every validation user has candidates."""
    return Metric("ndcg", int(n_candidates(validation, candidates).min(initial=USUAL_CUTOFF)))


def joined(tables: list[RankTable], rows: list[Int]) -> RankTable:
    """Tables of disjoint rows as one, in the order of the rows."""
    order = np.argsort(np.concatenate(rows), kind="stable")
    columns = {
        name: np.concatenate([getattr(table, name) for table in tables])[order] for name in COLUMNS
    }
    users = len(np.unique(columns["user"]))
    return RankTable(**columns, header=replace(tables[-1].header, n_population=users))


def sharing(table: RankTable, other: RankTable) -> RankTable:
    """The table with the columns it has in common with another held once."""
    same = {
        name: getattr(other, name)
        for name in COLUMNS
        if np.array_equal(getattr(table, name), getattr(other, name))
    }
    return replace(table, **same)
