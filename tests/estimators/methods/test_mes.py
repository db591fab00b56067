"""MES: a generic convex solver, stationarity, and the objective read aloud."""

from __future__ import annotations

import math

import numpy as np
import pytest

from truerank.errors import InvalidArgumentError
from truerank.estimators.likelihood import rank_likelihood
from truerank.estimators.methods.mes import MaximumEntropy, maximum_entropy


def aloud(A: np.ndarray, q: np.ndarray, pi: np.ndarray, eta: float) -> float:
    """Eta H - E over single ranks, with loops."""
    entropy = -sum(p * math.log(p) for p in pi if p > 0)
    misfit = sum(
        q[r] * (sum(A[r, R] * pi[R] for R in range(len(pi))) - q[r]) ** 2 for r in range(len(q))
    )
    return eta * entropy - misfit


@pytest.mark.parametrize("replacement", [True, False])
def test_the_solution_beats_its_neighbours(replacement: bool, simulate) -> None:
    problem, _ = simulate(80, 10, 500, replacement=replacement)
    shares, eta = problem.cells.shares, 0.01 / 10
    pi = MaximumEntropy().distribution(problem, shares)
    best = aloud(problem.A, shares, pi, eta)
    rng = np.random.default_rng(4)
    for _ in range(60):
        other = pi * np.exp(rng.normal(size=80) * 0.05)
        assert aloud(problem.A, shares, other / other.sum(), eta) < best


@pytest.mark.parametrize("eta", [1e-2, 1e-3, 1e-4])
def test_a_generic_convex_solver_agrees(eta: float, simulate) -> None:
    import cvxpy as cp

    problem, _ = simulate(150, 12, 2_000)
    shares = problem.cells.shares
    pi = MaximumEntropy(eta=eta, scaled=False).distribution(problem, shares)

    x = cp.Variable(150, nonneg=True)
    misfit = cp.sum_squares(cp.multiply(np.sqrt(shares), problem.A @ x - shares))
    cp.Problem(cp.Maximize(eta * cp.sum(cp.entr(x)) - misfit), [cp.sum(x) == 1]).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11
    )
    theirs = np.maximum(x.value, 0.0) / np.maximum(x.value, 0.0).sum()
    np.testing.assert_allclose(pi, theirs, atol=2e-5)
    mine = aloud(problem.A, shares, pi, eta)
    assert mine >= aloud(problem.A, shares, theirs, eta) - 1e-12
    assert mine == pytest.approx(aloud(problem.A, shares, theirs, eta), abs=1e-7)


@pytest.mark.parametrize(("n_items", "n"), [(2_000, 40), (10**6, 100), (3_000, 900)])
def test_the_solution_is_stationary(n_items: int, n: int, simulate) -> None:
    """log(pi / widths) + A'v / eta is the same for all bins, with v = 2 q (A pi - q)."""
    problem, _ = simulate(n_items, n, 20_000)
    shares, eta = problem.cells.shares, MaximumEntropy().weight(n)
    pi = MaximumEntropy().distribution(problem, shares)
    v = 2 * shares * (problem.A @ pi - shares)
    exponent = np.log(pi / problem.grid.widths) + problem.A.T @ v / eta
    assert pi.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(exponent, exponent[0], atol=1e-5)


def test_more_sampled_ranks_than_bins_changes_nothing(simulate) -> None:
    """900 ranks on 768 bins are solved in turned coordinates; a small case can do both ways."""
    problem, _ = simulate(60, 50, 40_000)
    shares, widths = problem.cells.shares, np.ones(60)
    pi = maximum_entropy(problem.A, shares, widths, eta=1e-3)
    halves = np.concatenate([problem.A, problem.A]), np.concatenate([shares, shares])
    # Each rank twice with weight q doubles the misfit, so eta doubles too.
    twice = maximum_entropy(*halves, widths, eta=2e-3)
    assert halves[0].shape[0] > halves[0].shape[1]
    np.testing.assert_allclose(twice, pi, rtol=1e-7)


def test_sampled_ranks_nobody_has_drop_out(problem_of) -> None:
    problem = problem_of([1, 1, 1, 2, 4], 6, 100)
    widths = problem.grid.widths.astype(float)
    seen = maximum_entropy(problem.A, problem.cells.shares, widths, eta=1e-3)
    A = rank_likelihood(6, problem.grid, replacement=True)
    q = problem.by_rank(problem.cells.shares)
    np.testing.assert_allclose(maximum_entropy(A, q, widths, eta=1e-3), seen, rtol=1e-9)


def test_much_entropy_is_uniform_over_ranks(simulate) -> None:
    problem, _ = simulate(10_000, 20, 1_000)
    pi = MaximumEntropy(eta=1e6, scaled=False).distribution(problem, problem.cells.shares)
    np.testing.assert_allclose(pi, problem.grid.uniform(), rtol=1e-5)


def test_both_scalings_and_their_defaults() -> None:
    assert MaximumEntropy().weight(100) == pytest.approx(0.01 / 100)
    assert MaximumEntropy(eta=0.5).weight(100) == pytest.approx(0.005)
    assert MaximumEntropy(scaled=False).weight(100) == 0.001
    assert MaximumEntropy(eta=0.5, scaled=False).weight(100) == 0.5


@pytest.mark.parametrize("eta", [0.0, -1.0, float("nan"), float("inf")])
def test_eta_must_be_positive(eta: float) -> None:
    with pytest.raises(InvalidArgumentError, match="eta must be positive"):
        MaximumEntropy(eta=eta)


@pytest.mark.parametrize("eta", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("rank", [1, 20])
def test_one_sampled_rank_only(rank: int, eta: float, problem_of) -> None:
    problem = problem_of([rank] * 9, 20, 5_000)
    pi = MaximumEntropy(eta=eta, scaled=False).distribution(problem, problem.cells.shares)
    assert pi.sum() == pytest.approx(1.0)
    predicted = float((problem.A @ pi)[0])
    assert predicted > 0.9
