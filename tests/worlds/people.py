"""Who touched what in a random world: heavy tails, cold items, one-item users, any kind of id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]

MOST_PAIRS = 40_000
"""Interactions of a world: a fit must not take longer than all of its checks."""

ID_KINDS = ("int", "gaps", "padded", "text", "unicode")


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Interactions as a file would hold them, in no order.

    Attributes:
        user: External id of each row's user.
        item: External id of each row's item.
        weight: Strengths, or None.
        timestamp: Times, many of them equal.
        item_ids: Every item there is, touched or not; None where only touched ones are known.
    """

    user: NDArray[Any]
    item: NDArray[Any]
    weight: NDArray[np.float64] | None
    timestamp: Int
    item_ids: NDArray[Any] | None

    def shuffled(self, rng: np.random.Generator) -> Rows:
        """The same rows and the same vocabulary in another order."""
        order = rng.permutation(len(self.user))
        return Rows(
            user=self.user[order],
            item=self.item[order],
            weight=None if self.weight is None else self.weight[order],
            timestamp=self.timestamp[order],
            item_ids=None if self.item_ids is None else rng.permutation(self.item_ids),
        )


def draw_rows(rng: np.random.Generator, n_users: int, n_items: int, id_kind: str) -> Rows:
    """Distinct pairs of users and items, with names."""
    lengths = _activity(rng, n_users, n_items)
    popularity = _popularity(rng, n_items)
    user, item = _pairs(rng, lengths, popularity)
    names = ids_of(rng, n_items, id_kind, "i")
    whole = n_items > 2_000 or rng.random() < 0.8
    return Rows(
        user=ids_of(rng, n_users, id_kind, "u")[user],
        item=names[item],
        weight=rng.integers(1, 6, len(user)).astype(np.float64) if rng.random() < 0.3 else None,
        timestamp=rng.integers(0, rng.choice([3, 100, 10**9]), len(user)).astype(np.int64),
        item_ids=names if whole else None,
    )


def _activity(rng: np.random.Generator, n_users: int, n_items: int) -> Int:
    """Items that each user reaches for: log-normal, and in some worlds many users have one."""
    drawn = rng.lognormal(rng.uniform(0.3, 2.5), rng.uniform(0.2, 1.5), n_users)
    lengths = 1 + np.minimum(drawn, n_items - 1).astype(np.int64)
    lengths[rng.random(n_users) < rng.choice([0.0, 0.1, 0.5])] = 1
    lengths[0] = min(n_items, max(3, int(lengths[0])))  # a split needs somebody to hold out from
    return np.where(np.cumsum(lengths) <= MOST_PAIRS, lengths, 1)


def _popularity(rng: np.random.Generator, n_items: int) -> NDArray[np.float64]:
    """Chance of each item: a power law over those in reach, 0 for the cold ones."""
    reach = n_items if rng.random() < 0.5 else max(2, int(n_items * rng.uniform(0.3, 1.0)))
    popularity = np.zeros(n_items)
    popularity[:reach] = (1.0 + np.arange(reach)) ** -rng.uniform(0.0, 1.6)
    return rng.permutation(popularity / popularity.sum())


def _pairs(
    rng: np.random.Generator, lengths: Int, popularity: NDArray[np.float64]
) -> tuple[Int, Int]:
    """Draws of items for every user, repetitions taken once, in no order."""
    user = np.repeat(np.arange(len(lengths)), lengths)
    item = rng.choice(len(popularity), len(user), p=popularity)
    pairs = np.unique(np.stack([user, item]), axis=1)
    user, item = rng.permutation(pairs, axis=1)
    return user, item


ALPHABET = (
    "\u00e9",
    "e\u0301",
    "ß",
    "Ω",
    "漢",
    "字",
    "ñ",
    "🙂",
    "👩‍👧",
    "ا",
    "क",
    " ",
    "'",
    '"',
    ",",
)
"""First letters of unicode ids: two spellings of é, and what files quote."""


def ids_of(rng: np.random.Generator, n: int, kind: str, letter: str) -> NDArray[Any]:
    """Names of n users or items, in no order."""
    if kind == "int":
        return rng.permutation(n).astype(np.int64)
    if kind == "gaps":
        return rng.permutation(np.cumsum(rng.integers(1, 1000, n)))
    if kind == "padded":  # 7, 07 and 007 are three
        return np.array(["0" * (i % 3) + str(i // 3) for i in rng.permutation(n)])
    if kind == "text":
        return np.array([f"{letter}{i}" for i in rng.permutation(n)])
    return np.array([f"{rng.choice(ALPHABET)}{letter}{i}" for i in rng.permutation(n)])
