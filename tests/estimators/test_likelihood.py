"""P(r | R): sums, extremes, scipy's numbers, and the sampling theorem."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from truerank.estimators.cells import cells_of
from truerank.estimators.grid import RankGrid
from truerank.estimators.likelihood import fill_likelihood, likelihood_matrix, rank_likelihood

SIZES = [(2, 3), (5, 40), (20, 21), (100, 700), (100, 1_500), (999, 1_000)]


def dense(n_items: int) -> RankGrid:
    return RankGrid(np.arange(1, n_items + 2))


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(("n", "n_items"), [*SIZES, (100, 10**6), (1_000, 10**8), (900, 13_000)])
def test_columns_sum_to_one(n: int, n_items: int, replacement: bool) -> None:
    A = rank_likelihood(n, RankGrid.of(n_items), replacement=replacement)
    np.testing.assert_allclose(A.sum(axis=0), 1.0, rtol=1e-12)
    assert (A >= 0).all()


def random_sizes(seed: int) -> tuple[int, int, RankGrid]:
    """A sample, the candidates of its rows, and the grid of a catalogue at least as large."""
    rng = np.random.default_rng(seed)

    def between(low: int, high: int) -> int:
        return int(np.clip(np.exp(rng.uniform(np.log(low), np.log(high + 1))), low, high))

    n_items = between(3, 200_000 if seed % 10 else 10**9)
    n = between(2, min(n_items - 1, 3_000))
    if seed % 4 == 0:
        n = n_items - 1 if n_items < 3_000 else max(2, min(20_000, n_items - between(1, 2_000)))
    catalogue = n_items + (0 if seed % 3 == 0 else between(1, n_items))
    columns = 768 if seed % 2 else between(140, 900)
    return n, n_items, RankGrid.of(catalogue, columns=columns)


def filled(n: int, n_items: int, grid: RankGrid, *, replacement: bool) -> np.ndarray:
    A, ranks = np.zeros((n, len(grid))), np.arange(1, n + 1)
    fill_likelihood(A, ranks - 1, ranks, n, n_items, grid, replacement)
    return A


@pytest.mark.parametrize("replacement", [True, False])
def test_columns_hold_the_mass_of_their_ranks_whatever_the_sizes(replacement: bool) -> None:
    """A column's ranks that these rows can have, as a part of the bin: for 2,000 random triples.

    Sizes end inside bins, samples are nearly the catalogue: what used to read beyond an array.
    """
    for seed in range(2_000):
        n, n_items, grid = random_sizes(seed)
        if n * len(grid) > 2_000_000:  # only the memory of this test
            continue
        A = filled(n, n_items, grid, replacement=replacement)
        possible = np.minimum(grid.edges[1:] - 1, n_items) - grid.edges[:-1] + 1
        want = np.maximum(possible, 0) / grid.widths
        assert (A >= 0).all(), (seed, n, n_items)
        np.testing.assert_allclose(A.sum(axis=0), want, atol=1e-11, err_msg=f"{seed=}")


@pytest.mark.parametrize((("sampling", "most")), [("hypergeometric", 1e-10), ("binomial", 5e-8)])
def test_every_bin_is_the_sum_over_its_ranks(sampling: str, most: float) -> None:
    """Against scipy's probabilities, rank by rank: its hypergeometric is good to 3e-11."""
    looked = 0
    for seed in range(200):
        n, n_items, grid = random_sizes(seed)
        if n * n_items > 60_000:
            continue
        A = filled(n, n_items, grid, replacement=sampling == "binomial")
        x, better = np.arange(n)[:, None], np.arange(n_items)
        if sampling == "binomial":
            each = stats.binom.pmf(x, n - 1, better / (n_items - 1))
        else:
            each = stats.hypergeom.pmf(x, n_items - 1, better, n - 1)
        inside = grid.edges[:-1] <= n_items
        sums = np.add.reduceat(each, grid.edges[:-1][inside] - 1, axis=1)
        np.testing.assert_allclose(
            A[:, inside], sums / grid.widths[inside], rtol=0, atol=most, err_msg=f"{seed=}"
        )
        looked += 1
    assert looked > 40


