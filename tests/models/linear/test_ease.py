from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError


def objective(X: np.ndarray, W: np.ndarray, l2: float) -> float:
    """The docstring's objective, with loops over users and items."""
    total = 0.0
    for row in X:
        for j in range(X.shape[1]):
            total += (row[j] - row @ W[:, j]) ** 2
    return total + l2 * float((W**2).sum())


def interactions(X: np.ndarray) -> tr.Interactions:
    user, item = np.nonzero(X)
    return tr.Interactions.from_arrays(
        user,
        item,
        weight=X[user, item],
        user_ids=np.arange(X.shape[0]),
        item_ids=np.arange(X.shape[1]),
    )


@pytest.mark.parametrize("weighted", [False, True], ids=["ones", "weights"])
def test_weights_minimise_the_objective_among_zero_diagonals(weighted: bool) -> None:
    rng = np.random.default_rng(1)
    X = (rng.random((40, 9)) < 0.3).astype(float)
    if weighted:
        X *= rng.integers(1, 6, X.shape)
    W = tr.models.EASE(l2=3.0, dtype="float64").fit(interactions(X)).item_item
    assert np.all(np.diag(W) == 0)
    best = objective(X, W, 3.0)
    for _ in range(60):
        step = rng.normal(size=W.shape) * 1e-2
        np.fill_diagonal(step, 0.0)
        assert objective(X, W + step, 3.0) > best
    gradient = X.T @ (X @ W - X) + 3.0 * W
    np.fill_diagonal(gradient, 0.0)
    assert np.abs(gradient).max() < 1e-10 * np.abs(X.T @ X).max()


def test_float32_agrees_with_float64_beyond_one_tile() -> None:
    data = tr.load_dataset("demo", n_users=400, n_items=600, seed=2)
    single, double = (tr.models.EASE(20.0, dtype=d).fit(data) for d in ("float32", "float64"))
    assert single.item_item.dtype == np.float32
    assert double.item_item.dtype == np.float64
    size = np.abs(double.item_item).max()
    M = (data.matrix().T @ data.matrix()).toarray() + 20.0 * np.eye(600)
    rounding = np.linalg.cond(M) * np.finfo(np.float32).eps
    np.testing.assert_allclose(single.item_item, double.item_item, atol=4 * rounding * size)
    P = np.linalg.inv(M)
    expected = -P / np.diag(P)
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(double.item_item, expected, atol=1e-12 * size)


def test_scores_and_fold_in() -> None:
    data = tr.load_dataset("demo", n_users=150, n_items=200, seed=2)
    model = tr.models.EASE(l2=20.0).fit(data)
    users = np.arange(4)
    expected = data.matrix().toarray()[users] @ model.item_item
    assert model.score_all(users) == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert np.array_equal(model.fold_in(data).score_all(users), model.score_all(users))


def test_untouched_items_empty_users_and_an_item_of_everybody() -> None:
    X = np.zeros((6, 4))
    X[:5, 0] = 1  # all who have anything
    X[[0, 2], 1] = 1
    X[1, 2] = 1  # nobody has item 3, user 5 has nothing
    model = tr.models.EASE(l2=0.5).fit(interactions(X))
    assert np.isfinite(model.item_item).all()
    assert np.all(model.item_item[3] == 0)
    assert np.all(model.item_item[:, 3] == 0)
    assert np.all(model.score_all(np.array([5])) == 0)


@pytest.mark.parametrize("l2", [0, -1, float("nan"), float("inf"), "much", True])
def test_l2_must_be_positive(l2: float) -> None:
    with pytest.raises(InvalidArgumentError, match="l2 must be positive and finite, got"):
        tr.models.EASE(l2=l2)


def test_it_is_shown_by_its_settings() -> None:
    assert repr(tr.models.EASE(l2=2.0)) == "EASE(l2=2.0, dtype='float32')"


def test_dtype_must_be_known() -> None:
    with pytest.raises(InvalidArgumentError, match="dtype must be 'float32' or 'float64'"):
        tr.models.EASE(dtype="float16")  # type: ignore[arg-type]


def test_an_l2_that_float32_cannot_see() -> None:
    X = np.ones((2000, 3))
    X[0, 1] = 0
    with pytest.raises(InvalidDataError, match=r"not positive definite.*dtype='float64'"):
        tr.models.EASE(l2=1e-9).fit(interactions(X))
