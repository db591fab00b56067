"""Identification bounds: valid, and sharp enough."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from scipy import optimize, stats

from truerank.errors import InvalidArgumentError
from truerank.estimators import estimate
from truerank.estimators.bounds.blind_spot import blind_spot
from truerank.estimators.bounds.identification import compatible_set
from truerank.estimators.cells import cells_of
from truerank.estimators.grid import RankGrid
from truerank.estimators.methods.em import em
from truerank.estimators.problem import Problem
from truerank.metrics import parse
from truerank.ranking import RankTable
from truerank.ranking.designs import Adaptive, Sampled
from truerank.ranking.stages import Stages

from .bounds_world import (
    METRICS,
    draw,
    identification_bounds,
    log_normal_ranks,
    problem_of,
    sampled_problem,
    width,
)

# --- validity -----------------------------------------------------------------------------


DESIGNS = [
    pytest.param(Sampled(20).stages(300), id="fixed"),
    pytest.param(Adaptive(n0=8, n_max=64).stages(300), id="adaptive"),
    pytest.param(Adaptive(n0=8).stages(300), id="adaptive-to-exact"),
    pytest.param(
        Stages(np.array([8, 20, 60]), np.array([2, 3, 0]), np.array([0.5, 0.3, 1.0])), id="dropping"
    ),
]


@pytest.mark.parametrize("stages", DESIGNS)
@pytest.mark.parametrize("mixed", [False, True], ids=["one-N", "two-N"])
def test_bands_and_bounds_hold_as_often_as_stated(stages: Stages, mixed: bool) -> None:
    """All bands at once, the bounds of some runs. False alarm: 1e-4 each."""
    rng = np.random.default_rng(3)
    B, m, grid = 80, 400, RankGrid.of(300)
    # The distribution is that of ranks up to 250, so that it is the same for both numbers of items.
    mass = np.bincount(log_normal_ranks(rng, 100_000, 250), minlength=301)[1:] / 100_000
    truth = [float(grid.metric_values(metric) @ mass) for metric in METRICS]
    held = covered = runs = 0
    for b in range(B):
        R = rng.choice(np.arange(1, 301), size=m, p=mass)
        n_items = np.where(mixed & (rng.random(m) < 0.5), 260, 300)
        rank, size = draw(rng, R, n_items, stages)
        problem = problem_of(rank, size, n_items, grid)
        found = compatible_set(problem, problem.cells.shares, stages=stages)
        p = found.P @ mass
        held += bool(((found.low <= p + 1e-12) & (p <= found.high + 1e-12)).all())
        if b % 10 == 0:
            runs += 1
            covered += all(
                low - 1e-7 <= value <= high + 1e-7
                for value, (low, high) in zip(truth, found.bounds(METRICS), strict=True)
            )
    assert held >= stats.binom.ppf(1e-4, B, 0.95)
    assert covered >= stats.binom.ppf(1e-4, runs, 0.95)


def test_sizes_that_depend_on_nothing_need_no_design() -> None:
    """A foreign table of three sizes and some exact rows. False alarm 1e-4."""
    rng = np.random.default_rng(4)
    B, m, grid = 60, 600, RankGrid.of(300)
    mass = np.bincount(log_normal_ranks(rng, 100_000, 300), minlength=301)[1:] / 100_000
    held = 0
    for _ in range(B):
        R = rng.choice(np.arange(1, 301), size=m, p=mass)
        size = rng.choice([10, 20, 50, 300], size=m)
        rank = 1 + rng.hypergeometric(R - 1, 300 - R, size - 1)
        problem = problem_of(rank, size, 300, grid)
        found = compatible_set(problem, problem.cells.shares)
        p = found.P @ mass
        held += bool(((found.low <= p + 1e-12) & (p <= found.high + 1e-12)).all())
    assert held >= stats.binom.ppf(1e-4, B, 0.95)


@pytest.mark.parametrize("stages", DESIGNS)
def test_bounds_contain_the_fit(stages: Stages) -> None:
    rng = np.random.default_rng(5)
    R = log_normal_ranks(rng, 3000, 300)
    rank, size = draw(rng, R, np.full(3000, 300), stages)
    problem = problem_of(rank, size, 300)
    shares = problem.cells.shares
    pi = em(problem.A, shares, problem.grid.uniform(), steps=500)
    bounds = identification_bounds(problem, METRICS, shares, stages=stages)
    for metric, (low, high) in zip(METRICS, bounds, strict=True):
        assert low <= problem.grid.metric_values(metric) @ pi <= high


# --- sharpness ----------------------------------------------------------------------------


def test_bounds_by_the_formula() -> None:
    """The docstring's programme with every rank a column, in loops and with inequalities."""
    n, n_items, m = 6, 15, 500
    problem = sampled_problem(6, m, n, n_items)
    counts = problem.by_rank(problem.cells.weight)
    runs = [[1], [2], [3], [4], [5, 6]]
    sets = runs + [list(itertools.chain(*runs[:i])) for i in range(2, len(runs) - 1)]
    A_ub, b_ub = [], []
    for members in sets:
        row = [
            sum(stats.hypergeom.pmf(r - 1, n_items - 1, R - 1, n - 1) for r in members)
            for R in range(1, n_items + 1)
        ]
        k = int(sum(counts[r - 1] for r in members))
        band = stats.binomtest(k, m).proportion_ci(1 - 0.05 / len(sets), method="exact")
        A_ub += [row, [-x for x in row]]
        b_ub += [band.high, -band.low]
    for metric in METRICS:
        F = metric.row_values(np.arange(1.0, n_items + 1), None)
        ends = [
            sign * optimize.linprog(sign * F, A_ub, b_ub, [[1.0] * n_items], [1.0]).fun
            for sign in (1, -1)
        ]
        found = identification_bounds(problem, [metric], problem.cells.shares)[0]
        assert found == pytest.approx(ends, abs=1e-6)


