from __future__ import annotations

import math

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError


def by_the_formula(X: np.ndarray, k: int, similarity: str, shrink: float) -> np.ndarray:
    """The docstring's formula with loops: S[j, i], the k largest of each column kept."""
    n = X.shape[1]
    S = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            if similarity == "cosine":
                both = sum(X[u, i] * X[u, j] for u in range(len(X)))
                sizes = math.sqrt(sum(X[:, i] ** 2) * sum(X[:, j] ** 2))
                bottom = sizes + shrink
            else:
                both = sum(bool(X[u, i] and X[u, j]) for u in range(len(X)))
                bottom = np.count_nonzero(X[:, i]) + np.count_nonzero(X[:, j]) - both + shrink
            S[j, i] = both / bottom if bottom else 0.0
        for j in sorted(range(n), key=lambda j: (-S[j, i], j))[k:]:
            S[j, i] = 0.0
    return S


@pytest.mark.parametrize("similarity", ["cosine", "jaccard"])
@pytest.mark.parametrize("shrink", [0.0, 2.5])
@pytest.mark.parametrize("k", [1, 3, 100])
def test_neighbours_follow_the_formula(similarity: str, shrink: float, k: int) -> None:
    rng = np.random.default_rng(4)
    X = (rng.random((30, 12)) < 0.3) * rng.integers(1, 4, (30, 12))
    users, items = np.nonzero(X)
    data = tr.Interactions.from_arrays(
        users, items, weight=X[users, items], user_ids=np.arange(30), item_ids=np.arange(12)
    )
    model = tr.models.ItemKNN(k=k, similarity=similarity, shrink=shrink).fit(data)
    expected = by_the_formula(X.astype(float), k, similarity, shrink)
    assert model.item_item.toarray() == pytest.approx(expected, rel=1e-6)
    assert model.score_all(np.arange(30)) == pytest.approx(X @ expected, rel=1e-5)


def test_blocks_do_not_change_the_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    data = tr.load_dataset("demo", n_users=150, n_items=200, seed=2)
    whole = tr.models.ItemKNN(k=10).fit(data).item_item
    model = tr.models.ItemKNN(k=10)
    monkeypatch.setattr("truerank.models.item_knn.BLOCK_BYTES", 16 * 200 * 7)
    assert (model.fit(data).item_item != whole).nnz == 0


def test_fold_in_scores_new_users_as_if_known() -> None:
    data = tr.load_dataset("demo", n_users=150, n_items=200, seed=2)
    model = tr.models.ItemKNN(k=10).fit(data)
    users = np.arange(5)
    assert np.array_equal(model.fold_in(data).score_all(users), model.score_all(users))


def test_an_untouched_item_scores_zero() -> None:
    data = tr.Interactions.from_arrays([0, 0, 1], [0, 1, 1], item_ids=[0, 1, 2])
    scores = tr.models.ItemKNN().fit(data).score_all(np.array([0]))
    assert scores[0, 2] == 0
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("argument", "value", "sentence"),
    [
        ("k", 0, "k must be a whole number, at least 1, got 0"),
        ("similarity", "euclid", "similarity must be 'cosine' or 'jaccard', got 'euclid'"),
        ("shrink", -1.0, "shrink must be at least 0, got -1.0"),
    ],
)
def test_bad_parameters(argument: str, value: object, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        tr.models.ItemKNN(**{argument: value})


def test_beats_popularity_on_the_demo() -> None:
    split = tr.split.leave_one_out(tr.load_dataset("demo", seed=0), seed=0)
    d = (
        tr.rank(tr.models.ItemKNN(k=50).fit(split.train), split).per_user("ndcg@10")[1]
        - tr.rank(tr.models.Popularity().fit(split.train), split).per_user("ndcg@10")[1]
    )
    assert d.mean() > 4 * d.std(ddof=1) / math.sqrt(len(d))
