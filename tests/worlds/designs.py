"""Every design of ranking, with random sizes, some of which a world is right to refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import truerank as tr

from .draws import log_uniform

Designer = Callable[[np.random.Generator, int], Any]
"""A design for worlds whose users have at least this many candidates."""


def _size(rng: np.random.Generator, room: int) -> int:
    """A sample that fits ``room`` candidates; one in ten that may not."""
    if rng.random() < 0.1:
        return int(rng.choice([2, 100, room + 1]))
    return log_uniform(rng, 2, max(2, min(room, 20_000)))


def _first_size(rng: np.random.Generator, room: int) -> int:
    return log_uniform(rng, 2, max(2, min(room, 200)))


def _adaptive_n_max(rng: np.random.Generator, room: int) -> Any:
    n0 = _first_size(rng, room)
    return tr.Adaptive(n0=n0, n_max=n0 * int(rng.integers(1, 40)))


def _adaptive_free(rng: np.random.Generator, room: int) -> Any:
    return tr.Adaptive(
        n0=_first_size(rng, room),
        growth=float(rng.uniform(1.1, 5.0)),
        budget=float(rng.uniform(5, 500)) if rng.random() < 0.7 else np.inf,
        top=int(rng.integers(1, 50)) if rng.random() < 0.5 else None,
    )


def _adaptive_with_replacement(rng: np.random.Generator, room: int) -> Any:
    n0 = _first_size(rng, room - 1)
    return tr.Adaptive(n0=n0, n_max=8 * n0, replacement=True)


def _screened(rng: np.random.Generator, room: int) -> Any:
    return tr.Screened(
        k=log_uniform(rng, 1, 2 * room),
        miss=float(np.exp(rng.uniform(np.log(1e-4), np.log(0.7)))),
        shared=_together(rng) if rng.random() < 0.3 else None,
    )


def _shared(rng: np.random.Generator, room: int) -> Any:
    n = None if rng.random() < 0.1 else log_uniform(rng, 2, max(2, min(2 * room, 20_000)))
    return tr.Sampled(n, shared=_together(rng))


def _together(rng: np.random.Generator) -> int:
    """About how many users share their rivals."""
    return log_uniform(rng, 1, 1000)


INNER: dict[str, Designer] = {
    "full": lambda rng, room: tr.Full(),
    "sampled": lambda rng, room: tr.Sampled(_size(rng, room)),
    "sampled with replacement": lambda rng, room: tr.Sampled(
        _size(rng, room - 1), replacement=True
    ),
    "adaptive": lambda rng, room: tr.Adaptive(),
    "adaptive n_max": _adaptive_n_max,
    "adaptive free": _adaptive_free,
    "adaptive with replacement": _adaptive_with_replacement,
    "screened": lambda rng, room: tr.Screened(),
    "screened k": _screened,
    "shared": _shared,
}
"""How a row is ranked."""

DESIGNS = (
    *INNER, "users full", "users sampled", "users adaptive", "users screened k", "users shared",
    "given",
)  # fmt: skip
"""The names of all designs: rows, rows of some users, and negatives that somebody chose."""


def given_negatives(
    rng: np.random.Generator, targets: Any, seen: list[Any], n_items: int, room: int
) -> Any:
    """As somebody publishes them: for each row, distinct candidates that are not the target."""
    n = log_uniform(rng, 1, min(room - 1, 50)) if room > 1 else 0
    negatives = []
    for target, known in zip(targets, seen, strict=True):
        free = np.ones(n_items, dtype=bool)
        free[known] = free[target] = False
        negatives.append(rng.choice(np.flatnonzero(free), n, replace=False))
    return tr.FixedNegatives(negatives)
