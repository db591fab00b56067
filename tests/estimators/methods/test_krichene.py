"""Unbiased rank, CLS and BV: each under its own printed objective."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.estimators.likelihood import rank_likelihood
from truerank.estimators.methods.krichene import BiasVariance, ConstrainedLeastSquares, RankUnbiased
from truerank.estimators.problem import DistributionEstimator, Problem
from truerank.metrics import as_metric, parse

Float = NDArray[np.float64]
N_ITEMS, N_SAMPLED = 60, 8


@dataclass(frozen=True)
class Fixed(DistributionEstimator):
    """A prior that is simply given."""

    masses: tuple[float, ...]

    def distribution(self, problem: Problem, shares: Float) -> Float:
        p = np.array(self.masses)
        return p if shares.ndim == 1 else np.repeat(p[:, None], shares.shape[1], axis=1)


def falling() -> Fixed:
    p = 1.0 / np.arange(1, N_ITEMS + 1) ** 0.7
    return Fixed(tuple(p / p.sum()))


def corrected(method: DistributionEstimator, problem: Problem, text: str) -> Float:
    """x: what a table that has only sampled rank r is estimated at."""
    return method.values(problem, [parse(text)], np.eye(N_SAMPLED))[0]


def bias_variance(x: Float, F: Float, p: Float, gamma: float, likelihood: Float) -> float:
    """The docstring's objective, read aloud: sum over R of p(R)(bias^2 + gamma Var)."""
    total = 0.0
    for R in range(N_ITEMS):
        mean = sum(likelihood[r, R] * x[r] for r in range(N_SAMPLED))
        variance = sum(likelihood[r, R] * (x[r] - mean) ** 2 for r in range(N_SAMPLED))
        total += p[R] * ((mean - F[R]) ** 2 + gamma * variance)
    return float(total)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("gamma", [0.01, 0.5, 1.0])
@pytest.mark.parametrize("prior", ["uniform", falling()], ids=["uniform", "falling"])
def test_bv_minimises_its_objective(
    replacement: bool, gamma: float, prior, problem_of, scipy_likelihood
) -> None:
    problem = problem_of(range(1, N_SAMPLED + 1), N_SAMPLED, N_ITEMS, replacement=replacement)
    x = corrected(BiasVariance(prior=prior, gamma=gamma), problem, "ndcg@5")
    F = parse("ndcg@5").row_values(np.arange(1, N_ITEMS + 1))
    p = np.full(N_ITEMS, 1 / N_ITEMS) if prior == "uniform" else np.array(prior.masses)
    likelihood = scipy_likelihood(N_SAMPLED, N_ITEMS, replacement)
    best = bias_variance(x, F, p, gamma, likelihood)
    rng = np.random.default_rng(5)
    for _ in range(40):
        step = rng.normal(size=x.shape) * 1e-3
        assert bias_variance(x + step, F, p, gamma, likelihood) > best


def test_bv_with_a_named_prior_takes_the_prior_of_the_same_run(simulate) -> None:
    from truerank.estimators.methods.em import MaximumLikelihood
    from truerank.estimators.methods.mes import MaximumEntropy

    problem, _ = simulate(500, 20, 2_000)
    shares, metrics = problem.cells.shares, [parse("recall@10")]
    for name, method in (("mle", MaximumLikelihood()), ("mes", MaximumEntropy())):
        fixed = Fixed(tuple(method.distribution(problem, shares)))
        np.testing.assert_allclose(
            BiasVariance(prior=name).values(problem, metrics, shares),
            BiasVariance(prior=fixed).values(problem, metrics, shares),
            rtol=1e-9,
        )


def test_bv_masses_carry_every_metric(simulate) -> None:
    problem, _ = simulate(500, 20, 2_000)
    method, shares = BiasVariance(prior="mle"), problem.cells.shares
    masses = method.distribution(problem, shares)
    recall = method.values(problem, [parse(f"recall@{k}") for k in range(1, 501)], shares)
    np.testing.assert_allclose(np.diff(recall, prepend=0.0), masses, atol=1e-12)


def test_large_samples_share_the_prior_of_the_first_column(simulate) -> None:
    problem, _ = simulate(2_000, 300, 500)
    shares = np.column_stack([problem.cells.shares, np.eye(len(problem.cells))[0]])
    masses = BiasVariance(prior="mle").distribution(problem, shares)
    from truerank.estimators.methods.em import MaximumLikelihood

    fixed = Fixed(tuple(MaximumLikelihood().distribution(problem, shares[:, 0])))
    expected = BiasVariance(prior=fixed).distribution(problem, shares)
    np.testing.assert_allclose(masses, expected, atol=1e-12)


@pytest.mark.parametrize("gamma", [0.0, -1.0, 1.5, float("nan")])
def test_bv_refuses_a_gamma_outside(gamma: float) -> None:
    with pytest.raises(InvalidArgumentError, match=r"gamma must be in \(0, 1\]"):
        BiasVariance(gamma=gamma)


def test_bv_refuses_an_unknown_prior() -> None:
    with pytest.raises(InvalidArgumentError, match="prior must be one of uniform, mle, mes"):
        BiasVariance(prior="flat")


