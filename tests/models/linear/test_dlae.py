from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError
from truerank.models.linear.dlae import dropout_penalty

DATA = tr.load_dataset("demo", n_users=80, n_items=30, interactions_per_user=7, seed=1)
X = DATA.matrix(dtype=np.float64).toarray()


def objective(W: np.ndarray, p: float, l2: float) -> float:
    """|X - XW|^2 and each row of W weighed by p/(1-p) times its item's count, plus l2."""
    total = sum(float(((row - row @ W) ** 2).sum()) for row in X)
    for i, count in enumerate((X**2).sum(axis=0)):
        total += (p / (1 - p) * count + l2) * float((W[i] ** 2).sum())
    return total


@pytest.mark.parametrize(("p", "l2"), [(0.33, 0.0), (0.1, 4.0), (0.0, 2.0)])
def test_it_minimises_its_objective(p: float, l2: float) -> None:
    W = tr.models.DLAE(p, l2, dtype="float64").fit(DATA).item_item
    rng, best = np.random.default_rng(0), objective(W, p, l2)
    for _ in range(60):
        assert objective(W + rng.normal(size=W.shape) * 1e-3, p, l2) > best
    G = X.T @ X
    gradient = (G + np.diag(p / (1 - p) * np.diag(G) + l2)) @ W - G
    assert np.abs(gradient).max() < 1e-10 * G.max()


def test_it_minimises_the_error_of_denoising() -> None:
    """The mean of |X - ZW|^2 over dropped inputs Z is the objective, within 4 standard errors."""
    rng, p = np.random.default_rng(5), 0.4
    W = tr.models.DLAE(p, dtype="float64").fit(DATA).item_item
    errors = []
    for _ in range(2000):
        Z = X * (rng.random(X.shape) >= p) / (1 - p)
        errors.append(((X - Z @ W) ** 2).sum())
    spread = np.std(errors, ddof=1) / np.sqrt(len(errors))
    assert abs(np.mean(errors) - objective(W, p, 0.0)) < 4 * spread


def test_float32_is_near_and_scores_fold_in() -> None:
    single, double = (tr.models.DLAE(0.3, dtype=d).fit(DATA) for d in ("float32", "float64"))
    np.testing.assert_allclose(single.item_item, double.item_item, atol=1e-6)
    users = np.arange(3)
    assert np.array_equal(single.fold_in(DATA).score_all(users), single.score_all(users))


def test_low_rank_by_the_general_penalty_improves_on_the_eigenvectors_of_the_gram() -> None:
    """Q_k = V_k does not hold for this penalty: taking V_k is worse."""
    p, k = 0.5, 3
    penalty = dropout_penalty(DATA, p, 0.0)
    best = tr.models.LRR(dim=k, dtype="float64").fit(DATA, penalty=penalty).item_item_matrix()
    V = np.linalg.svd(X)[2][:k].T
    full = tr.models.DLAE(p, dtype="float64").fit(DATA).item_item
    assert objective(best, p, 0.0) < objective(full @ V @ V.T, p, 0.0) - 0.1


def test_weights_count_by_their_squares_and_untouched_items_stay_zero() -> None:
    data = tr.Interactions.from_arrays(
        [0, 0, 1], [0, 1, 1], weight=[2.0, 1.0, 3.0], item_ids=np.arange(3)
    )
    np.testing.assert_allclose(dropout_penalty(data, 0.5, 0.0), [4.0, 10.0, 1.0])
    W = tr.models.DLAE(0.5).fit(data).item_item
    assert np.all(W[2] == 0)
    assert np.all(W[:, 2] == 0)


@pytest.mark.parametrize(
    ("p", "l2", "says"),
    [
        (1.0, 0.0, "dropout must be at least 0 and below 1, got 1.0"),
        (-0.1, 0.0, "dropout must be at least 0 and below 1"),
        (float("nan"), 0.0, "dropout must be at least 0 and below 1"),
        (0.0, 0.0, "dropout must be positive where l2 is 0, got 0.0; without either"),
        (0.3, -1.0, "l2 must be at least 0 and finite"),
    ],
)
def test_settings_that_cannot_be_used(p: float, l2: float, says: str) -> None:
    with pytest.raises(InvalidArgumentError, match=says):
        tr.models.DLAE(p, l2)
    with pytest.raises(InvalidArgumentError, match=says):
        tr.models.EDLAE(p, l2)