def any_grid(rng: np.random.Generator, n_items: int) -> RankGrid:
    """Edges anywhere: the first bin may hold most of the catalogue, the last may end beyond it."""
    catalogue = n_items + int(rng.integers(0, 3)) * int(rng.integers(0, n_items))
    inner = np.unique(rng.integers(2, catalogue + 1, int(rng.integers(0, 12))))
    return RankGrid(np.concatenate([[1], inner, [catalogue + 1]]))


LOG_FACTORIAL = special.gammaln(np.arange(1.0, 1_001.0))


def log_choose(total: np.ndarray | int, some: np.ndarray | int) -> np.ndarray:
    """The logarithm of total over some; -inf where there are less."""
    left = np.asarray(total - some)
    logs = LOG_FACTORIAL[total] - LOG_FACTORIAL[some] - LOG_FACTORIAL[np.maximum(left, 0)]
    return np.where(left >= 0, logs, -np.inf)


@pytest.mark.parametrize("sampling", ["hypergeometric", "binomial"])
def test_any_bins_are_the_sum_over_their_ranks(sampling: str) -> None:
    """2,000 grids of any edges, wide first bins included: every entry against the dense sum.

    The bounds are those that the module states, and for the hypergeometric what the logarithms of
    factorials here are good for.
    """
    rng = np.random.default_rng(18)
    for number in range(2_000):
        n_items = int(np.exp(rng.uniform(np.log(3), np.log(900))))
        n = int(rng.integers(2, n_items)) if number % 2 else min(n_items - 1, 20)
        grid = any_grid(rng, n_items)
        A = filled(n, n_items, grid, replacement=sampling == "binomial")
        x, better = np.arange(n)[:, None], np.arange(n_items)
        if sampling == "binomial":
            each = stats.binom.pmf(x, n - 1, better / (n_items - 1))
        else:
            ways = log_choose(better, x) + log_choose(n_items - 1 - better, n - 1 - x)
            each = np.exp(ways - log_choose(n_items - 1, n - 1))
        inside = grid.edges[:-1] <= n_items
        starts = grid.edges[:-1][inside] - 1
        sums = np.add.reduceat(each, starts, axis=1)
        largest = np.maximum.reduceat(each.max(axis=0), starts)
        off = np.abs(A[:, inside] * grid.widths[inside] - sums) / largest
        most = 1e-5 * (n / n_items) ** 1.5 if sampling == "binomial" else 1e-9
        assert off.max() < most, (number, n, n_items, grid.edges)
        assert (A[:, ~inside] == 0).all()


def test_a_first_bin_of_ten_ranks_is_whole() -> None:
    """The case that was wrong: with replacement the closed form began at rank 1/2."""
    A = rank_likelihood(44, RankGrid(np.array([1, 11, 101, 181])), replacement=True)
    np.testing.assert_allclose(A.sum(axis=0), 1.0, rtol=1e-12)


@pytest.mark.parametrize("replacement", [True, False])
def test_a_sample_of_nearly_everything_that_ends_inside_a_bin(replacement: bool) -> None:
    """The case that crashed: n = 12,800 of N = 15,783, and a bin of 15,763..15,873."""
    n, n_items = 12_800, 15_783
    grid = RankGrid(np.array([15_763, 15_874]))
    A = filled(n, n_items, grid, replacement=replacement)
    assert A.sum() == pytest.approx(21 / 111, rel=1e-12)
    x, better = np.arange(n)[:, None], np.arange(15_762, n_items)
    if replacement:
        each = stats.binom.pmf(x, n - 1, better / (n_items - 1))
    else:
        each = stats.hypergeom.pmf(x, n_items - 1, better, n - 1)
    np.testing.assert_allclose(A[:, 0], each.sum(axis=1) / 111, rtol=1e-8, atol=1e-14)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(("n", "n_items"), SIZES)
