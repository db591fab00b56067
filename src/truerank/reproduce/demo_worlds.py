"""The two worlds of the demonstration: a small catalogue with fitted models, and a large one.

In the small one ranking everything takes no time, so nothing cheaper is called for; it shows what
samples make of five real models. In the large one ranking everything is what people avoid. Its
models are factors generated around each user's held-out item, so that it needs neither data nor a
fit: one model knows some users very well and nothing of the others, one knows a little about all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.data import load_dataset
from truerank.models import EASE, IALS, SLIM, ItemKNN, Popularity
from truerank.ranking import (
    Design,
    FactorScorer,
    Full,
    RankTable,
    Sampled,
    Screened,
    Users,
    rank,
    rank_pairs,
)
from truerank.ranking.designs import InnerDesign
from truerank.rng import Stream, stream
from truerank.split import Split, leave_one_out

RankBy = Callable[[Design], RankTable]
"""One model, ranked by any design."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One way to evaluate: a design and a method.

    Attributes:
        name: For tables.
        design: Key of the design; evaluations with the same key share one ranking.
        method: Of the estimates.
    """

    name: str
    design: str
    method: str


FULL = Evaluation(name="full", design="full", method="exact")
NAIVE = Evaluation(name="naive, n = 100", design="sampled", method="naive")
CORRECTED = Evaluation(name="corrected, n = 100", design="sampled", method="auto")
SCREENED = Evaluation(name="screened", design="screened", method="auto")
SOME_USERS = Evaluation(name="some users", design="users", method="exact")


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Models, the ways to evaluate them, and what is asked.

    Attributes:
        about: One line for people.
        prefix: Of the names of its files.
        metrics: The first one is shown.
        models: What makes each model ready to be ranked.
        designs: By the keys of the evaluations; ``full`` and ``screened`` are among them.
        evaluations: The first is the truth.
    """

    about: str
    prefix: str
    metrics: tuple[str, ...]
    models: Mapping[str, Callable[[], RankBy]]
    designs: Mapping[str, InnerDesign | Users]
    evaluations: tuple[Evaluation, ...]


MODELS: dict[str, Any] = {
    "popularity": Popularity(),
    "item-kNN": ItemKNN(k=20),
    "iALS": IALS(dim=32, epochs=10),
    "EASE": EASE(l2=200.0),
    "SLIM": SLIM(l1=1.0, l2=20.0),
}

USERS_SHARE = 0.15
"""Part of the users that the user-sampled evaluation ranks."""


def embedded_split(seed: int) -> Split:
    """The embedded data, the latest item of every user held out."""
    return leave_one_out(load_dataset("demo", seed=seed), by="latest", seed=seed)


def small_world(split: Split, *, seed: int = 0) -> World:
    """Five fitted models on embedded data."""
    held_out = len(np.unique(split.held_out.users))

    def ready(model: Any) -> RankBy:
        return partial(rank, model.fit(split.train), split, seed=seed, progress=False)

    return World(
        about=f"{split.train.n_items:,} items: small, so full ranking is right.",
        prefix="",
        metrics=("recall@10", "ndcg@10"),
        models={name: partial(ready, model) for name, model in MODELS.items()},
        designs={
            "full": Full(),
            "sampled": Sampled(n=100),
            "screened": Screened(k=10),
            "users": Users(m=max(1, round(USERS_SHARE * held_out)), inner=Full()),
        },
        evaluations=(FULL, NAIVE, CORRECTED, SCREENED, SOME_USERS),
    )


LARGE_ITEMS, LARGE_USERS, DIM = 200_000, 3_000, 32

TOGETHER = 300
"""Users who share their rivals in the large world: enough to make a matrix product of them."""

KNOWN: dict[str, tuple[float, float, float]] = {
    "specialist": (0.28, 0.4, 1.2),
    "mixed": (0.55, 0.2, 0.8),
    "generalist": (1.0, 0.15, 0.7),
}
"""The part of the users of whom a model knows anything, and from how little to how much."""


def large_world(*, n_items: int = LARGE_ITEMS, n_users: int = LARGE_USERS, seed: int = 0) -> World:
    """Three generated models over a large catalogue.

    Memory: the factors of the items, 26 MB.
    """
    generator = stream(seed, Stream.DEMO, n_items)
    V = generator.standard_normal((n_items, DIM), dtype=np.float32)
    items = generator.integers(0, n_items, n_users)
    users = np.arange(n_users)

    def ready(U: NDArray[np.float32]) -> RankBy:
        scorer = FactorScorer(U, V)
        return partial(_rank_pairs, scorer, users, items, seed)

    models = {}
    for name, (part, least, most) in KNOWN.items():
        knows = generator.uniform(least, most, (n_users, 1))
        knows[generator.random((n_users, 1)) >= part] = 0.0
        noise = generator.standard_normal((n_users, DIM), dtype=np.float32)
        models[name] = partial(ready, noise + knows.astype(np.float32) * V[items])
    return World(
        about=f"{n_items:,} items: large, so a screen pays.",
        prefix="large-",
        metrics=("recall@20", "ndcg@20"),
        models=models,
        designs={
            "full": Full(),
            "sampled": Sampled(n=100),
            "screened": Screened(k=20, shared=TOGETHER),
        },
        evaluations=(FULL, NAIVE, CORRECTED, SCREENED),
    )


def _rank_pairs(
    scorer: FactorScorer, users: NDArray[Any], items: NDArray[Any], seed: int, design: Design
) -> RankTable:
    return rank_pairs(scorer, users, items, design, seed=seed, progress=False)
