from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.data.synthetic import generate
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.models.linear.low_rank_edlae import LowRankProblem, _best_columns, by_descent
from truerank.numerics.threads import on_all_cores

DATA = tr.load_dataset("demo", n_users=150, n_items=30, interactions_per_user=7, seed=1)
X = DATA.matrix(dtype=np.float64).toarray()
G = X.T @ X


def objective(W: np.ndarray, p: float, l2: float) -> float:
    total = sum(float(((row - row @ W) ** 2).sum()) for row in X)
    for i, count in enumerate((X**2).sum(axis=0)):
        total += (p / (1 - p) * count + l2) * float((W[i] ** 2).sum())
    return total


def written_out(model: tr.models.EDLAE) -> np.ndarray:
    W = model.encoder @ model.decoder.T
    np.fill_diagonal(W, 0.0)
    return W


@pytest.mark.parametrize(("p", "l2"), [(0.33, 0.0), (0.1, 4.0), (0.0, 2.0)])
def test_it_minimises_its_objective_among_zero_diagonals(p: float, l2: float) -> None:
    W = tr.models.EDLAE(p, l2, dtype="float64").fit(DATA).item_item
    assert np.all(np.diag(W) == 0)
    rng, best = np.random.default_rng(0), objective(W, p, l2)
    for _ in range(60):
        step = rng.normal(size=W.shape) * 1e-3
        np.fill_diagonal(step, 0.0)
        assert objective(W + step, p, l2) > best


def test_without_dropout_it_is_ease() -> None:
    edlae = tr.models.EDLAE(0.0, 7.0, dtype="float64").fit(DATA).item_item
    ease = tr.models.EASE(7.0, dtype="float64").fit(DATA).item_item
    np.testing.assert_allclose(edlae, ease, atol=1e-12)


# ---------------------------------------------------------------- low rank


@pytest.mark.parametrize("solver", ["descent", "admm"])
@pytest.mark.parametrize(("p", "l2"), [(0.33, 0.0), (0.2, 5.0)])
def test_all_ranks_together_are_the_closed_form(p: float, l2: float, solver: Any) -> None:
    """The only rank with a known answer: it must be that of Lambda, not of Lambda + Omega."""
    low = tr.models.EDLAE(p, l2, dim=30, epochs=300, solver=solver, dtype="float64").fit(DATA)
    full = tr.models.EDLAE(p, l2, dtype="float64").fit(DATA)
    np.testing.assert_allclose(written_out(low), full.item_item, atol=1e-4)


@pytest.mark.parametrize("rank", [2, 8])
def test_low_rank_comes_to_rest_where_the_gradient_is_zero(rank: int) -> None:
    p = 0.33
    model = tr.models.EDLAE(p, dim=rank, epochs=2000, dtype="float64").fit(DATA)
    W, penalty = written_out(model), p / (1 - p) * np.diag(G)
    residual = (G + np.diag(penalty)) @ W - G
    np.fill_diagonal(residual, 0.0)  # the diagonal of UV' is free
    assert np.abs(residual @ model.decoder).max() < 2e-3 * G.max()
    assert np.abs(residual.T @ model.encoder).max() < 2e-3 * G.max()
    rng, best = np.random.default_rng(0), objective(W, p, 0.0)
    for _ in range(30):
        U = model.encoder + rng.normal(size=model.encoder.shape) * 0.05
        V = model.decoder + rng.normal(size=model.decoder.shape) * 0.05
        other = U @ V.T
        np.fill_diagonal(other, 0.0)
        assert objective(other, p, 0.0) > best


def test_the_printed_rounds_rest_at_another_penalty() -> None:
    """With Omega = Lambda as printed the result is that of 2 Lambda; see the docstring."""
    lam, n = 0.5 * np.diag(G), len(G)
    omega, V, beta, gamma = lam, np.eye(n), np.zeros(n), np.zeros(n)
    M = G + np.diag(lam + omega)
    for _ in range(500):
        R = G * (1 + beta) + np.diag(omega * (beta - gamma))
        U = np.linalg.solve(M, R @ V) @ np.linalg.inv(V.T @ V)
        V = np.linalg.solve(U.T @ M @ U, U.T @ R).T
        W = U @ V.T
        beta = (np.diag(G @ W) - np.diag(G) + omega * (np.diag(W) + gamma)) / (
            np.diag(G) + omega - lam
        )
        gamma += np.diag(W) - beta
    np.fill_diagonal(W, 0.0)
    doubled = tr.models.EDLAE(0.5, dtype="float64").fit(DATA).item_item  # p/(1-p) = 2 * 0.5
    np.testing.assert_allclose(W, doubled, atol=1e-6)


def test_the_convergence_is_kept_and_shown() -> None:
    model = tr.models.EDLAE(0.33, dim=5, epochs=200, dtype="float64").fit(DATA)
    shown = model.convergence
    own = (objective(written_out(model), 0.33, 0.0) - float((X**2).sum())) / DATA.n_users
    assert own == pytest.approx(shown.objective.min(), rel=1e-9)
    assert shown.gap[-1] < 0.02 * shown.gap[0]
    few = tr.models.EDLAE(0.33, dim=5, epochs=10, dtype="float64").fit(DATA)
    assert few.convergence.objective.min() >= shown.objective.min()
    np.testing.assert_allclose(few.convergence.objective, shown.objective[:10])
    lines = str(few.convergence).splitlines()
    assert lines[0].split() == ["round", "objective", "gap"]
    assert len(lines) == 12
    assert not few.convergence.at_rest
    assert lines[-1] == "not at rest: more epochs may go lower"
    assert tr.models.EDLAE(0.33, dim=5, epochs=2000, dtype="float64").fit(DATA).convergence.at_rest


