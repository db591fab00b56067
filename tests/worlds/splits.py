"""Every way to hold something out, with random rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import truerank as tr

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
