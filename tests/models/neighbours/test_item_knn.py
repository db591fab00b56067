from __future__ import annotations

import math

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.models.neighbours.centred_item_knn import CentredItemKNN
from truerank.numerics.top import keep_largest

from .similarity_formula import SIMILARITIES, similarity


def by_the_formula(X: np.ndarray, k: int, name: str, shrink: float) -> np.ndarray:
    """S[j, i], the k largest positive entries of each column kept, with loops."""
    n = X.shape[1]
    S = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                S[j, i] = max(similarity(X[:, i], X[:, j], name, shrink), 0.0)
        for j in sorted(range(n), key=lambda j: (-S[j, i], j))[k:]:
            S[j, i] = 0.0
    return S


def as_data(X: np.ndarray) -> tr.Interactions:
    users, items = np.nonzero(X)
    return tr.Interactions.from_arrays(
        users, items, weight=X[users, items], min_rating=-np.inf,
        user_ids=np.arange(X.shape[0]), item_ids=np.arange(X.shape[1]),
    )  # fmt: skip


def random_matrix(seed: int = 4) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return ((rng.random((30, 12)) < 0.3) * rng.integers(1, 4, (30, 12))).astype(float)


@pytest.mark.parametrize("name", SIMILARITIES)
@pytest.mark.parametrize("shrink", [0.0, 2.5])
@pytest.mark.parametrize("k", [1, 3, 100])
def test_neighbours_follow_the_formula(name: str, shrink: float, k: int) -> None:
    X = random_matrix()
    model = tr.models.ItemKNN(k=k, similarity=name, shrink=shrink).fit(as_data(X))
    expected = by_the_formula(X, k, name, shrink)
    assert model.item_item.toarray() == pytest.approx(expected, rel=1e-6)
    assert model.score_all(np.arange(30)) == pytest.approx(X @ expected, rel=1e-5)


def test_equal_similarities_go_to_the_smaller_index() -> None:
    X = np.zeros((6, 7))
    X[:, 3] = 1.0
    for user, item in enumerate([6, 2, 5, 0, 4, 1]):  # all as similar to item 3 as the others
        X[user, item] = 1.0
    W = tr.models.ItemKNN(k=2).fit(as_data(X)).item_item.toarray()
    assert np.flatnonzero(W[:, 3]).tolist() == [0, 1]


@pytest.mark.parametrize("seed", range(4))
def test_the_largest_are_kept_whatever_the_spread(seed: int) -> None:
    """Against a full sort: narrow, wide and tied values, any k."""
    rng = np.random.default_rng(seed)
    for spread in (0.0, 1e-9, 1.0, 300.0):
        for k in (1, 7, 100, 499, 500, 600):
            value = np.exp(spread * rng.uniform(-1, 1, size=500))
            value[rng.random(500) < 0.3] = value[0]
            index = rng.permutation(500).astype(np.int32)
            expected = sorted(zip(-value, index, strict=True))[:k]
            kept = keep_largest(value, index, 500, k)
            assert kept == min(k, 500)
            assert sorted(zip(-value[:kept], index[:kept], strict=True)) == expected


def test_a_negative_similarity_is_no_neighbour() -> None:
    X = np.array([[1.0, -2.0, 1.0], [1.0, 1.0, 0.0], [2.0, -1.0, 1.0]])
    W = tr.models.ItemKNN(k=5).fit(as_data(X)).item_item.toarray()
    np.testing.assert_allclose(W, by_the_formula(X, 5, "cosine", 0.0), rtol=1e-6)
    assert W[1, 0] == 0


@pytest.mark.parametrize("name", SIMILARITIES)
def test_the_same_bits_for_any_number_of_threads_and_blocks(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tr.load_dataset("demo", n_users=150, n_items=200, seed=2)
    model = tr.models.ItemKNN(k=10, similarity=name)
    whole = model.fit(data, workers=1).item_item
    for workers, blocks in ((2, 512), (3, 7), (1, 1)):
        monkeypatch.setattr("truerank.models.neighbours.search.BLOCKS", blocks)
        other = model.fit(data, workers=workers).item_item
        for part in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(whole, part), getattr(other, part))


