"""Ranking as the documentation tells it, with loops and Python integers: the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse, stats

from truerank.data.interactions import Interactions
from truerank.rng import Stream, addresses

TIES = ("half", "optimistic", "pessimistic", "random")
WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15


def mix(x: int) -> int:
    z = (x + GOLDEN) % WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def rivals_of(
    seed: int, user: int, target: int, n_items: int, banned: set[int], n: int, replacement: bool
) -> list[int]:
    """The n rivals of a row: item after item by the row's own words, the banned passed over."""
    key = int(addresses(seed, Stream.NEGATIVES, user, target)[0])
    candidates = [item for item in range(n_items) if item != target and item not in banned]
    found: list[int] = []
    if n == len(candidates) and not replacement:
        return candidates  # all of them: nothing to draw
    i = 0
    while len(found) < n:
        item = mix((key + i * GOLDEN) % WORD) * n_items // WORD
        i += 1
        if item in candidates and (replacement or item not in found):
            found.append(item)
    return found


def scores_of(X: np.ndarray, Y: np.ndarray, user: int) -> np.ndarray:
    """Scores of all items for one user in float64, summed from the first column to the last."""
    total = np.zeros(len(Y))
    for k in range(X.shape[1]):
        total += np.float64(X[user, k]) * Y[:, k].astype(np.float64)
    return total


