from __future__ import annotations

import math

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.models.linear import slim
from truerank.models.linear.slim import SLIM

FINE = {"tol": 1e-10, "dtype": "float64"}


def random_matrix(seed: int, *, users: int = 40, items: int = 9, weighted: bool = False):
    rng = np.random.default_rng(seed)
    X = (rng.random((users, items)) < 0.35).astype(float)
    return X * rng.integers(1, 4, X.shape) if weighted else X


def as_data(X: np.ndarray) -> tr.Interactions:
    users, items = np.nonzero(X)
    return tr.Interactions.from_arrays(
        users, items, weight=X[users, items], min_rating=-np.inf,
        user_ids=np.arange(X.shape[0]), item_ids=np.arange(X.shape[1]),
    )  # fmt: skip


def objective(X: np.ndarray, W: np.ndarray, l1: float, l2: float) -> float:
    """The docstring's objective, with loops over users and items."""
    total = 0.0
    for row in X:
        for j in range(X.shape[1]):
            total += (row[j] - row @ W[:, j]) ** 2 / 2
    return total + l1 * float(abs(W).sum()) + l2 * float((W**2).sum())


def by_projected_gradient(X: np.ndarray, l1: float, l2: float, nonnegative: bool) -> np.ndarray:
    """Another way to the same minimum: proximal gradient steps on the whole matrix."""
    G, n = X.T @ X, X.shape[1]
    step = 1.0 / (np.linalg.eigvalsh(G)[-1] + 2 * l2)
    W = np.zeros((n, n))
    for _ in range(20_000):
        Z = W - step * (G @ W - G + 2 * l2 * W)
        W = np.sign(Z) * np.maximum(abs(Z) - step * l1, 0.0)
        if nonnegative:
            W = np.maximum(W, 0.0)
        np.fill_diagonal(W, 0.0)
    return W


@pytest.mark.parametrize("weighted", [False, True], ids=["ones", "weights"])
@pytest.mark.parametrize("nonnegative", [True, False], ids=["nonnegative", "free"])
@pytest.mark.parametrize(("l1", "l2"), [(0.7, 1.3), (0.0, 2.0), (2.0, 0.0)])
def test_weights_minimise_the_objective(
    l1: float, l2: float, nonnegative: bool, weighted: bool
) -> None:
    rng = np.random.default_rng(1)
    X = random_matrix(2, weighted=weighted)
    model = SLIM(l1=l1, l2=l2, nonnegative=nonnegative, **FINE).fit(as_data(X))
    W = model.item_item.toarray()
    assert np.all(np.diag(W) == 0)
    assert W.min() >= 0 or not nonnegative
    best = objective(X, W, l1, l2)
    for size in (1e-1, 1e-3):
        for _ in range(20):
            other = W + rng.normal(size=W.shape) * size * (rng.random(W.shape) < 0.3)
            np.fill_diagonal(other, 0.0)
            if nonnegative:
                other = np.maximum(other, 0.0)
            assert objective(X, other, l1, l2) >= best - 1e-12 * best
    np.testing.assert_allclose(W, by_projected_gradient(X, l1, l2, nonnegative), rtol=0, atol=1e-7)


def test_the_gradient_is_zero_where_a_weight_is_and_points_outwards_where_none_is() -> None:
    X = random_matrix(3, users=120, items=30, weighted=True)
    l1, l2 = 3.0, 5.0
    for nonnegative in (True, False):
        W = SLIM(l1=l1, l2=l2, nonnegative=nonnegative, **FINE).fit(as_data(X)).item_item.toarray()
        gradient = X.T @ (X @ W - X) + 2 * l2 * W
        off = ~np.eye(30, dtype=bool)
        there = W != 0
        assert not there.diagonal().any()
        assert there.any()
        assert (off & ~there).any()
        assert gradient[there] + l1 * np.sign(W[there]) == pytest.approx(0.0, abs=1e-6)
        least = gradient[off & ~there]
        assert least.min() >= -l1 - 1e-6
        assert nonnegative or least.max() <= l1 + 1e-6


