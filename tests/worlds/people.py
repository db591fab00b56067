"""Who touched what in a random world: heavy tails, cold items, one-item users, any kind of id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    timestamp: NDArray[np.int64]
    item_ids: NDArray[Any] | None

    def shuffled(self, rng: np.random.Generator) -> Rows:
        """The same rows and the same vocabulary in another order."""
        order = rng.permutation(len(self.user))
        names = None if self.item_ids is None else rng.permutation(self.item_ids)
        return Rows(
            user=self.user[order],
            item=self.item[order],
            weight=None if self.weight is None else self.weight[order],
            timestamp=self.timestamp[order],
            item_ids=names,
        )


def draw_rows(rng: np.random.Generator, n_users: int, n_items: int, id_kind: str) -> Rows:
    """Distinct pairs: activity of users and popularity of items both have heavy tails."""
    activity = np.minimum(
        rng.lognormal(rng.uniform(0.3, 2.5), rng.uniform(0.2, 1.5), n_users), n_items
    )
    lengths = np.clip(activity.astype(np.int64) + 1, 1, n_items)
    lengths[rng.random(n_users) < rng.choice([0.0, 0.1, 0.5])] = 1
    # Somebody must have something to hold out, or a split has nothing to do.
    lengths[0] = min(n_items, max(lengths[0], 3))
    kept = np.cumsum(lengths) <= MOST_PAIRS
    kept[0] = True
    lengths = np.where(kept, lengths, 1)
    touched = n_items if rng.random() < 0.5 else max(2, int(n_items * rng.uniform(0.3, 1.0)))
    weights = 1.0 / (1.0 + np.arange(touched)) ** rng.uniform(0.0, 1.6)
    reach = rng.permutation(n_items)[:touched]
    edges = np.cumsum(weights)
    drawn = np.searchsorted(edges, rng.random(int(2 * lengths.sum()) + 64) * edges[-1])
    drawn = reach[np.minimum(drawn, touched - 1)]
    user = np.repeat(np.arange(n_users), 2 * lengths)
    pairs = np.unique(np.stack([user, drawn[: len(user)]]), axis=1)
    user, item = pairs[0], pairs[1]
    order = rng.permutation(len(user))
    user, item = user[order], item[order]
    order = np.argsort(user, kind="stable")
    user, item = user[order], item[order]
    first = np.searchsorted(user, np.arange(n_users))
    keep = np.arange(len(user)) - first[user] < lengths[user]
    user, item = user[keep], item[keep]
    order = rng.permutation(len(user))
    user, item = user[order], item[order]
    names = ids_of(rng, n_items, id_kind, "i")
    whole = n_items > 2_000 or rng.random() < 0.8
    return Rows(
        user=ids_of(rng, n_users, id_kind, "u")[user],
        item=names[item],
        weight=rng.integers(1, 6, len(user)).astype(np.float64) if rng.random() < 0.3 else None,
        timestamp=rng.integers(0, rng.choice([3, 100, 10**9]), len(user)).astype(np.int64),
        item_ids=names if whole else None,
    )


ALPHABET = ("é", "é", "ß", "Ω", "漢", "字", "ñ", "🙂", "👩‍👧", "ا", "क", " ", "'", '"', ",")


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
    letters = rng.integers(0, len(ALPHABET), n)
    return np.array([f"{ALPHABET[k]}{letter}{i}" for k, i in zip(letters, range(n), strict=True)])