def in_order(
    scores: np.ndarray, items: list[int], held: set[int], ties: str, seed: int, user: int,
    whole: bool = True, copies: list[int] | None = None,
) -> list[int]:  # fmt: skip
    """The items as the user's list has them: one order, whatever the target is asked for.

    ``held`` are the user's targets. ``whole`` says that all candidates are here; else ``half``
    puts each tied item above or below the targets by its coin. ``copies`` are targets that stand
    among their own negatives, where they are no targets.
    """
    listed: list[int] = []
    entries = [(item, False) for item in items] + [(item, True) for item in copies or []]
    for score in sorted({float(scores[item]) for item in items}, reverse=True):
        block = sorted(entry for entry in entries if scores[entry[0]] == score)
        words = {item: int(addresses(seed, Stream.TIES, user, item)[0]) for item, _ in block}
        targets = [entry for entry in block if entry[0] in held and not entry[1]]
        others = [entry for entry in block if entry not in targets]
        above, below = others, []
        if ties == "random":
            above, targets = sorted(block, key=lambda entry: (words[entry[0]], entry[1])), []
        elif ties == "half" and whole:
            middle = -(-len(others) // 2)
            above, below = others[:middle], others[middle:]
        elif ties == "half":
            above = [entry for entry in others if words[entry[0]] < WORD // 2]
            below = [entry for entry in others if words[entry[0]] >= WORD // 2]
        elif ties == "optimistic":
            above, below = [], others
        listed += [item if not copy else -1 for item, copy in above + targets + below]
    return listed


def place(
    scores: np.ndarray, target: int, rivals: list[int], ties: str, seed: int, user: int,
    held: set[int], whole: bool = True,
) -> int:  # fmt: skip
    """The rank of the target among the rivals, itself included."""
    others = [rival for rival in rivals if rival != target]
    copies = [rival for rival in rivals if rival == target]
    listed = in_order(
        scores, [target, *others], held | {target}, ties, seed, user, whole, copies
    )  # fmt: skip
    return 1 + listed.index(target)


def held_by(users: np.ndarray, items: np.ndarray) -> dict[int, set[int]]:
    """The targets of each user."""
    held: dict[int, set[int]] = {}
    for user, item in zip(users.tolist(), items.tolist(), strict=True):
        held.setdefault(user, set()).add(item)
    return held


def full_ranks(
    scores: np.ndarray,
    users: np.ndarray,
    items: np.ndarray,
    exclude: Interactions | None = None,
    ties: str = "random",
    seed: int = 0,
) -> tuple[list[int], list[int]]:
    """Rank and number of candidates of each pair; ``scores`` is users x items."""
    ranks, sizes, held = [], [], held_by(users, items)
    for user, target in zip(users.tolist(), items.tolist(), strict=True):
        banned = banned_for(user, held[user], exclude)
        candidates = [i for i in range(scores.shape[1]) if i not in banned]
        listed = in_order(scores[user], candidates, held[user], ties, seed, user)
        ranks.append(1 + listed.index(target))
        sizes.append(len(candidates))
    return ranks, sizes


def banned_for(user: int, held: set[int], exclude: Interactions | None) -> set[int]:
    """What the user has seen and is not held out."""
    return set() if exclude is None else set(exclude.items_of(user).tolist()) - held


def p_value(observed: np.ndarray, expected: np.ndarray) -> float:
    """Chi-square p-value of counts, thin cells put together."""
    order = np.argsort(expected)
    cells: list[list[float]] = [[0.0, 0.0]]
    for k in order:
        cells[-1][0] += observed[k]
        cells[-1][1] += expected[k]
        if cells[-1][1] >= 5:
            cells.append([0.0, 0.0])
    if cells[-1][1] < 5 and len(cells) > 1:
        rest = cells.pop()
        cells[-1][0] += rest[0]
        cells[-1][1] += rest[1]
    seen, wanted = np.array(cells).T
    if len(seen) == 1:
        return float(seen[0] == round(wanted[0]))
    return float(stats.chisquare(seen, wanted * seen.sum() / wanted.sum()).pvalue)


@dataclass
class World:
    """Factors with exact ties in them, histories, and pairs in no order."""

    X: np.ndarray
    Y: np.ndarray
    users: np.ndarray
    items: np.ndarray
    seen: Interactions
    scores: np.ndarray


def make_world(
    n_users: int = 60, n_items: int = 90, d: int = 5, dtype: Any = np.float32, seed: int = 0
) -> World:
    """Several targets per user, some of them among the user's seen items."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "i":
        X = rng.integers(-3, 4, (n_users, d)).astype(dtype)
        Y = rng.integers(-3, 4, (n_items, d)).astype(dtype)
    else:
        X = rng.normal(size=(n_users, d)).astype(dtype)
        Y = rng.normal(size=(n_items, d)).astype(dtype)
    Y[10:20] = Y[30:40]  # each of these ties with another, exactly
    Y[50:54] = Y[60]
    cells = rng.choice(n_users * n_items, n_users * 12, replace=False)
    seen = Interactions.from_arrays(
        cells // n_items, cells % n_items, user_ids=range(n_users), item_ids=range(n_items)
    )
    pairs = rng.choice(n_users * n_items, 3 * n_users, replace=False)
    pairs[: n_users // 2] = cells[: n_users // 2]  # held out although seen
    pairs = rng.permutation(np.unique(pairs))
    return World(
        X, Y, pairs // n_items, pairs % n_items, seen,
        np.array([scores_of(X, Y, user) for user in range(n_users)]),
    )  # fmt: skip


class ItemItem:
    """A scorer by history and item-item matrix."""

    def __init__(self, history: Any, item_item: Any) -> None:
        self.history, self.item_item = history, item_item

    @property
    def n_items(self) -> int:
        return int(self.item_item.shape[1])

    def score_all(self, users: np.ndarray) -> np.ndarray:
        product = sparse.csr_array(self.history)[users] @ self.item_item
        return product if isinstance(product, np.ndarray) else product.toarray()

    def score_pairs(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        return np.take_along_axis(self.score_all(users), items, axis=1)


def item_item_scores(history: Any, item_item: Any) -> np.ndarray:
    """History times item-item matrix in float64, item after item of each history."""
    W = item_item if isinstance(item_item, np.ndarray) else item_item.toarray()
    scores = np.zeros((history.shape[0], W.shape[1]))
    for user in range(history.shape[0]):
        row = history[[user]]
        for value, item in zip(row.data, row.indices, strict=True):
            scores[user] += float(value) * W[item].astype(np.float64)
    return scores
