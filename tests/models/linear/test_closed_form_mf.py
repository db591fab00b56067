from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError

DATA = tr.load_dataset("demo", n_users=80, n_items=30, interactions_per_user=7, seed=1)
X = DATA.matrix(dtype=np.float64).toarray()


def objective(P: np.ndarray, Q: np.ndarray, l2: float) -> float:
    """The docstring's objective, pair by pair."""
    total = 0.0
    for u, row in enumerate(X):
        for i, value in enumerate(row):
            total += (value - P[u] @ Q[i]) ** 2
    return total + l2 * float((P**2).sum() + (Q**2).sum())


def balanced(product: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Of all pairs with this product the one of least norm: roots of the singular values."""
    U, sigma, Vt = np.linalg.svd(product, full_matrices=False)
    sigma[sigma < 1e-12 * sigma[0]] = 0.0
    return U[:, :k] * np.sqrt(sigma[:k]), Vt[:k].T * np.sqrt(sigma[:k])


@pytest.mark.parametrize(("rank", "l2"), [(2, 1.0), (6, 3.0), (20, 5.0)])
def test_no_other_factors_have_a_lower_objective(rank: int, l2: float) -> None:
    model = tr.models.ClosedFormMF(l2, rank, dtype="float64").fit(DATA)
    product = model.user_factors @ model.item_factors.T
    P, Q = balanced(product, rank)
    np.testing.assert_allclose(P @ Q.T, product, atol=1e-10)
    assert np.abs((P @ Q.T - X) @ Q + l2 * P).max() < 1e-9  # gradients by P and by Q
    assert np.abs((P @ Q.T - X).T @ P + l2 * Q).max() < 1e-9
    best, rng = objective(P, Q, l2), np.random.default_rng(0)
    for _ in range(15):
        p, q = rng.normal(size=P.shape) * 1e-2, rng.normal(size=Q.shape) * 1e-2
        assert objective(P + p, Q + q, l2) >= best - 1e-9 * best


def test_alternating_least_squares_ends_in_the_same_product() -> None:
    l2, rank = 2.0, 4
    Q = np.random.default_rng(1).normal(size=(DATA.n_items, rank))
    for _ in range(3000):
        P = X @ Q @ np.linalg.inv(Q.T @ Q + l2 * np.eye(rank))
        Q = X.T @ P @ np.linalg.inv(P.T @ P + l2 * np.eye(rank))
    model = tr.models.ClosedFormMF(l2, rank, dtype="float64").fit(DATA)
    np.testing.assert_allclose(model.user_factors @ model.item_factors.T, P @ Q.T, atol=1e-6)


def test_singular_values_below_l2_are_clipped() -> None:
    sigma = np.linalg.svd(X, compute_uv=False)
    l2 = float((sigma[6] + sigma[7]) / 2)
    small, large = (tr.models.ClosedFormMF(l2, rank).fit(DATA) for rank in (7, 25))
    assert large.item_factors.shape == (DATA.n_items, 7)
    users = np.arange(DATA.n_users)
    np.testing.assert_allclose(large.score_all(users), small.score_all(users), atol=1e-6)


def test_the_item_item_form_gives_the_same_scores() -> None:
    model = tr.models.ClosedFormMF(2.0, 5, dtype="float64").fit(DATA)
    users = np.arange(7)
    np.testing.assert_allclose(
        X[users] @ model.item_item_matrix(), model.score_all(users), atol=1e-12
    )
    assert np.array_equal(model.fold_in(DATA).score_all(users), model.score_all(users))


def test_without_a_penalty_it_is_pure_svd() -> None:
    users = np.arange(DATA.n_users)
    mf = tr.models.ClosedFormMF(0.0, 5).fit(DATA).score_all(users)
    np.testing.assert_allclose(mf, tr.models.PureSVD(5).fit(DATA).score_all(users), atol=1e-6)


def test_an_l2_that_leaves_nothing() -> None:
    with pytest.raises(InvalidDataError, match=r"l2 100 is above the largest singular value"):
        tr.models.ClosedFormMF(100.0, 3).fit(DATA)


@pytest.mark.parametrize(
    ("l2", "rank", "says"), [(-1.0, 2, "l2 must be at least 0"), (1.0, 0, "dim must be a whole")]
)
def test_settings_that_cannot_be_used(l2: float, rank: int, says: str) -> None:
    with pytest.raises(InvalidArgumentError, match=says):
        tr.models.ClosedFormMF(l2, rank)
