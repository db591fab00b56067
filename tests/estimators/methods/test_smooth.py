"""The smooth estimator: its fit beats its neighbours, its limits are what the docstring says."""

from __future__ import annotations

import numpy as np
import pytest

from truerank.errors import InvalidArgumentError
from truerank.estimators.cells import cells_of
from truerank.estimators.methods.smooth import (
    TYPICAL_LOG_STRENGTHS,
    Smooth,
    SplineBasis,
    fit_smooth,
    posterior_mean,
)
from truerank.estimators.problem import Problem
from truerank.estimators.samples import Sample
from truerank.estimators.simulate import simulate
from truerank.metrics import as_metric, parse
from truerank.planning.distributions import typical_distributions
from truerank.ranking import Adaptive, RankTable
from truerank.rng import Stream, stream

N_ITEMS = 3_000


def problem(n_users: int = 4_000, n: int = 60) -> Problem:
    rng = np.random.default_rng(3)
    R = np.ceil(np.exp(rng.beta(1.4, 1.0, n_users) * np.log(N_ITEMS))).astype(np.int64)
    r = 1 + rng.hypergeometric(R - 1, N_ITEMS - R, n - 1)
    sizes = np.full(n_users, n)
    cells, _ = cells_of(r, sizes, np.full(n_users, N_ITEMS), np.ones(n_users), replacement=False)
    return Problem.of(cells, n_rows=n_users)


def objective(task: Problem, basis: SplineBasis, b: np.ndarray, lam: np.ndarray) -> float:
    """The docstring's objective, read aloud."""
    mass = np.exp(basis.Q @ b) * np.exp(basis.log_widths)
    pi = mass / mass.sum()
    total = 0.0
    for c in range(len(task.cells)):
        total += task.n_rows * task.cells.shares[c] * np.log(task.A[c] @ pi)
    for k in range(3):
        total -= 0.5 * lam[k] * b @ basis.penalties[k] @ b
    return float(total - 0.5 * b @ basis.ridge @ b)


def test_the_fit_beats_its_neighbours() -> None:
    task = problem()
    basis = SplineBasis.of(task.grid, 20)
    lam = np.array([50.0, 5.0, 0.1])
    fit = fit_smooth(task.A, task.n_rows * task.cells.shares, basis, strengths=lam)
    best = objective(task, basis, fit.b, lam)
    rng = np.random.default_rng(4)
    for size in (1e-2, 1e-1):
        for _ in range(20):
            step = rng.normal(size=len(fit.b)) * size
            assert objective(task, basis, fit.b + step, lam) < best + 1e-6


def test_great_strength_leaves_a_straight_line() -> None:
    """log-density per rank, as a function of x, loses its curvature."""
    task = problem()
    basis = SplineBasis.of(task.grid, 20)
    counts = task.n_rows * task.cells.shares
    fit = fit_smooth(task.A, counts, basis, strengths=np.full(3, 1e8))
    assert np.abs(np.diff(fit.b, 2)).max() < 1e-3
    free = fit_smooth(task.A, counts, basis, strengths=np.full(3, 1e-3))
    assert np.abs(np.diff(free.b, 2)).max() > 1e-2


def test_strengths_come_from_the_data() -> None:
    """A law with a sharp bend must be smoothed less than a power law is."""
    rng = np.random.default_rng(5)
    straight = np.ceil(np.exp(rng.uniform(0, 1, 20_000) * np.log(N_ITEMS))).astype(np.int64)
    bent = np.where(rng.random(20_000) < 0.5, rng.integers(40, 60, 20_000), straight)
    chosen = []
    for R in (straight, bent):
        cells, _ = cells_of(
            R, np.full(len(R), N_ITEMS), np.full(len(R), N_ITEMS), np.ones(len(R)),
            replacement=False,
        )  # fmt: skip
        task = Problem.of(cells, n_rows=len(R))
        basis = SplineBasis.of(task.grid, 40)
        chosen.append(fit_smooth(task.A, task.n_rows * cells.shares, basis).strengths)
    assert chosen[1][1] < chosen[0][1] / 10