def test_by_descent_the_objective_never_rises() -> None:
    descent, admm = (
        tr.models.EDLAE(0.33, dim=5, epochs=100, solver=solver, dtype="float64").fit(DATA)
        for solver in ("descent", "admm")
    )
    assert (np.diff(descent.convergence.objective) <= 1e-12).all()
    # Another local minimum, perhaps, but one as good.
    assert descent.convergence.objective[-1] == pytest.approx(
        admm.convergence.objective.min(), rel=2e-3
    )


def test_each_half_of_a_round_is_exact() -> None:
    """V is the best for its U; and U lies at the lowest point of its line."""
    p, n = 0.33, len(G)
    penalty = p / (1 - p) * np.diag(G)
    U = np.random.default_rng(1).normal(size=(n, 3))
    with on_all_cores() as each:
        problem = LowRankProblem(G, np.diag(G), penalty, np.linalg.inv(G + np.diag(penalty)), each)
        V = _best_columns(problem, U, G @ U)
        first = next(by_descent(problem, np.linalg.qr(U)[0]))
    W = U @ V.T
    np.fill_diagonal(W, 0.0)
    residual = (G + np.diag(penalty)) @ W - G
    np.fill_diagonal(residual, 0.0)
    assert np.abs(residual.T @ U).max() < 1e-9 * G.max()
    U, V, value, _ = first
    W = U @ V.T
    np.fill_diagonal(W, 0.0)
    assert value == pytest.approx(objective(W, p, 0.0) - float((X**2).sum()), rel=1e-9)


def test_admm_that_diverges_keeps_its_best_round() -> None:
    data = generate(400, 80, seed=0, interactions_per_user=8.0)
    model = tr.models.EDLAE(0.2, 2000.0, dim=6, epochs=200, solver="admm").fit(data)
    rounds = model.convergence.objective
    assert rounds[-1] > 0 > rounds.min() or len(rounds) < 200  # above W = 0, or not a number
    descent = tr.models.EDLAE(0.2, 2000.0, dim=6).fit(data)
    assert descent.convergence.objective[-1] <= rounds.min()


def test_larger_ranks_come_lower_and_stay_above_the_full_one() -> None:
    found = [
        objective(written_out(tr.models.EDLAE(0.33, dim=k, dtype="float64").fit(DATA)), 0.33, 0.0)
        for k in (1, 4, 16)
    ]
    full = objective(tr.models.EDLAE(0.33, dtype="float64").fit(DATA).item_item, 0.33, 0.0)
    assert found[0] > found[1] > found[2] > full


def test_scores_of_low_rank_have_no_diagonal() -> None:
    model = tr.models.EDLAE(0.33, dim=4, dtype="float64").fit(DATA)
    users, items = np.array([2, 9]), np.array([[0, 3], [5, 1]])
    expected = X[users] @ written_out(model)
    np.testing.assert_allclose(model.score_all(users), expected, atol=1e-12)
    picked = np.take_along_axis(expected, items, 1)
    np.testing.assert_allclose(model.score_pairs(users, items), picked, atol=1e-12)
    assert np.array_equal(model.fold_in(DATA).score_all(users), model.score_all(users))


def test_low_rank_in_float32_is_near() -> None:
    single, double = (
        tr.models.EDLAE(0.33, dim=4, epochs=30, dtype=d).fit(DATA) for d in ("float32", "float64")
    )
    assert single.encoder.dtype == np.float32
    ends = [model.convergence.objective[-1] for model in (single, double)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-5)  # ten times the stopping rule
    np.testing.assert_allclose(written_out(single), written_out(double), atol=5e-3)


def test_low_rank_is_saved_with_its_convergence(tmp_path: Path) -> None:
    model = tr.models.EDLAE(0.33, dim=4, epochs=12).fit(DATA)
    model.save(tmp_path / "m")
    again = tr.models.load(tmp_path / "m")
    users = np.arange(5)
    assert np.array_equal(again.score_all(users), model.score_all(users))
    assert str(again.convergence) == str(model.convergence)
    split = tr.split.leave_one_out(DATA, seed=0)
    assert len(tr.rank(tr.models.EDLAE(0.33, dim=4).fit(split.train), split)) == DATA.n_users


def test_an_unfitted_model_of_low_rank_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"call fit\(train\) first"):
        tr.models.EDLAE(dim=3).save(tmp_path / "m")


def test_untouched_items_in_low_rank() -> None:
    data = tr.Interactions.from_arrays(
        [0, 0, 1, 1, 2, 2, 3], [0, 1, 1, 2, 0, 2, 0], item_ids=np.arange(4)
    )
    model = tr.models.EDLAE(0.5, dim=2, dtype="float64").fit(data)
    assert np.isfinite(model.score_all(np.arange(4))).all()
    np.testing.assert_allclose(model.score_all(np.arange(4))[:, 3], 0, atol=1e-12)


def test_ranks_and_rounds_that_cannot_be() -> None:
    with pytest.raises(InvalidArgumentError, match="dim must be a whole number"):
        tr.models.EDLAE(dim=0)
    with pytest.raises(InvalidArgumentError, match="epochs must be a whole number"):
        tr.models.EDLAE(dim=2, epochs=0)
    with pytest.raises(InvalidArgumentError, match="solver must be one of descent, admm"):
        tr.models.EDLAE(dim=2, solver="newton")  # type: ignore[arg-type]
    data = tr.Interactions.from_arrays([0, 0, 1], [0, 1, 2])
    with pytest.raises(InvalidDataError, match="dim 3 was asked of EDLAE"):
        tr.models.EDLAE(dim=3).fit(data)
