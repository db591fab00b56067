"""The grid of ranks, and what it costs in accuracy."""

from __future__ import annotations

import numpy as np
import pytest

from truerank.errors import InvalidArgumentError
from truerank.estimators.cells import cells_of
from truerank.estimators.grid import COLUMNS, EXACT_RANKS, RankGrid
from truerank.estimators.methods.em import MaximumLikelihood, WeightedMaximumLikelihood
from truerank.estimators.methods.krichene import BiasVariance, ConstrainedLeastSquares, RankUnbiased
from truerank.estimators.methods.mapping import Mapping
from truerank.estimators.methods.mes import MaximumEntropy
from truerank.estimators.methods.minimum_error import MinimumError
from truerank.estimators.methods.simple import Naive
from truerank.estimators.problem import Estimator, Problem
from truerank.metrics import as_metric, parse


@pytest.mark.parametrize("n_items", [1, 2, 127, 768, 769, 10_000, 10**6, 10**8])
def test_bins_cover_every_rank_once(n_items: int) -> None:
    grid = RankGrid.of(n_items)
    assert grid.edges[0] == 1
    assert grid.n_items == n_items
    assert (grid.widths >= 1).all()
    assert len(grid) <= COLUMNS
    assert (grid.widths[: min(EXACT_RANKS, n_items)] == 1).all()
    assert grid.uniform().sum() == pytest.approx(1.0, rel=1e-14)


def test_a_small_catalogue_has_a_bin_per_rank() -> None:
    assert RankGrid.of(500).edges.tolist() == list(range(1, 502))


def test_an_empty_catalogue_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="n_items must be at least 1"):
        RankGrid.of(0)


@pytest.mark.parametrize("text", ["recall@10", "recall@307", "ndcg@2003", "ap", "auc"])
def test_metrics_are_averaged_over_the_ranks_of_a_bin(text: str) -> None:
    metric, grid = parse(text), RankGrid.of(10_000)
    values = grid.metric_values(metric)
    for j in range(len(grid)):
        ranks = np.arange(grid.edges[j], grid.edges[j + 1])
        direct = metric.row_values(ranks, 10_000 if text == "auc" else None).mean()
        assert values[j] == pytest.approx(direct, rel=1e-6, abs=1e-15)


def test_a_function_of_ones_own_is_averaged_too() -> None:
    grid = RankGrid.of(10_000)
    values = grid.metric_values(as_metric(np.sqrt, name="root"))
    last = np.sqrt(np.arange(grid.edges[-2], grid.edges[-1])).mean()
    assert values[-1] == pytest.approx(last, rel=1e-9)


METHODS = {
    "naive": Naive(),
    "mapping-linear": Mapping(kind="linear"),
    "mapping-bound": Mapping(kind="bound"),
    "mapping-beta": Mapping(kind="beta"),
    "rank-unbiased": RankUnbiased(),
    "cls": ConstrainedLeastSquares(),
    "bv": BiasVariance(),
    "mle": MaximumLikelihood(),
    "wmle-ap": WeightedMaximumLikelihood(kind="ap"),
    "wmle-ndcg": WeightedMaximumLikelihood(kind="ndcg"),
    "mes": MaximumEntropy(),
    "bv-mle": BiasVariance(prior="mle"),
    "bv-mes": BiasVariance(prior="mes"),
    "mn-mle": MinimumError(prior="mle"),
    "mn-mes": MinimumError(prior="mes"),
}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_the_grid_changes_no_metric_by_a_thousandth(method: Estimator, simulate) -> None:
    """Against one column per rank at N = 10,000; measured: 2e-6 at most."""
    metrics = [parse(f"{name}@{k}") for name in ("recall", "ndcg", "ap") for k in range(1, 51)]
    binned, _ = simulate(10_000, 100, 30_000)
    dense, _ = simulate(10_000, 100, 30_000, dense=True)
    shares = binned.cells.shares
    on_bins = method.values(binned, metrics, shares)
    on_ranks = method.values(dense, metrics, shares)
    np.testing.assert_allclose(on_bins, on_ranks, rtol=1e-3, atol=0)
    np.testing.assert_allclose(on_bins, on_ranks, rtol=1e-5, atol=1e-12)


def test_auc_of_rows_with_different_numbers_of_candidates() -> None:
    """The mean of 1 - (R - 1) / (N - 1) over the rows' N, not the value at the largest of them."""
    sizes, weight = np.array([4, 6, 11, 21]), np.array([1.0, 2.0, 3.0, 4.0])
    cells, _ = cells_of(np.ones(4, np.int64), np.full(4, 3), sizes, weight, replacement=False)
    grid = Problem.of(cells, n_rows=10.0).grid
    F = grid.metric_values(parse("auc"))
    for rank in range(1, 5):  # up to the least of them
        direct = ((1 - (rank - 1) / (sizes - 1)) * weight).sum() / weight.sum()
        assert F[rank - 1] == pytest.approx(direct, abs=1e-12)
    assert F.min() == 0.0
    assert grid.metric_values(parse("recall@3")).tolist() == [1.0] * 3 + [0.0] * 18