def bias(x: Float, F: Float, likelihood: Float) -> float:
    return sum(
        (sum(likelihood[r, R] * x[r] for r in range(N_SAMPLED)) - F[R]) ** 2 for R in range(N_ITEMS)
    )


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("text", ["recall@3", "ndcg@20", "ap@10", "auc"])
def test_cls_is_the_least_biased_monotone_correction(
    text: str, replacement: bool, problem_of, scipy_likelihood
) -> None:
    problem = problem_of([1, 2], N_SAMPLED, N_ITEMS, replacement=replacement)
    x = ConstrainedLeastSquares().corrected(problem, [parse(text)])[0]
    assert (np.diff(x) <= 1e-12).all()
    F = parse(text).row_values(np.arange(1, N_ITEMS + 1), N_ITEMS)
    likelihood = scipy_likelihood(N_SAMPLED, N_ITEMS, replacement)
    best = bias(x, F, likelihood)
    rng = np.random.default_rng(2)
    for _ in range(60):
        neighbour = np.sort(x + rng.normal(size=x.shape) * 10 ** rng.uniform(-4, -1))[::-1]
        assert bias(neighbour, F, likelihood) >= best - 1e-12
    for i in range(N_SAMPLED):  # towards each extreme direction of the cone, and back where open
        towards = np.where(np.arange(N_SAMPLED) <= i, 1e-4, 0.0)
        assert bias(x + towards, F, likelihood) >= best - 1e-12
    assert bias(x - 1e-4, F, likelihood) > best


def test_cls_of_a_linear_metric_is_unbiased(problem_of, scipy_likelihood) -> None:
    """Auc is linear in the rank, so a monotone x without any bias exists."""
    problem = problem_of([1, 2], N_SAMPLED, N_ITEMS)
    x = ConstrainedLeastSquares().corrected(problem, [parse("auc")])[0]
    F = parse("auc").row_values(np.arange(1, N_ITEMS + 1), N_ITEMS)
    np.testing.assert_allclose(x @ scipy_likelihood(N_SAMPLED, N_ITEMS, True), F, atol=1e-9)


def test_cls_turns_a_growing_metric_round_and_refuses_a_bent_one(problem_of) -> None:
    problem = problem_of([1, 2], N_SAMPLED, N_ITEMS)
    grows = as_metric(np.sqrt, name="root")
    falls = as_metric(lambda R: -np.sqrt(R), name="minus-root")
    up, down = ConstrainedLeastSquares().corrected(problem, [grows, falls])
    assert (np.diff(up) >= 0).all()
    np.testing.assert_allclose(up, -down, rtol=1e-10)
    bent = as_metric(lambda R: (R - 30.0) ** 2, name="bent")
    with pytest.raises(InvalidArgumentError, match="monotone function of the rank"):
        ConstrainedLeastSquares().values(problem, [bent], problem.cells.shares)


def test_cls_has_no_distribution(problem_of) -> None:
    problem = problem_of([1, 2], N_SAMPLED, N_ITEMS)
    with pytest.raises(InvalidDataError, match="no rank distribution"):
        ConstrainedLeastSquares().distribution(problem, problem.cells.shares)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(("n", "n_items"), [(2, 50), (8, 60), (59, 60)])
def test_the_rank_estimate_is_unbiased(
    n: int, n_items: int, replacement: bool, scipy_likelihood
) -> None:
    estimate = 1 + (n_items - 1) * np.arange(n) / (n - 1)
    mean = estimate @ scipy_likelihood(n, n_items, replacement)
    np.testing.assert_allclose(mean, np.arange(1, n_items + 1), rtol=1e-9)


def test_the_metric_is_taken_at_the_estimated_rank(problem_of) -> None:
    problem = problem_of([1, 2, 2, 5], 11, 101)  # estimates 1, 11, 11, 41
    metrics = [parse(t) for t in ("recall@10", "recall@11", "ap", "auc")]
    values = RankUnbiased().values(problem, metrics, problem.cells.shares)
    expected = [0.25, 0.75, (1 + 2 / 11 + 1 / 41) / 4, (100 + 90 + 90 + 60) / 400]
    np.testing.assert_allclose(values, expected, rtol=1e-14)
    masses = RankUnbiased().distribution(problem, problem.cells.shares)
    assert masses[[0, 10, 40]].tolist() == [0.25, 0.5, 0.25]


def test_the_target_alone_has_no_rank_estimate(problem_of) -> None:
    with pytest.raises(InvalidDataError, match="at least 2 items"):
        RankUnbiased().values(problem_of([1], 1, 50), [parse("recall@1")], np.ones(1))


def test_the_likelihood_of_these_tests_is_the_one_in_use(problem_of, scipy_likelihood) -> None:
    problem = problem_of([1], N_SAMPLED, N_ITEMS)
    ours = rank_likelihood(N_SAMPLED, problem.grid, replacement=True)
    np.testing.assert_allclose(ours, scipy_likelihood(N_SAMPLED, N_ITEMS, True), atol=1e-14)
