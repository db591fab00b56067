from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError


def objective(X: np.ndarray, W: np.ndarray, l2: float) -> float:
    """The docstring's objective, with loops over users and items."""
    total = 0.0
    for row in X:
        for j in range(X.shape[1]):
            total += (row[j] - row @ W[:, j]) ** 2
    return total + l2 * float((W**2).sum())


def test_weights_minimise_the_objective_among_zero_diagonals() -> None:
    rng = np.random.default_rng(1)
    X = (rng.random((40, 9)) < 0.3).astype(float)
    users, items = np.nonzero(X)
    data = tr.Interactions.from_arrays(users, items, user_ids=np.arange(40), item_ids=np.arange(9))
    W = tr.models.EASE(l2=3.0).fit(data).item_item.astype(np.float64)
    assert np.all(np.diag(W) == 0)
    best = objective(X, W, 3.0)
    for _ in range(60):
        step = rng.normal(size=W.shape) * 1e-2
        np.fill_diagonal(step, 0.0)
        assert objective(X, W + step, 3.0) > best


def test_scores_and_fold_in() -> None:
    data = tr.load_dataset("demo", n_users=150, n_items=200, seed=2)
    model = tr.models.EASE(l2=20.0).fit(data)
    users = np.arange(4)
    expected = data.matrix().toarray()[users] @ model.item_item
    assert model.score_all(users) == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert np.array_equal(model.fold_in(data).score_all(users), model.score_all(users))


def test_l2_must_be_positive() -> None:
    with pytest.raises(InvalidArgumentError, match="l2 must be positive, got 0"):
        tr.models.EASE(l2=0)