def test_best_and_worst_items_leave_nothing_to_chance(
    n: int, n_items: int, replacement: bool
) -> None:
    A = rank_likelihood(n, dense(n_items), replacement=replacement)
    assert A[0, 0] == 1.0  # nothing can outrank the best item
    assert A[-1, -1] == 1.0  # everything outranks the worst
    assert A[1:, 0].max() == 0.0
    assert A[:-1, -1].max() == 0.0


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(("n", "n_items"), SIZES)
def test_rank_by_rank_it_is_scipys(
    n: int, n_items: int, replacement: bool, scipy_likelihood
) -> None:
    A = rank_likelihood(n, dense(n_items), replacement=replacement)
    np.testing.assert_allclose(A, scipy_likelihood(n, n_items, replacement), rtol=1e-8, atol=1e-16)


@pytest.mark.parametrize("sampling", ["binomial", "hypergeometric"])
def test_a_bin_holds_the_mean_over_its_ranks(sampling: str) -> None:
    """Wide bins and narrow ones, the last included."""
    n, n_items, x = 100, 20_000, np.arange(100)[:, None]
    grid = RankGrid.of(n_items)
    A = rank_likelihood(n, grid, replacement=sampling == "binomial")
    for j in [*range(130, len(grid), 90), len(grid) - 1]:
        better = np.arange(grid.edges[j], grid.edges[j + 1]) - 1
        if sampling == "binomial":
            each = stats.binom.pmf(x, n - 1, better / (n_items - 1))
        else:
            each = stats.hypergeom.pmf(x, n_items - 1, better, n - 1)
        np.testing.assert_allclose(A[:, j], each.mean(axis=1), rtol=0, atol=1e-10)


def test_without_replacement_the_whole_catalogue_is_exact() -> None:
    A = rank_likelihood(50, dense(50), replacement=False)
    np.testing.assert_array_equal(A, np.eye(50))


def test_a_mixture_takes_each_row_from_its_own_size() -> None:
    rank, n = np.array([1, 3, 2, 40]), np.array([5, 5, 9, 40])
    n_items = np.array([40, 40, 40, 40])
    cells, cell = cells_of(rank, n, n_items, np.ones(4), replacement=False)
    A = likelihood_matrix(cells, dense(40))[cell]
    np.testing.assert_allclose(A[0], rank_likelihood(5, dense(40), replacement=False)[0])
    np.testing.assert_allclose(A[1], rank_likelihood(5, dense(40), replacement=False)[2])
    np.testing.assert_allclose(A[2], rank_likelihood(9, dense(40), replacement=False)[1])
    assert A[3].tolist() == [0.0] * 39 + [1.0]


def test_a_rank_below_a_rows_own_candidates_is_impossible() -> None:
    ones = np.ones(2, dtype=np.int64)
    cells, cell = cells_of(ones, 5 * ones, np.array([20, 40]), np.ones(2), replacement=True)
    A = likelihood_matrix(cells, dense(40))[cell]
    assert A[0, 20:].max() == 0.0
    assert A[1, 20:39].min() > 0.0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 20), min_size=30, max_size=30).filter(any),
    st.lists(st.integers(0, 29), min_size=30, max_size=30),
    st.integers(2, 12),
    st.booleans(),
)
def test_dominance_of_recall_curves_survives_sampling(
    counts: list[int], promotions: list[int], n: int, replacement: bool
) -> None:
    """The sampling theorem: better at every K among all items, so at every k among a sample."""
    worse = np.array(counts, dtype=np.float64)
    better = np.zeros(30)
    for R, up in enumerate(promotions):
        better[max(R - up, 0)] += worse[R]
    assert (np.cumsum(better) >= np.cumsum(worse)).all()
    A = rank_likelihood(n, dense(30), replacement=replacement)
    sampled_better, sampled_worse = np.cumsum(A @ better), np.cumsum(A @ worse)
    assert (sampled_better >= sampled_worse - 1e-12 * worse.sum()).all()
