"""A random world as truerank meets it: data, split, models, design, tables."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from truerank.metrics import as_metric

from .designs import INNER, given_negatives
from .draws import log_uniform
from .people import Rows, draw_rows
from .plan import plan_of
from .scorers import KINDS, Folded
from .splits import SPLITS

CUT_METRICS = (
    "recall", "recall-capped", "precision", "ndcg", "ndcg-uncapped", "hit", "mrr", "ap",
    "ap-capped",
)  # fmt: skip
WHOLE_METRICS = ("auc", "mrr", "ap")
"""Metrics with a cutoff, and without."""

Int = NDArray[np.int64]


class World:
    """Everything is a function of one number; parts are made when first asked for, and once."""

    def __init__(self, seed: int) -> None:
        self.plan = plan_of(seed)

    def rng(self, purpose: int) -> np.random.Generator:
        """Random numbers for one purpose; no part of a world depends on what was made before."""
        return np.random.default_rng([18, self.plan.seed, purpose])

    # ------------------------------------------------------------ data, split, models

    @cached_property
    def rows(self) -> Rows:
        plan = self.plan
        return draw_rows(self.rng(1), plan.n_users, plan.n_items, plan.id_kind)

    def interactions(self, rows: Rows) -> tr.Interactions:
        """The rows as truerank takes them."""
        return tr.Interactions.from_arrays(
            rows.user,
            rows.item,
            weight=rows.weight,
            timestamp=rows.timestamp,
            item_ids=rows.item_ids,
        )

    def split_of(self, rows: Rows) -> Any:
        """The split of these rows by the world's rule."""
        return SPLITS[self.plan.split](self.interactions(rows), self.rng(2))

    @cached_property
    def split(self) -> Any:
        return self.split_of(self.rows)

    def model_of(self, split: Any, which: int = 0) -> Any:
        """The world's first or second model, fitted on this split."""
        kind = KINDS[self.plan.models[which]]
        if len(split.train) > kind.most_pairs:
            kind = KINDS["Popularity"]
        made = kind.make(split.train, self.rng(3 + which))
        return made.scorer if isinstance(made, Folded) and split.fold_in is None else made

    @cached_property
    def model(self) -> Any:
        return self.model_of(self.split)

    @cached_property
    def rival(self) -> Any:
        return self.model_of(self.split, 1)

    @cached_property
    def scorer(self) -> Any:
        """What is ranked: the model, or the model with the held-out users folded in."""
        fold_in = self.split.fold_in
        return self.model if fold_in is None else self.model.fold_in(fold_in)

    # ------------------------------------------------------------ held-out rows

    @cached_property
    def users(self) -> Int:
        return np.asarray(self.split.held_out.users, np.int64)

    @cached_property
    def items(self) -> Int:
        return np.asarray(self.split.held_out.indices, np.int64)

    @cached_property
    def n_held_out_users(self) -> int:
        return len(np.unique(self.users))

    @property
    def several_targets(self) -> bool:
        """Whether a user has more than one held-out item."""
        return len(self.users) > self.n_held_out_users

    @cached_property
    def seen(self) -> Any:
        """Items that are no candidates, or None."""
        if self.plan.candidates == "all":
            return None
        return self.split.train if self.split.fold_in is None else self.split.fold_in

    @cached_property
    def seen_of_row(self) -> list[Int]:
        """Items that are no candidates of each row's user; what is held out as well is one."""
        if self.seen is None:
            return [np.empty(0, np.int64)] * len(self.users)
        known = {
            int(u): np.setdiff1d(self.seen.items_of(int(u)), self.items[self.users == u])
            for u in np.unique(self.users)
        }
        return [known[int(u)] for u in self.users]

    @cached_property
    def n_candidates(self) -> Int:
        """Candidates of each row, the slow way."""
        return np.array([self.split.train.n_items - len(seen) for seen in self.seen_of_row])

    # ------------------------------------------------------------ tables

    @cached_property
    def design(self) -> Any:
        rng, room, name = self.rng(5), int(self.n_candidates.min()), self.plan.design
        if name == "given":
            n_items = self.split.train.n_items
            return given_negatives(rng, self.items, self.seen_of_row, n_items, room)
        if name.startswith("users "):
            m = log_uniform(rng, 1, self.n_held_out_users)
            return tr.Users(m, INNER[name.removeprefix("users ")](rng, room))
        return INNER[name](rng, room)

    @property
    def inner(self) -> Any:
        """How each user is ranked, whichever users are."""
        return self.design.inner if isinstance(self.design, tr.Users) else self.design

    @property
    def shares_rivals(self) -> bool:
        """Whether users meet their rivals in blocks."""
        return (
            isinstance(self.inner, tr.Screened) or getattr(self.inner, "shared", None) is not None
        )

    @property
    def rank_options(self) -> dict[str, Any]:
        """Everything that rank is told but the model, the split and the design."""
        ties = {} if self.plan.ties is None else {"ties": self.plan.ties}
        return {"seed": self.plan.rank_seed, "candidates": self.plan.candidates, **ties}

    @cached_property
    def executor(self) -> Any:
        made = {"none": None, "serial": tr.Serial(), "threads": tr.Threads(3)}
        return made[self.plan.executor] if self.plan.executor in made else tr.Processes(2)

    def rank(self, design: Any, model: Any = None, **options: Any) -> tr.RankTable:
        """A table of this world."""
        chosen = self.model if model is None else model
        return tr.rank(chosen, self.split, design, **(self.rank_options | options))

    @cached_property
    def full(self) -> tr.RankTable:
        return self.rank(tr.Full())

    @cached_property
    def table(self) -> tr.RankTable:
        return self.rank(self.design, executor=self.executor)

    def some_rows(self, most_scores: int) -> Int:
        """All rows of some users, so many that no more than this many items are scored."""
        users = self.rng(23).permutation(np.unique(self.users))
        n = max(1, most_scores // self.split.train.n_items)
        return np.flatnonzero(np.isin(self.users, users[:n]))

    def rank_rows(self, rows: Int, design: Any, **options: Any) -> tr.RankTable:
        """Some rows of the world by themselves."""
        told = {k: v for k, v in self.rank_options.items() if k != "candidates"} | options
        told = {"user_ids": self.split.train.user_ids} | told  # blocks of users go by their names
        return tr.rank_pairs(
            self.scorer, self.users[rows], self.items[rows], design, exclude=self.seen, **told
        )

    # ------------------------------------------------------------ metrics

    @cached_property
    def metrics(self) -> list[str]:
        """Some of the notation; one in six has a cutoff beyond the catalogue."""
        rng, most = self.rng(6), int(self.n_candidates.min())
        names = [str(name) for name in rng.choice(CUT_METRICS, 3, replace=False)]
        ks = [log_uniform(rng, 1, max(1, min(most, 100))) for _ in names]
        if rng.random() < 1 / 6:
            ks[0] = int(self.n_candidates.max()) + 1
        cut = [f"{name}@{k}" for name, k in zip(names, ks, strict=True)]
        return [*cut, str(rng.choice(WHOLE_METRICS))]

    def safe_metrics(self, *tables: tr.RankTable) -> list[str]:
        """The world's metrics that nobody has a reason to refuse on these tables."""
        joint = all(bool(table.is_exact.all()) for table in tables) or not self.several_targets
        targets = np.bincount(self.users)[self.users]
        pairs = bool((targets < self.n_candidates).all())
        found = []
        for name in self.metrics:
            metric = as_metric(name)
            listed = (metric.k or 1) <= int(self.n_candidates.min())
            if listed and (metric.linear or joint) and (name != "auc" or pairs):
                found.append(name)
        return found or ["recall@1"]

    def describe(self) -> str:
        """The world in a few readable lines."""
        plan = self.plan
        lines = [
            f"world {plan.seed}: {plan.n_users:,} users x {plan.n_items:,} items",
            f"  split {plan.split}, models {plan.models[0]} and {plan.models[1]}",
            f"  {plan.id_kind} ids, candidates {plan.candidates}, ties {plan.ties or 'by default'}",
            f"  design {plan.design}, executor {plan.executor}, population {plan.population}",
            f"  method {plan.method}, n_boot {plan.n_boot}, seed of ranks {plan.rank_seed}",
        ]
        made = [name for name in ("design", "metrics", "split") if name in self.__dict__]
        return "\n".join([*lines, *(f"  {name}: {self.__dict__[name]!r}"[:400] for name in made)])
