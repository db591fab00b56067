"""A random world: everything about it is a function of one whole number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from truerank.estimators.methods import METHODS, SLOW_TO_REFIT

from .people import ID_KINDS, Rows, draw_rows
from .scorers import KINDS, Folded

MOST_SCORES = 3 * 10**7
"""Users times items of an ordinary world; one in twenty may have ten times as many."""

LARGEST_CATALOGUE, MOST_USERS = 200_000, 5_000
TIE_RULES = ("half", "optimistic", "pessimistic", "random")
METRICS = (
    "recall", "recall-capped", "precision", "ndcg", "ndcg-uncapped", "hit", "mrr", "ap",
    "ap-capped",
)  # fmt: skip
ANY_SIZES = ["naive", "rank-unbiased", "mle", "wmle-ap", "wmle-ndcg"]
"""Methods that take any mixture of sizes."""

EXECUTORS = {"none": 0.4, "serial": 0.2, "threads": 0.38, "processes": 0.02}
"""How often each is taken; processes are slow to start."""

Int = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a world is made of, drawn before anything of truerank runs."""

    seed: int
    n_users: int
    n_items: int
    id_kind: str
    split: str
    models: tuple[str, str]
    candidates: str
    ties: str | None
    design: str
    method: str
    executor: str
    n_boot: int
    rank_seed: int


