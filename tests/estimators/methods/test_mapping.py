"""Mapping functions: printed forms, exact checks, and the fitted a."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.estimators.methods.mapping import (
    LARGEST_A,
    SMALLEST_A,
    Mapping,
    fit_beta,
    mapping_function,
)
from truerank.metrics import parse

SIZES = [(2, 5), (7, 100), (100, 9_916), (100, 100), (1_000, 10**8)]


@pytest.mark.parametrize(("n", "n_items"), SIZES)
@pytest.mark.parametrize("a", [0.05, 0.2, 0.6, 1.0, 3.0])
def test_the_last_point_is_the_last_rank(n: int, n_items: int, a: float) -> None:
    f = mapping_function("beta", n, n_items, a)
    assert f[-1] == n_items
    assert (np.diff(f) > 0).all()
    assert f[0] >= 1.0


@pytest.mark.parametrize(("n", "n_items"), SIZES)
def test_uniform_ranks_map_linearly(n: int, n_items: int) -> None:
    k = np.arange(1, n + 1)
    f = mapping_function("beta", n, n_items, 1.0)
    np.testing.assert_allclose(f, k * (n_items - 1) / n + 1, rtol=1e-10)


@pytest.mark.parametrize("a", [0.1, 0.5, 1.0, 2.0])
def test_beta_is_the_printed_recurrence(a: float) -> None:
    n, n_items = 30, 2_000
    f = [(n_items - 1) * (a * special.beta(a, n)) ** (1 / a) + 1]
    for k in range(1, n):
        increment = a * (n_items - 1) ** a * math.comb(n - 1, k) * special.beta(a + k, n - k)
        f.append((increment + (f[-1] - 1) ** a) ** (1 / a) + 1)
    np.testing.assert_allclose(mapping_function("beta", n, n_items, a), f, rtol=1e-10)


@pytest.mark.parametrize("a", [0.2, 0.7])
def test_beta_maps_expected_sampled_recall_to_the_law_itself(a: float) -> None:
    """Where ranks are Beta(a, 1), P(r <= k) is the law's distribution function at f(k)."""
    n, n_items = 40, 10**9
    f = mapping_function("beta", n, n_items, a)
    sampled_recall = stats.betabinom.cdf(np.arange(n), n - 1, a, 1)
    np.testing.assert_allclose(((f - 1) / (n_items - 1)) ** a, sampled_recall, rtol=1e-9)


def test_linear_and_bound_are_the_printed_forms() -> None:
    n, n_items = 11, 1_000
    for k in range(1, n + 1):
        linear = (k - 1) / (n - 1) * (n_items - 1) + 1
        bound = math.floor((k - 0.5) * (n_items - 1) / (n - 1) + 0.5)
        assert mapping_function("linear", n, n_items)[k - 1] == pytest.approx(linear, rel=1e-15)
        assert mapping_function("bound", n, n_items)[k - 1] == min(bound, n_items)


@pytest.mark.parametrize("a", [0.15, 0.5, 2.0])
def test_a_is_found_again(a: float) -> None:
    """Within 4 standard errors of observed information: false alarms 6e-5 a case."""
    n, M = 100, 20_000
    rng = np.random.default_rng(3)
    r = 1 + rng.binomial(n - 1, rng.beta(a, 1.0, M))
    shares = np.bincount(r - 1, minlength=n) / M
    fitted = float(fit_beta(shares))

    def minus_log_likelihood(value: float) -> float:
        return -M * float(shares @ stats.betabinom.logpmf(np.arange(n), n - 1, value, 1))

    h = 1e-3 * fitted
    up, here, down = (minus_log_likelihood(fitted + d) for d in (h, 0.0, -h))
    assert here < up
    assert here < down
    standard_error = ((up - 2 * here + down) / h**2) ** -0.5
    assert abs(fitted - a) < 4 * standard_error


def test_ranks_all_first_or_all_last_stop_at_the_ends(problem_of) -> None:
    assert fit_beta(np.eye(10)[0]) == pytest.approx(SMALLEST_A)
    assert fit_beta(np.eye(10)[-1]) == pytest.approx(LARGEST_A)
    for rank in (1, 10):
        problem = problem_of([rank] * 5, 10, 500)
        masses = Mapping().distribution(problem, problem.cells.shares)
        assert masses.min() >= 0.0
        assert masses.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["linear", "bound", "beta"])
def test_recall_at_f_of_k_is_sampled_recall_at_k(kind: str, problem_of) -> None:
    rng = np.random.default_rng(0)
    problem = problem_of(rng.integers(1, 11, 300), 10, 600)
    f = mapping_function(kind, 10, 600, 1.0)
    recall = np.cumsum(problem.by_rank(problem.cells.shares))
    at = np.floor(f).astype(int)
    assert recall[-1] == pytest.approx(1.0)
    metrics = [parse(f"recall@{k}") for k in range(1, 601)]
    curve = Mapping(kind=kind, a=1.0).values(problem, metrics, problem.cells.shares)
    points = np.concatenate([[0], f, [600]]), np.concatenate([[0], recall, [1]])
    np.testing.assert_allclose(curve, np.interp(np.arange(1, 601), *points), atol=1e-12)
    if kind == "bound":
        np.testing.assert_allclose(curve[at - 1], recall, atol=1e-12)


def test_the_curve_uses_the_fitted_a(simulate) -> None:
    problem, _ = simulate(5_000, 50, 3_000)
    shares = problem.cells.shares
    a = float(fit_beta(problem.by_rank(shares)))
    fitted = Mapping().distribution(problem, shares)
    np.testing.assert_allclose(fitted, Mapping(a=a).distribution(problem, shares))
    assert not np.allclose(fitted, Mapping(a=2 * a).distribution(problem, shares))


def test_bad_parameters_and_samples_of_one_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="kind must be one of linear, bound, beta"):
        Mapping(kind="cubic")
    with pytest.raises(InvalidArgumentError, match="a must be positive"):
        Mapping(a=0.0)
    with pytest.raises(InvalidDataError, match="at least 2 items"):
        mapping_function("beta", 1, 50)