def test_bounds_shrink_with_users_and_with_the_sample() -> None:
    metric = parse("recall@50")
    users = [sampled_problem(7, m, 100, 2000) for m in (500, 20_000)]
    few, many = (width(identification_bounds(p, [metric], p.cells.shares)[0]) for p in users)
    assert many < 0.8 * few
    sizes = [sampled_problem(7, 5000, n, 2000) for n in (20, 100, 500)]
    widths = [width(identification_bounds(p, [metric], p.cells.shares)[0]) for p in sizes]
    assert widths[0] > 1.2 * widths[1] > 1.2 * 1.2 * widths[2]


def test_exact_ranks_leave_only_the_users_chance() -> None:
    rng = np.random.default_rng(8)
    m, n_items = 5000, 3000
    R = log_normal_ranks(rng, m, n_items)
    problem = problem_of(R, np.full(m, n_items), n_items)
    for metric in [*METRICS, parse("recall@50")]:
        value = float(metric.row_values(R.astype(np.float64), None).mean())
        low, high = identification_bounds(problem, [metric], problem.cells.shares)[0]
        assert low <= value <= high
        # Some 70 Bonferroni bands are 3.5 standard errors wide on each side, at most.
        assert high - low < 2 * 4.0 * np.sqrt(value * (1 - value) / m)


def test_fewer_effective_rows_are_wider_and_a_higher_level_too() -> None:
    problem = sampled_problem(9, 2000, 50, 500)
    shares, metric = problem.cells.shares, [parse("recall@20")]
    usual = width(identification_bounds(problem, metric, shares)[0])
    assert width(identification_bounds(problem, metric, shares, n_effective=400.0)[0]) > usual
    assert width(identification_bounds(problem, metric, shares, confidence=0.999)[0]) > usual


@pytest.mark.parametrize("n_items", [10**4, 10**8])
def test_the_size_of_the_catalogue_does_not_matter_for_time(n_items: int) -> None:
    rng = np.random.default_rng(10)
    R = log_normal_ranks(rng, 2000, n_items)
    stages = Adaptive(n0=25, n_max=3200).stages(n_items)
    rank, size = draw(rng, R, np.full(2000, n_items), stages)
    problem = problem_of(rank, size, n_items)
    start = time.perf_counter()
    low, high = identification_bounds(
        problem, [parse("recall@50")], problem.cells.shares, stages=stages
    )[0]
    assert 0 <= low < high < 0.5
    assert time.perf_counter() - start < 15