def plan_of(seed: int) -> Plan:
    """The plan of a world; sizes are log-uniform."""
    rng = np.random.default_rng([18, seed])
    work = MOST_SCORES * (10 if rng.random() < 0.05 else 1)
    n_items = log_uniform(rng, 2, LARGEST_CATALOGUE)
    n_users = log_uniform(rng, 1, min(MOST_USERS, max(1, work // n_items)))
    able = [name for name, kind in KINDS.items() if kind.most_items >= n_items]
    design = str(rng.choice(list(DESIGNS)))
    slow = n_users * n_items > 10**6
    methods = [name for name in METHODS if not (slow and name in SLOW_TO_REFIT)]
    candidates = str(rng.choice(["unseen", "all"]))
    if "sampled" not in design or candidates == "unseen":  # sizes differ: most would refuse
        methods = [*(ANY_SIZES * 5), *methods]
    return Plan(
        seed=seed,
        n_users=n_users,
        n_items=n_items,
        id_kind=str(rng.choice(ID_KINDS)),
        split=str(rng.choice(list(SPLITS))),
        models=(str(rng.choice(able)), str(rng.choice(able))),
        candidates=candidates,
        ties=None if rng.random() < 0.5 else str(rng.choice(TIE_RULES)),
        design=design,
        method="auto" if rng.random() < 0.4 else str(rng.choice(methods)),
        executor=str(
            rng.choice(["none", "serial", "threads", "processes"], p=[0.4, 0.2, 0.38, 0.02])
        ),
        n_boot=int(rng.choice([0, 25, 120, 200])),
        rank_seed=int(rng.integers(2**40)),
    )


def log_uniform(rng: np.random.Generator, least: int, most: int) -> int:
    """A whole number whose logarithm is uniform."""
    return int(np.clip(np.exp(rng.uniform(np.log(least), np.log(most + 1))), least, most))


# ---------------------------------------------------------------- splits

Splitter = Callable[[tr.Interactions, np.random.Generator], Any]


def _rules(rng: np.random.Generator, *names: str) -> dict[str, str]:
    choices = {
        "short_users": ("keep_in_train", "drop"),
        "cold_items": ("keep", "drop"),
        "new_users": ("keep", "drop"),
        "overlap": ("drop", "keep"),
    }
    return {name: str(rng.choice(choices[name], p=[0.8, 0.2])) for name in names}


def _within(function: str, **settings: Any) -> Splitter:
    def split(data: tr.Interactions, rng: np.random.Generator) -> Any:
        rules = _rules(rng, "short_users", "cold_items")
        by, seed = str(rng.choice(["random", "latest"])), int(rng.integers(2**40))
        return getattr(tr.split, function)(data, **settings, by=by, seed=seed, **rules)

    return split


def _temporal(data: tr.Interactions, rng: np.random.Generator) -> Any:
    rules = _rules(rng, "short_users", "cold_items", "new_users")
    return tr.split.temporal(data, fraction=float(rng.uniform(0.05, 0.6)), **rules)


def _strong(data: tr.Interactions, rng: np.random.Generator) -> Any:
    rules = _rules(rng, "short_users", "cold_items")
    fold_in = float(rng.uniform(0.3, 0.9))
    return tr.split.strong_generalization(
        data, n_users=max(1, data.n_users // 4), fold_in=fold_in, seed=int(rng.integers(2**40)),
        **rules,
    )  # fmt: skip


def _from_parts(data: tr.Interactions, rng: np.random.Generator) -> Any:
    """Parts that overlap, with held-out users and items that training has never seen."""
    held = rng.random(len(data)) < rng.uniform(0.1, 0.6)
    train = ~held | (rng.random(len(data)) < rng.choice([0.0, 0.2]))
    return tr.split.from_parts(
        data.select(train), data.select(held),
        **_rules(rng, "short_users", "cold_items", "new_users", "overlap"),
    )  # fmt: skip


SPLITS: dict[str, Splitter] = {
    "leave_one_out": _within("leave_one_out"),
    "leave_k_out 2": _within("leave_k_out", k=2),
    "leave_k_out 5": _within("leave_k_out", k=5),
    "ratio 0.2": _within("ratio", fraction=0.2),
    "ratio 0.6": _within("ratio", fraction=0.6),
    "temporal": _temporal,
    "strong": _strong,
    "from_parts": _from_parts,
}

# ---------------------------------------------------------------- designs


def _size(rng: np.random.Generator, room: int) -> int:
    """A sample that fits ``room`` candidates; one in ten that may not."""
    if rng.random() < 0.1:
        return int(rng.choice([2, 100, room + 1]))
    return log_uniform(rng, 2, max(2, min(room, 20_000)))


def _growing(rng: np.random.Generator, room: int) -> Any:
    n0 = log_uniform(rng, 2, max(2, min(room, 200)))
    return tr.Adaptive(n0=n0, n_max=n0 * int(rng.integers(1, 40)))


def _free(rng: np.random.Generator, room: int) -> Any:
    return tr.Adaptive(
        n0=log_uniform(rng, 2, max(2, min(room, 200))),
        growth=float(rng.uniform(1.1, 5.0)),
        budget=float(rng.uniform(5, 500)) if rng.random() < 0.7 else np.inf,
        top=int(rng.integers(1, 50)) if rng.random() < 0.5 else None,
    )


def _repeated(rng: np.random.Generator, room: int) -> Any:
    n0 = log_uniform(rng, 2, max(2, min(room - 1, 200)))
    return tr.Adaptive(n0=n0, n_max=8 * n0, replacement=True)


INNER: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "full": lambda rng, room: tr.Full(),
    "sampled": lambda rng, room: tr.Sampled(_size(rng, room)),
    "sampled with replacement": lambda rng, room: tr.Sampled(
        _size(rng, room - 1), replacement=True
    ),
    "adaptive": lambda rng, room: tr.Adaptive(),
    "adaptive n_max": _growing,
    "adaptive free": _free,
    "adaptive with replacement": _repeated,
}
DESIGNS = (*INNER, "users full", "users sampled", "users adaptive")

# ---------------------------------------------------------------- the world


class World:
    """A world as truerank meets it; parts are made when first asked for, and once."""

    def __init__(self, seed: int) -> None:
        self.plan = plan_of(seed)

    def rng(self, purpose: int) -> np.random.Generator:
        """Random numbers for one purpose; no part of a world depends on what was made before."""
        return np.random.default_rng([18, self.plan.seed, purpose])

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
    def seen(self) -> Any:
        """Items that are no candidates, or None."""
        if self.plan.candidates == "all":
            return None
        return self.split.train if self.split.fold_in is None else self.split.fold_in

    @cached_property
    def users(self) -> Int:
        return np.asarray(self.split.held_out.users, np.int64)

    @cached_property
    def items(self) -> Int:
        return np.asarray(self.split.held_out.indices, np.int64)

    @cached_property
    def n_candidates(self) -> Int:
        """Candidates of each row, the slow way."""
        n = np.full(len(self.users), self.split.train.n_items)
        if self.seen is not None:
            known = [set(self.seen.items_of(u).tolist()) for u in range(self.seen.n_users)]
            for row, (u, i) in enumerate(zip(self.users, self.items, strict=True)):
                n[row] -= len(known[u]) - (int(i) in known[u])
        return n

    @cached_property
    def n_held_out_users(self) -> int:
        return len(np.unique(self.users))

    @cached_property
    def design(self) -> Any:
        rng, room = self.rng(5), int(self.n_candidates.min())
        name = self.plan.design
        if not name.startswith("users "):
            return INNER[name](rng, room)
        m = log_uniform(rng, 1, self.n_held_out_users)
        return tr.Users(m, INNER[name.removeprefix("users ")](rng, room))

    @cached_property
    def metrics(self) -> list[str]:
        """Some of the notation; one in six has a cutoff beyond the catalogue."""
        rng, most = self.rng(6), int(self.n_candidates.min())
        names = [str(name) for name in rng.choice(METRICS, 3, replace=False)]
        ks = [log_uniform(rng, 1, max(1, min(most, 100))) for _ in names]
        if rng.random() < 1 / 6:
            ks[0] = int(self.n_candidates.max()) + 1
        found = [f"{name}@{k}" for name, k in zip(names, ks, strict=True)]
        return [*found, str(rng.choice(["auc", "mrr", "ap"]))]

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

    def describe(self) -> str:
        """The world in a few readable lines."""
        plan = self.plan
        lines = [
            f"world {plan.seed}: {plan.n_users:,} users x {plan.n_items:,} items",
            f"  split {plan.split}, models {plan.models[0]} and {plan.models[1]}",
            f"  {plan.id_kind} ids, candidates {plan.candidates}, ties {plan.ties or 'by default'}",
            f"  design {plan.design}, executor {plan.executor}",
            f"  method {plan.method}, n_boot {plan.n_boot}, seed of ranks {plan.rank_seed}",
        ]
        for label, name in (("design", "design"), ("metrics", "metrics"), ("split", "split")):
            if name in self.__dict__:
                lines.append(f"  {label}: {self.__dict__[name]!r}")
        return "\n".join(lines)