def test_without_l1_and_signs_it_is_ease() -> None:
    X = random_matrix(4)
    free = SLIM(l1=0.0, l2=4.0, nonnegative=False, **FINE).fit(as_data(X))
    ease = tr.models.EASE(l2=8.0).fit(as_data(X))  # half the squares: twice the penalty
    assert free.item_item.toarray() == pytest.approx(ease.item_item, abs=1e-5)


def test_negative_data_are_not_screened() -> None:
    rng = np.random.default_rng(5)
    X = random_matrix(5) * rng.choice([-1.0, 1.0], (40, 9))
    W = SLIM(l1=0.5, l2=1.0, **FINE).fit(as_data(X)).item_item.toarray()
    np.testing.assert_allclose(W, by_projected_gradient(X, 0.5, 1.0, True), rtol=0, atol=1e-7)
    kept = (X.T @ X) > 0.5
    assert (W[~kept] != 0).any()  # a screened fit would have missed these


@pytest.mark.parametrize("nonnegative", [True, False])
def test_a_tighter_tolerance_never_raises_the_objective(nonnegative: bool) -> None:
    X = random_matrix(6, users=100, items=40)
    values = []
    for tol in (1e-1, 1e-2, 1e-3, 1e-5, 1e-8):
        model = SLIM(l1=0.5, l2=0.5, nonnegative=nonnegative, tol=tol, dtype="float64")
        W = model.fit(as_data(X)).item_item.toarray()
        values.append(objective(X, W, 0.5, 0.5))
    assert values == sorted(values, reverse=True)
    assert values[-2] == pytest.approx(values[-1], rel=1e-7)


def demo() -> tr.Interactions:
    return tr.load_dataset("demo", n_users=150, n_items=200, seed=2)


@pytest.mark.parametrize("nonnegative", [True, False])
def test_no_weight_would_move_by_more_than_the_tolerance(nonnegative: bool) -> None:
    """The stopping rule, recomputed from the result."""
    data, tol, l1, l2 = demo(), 1e-3, 1.0, 2.0
    model = SLIM(l1=l1, l2=l2, tol=tol, dtype="float64", nonnegative=nonnegative).fit(data)
    W, X = model.item_item.toarray(), data.matrix().toarray().astype(float)
    G = X.T @ X
    pull = G - G @ W + np.diag(G)[:, None] * W
    best = np.sign(pull) * np.maximum(abs(pull) - l1, 0.0) / (np.diag(G)[:, None] + 2 * l2)
    best = np.maximum(best, 0.0) if nonnegative else best
    np.fill_diagonal(best, 0.0)
    assert abs(best - W).max() <= tol * (1 + 1e-9)


@pytest.mark.parametrize("nonnegative", [True, False])
def test_the_same_bits_for_any_number_of_threads(nonnegative: bool) -> None:
    model = SLIM(l1=0.5, l2=5.0, nonnegative=nonnegative)
    one = model.fit(demo(), workers=1).item_item
    for workers in (2, 3):
        other = model.fit(demo(), workers=workers).item_item
        for part in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(one, part), getattr(other, part))