def test_thousands_of_sizes_work() -> None:
    rng = np.random.default_rng(11)
    m, n_items = 20_000, 20_000
    size = rng.permutation(np.tile(np.arange(10, 10_010), 2))
    R = log_normal_ranks(rng, m, n_items)
    rank = 1 + rng.hypergeometric(R - 1, n_items - R, size - 1)
    cells, _ = cells_of(rank, size, np.full(m, n_items), np.ones(m), replacement=False)
    # The likelihood of the cells is not used: the sets have their own.
    problem = Problem(cells, RankGrid.of(n_items), np.empty((0, 0)), m)
    start = time.perf_counter()
    found = compatible_set(problem, cells.shares)
    low, high = found.bounds([parse("recall@50")])[0]
    assert low <= (R <= 50).mean() <= high
    assert time.perf_counter() - start < 30


# --- when it cannot be --------------------------------------------------------------------


def test_impossible_counts_are_reported_and_still_bounded() -> None:
    """Ranks 1, 60 and 100 and nothing between: no mixture of hypergeometrics."""
    rank = np.repeat([1, 60, 100], 20_000)
    problem = problem_of(rank, np.full(60_000, 100), 5000)
    found = compatible_set(problem, problem.cells.shares)
    assert found.slack > 0
    assert "no distribution of global ranks explains" in found.note
    assert "rivals were drawn uniformly" in found.note
    for low, high in found.bounds(METRICS):
        assert 0 <= low <= high <= 1
    spot = blind_spot(problem, problem.cells.shares, ks=[10])
    assert spot.sentences[0] == found.note


def test_bounds_of_a_misfit_are_wide_and_hold_the_estimate() -> None:
    """The less they are worth the surer they look, if bands stop at the first that fits."""
    table = RankTable.from_arrays(rank=np.repeat([1, 60, 100], 2000), n_sampled=100, n_items=5000)
    for found in estimate(table, ["recall@10", "ndcg@50", "mrr"], n_boot=0):
        assert any("no distribution of global" in note for note in found.diagnostics.notes)
        assert found.diagnostics.bounds is not None
        low, high = found.diagnostics.bounds
        assert low <= found.value <= high
        assert high - low > 0.3  # .15 to .22 where bands stop at the first that fits


def test_very_different_numbers_of_candidates_are_said() -> None:
    n_items = np.repeat([10, 14, 20], 100)
    for sizes, said in ((n_items, True), (n_items[100:], False)):
        table = RankTable.from_arrays(rank=np.ones_like(sizes), n_sampled=3, n_items=sizes)
        notes = estimate(table, "recall@1", n_boot=0)[0].diagnostics.notes
        assert any("candidates differ from 10 to 20" in note for note in notes) == said


def test_possible_counts_have_no_note() -> None:
    problem = sampled_problem(12, 1000, 20, 300)
    assert compatible_set(problem, problem.cells.shares).note == ""


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, float("nan")])
def test_levels_outside_are_refused(level: float) -> None:
    problem = sampled_problem(13, 100, 20, 300)
    with pytest.raises(InvalidArgumentError, match="confidence must be between 0 and 1"):
        compatible_set(problem, problem.cells.shares, confidence=level)
    with pytest.raises(InvalidArgumentError, match="n_effective must be positive"):
        compatible_set(problem, problem.cells.shares, n_effective=0.0)


@pytest.mark.parametrize(
    ("rank", "n", "n_items"),
    [
        pytest.param([1], [2], 2, id="one-row-of-two-items"),
        pytest.param([1], [1], 1, id="one-item"),
        pytest.param([1, 1, 1], [100, 100, 100], 1000, id="all-first"),
        pytest.param([100, 100], [100, 100], 1000, id="all-last"),
        pytest.param([1, 2], [2, 2], 10, id="n-is-2"),
        pytest.param([1, 1], [1, 1], 10, id="n-is-1"),
        pytest.param([3, 1], [10, 5], 10, id="exact-and-not"),
    ],
)
def test_small_tables(rank: list[int], n: list[int], n_items: int) -> None:
    problem = problem_of(np.array(rank), np.array(n), n_items)
    low, high = identification_bounds(problem, [parse("recall@1")], problem.cells.shares)[0]
    assert 0 <= low <= high <= 1
    assert blind_spot(problem, problem.cells.shares, ks=[1]).asked == (1,)
