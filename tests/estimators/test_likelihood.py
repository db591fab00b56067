"""P(r | R): sums, extremes, scipy's numbers, and the sampling theorem."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from truerank.estimators.cells import cells_of
from truerank.estimators.grid import RankGrid
from truerank.estimators.likelihood import likelihood_matrix, rank_likelihood

SIZES = [(2, 3), (5, 40), (20, 21), (100, 700), (100, 1_500), (999, 1_000)]


def dense(n_items: int) -> RankGrid:
    return RankGrid(np.arange(1, n_items + 2))


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(("n", "n_items"), [*SIZES, (100, 10**6), (1_000, 10**8)])
def test_columns_sum_to_one(n: int, n_items: int, replacement: bool) -> None:
    """Without replacement log-factorials of a million cost nine digits; measured 3.5e-9."""
    A = rank_likelihood(n, RankGrid.of(n_items), replacement=replacement)
    np.testing.assert_allclose(A.sum(axis=0), 1.0, rtol=1e-11 if replacement else 1e-8)
    assert (A >= 0).all()


def test_columns_sum_to_one_between_whole_ranks() -> None:
    """Nodes that are no whole ranks lose a little of the hypergeometric's tail; measured 4e-6."""
    A = rank_likelihood(1_000, RankGrid.of(13_000), replacement=False)
    np.testing.assert_allclose(A.sum(axis=0), 1.0, rtol=1e-5)


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


@pytest.mark.parametrize("law", ["binomial", "hypergeometric"])
def test_a_bin_holds_the_mean_over_its_ranks(law: str) -> None:
    """N = 20,000: beyond the catalogues in which every rank is summed. Measured 1.4e-6."""
    n, n_items, x = 100, 20_000, np.arange(100)[:, None]
    grid = RankGrid.of(n_items)
    A = rank_likelihood(n, grid, replacement=law == "binomial")
    for j in [*range(130, len(grid), 90), len(grid) - 1]:
        better = np.arange(grid.edges[j], grid.edges[j + 1]) - 1
        if law == "binomial":
            each = stats.binom.pmf(x, n - 1, better / (n_items - 1))
        else:
            each = stats.hypergeom.pmf(x, n_items - 1, better, n - 1)
        np.testing.assert_allclose(A[:, j], each.mean(axis=1), rtol=0, atol=3e-6)


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
