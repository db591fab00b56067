"""What a world is made of: a function of its number, drawn before anything of truerank runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.estimators.methods.table import METHODS, SLOW_TO_REFIT

from .designs import DESIGNS
from .draws import log_uniform
from .people import ID_KINDS
from .scorers import KINDS
from .splits import SPLITS

MOST_SCORES = 3 * 10**7
"""Users times items of an ordinary world; one in twenty may have ten times as many."""

LARGEST_CATALOGUE, MOST_USERS = 200_000, 5_000
TIE_RULES = ("half", "optimistic", "pessimistic", "random")
ANY_SIZES = ("naive", "rank-unbiased", "mle", "wmle-ap", "wmle-ndcg")
"""Methods that take any mixture of sizes."""

EXECUTORS = {"none": 0.4, "serial": 0.2, "threads": 0.38, "processes": 0.02}
"""How often each is taken; processes are slow to start."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The names of a world's parts; ``ties`` None leaves the rule to truerank."""

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
    population: str
    executor: str
    n_boot: int
    rank_seed: int


def plan_of(seed: int) -> Plan:
    """The plan of a world."""
    rng = np.random.default_rng([18, seed])
    work = MOST_SCORES * (10 if rng.random() < 0.05 else 1)
    n_items = log_uniform(rng, 2, LARGEST_CATALOGUE)
    n_users = log_uniform(rng, 1, min(MOST_USERS, max(1, work // n_items)))
    models = [name for name, kind in KINDS.items() if kind.most_items >= n_items]
    design, candidates = str(rng.choice(DESIGNS)), str(rng.choice(["unseen", "all"]))
    return Plan(
        seed=seed,
        n_users=n_users,
        n_items=n_items,
        id_kind=str(rng.choice(ID_KINDS)),
        split=str(rng.choice(list(SPLITS))),
        models=(str(rng.choice(models)), str(rng.choice(models))),
        candidates=candidates,
        ties=None if rng.random() < 0.5 else str(rng.choice(TIE_RULES)),
        design=design,
        method=_method(
            rng,
            one_size="sampled" in design and candidates == "all",
            large=n_users * n_items > 10**6,
        ),
        population=str(rng.choice(["infinite", "finite"], p=[0.7, 0.3])),
        executor=str(rng.choice(list(EXECUTORS), p=list(EXECUTORS.values()))),
        n_boot=int(rng.choice([0, 25, 120, 200])),
        rank_seed=int(rng.integers(2**40)),
    )


def _method(rng: np.random.Generator, *, one_size: bool, large: bool) -> str:
    """Any method; where sizes differ mostly those that take them, for others would only refuse."""
    if rng.random() < 0.4:
        return "auto"
    if not one_size and rng.random() < 0.7:
        return str(rng.choice(ANY_SIZES))
    return str(rng.choice([m for m in METHODS if not (large and m in SLOW_TO_REFIT)]))