@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize(("what", "rows"), [("GRAM_BYTES", 9), ("COLUMN_BYTES", 25)])
def test_little_memory_gives_the_same_weights(
    what: str, rows: int, nonnegative: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few rows of the Gram matrix kept, or few weights moving at a time."""
    data = as_data(random_matrix(9, users=120, items=60, weighted=True))
    model = SLIM(l1=2.0, l2=20.0, nonnegative=nonnegative, tol=1e-9, dtype="float64")
    whole = model.fit(data).item_item.toarray()
    assert (whole != 0).sum(axis=0).max() > 25
    monkeypatch.setattr(slim, what, 8 * 60 * rows)
    assert model.fit(data).item_item.toarray() == pytest.approx(whole, abs=1e-8)


def test_k_keeps_the_largest_weights() -> None:
    whole = SLIM(l1=0.1, l2=1.0, nonnegative=False).fit(demo()).item_item.toarray()
    cut = SLIM(l1=0.1, l2=1.0, nonnegative=False, k=5).fit(demo()).item_item.toarray()
    assert (whole != 0).sum(axis=0).max() > 5
    for i in range(200):
        largest = np.argsort(-abs(whole[:, i]), kind="stable")[:5]
        largest = largest[whole[largest, i] != 0]
        np.testing.assert_array_equal(np.sort(largest), np.sort(np.flatnonzero(cut[:, i])))
        np.testing.assert_array_equal(cut[largest, i], whole[largest, i])


def test_precisions_and_sparsity() -> None:
    single, double = (SLIM(l1=1.0, l2=5.0, dtype=d).fit(demo()) for d in ("float32", "float64"))
    assert single.item_item.dtype == np.float32
    assert double.item_item.dtype == np.float64
    assert single.item_item.toarray() == pytest.approx(double.item_item.toarray(), abs=1e-6)
    sparser = SLIM(l1=3.0, l2=5.0).fit(demo())
    assert 0 < sparser.item_item.nnz < single.item_item.nnz


def test_scores_and_fold_in() -> None:
    data = demo()
    model = SLIM(l1=0.5, l2=5.0).fit(data)
    users = np.arange(5)
    expected = data.matrix().toarray()[users] @ model.item_item.toarray()
    assert model.score_all(users) == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert np.array_equal(model.fold_in(data).score_all(users), model.score_all(users))


def test_untouched_items_empty_users_and_a_column_of_ones() -> None:
    X = random_matrix(7)
    X[:, 2], X[4], X[:, 5] = 0.0, 0.0, 1.0
    model = SLIM(l1=0.5, l2=1.0, **FINE).fit(as_data(X))
    W = model.item_item.toarray()
    np.testing.assert_allclose(W, by_projected_gradient(X, 0.5, 1.0, True), rtol=0, atol=1e-7)
    assert not W[2].any()
    assert not W[:, 2].any()
    assert W[:, 5].any()
    assert np.isfinite(model.score_all(np.arange(40))).all()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"l1": -1.0}, "l1 must be at least 0 and finite, got -1.0"),
        ({"l1": math.nan}, "l1 must be at least 0 and finite, got nan"),
        ({"l2": -1.0}, "l2 must be at least 0 and finite, got -1.0"),
        ({"l1": 0.0, "l2": 0.0}, "l2 must be positive where l1 is 0, got 0.0; without a penalty"),
        ({"tol": 0.0}, "tol must be positive and finite, got 0.0"),
        ({"k": 0}, "k must be a whole number, at least 1, or None, got 0"),
        ({"k": True}, "k must be a whole number, at least 1, or None, got True"),
        ({"dtype": "float16"}, "dtype must be 'float32' or 'float64', got 'float16'"),
    ],
)
def test_bad_parameters(arguments: dict[str, float], sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        SLIM(**arguments)


def test_weights_that_are_no_numbers() -> None:
    data = demo()
    bad = tr.Interactions(
        indptr=data.indptr, indices=data.indices, user_ids=data.user_ids, item_ids=data.item_ids,
        weights=np.full(len(data), np.nan, np.float32),
    )  # fmt: skip
    with pytest.raises(InvalidDataError, match="some weights are not finite numbers"):
        SLIM().fit(bad)


def test_it_says_when_it_does_not_settle() -> None:
    with pytest.raises(
        InvalidDataError, match=r"move by \S+, more than the tol of 1e-300; use a larger"
    ):
        SLIM(l1=0.0, l2=1e-9, nonnegative=False, tol=1e-300).fit(as_data(random_matrix(8)))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, r"SLIM on 200 items needs 0\.0 GB of memory .*; ItemKNN would fit"),
        ({"l1": 0.0, "nonnegative": False}, r"with a dense W needs .*a small k keep W sparse"),
    ],
)
def test_it_asks_for_memory_ahead(
    arguments: dict[str, float], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("truerank.numerics.memory.free_bytes", lambda: 1_000)
    with pytest.raises(InvalidDataError, match=sentence):
        SLIM(**arguments).fit(demo())


def test_beats_popularity_on_the_demo() -> None:
    split = tr.split.leave_one_out(tr.load_dataset("demo", seed=0), seed=0)
    d = (
        tr.rank(SLIM(l1=1.0, l2=50.0).fit(split.train), split).per_user("ndcg@10")[1]
        - tr.rank(tr.models.Popularity().fit(split.train), split).per_user("ndcg@10")[1]
    )
    assert d.mean() > 4 * d.std(ddof=1) / math.sqrt(len(d))