def test_exact_rows_count_exactly() -> None:
    R = np.array([1, 1, 5, 40, 700, 700, 2_000])
    cells, _ = cells_of(R, np.full(7, N_ITEMS), np.full(7, N_ITEMS), np.ones(7), replacement=False)
    task = Problem.of(cells, n_rows=7)
    mass = Smooth().distribution(task, cells.shares)
    for k in (1, 5, 50):
        assert mass[task.grid.edges[:-1] <= k].sum() == pytest.approx(np.mean(k >= R))


def test_resamples_refitted_together_equal_one_by_one() -> None:
    task = problem()
    shares = task.cells.shares
    rng = np.random.default_rng(6)
    others = rng.multinomial(4_000, shares, size=3).T / 4_000
    together = Smooth(refit_steps=30).distribution(task, np.column_stack([shares, others]))
    basis = SplineBasis.of(task.grid, 40)
    lam = fit_smooth(task.A, task.n_rows * shares, basis).strengths
    for column in range(3):
        alone = fit_smooth(task.A, task.n_rows * others[:, column], basis, strengths=lam)
        expected = posterior_mean(task.A, others[:, column], basis.density(alone.b))
        assert together[:, column + 1] == pytest.approx(expected, rel=2e-3, abs=1e-7)


@pytest.mark.parametrize("bad", [{"n_splines": 3}, {"strengths": (1.0, 0.0, 1.0)}])
def test_bad_parameters(bad: dict[str, object]) -> None:
    with pytest.raises(InvalidArgumentError):
        Smooth(**bad)


def test_resamples_are_refitted_as_well_as_the_sample_itself() -> None:
    """Many users in one place, as ties put them: the sample's curvature is a poor guide there.

    Steps that were not checked ran away in a few resamples and left recall 0 in them.
    """
    rng = np.random.default_rng(0)
    n_items, n_users = 2000, 3000
    near = np.exp(rng.uniform(0, np.log(150), n_users))
    tied = np.clip(rng.normal(1000, 50, n_users), 1, n_items)
    R = np.where(rng.random(n_users) < 0.3, near, tied).astype(np.int64)
    n = np.where(R < 50, 1600, 25)
    rank = 1 + rng.hypergeometric(R - 1, n_items - R, n - 1)
    sample = Sample.of(RankTable.from_arrays(rank=rank, n_sampled=n, n_items=n_items))
    problem = Problem.of(sample.cells, n_rows=sample.n_users)
    shares, _ = sample.shares(sample.weight, n_boot=60, seed=0)
    recall = [as_metric("recall@10")]
    together = Smooth().values(problem, recall, shares)[0]

    basis = SplineBasis.of(problem.grid, Smooth().n_splines)
    strengths = fit_smooth(problem.A, n_users * shares[:, 0], basis).strengths
    alone = Smooth(strengths=tuple(strengths))
    for b in range(1, 61, 6):
        by_itself = alone.values(problem, recall, shares[:, b])
        assert together[b] == pytest.approx(float(by_itself[0]), rel=2e-3)
    assert together[1:].std(ddof=1) < 0.1 * together[0]


@pytest.mark.parametrize("n_users", [40_000, 200_000])
def test_many_users_of_a_large_catalogue_do_not_lose_the_fit(n_users: int) -> None:
    """The strengths once followed the curvature of the first steps down to nothing: 1e-4 for .1."""
    recall = parse("recall@10")
    typical = typical_distributions(10**7, recall, 0.1)[0]
    exact = typical.draw(n_users, stream(1, Stream.PILOT, 0, n_users, 1))
    table = simulate(exact, Adaptive(), seed=1)
    cells, cell = cells_of(
        table.rank, table.n_sampled, table.n_items, table.weight,
        replacement=table.header.replacement,
    )  # fmt: skip
    problem = Problem.of(cells, n_rows=float(n_users))
    counts = np.bincount(cell, minlength=len(cells)).astype(np.float64)
    basis = SplineBasis.of(problem.grid, 40)

    def log_likelihood(strengths: np.ndarray | None) -> float:
        fit = fit_smooth(problem.A, counts, basis, strengths=strengths)
        return float(counts @ np.log(problem.A @ basis.density(fit.b)))

    # Chosen strengths may smooth more than typical ones, which costs a few units of likelihood
    # (1.8 at most over 276 tables); a lost fit costs thousands.
    typical = log_likelihood(np.exp(np.array(TYPICAL_LOG_STRENGTHS)))
    assert log_likelihood(None) > typical - 10
