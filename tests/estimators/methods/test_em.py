"""EM: never a lower likelihood, and the same by users as by distinct observations."""

from __future__ import annotations

import numpy as np
import pytest

from truerank.errors import InvalidArgumentError
from truerank.estimators.cells import cells_of
from truerank.estimators.methods.em import (
    MaximumLikelihood,
    WeightedMaximumLikelihood,
    em,
    rank_weights,
)
from truerank.estimators.problem import Problem


def adaptive_rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ranks among samples that double while r = 1, and unequal weights."""
    rng = np.random.default_rng(seed)
    R = 1 + np.floor(60 * rng.beta(0.4, 2.0, 120)).astype(np.int64)
    n = np.full(120, 5)
    r = 1 + rng.binomial(n - 1, (R - 1) / 59)
    for _ in range(2):
        again = r == 1
        r = np.where(again, r + rng.binomial(n, (R - 1) / 59), r)
        n = np.where(again, 2 * n, n)
    return r, n, rng.uniform(0.5, 2.0, 120)


def log_likelihood(A: np.ndarray, shares: np.ndarray, pi: np.ndarray) -> float:
    """Per unit of weight, up to what does not depend on pi."""
    p = A @ pi
    seen = shares > 0
    return float(shares[seen] @ np.log(p[seen]))


def test_every_step_raises_the_likelihood(simulate) -> None:
    problem, _ = simulate(2_000, 30, 3_000)
    shares, pi = problem.cells.shares, problem.grid.uniform()
    before = log_likelihood(problem.A, shares, pi)
    for _ in range(60):
        pi = em(problem.A, shares, pi, steps=1)
        after = log_likelihood(problem.A, shares, pi)
        assert after >= before - 1e-14
        assert pi.sum() == pytest.approx(1.0, rel=1e-12)
        before = after


def test_grouped_and_per_user_updates_are_equal(scipy_likelihood) -> None:
    """The dissertation's update, a loop over users, on a mixture of sample sizes."""
    r, n, weight = adaptive_rows()
    cells, _ = cells_of(r, n, np.full(120, 60), weight, replacement=True)
    problem = Problem.of(cells, n_rows=120)
    grouped = MaximumLikelihood(iterations=7).distribution(problem, cells.shares)

    likelihood = {size: scipy_likelihood(size, 60, True) for size in (5, 10, 20)}
    pi = np.full(60, 1 / 60)
    for _ in range(7):
        new = np.zeros(60)
        for rank, size, w in zip(r, n, weight, strict=True):
            posterior = pi * likelihood[size][rank - 1]
            new += w * posterior / posterior.sum()
        pi = new / weight.sum()
    np.testing.assert_allclose(grouped, pi, rtol=1e-10)


def test_row_order_does_not_matter() -> None:
    r, n, weight = adaptive_rows()
    order = np.random.default_rng(1).permutation(120)
    masses = []
    for rows in (np.arange(120), order):
        cells, _ = cells_of(r[rows], n[rows], np.full(120, 60), weight[rows], replacement=True)
        problem = Problem.of(cells, n_rows=120)
        masses.append(MaximumLikelihood().distribution(problem, cells.shares))
    np.testing.assert_allclose(masses[0], masses[1], rtol=1e-12)


def test_steps_default_by_design(simulate) -> None:
    problem, _ = simulate(500, 20, 400)
    shares = problem.cells.shares
    fixed = MaximumLikelihood().distribution(problem, shares)
    same = em(problem.A, shares, problem.grid.uniform(), steps=100)
    np.testing.assert_array_equal(fixed, same)

    r, n, weight = adaptive_rows()
    cells, _ = cells_of(r, n, np.full(120, 60), weight, replacement=True)
    mixed = Problem.of(cells, n_rows=120)
    adaptive = MaximumLikelihood().distribution(mixed, cells.shares)
    np.testing.assert_array_equal(
        adaptive, em(mixed.A, cells.shares, mixed.grid.uniform(), steps=50)
    )


def test_no_step_is_the_uniform_distribution(simulate) -> None:
    problem, _ = simulate(500, 20, 400)
    pi = MaximumLikelihood(iterations=0).distribution(problem, problem.cells.shares)
    np.testing.assert_array_equal(pi, problem.grid.uniform())


def test_a_negative_number_of_steps_is_refused(simulate) -> None:
    problem, _ = simulate(500, 20, 400)
    with pytest.raises(InvalidArgumentError, match="iterations must be at least 0"):
        MaximumLikelihood(iterations=-1).distribution(problem, problem.cells.shares)


def test_a_weighted_step_is_the_printed_one(simulate, scipy_likelihood) -> None:
    problem, _ = simulate(300, 10, 200)
    cells, shares = problem.cells, problem.cells.shares
    pi = WeightedMaximumLikelihood(kind="ndcg", C=4.0, iterations=1).distribution(problem, shares)
    A, uniform, expected = scipy_likelihood(10, 300, True), np.full(300, 1 / 300), np.zeros(300)
    total = sum(s / np.log2(1 + r / 4.0) for r, s in zip(cells.rank, cells.shares, strict=True))
    for r, s in zip(cells.rank, shares, strict=True):
        posterior = uniform * A[r - 1]
        expected += s / np.log2(1 + r / 4.0) / total * posterior / posterior.sum()
    np.testing.assert_allclose(pi, expected, rtol=1e-9)


def test_weights_by_hand() -> None:
    assert rank_weights(np.array([1, 5, 10]), "ap", 5.0).tolist() == [5.0, 1.0, 0.5]
    assert rank_weights(np.array([5, 15]), "ndcg", 5.0).tolist() == [1.0, 0.5]
    with pytest.raises(InvalidArgumentError, match="C must be more than 1"):
        rank_weights(np.array([1]), "ap", 1.0)
