from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.models.linear.spectrum import decompose

DATA = tr.load_dataset("demo", n_users=80, n_items=30, interactions_per_user=7, seed=1)
X = DATA.matrix(dtype=np.float64).toarray()


def objective(A: np.ndarray, B: np.ndarray, penalty: np.ndarray) -> float:
    """|X - XAB'|^2 + tr(W' Gamma'Gamma W), user by user."""
    W = A @ B.T
    total = sum(float(((row - row @ W) ** 2).sum()) for row in X)
    return total + float(np.trace(W.T @ penalty @ W))


def assert_best_of_its_rank(A: np.ndarray, B: np.ndarray, penalty: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    best = objective(A, B, penalty)
    for _ in range(60):
        step_a, step_b = rng.normal(size=(2, *A.shape)) * rng.choice([1e-3, 1e-2, 1e-1])
        assert objective(A + step_a, B + step_b, penalty) >= best - 1e-9 * abs(best)
    residual = (X.T @ X + penalty) @ A @ B.T - X.T @ X
    assert np.abs(residual @ B).max() < 1e-8
    assert np.abs(A.T @ residual).max() < 1e-8


def alternating(penalty: np.ndarray, rank: int) -> float:
    """The best objective by brute force: alternating least squares from several starts."""
    G, found = X.T @ X, []
    for seed in range(4):
        B = np.random.default_rng(seed).normal(size=(len(G), rank))
        for _ in range(400):
            A = np.linalg.solve(G + penalty, G @ B) @ np.linalg.inv(B.T @ B)
            B = np.linalg.solve(A.T @ (G + penalty) @ A, A.T @ G).T
        found.append(objective(A, B, penalty))
    return min(found)


@pytest.mark.parametrize("rank", [1, 4, 12])
def test_equal_lambdas_give_the_best_of_the_rank(rank: int) -> None:
    model = tr.models.LRR(6.0, rank, dtype="float64").fit(DATA)
    penalty = 6.0 * np.eye(DATA.n_items)
    assert_best_of_its_rank(model.encoder, model.item_factors, penalty)
    mine = objective(model.encoder, model.item_factors, penalty)
    assert mine == pytest.approx(alternating(penalty, rank), rel=1e-6)


def test_a_lambda_per_component() -> None:
    lambdas = np.linspace(9.0, 2.0, 5)
    model = tr.models.LRR(lambdas, 5, dtype="float64").fit(DATA)  # type: ignore[arg-type]
    V = np.linalg.svd(X)[2].T
    penalty = (V * np.append(lambdas, np.full(DATA.n_items - 5, 2.0))) @ V.T
    assert_best_of_its_rank(model.encoder, model.item_factors, penalty)


@pytest.mark.parametrize("kind", ["diagonal", "matrix"])
def test_a_general_penalty(kind: str) -> None:
    rng = np.random.default_rng(2)
    diagonal = rng.uniform(1.0, 20.0, DATA.n_items)
    root = rng.normal(size=(DATA.n_items, DATA.n_items))
    penalty = np.diag(diagonal) if kind == "diagonal" else root.T @ root
    given = diagonal if kind == "diagonal" else penalty
    model = tr.models.LRR(dim=4, dtype="float64").fit(DATA, penalty=given)
    assert_best_of_its_rank(model.encoder, model.item_factors, penalty)
    mine = objective(model.encoder, model.item_factors, penalty)
    assert mine == pytest.approx(alternating(penalty, 4), rel=1e-6)


def test_a_general_penalty_that_is_a_ridge_gives_the_same() -> None:
    plain = tr.models.LRR(6.0, 4, dtype="float64").fit(DATA)
    general = tr.models.LRR(dim=4, dtype="float64").fit(DATA, penalty=np.full(DATA.n_items, 6.0))
    np.testing.assert_allclose(general.item_item_matrix(), plain.item_item_matrix(), atol=1e-10)


def test_a_general_penalty_takes_the_place_of_l2_in_files_too(tmp_path: Path) -> None:
    model = tr.models.LRR(10.0, 4).fit(DATA, penalty=np.full(DATA.n_items, 6.0))
    assert repr(model) == "LRR(l2=None, dim=4, dtype='float32')"
    model.save(tmp_path / "model")
    again = tr.models.load(tmp_path / "model")
    assert again.l2 is None
    with pytest.raises(
        InvalidArgumentError, match="l2 must be given where fit is given no penalty"
    ):
        again.fit(DATA)


def test_full_rank_is_the_ridge_regression() -> None:
    G = X.T @ X
    W = tr.models.LRR(3.0, dtype="float64").fit(DATA).item_item_matrix()
    np.testing.assert_allclose(W, np.linalg.solve(G + 3.0 * np.eye(len(G)), G), atol=1e-10)


def test_scores_fold_in_and_a_known_spectrum() -> None:
    model = tr.models.LRR(6.0, 4).fit(DATA)
    users, items = np.array([3, 5]), np.array([[1, 2], [7, 0]])
    expected = X[users] @ model.item_item_matrix()
    np.testing.assert_allclose(model.score_all(users), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        model.score_pairs(users, items), np.take_along_axis(expected, items, 1), atol=1e-6
    )
    assert np.array_equal(model.fold_in(DATA).score_all(users), model.score_all(users))
    reused = tr.models.LRR(6.0, 4).fit(DATA, spectrum=decompose(DATA))
    assert np.array_equal(reused.user_factors, model.user_factors)


def test_ranks_go_through_the_factors() -> None:
    split = tr.split.leave_one_out(DATA, seed=0)
    table = tr.rank(tr.models.LRR(6.0, 4).fit(split.train), split)
    assert len(table) == DATA.n_users


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"l2": -1}, "l2 must be at least 0 and finite, got -1"),
        ({"l2": [1.0, np.inf], "dim": 2}, "l2 must be at least 0 and finite, got inf"),
        ({"l2": ["a", "b"], "dim": 2}, "l2 must be at least 0 and finite, got 'a'"),
        ({"l2": "12", "dim": 2}, "l2 must be at least 0 and finite, got '1'"),
        ({"l2": [1.0, 2.0], "dim": 3}, "one per component, got '2 values with dim=3'; give dim=2"),
        ({"l2": [1.0, 2.0]}, "one per component, got '2 values with dim=None'; give dim=2"),
        ({"dim": 0}, "dim must be a whole number, at least 1, got 0"),
        ({"dim": 2.5}, "dim must be a whole number"),
        ({"dtype": "int"}, "dtype must be"),
    ],
)
def test_settings_that_cannot_be_used(settings: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidArgumentError, match=says):
        tr.models.LRR(**settings)  # type: ignore[arg-type]


def test_a_rank_beyond_that_of_the_data() -> None:
    data = tr.Interactions.from_arrays([0, 0, 1], [0, 1, 2])
    with pytest.raises(InvalidDataError, match="dim 3 was asked of LRR, and these data have rank"):
        tr.models.LRR(1.0, 3).fit(data)
    with pytest.raises(InvalidDataError, match="dim 3 was asked for, and these data have rank 2"):
        tr.models.LRR(1.0, 3).fit(data, penalty=np.ones(3))


@pytest.mark.parametrize(
    ("penalty", "says"),
    [
        (np.ones(3), r"penalty must be finite, of shape \(30,\) or \(30, 30\)"),
        (np.full(30, np.nan), "penalty must be finite"),
    ],
)
def test_penalties_of_another_shape(penalty: np.ndarray, says: str) -> None:
    with pytest.raises(InvalidArgumentError, match=says):
        tr.models.LRR(dim=2).fit(DATA, penalty=penalty)


def test_a_penalty_that_is_too_negative() -> None:
    with pytest.raises(InvalidDataError, match="not positive definite; raise the penalty"):
        tr.models.LRR(dim=2).fit(DATA, penalty=np.full(30, -1e4))