def test_fold_in_scores_new_users_as_if_known() -> None:
    data = tr.load_dataset("demo", n_users=150, n_items=200, seed=2)
    users = np.arange(5)
    for model in (tr.models.ItemKNN(k=10), CentredItemKNN(k=10)):
        model.fit(data)
        assert np.array_equal(model.fold_in(data).score_all(users), model.score_all(users))


@pytest.mark.parametrize("name", ["cosine", "pearson"])
def test_the_centred_model_averages_departures_from_the_means(name: str) -> None:
    X = random_matrix(5)
    X[:, 7] = 0.0  # an item nobody touched has no neighbours, and its mean for a score
    model = CentredItemKNN(k=4, similarity=name).fit(as_data(X))
    S, means = by_the_formula(X, 4, name, 0.0), X.mean(axis=0)
    expected = np.zeros(X.shape)
    for u in range(X.shape[0]):
        for i in range(X.shape[1]):
            above = sum(S[j, i] * (X[u, j] - means[j]) for j in range(X.shape[1]))
            expected[u, i] = means[i] + (above / S[:, i].sum() if S[:, i].any() else 0.0)
    users = np.arange(X.shape[0])
    assert model.score_all(users) == pytest.approx(expected, rel=1e-5, abs=1e-6)
    pairs = np.stack([users % 12, (users + 5) % 12], axis=1)
    picked = np.take_along_axis(model.score_all(users), pairs, axis=1)
    np.testing.assert_array_equal(model.score_pairs(users, pairs), picked)


@pytest.mark.parametrize("kind", [tr.models.ItemKNN, CentredItemKNN])
@pytest.mark.parametrize("name", SIMILARITIES)
def test_untouched_items_empty_users_and_a_column_of_ones(kind: type, name: str) -> None:
    X = random_matrix(6)
    X[3], X[:, 2], X[:, 5] = 0.0, 0.0, 1.0
    scores = kind(similarity=name).fit(as_data(X)).score_all(np.arange(30))
    assert np.isfinite(scores).all()
    assert not scores[:, 2].any()
    if name == "pearson":  # a constant column correlates with nothing
        assert np.unique(scores[:, 5]).size == 1


@pytest.mark.parametrize("kind", [tr.models.ItemKNN, CentredItemKNN])
@pytest.mark.parametrize(
    ("argument", "value", "sentence"),
    [
        ("k", 0, "k must be a whole number, at least 1, got 0"),
        ("k", 2.0, "k must be a whole number, at least 1, got 2.0"),
        (
            "similarity",
            "euclid",
            "similarity must be one of cosine, jaccard, dice, pearson, got 'euclid'",
        ),
        ("shrink", -1.0, "shrink must be at least 0 and finite, got -1.0"),
        ("shrink", math.nan, "shrink must be at least 0 and finite, got nan"),
    ],
)
def test_bad_parameters(kind: type, argument: str, value: object, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        kind(**{argument: value})


def test_weights_that_are_no_numbers() -> None:
    data = as_data(random_matrix())
    bad = tr.Interactions(
        indptr=data.indptr, indices=data.indices, user_ids=data.user_ids, item_ids=data.item_ids,
        weights=np.full(len(data), np.inf, np.float32),
    )  # fmt: skip
    with pytest.raises(InvalidDataError, match="some weights are not finite numbers"):
        tr.models.ItemKNN().fit(bad)


@pytest.mark.parametrize("kind", [tr.models.ItemKNN, CentredItemKNN])
def test_beats_popularity_on_the_demo(kind: type) -> None:
    split = tr.split.leave_one_out(tr.load_dataset("demo", seed=0), seed=0)
    d = (
        tr.rank(kind(k=50).fit(split.train), split).per_user("ndcg@10")[1]
        - tr.rank(tr.models.Popularity().fit(split.train), split).per_user("ndcg@10")[1]
    )
    assert d.mean() > 4 * d.std(ddof=1) / math.sqrt(len(d))
