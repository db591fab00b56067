"""Models of random worlds: every cheap one of ours, and what strangers bring.

Strangers' scores are hashes of (user, item), so that they can be had for any pairs in any order,
with as many ties as a world wants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import truerank as tr

Scores = NDArray[Any]


def hashed(key: int, users: NDArray[Any], items: NDArray[Any]) -> NDArray[np.uint64]:
    """Well-mixed words of (key, user, item)."""
    with np.errstate(over="ignore"):
        word = np.asarray(users, np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        word = word + np.asarray(items, np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
        word = word + np.uint64(key % 2**63)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
        return np.asarray(word ^ (word >> np.uint64(31)), np.uint64)


class Stranger:
    """A plain class with the three members of a Scorer and a fold_in, nothing of ours."""

    def __init__(self, n_items: int, pairs: Callable[[Scores, Scores], Scores]) -> None:
        self.n_items = n_items
        self._pairs = pairs

    def score_all(self, users: Scores) -> Scores:
        return self._pairs(np.asarray(users)[:, None], np.arange(self.n_items)[None, :])

    def score_pairs(self, users: Scores, items: Scores) -> Scores:
        return self._pairs(np.asarray(users)[:, None], np.asarray(items))

    def fold_in(self, history: Any) -> Any:
        return self


@dataclass(frozen=True)
class Folded:
    """A scorer that stays as it is, whoever is folded in."""

    scorer: Any

    def fold_in(self, history: Any) -> Any:
        return self.scorer


class ItemItem:
    """A stranger with a history and an item-item matrix of small whole numbers: many ties."""

    def __init__(self, train: tr.Interactions, key: int, *, dense: bool) -> None:
        self.history = train.matrix()
        self.n_items = train.n_items
        rng = np.random.default_rng(key)
        if dense:
            shape = (train.n_items, train.n_items)
            self.item_item: Any = rng.integers(-1, 3, shape).astype(np.float32)
        else:
            W = sparse.random_array(
                (train.n_items, train.n_items), density=min(1.0, 20 / train.n_items), rng=rng
            ).tocsr()
            W.data = rng.integers(1, 4, W.nnz).astype(np.float64)
            self.item_item = W

    def score_all(self, users: Scores) -> Scores:
        scores = self.history[users] @ self.item_item
        return np.asarray(scores.todense() if sparse.issparse(scores) else scores)

    def score_pairs(self, users: Scores, items: Scores) -> Scores:
        return np.take_along_axis(self.score_all(users), np.asarray(items), axis=1)

    def fold_in(self, history: tr.Interactions) -> ItemItem:
        other = object.__new__(ItemItem)
        other.history, other.n_items = history.matrix(), self.n_items
        other.item_item = self.item_item
        return other


Maker = Callable[[tr.Interactions, np.random.Generator], Any]


@dataclass(frozen=True)
class Kind:
    """One way to make a model, for catalogues up to a size."""

    make: Maker
    most_items: int
    most_pairs: int = 10**9


def _ours(name: str, **settings: Any) -> Maker:
    return lambda train, rng: getattr(tr.models, name)(**settings).fit(train)


def _levels(n_levels: int) -> Maker:
    def make(train: tr.Interactions, rng: np.random.Generator) -> Any:
        key = int(rng.integers(2**62))
        return Stranger(
            train.n_items,
            lambda u, i: (hashed(key, u, i) % np.uint64(n_levels)).astype(np.int64),
        )

    return make


def _mostly_zero(share: float) -> Maker:
    """As a sparse item-kNN: this share of the items has score 0."""

    def make(train: tr.Interactions, rng: np.random.Generator) -> Any:
        key = int(rng.integers(2**62))

        def pairs(u: Scores, i: Scores) -> Scores:
            x = (hashed(key, u, i) >> np.uint64(11)).astype(np.float64) * 2.0**-53
            return np.maximum(x - share, 0.0)

        return _function(train, pairs)

    return make


def _function(train: tr.Interactions, pairs: Callable[[Scores, Scores], Scores]) -> Any:
    n = train.n_items
    return Folded(
        tr.FunctionScorer(
            lambda u: pairs(np.asarray(u)[:, None], np.arange(n)[None, :]),
            n,
            lambda u, i: pairs(np.asarray(u)[:, None], np.asarray(i)),
        )
    )


def _some_minus_infinity(train: tr.Interactions, rng: np.random.Generator) -> Any:
    key = int(rng.integers(2**62))

    def pairs(u: Scores, i: Scores) -> Scores:
        word = hashed(key, u, i)
        return np.where(word % np.uint64(3) == 0, -np.inf, word.astype(np.float64))

    return Stranger(train.n_items, pairs)


def _factors(train: tr.Interactions, rng: np.random.Generator) -> Any:
    d = int(rng.choice([1, 2, 3, 5, 8, 16, 17, 33, 64]))
    kind = rng.choice([np.float32, np.float64])
    x, y = rng.normal(size=(train.n_users, d)), rng.normal(size=(train.n_items, d))
    return Folded(tr.FactorScorer(x.astype(kind), y.astype(kind)))


def _tied_factors(train: tr.Interactions, rng: np.random.Generator) -> Any:
    d = int(rng.integers(1, 4))
    x = rng.integers(-1, 2, (train.n_users, d)).astype(np.float32)
    y = rng.integers(-1, 2, (train.n_items, d)).astype(np.float32)
    return Folded(tr.FactorScorer(x, y))


def _copied_items(train: tr.Interactions, rng: np.random.Generator) -> Any:
    """Factors with many copies of the same few items: ties between long real vectors."""
    d, few = int(rng.integers(2, 20)), max(1, train.n_items // 4)
    x = rng.normal(size=(train.n_users, d)).astype(np.float32)
    y = rng.normal(size=(few, d)).astype(np.float32)[rng.integers(0, few, train.n_items)]
    return Folded(tr.FactorScorer(x, np.ascontiguousarray(y)))


def _popularity_by_function(train: tr.Interactions, rng: np.random.Generator) -> Any:
    counts = train.item_counts.astype(np.float64)
    return _function(train, lambda u, i: np.broadcast_to(counts[i], np.broadcast(u, i).shape))


KINDS: dict[str, Kind] = {
    "constant": Kind(_levels(1), 200_000),
    "2 levels": Kind(_levels(2), 200_000),
    "10 levels": Kind(_levels(10), 200_000),
    "1000 levels": Kind(_levels(1000), 200_000),
    "no ties": Kind(_levels(2**62), 200_000),
    "10% zero": Kind(_mostly_zero(0.1), 200_000),
    "50% zero": Kind(_mostly_zero(0.5), 200_000),
    "95% zero": Kind(_mostly_zero(0.95), 200_000),
    "some -inf": Kind(_some_minus_infinity, 200_000),
    "factors": Kind(_factors, 200_000),
    "tied factors": Kind(_tied_factors, 200_000),
    "copied items": Kind(_copied_items, 200_000),
    "popularity function": Kind(_popularity_by_function, 200_000),
    "dense item-item": Kind(lambda t, r: ItemItem(t, int(r.integers(2**62)), dense=True), 1_500),
    "sparse item-item": Kind(lambda t, r: ItemItem(t, int(r.integers(2**62)), dense=False), 20_000),
    "Popularity": Kind(_ours("Popularity"), 200_000),
    "ItemKNN": Kind(_ours("ItemKNN"), 200_000, 20_000),
    "ItemKNN k=5": Kind(_ours("ItemKNN", k=5, shrink=10.0), 50_000, 20_000),
    "CentredItemKNN": Kind(_ours("CentredItemKNN"), 5_000, 10_000),
    "UserKNN": Kind(_ours("UserKNN"), 50_000, 20_000),
    "SLIM": Kind(_ours("SLIM"), 300, 5_000),
    "EASE": Kind(_ours("EASE"), 1_200),
    "DLAE": Kind(_ours("DLAE"), 600),
    "EDLAE": Kind(_ours("EDLAE"), 600),
    "LRR": Kind(_ours("LRR"), 500),
    "ClosedFormMF": Kind(_ours("ClosedFormMF"), 500),
    "PureSVD": Kind(_ours("PureSVD"), 1_000),
    "PureSVD dim=2": Kind(_ours("PureSVD", dim=2), 20_000),
    "DebiasedEASE": Kind(_ours("DebiasedEASE"), 600),
    "IALS": Kind(_ours("IALS", epochs=2, dim=9), 20_000, 10_000),
    "WMF": Kind(_ours("WMF", epochs=2, dim=5), 20_000, 10_000),
    "DebiasedIALS": Kind(_ours("DebiasedIALS", epochs=2, dim=4), 5_000, 10_000),
    "SVDpp": Kind(_ours("SVDpp", epochs=2, dim=5), 5_000, 10_000),
    "LearnedLinear": Kind(_ours("LearnedLinear", epochs=2), 200, 3_000),
    "MF": Kind(_ours("MF", epochs=2), 2_000, 5_000),
}
