"""MN: least expected squared error, positive definite at any M."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from truerank.errors import InvalidArgumentError
from truerank.estimators.likelihood import rank_likelihood
from truerank.estimators.methods.minimum_error import MinimumError
from truerank.estimators.problem import DistributionEstimator, Problem
from truerank.metrics import parse

Float = NDArray[np.float64]
N_ITEMS, N_SAMPLED = 60, 8


@dataclass(frozen=True)
class Fixed(DistributionEstimator):
    """A prior that is simply given."""

    masses: tuple[float, ...]

    def distribution(self, problem: Problem, shares: Float) -> Float:
        p = np.array(self.masses)
        return p if shares.ndim == 1 else np.repeat(p[:, None], shares.shape[1], axis=1)


def falling() -> Float:
    p = 1.0 / np.arange(1, N_ITEMS + 1) ** 0.7
    return np.asarray(p / p.sum())


def expected_error(x: Float, F: Float, p: Float, M: float, likelihood: Float) -> float:
    """L1 + L2 of eq:new_loss: sum of p(R) bias^2, and of Var over R, over M."""
    total = 0.0
    for R in range(N_ITEMS):
        mean = sum(likelihood[r, R] * x[r] for r in range(N_SAMPLED))
        second = sum(likelihood[r, R] * x[r] ** 2 for r in range(N_SAMPLED))
        total += p[R] * (mean - F[R]) ** 2 + (second - mean**2) / M
    return float(total)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("M", [1, 300, 10**6])
@pytest.mark.parametrize("text", ["recall@4", "ndcg@10"])
def test_mn_minimises_its_objective(
    text: str, M: int, replacement: bool, problem_of, scipy_likelihood
) -> None:
    problem = problem_of(
        range(1, N_SAMPLED + 1), N_SAMPLED, N_ITEMS, replacement=replacement, n_rows=M
    )
    method = MinimumError(prior=Fixed(tuple(falling())))
    x = method.values(problem, [parse(text)], np.eye(N_SAMPLED))[0]
    F = parse(text).row_values(np.arange(1, N_ITEMS + 1))
    likelihood = scipy_likelihood(N_SAMPLED, N_ITEMS, replacement)
    best = expected_error(x, F, falling(), M, likelihood)
    rng = np.random.default_rng(6)
    for _ in range(40):
        step = rng.normal(size=x.shape) * 1e-2
        assert expected_error(x + step, F, falling(), M, likelihood) > best


@pytest.mark.parametrize("M", [1, 100, 10**4, 10**8])
def test_the_matrix_is_positive_definite(M: float, problem_of) -> None:
    problem = problem_of([1], 30, 5_000)
    A = rank_likelihood(30, problem.grid, replacement=True)
    widths = problem.grid.widths.astype(float)
    lonely = np.zeros(len(widths))
    lonely[0] = 1.0  # the least helpful prior: everybody has rank 1
    for p in (problem.grid.uniform(), lonely):
        G = MinimumError()._gram(A, p, widths, M)
        scale = 1 / np.sqrt(np.diag(G))
        assert np.linalg.eigvalsh(G * scale * scale[:, None])[0] > 0


def test_many_rows_leave_bias_only_and_few_a_constant(problem_of) -> None:
    F = parse("recall@10")
    spread = []
    for M in (1e-3, 1e2, 1e9):
        problem = problem_of(range(1, N_SAMPLED + 1), N_SAMPLED, N_ITEMS, n_rows=M)
        x = MinimumError(prior=Fixed(tuple(falling()))).values(problem, [F], np.eye(N_SAMPLED))[0]
        spread.append(float(np.ptp(x)))
        if M == 1e-3:  # no data to speak of: the prior's own value
            np.testing.assert_allclose(x, falling()[:10].sum(), rtol=1e-2)
    assert spread[0] < spread[1] < spread[2]


@pytest.mark.parametrize("prior", ["mle", "mes"])
def test_the_estimate_is_near_the_truth_of_a_smooth_law(prior: str, simulate) -> None:
    problem, R = simulate(2_000, 200, 20_000)
    metrics = [parse("recall@50"), parse("ndcg@50")]
    truth = [metric.row_values(R).mean() for metric in metrics]
    values = MinimumError(prior=prior).values(problem, metrics, problem.cells.shares)
    np.testing.assert_allclose(values, truth, rtol=0.1)


def test_mn_refuses_an_unknown_prior() -> None:
    with pytest.raises(InvalidArgumentError, match="prior must be one of"):
        MinimumError(prior="flat")
