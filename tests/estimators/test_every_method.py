"""What every estimator promises: shapes, columns, order of rows, extremes, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from truerank.errors import InvalidDataError
from truerank.estimators.cells import cells_of
from truerank.estimators.methods.em import MaximumLikelihood, WeightedMaximumLikelihood
from truerank.estimators.methods.krichene import BiasVariance, ConstrainedLeastSquares, RankUnbiased
from truerank.estimators.methods.mapping import Mapping
from truerank.estimators.methods.mes import MaximumEntropy
from truerank.estimators.methods.minimum_error import MinimumError
from truerank.estimators.methods.simple import Naive
from truerank.estimators.problem import Estimator, Problem
from truerank.metrics import parse

NEED_ONE_SIZE = {
    "mapping-linear": Mapping(kind="linear"),
    "mapping-bound": Mapping(kind="bound"),
    "mapping-beta": Mapping(kind="beta"),
    "cls": ConstrainedLeastSquares(),
    "bv": BiasVariance(),
    "mes": MaximumEntropy(),
    "bv-mle": BiasVariance(prior="mle"),
    "bv-mes": BiasVariance(prior="mes"),
    "mn-mle": MinimumError(prior="mle"),
    "mn-mes": MinimumError(prior="mes"),
}
TAKE_MIXTURES = {
    "naive": Naive(),
    "rank-unbiased": RankUnbiased(),
    "mle": MaximumLikelihood(),
    "wmle-ap": WeightedMaximumLikelihood(kind="ap"),
    "wmle-ndcg": WeightedMaximumLikelihood(kind="ndcg"),
}
METHODS = NEED_ONE_SIZE | TAKE_MIXTURES
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
METRICS = [parse(t) for t in ("recall@1", "recall@10", "ndcg@20", "ap@50", "mrr", "auc")]


def mixture() -> Problem:
    cells, _ = cells_of(
        np.array([1, 2, 1, 7]),
        np.array([5, 5, 10, 20]),
        np.array([90, 90, 90, 90]),
        np.ones(4),
        replacement=True,
    )
    return Problem.of(cells, n_rows=4)


@every_method
def test_columns_are_fits_of_their_own(method: Estimator, simulate) -> None:
    problem, _ = simulate(1_500, 20, 800)
    shares = problem.cells.shares
    rng = np.random.default_rng(0)
    columns = np.column_stack([shares, *(rng.multinomial(800, shares) / 800 for _ in range(3))])
    together = method.values(problem, METRICS, columns)
    assert together.shape == (len(METRICS), 4)
    for b in range(4):
        alone = method.values(problem, METRICS, columns[:, b])
        assert alone.shape == (len(METRICS),)
        np.testing.assert_allclose(together[:, b], alone, rtol=1e-6, atol=1e-12)


@every_method
def test_masses_follow_the_columns_too(method: Estimator, simulate) -> None:
    problem, _ = simulate(1_500, 20, 800)
    if isinstance(method, ConstrainedLeastSquares):
        pytest.skip("has no distribution")
    shares = problem.cells.shares
    alone = method.distribution(problem, shares)
    both = method.distribution(problem, np.column_stack([shares, shares]))
    assert alone.shape == (len(problem.grid),)
    np.testing.assert_allclose(both[:, 0], alone, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(both[:, 1], alone, rtol=1e-6, atol=1e-12)
    assert alone.sum() == pytest.approx(1.0, abs=0.05)


@every_method
def test_the_order_of_rows_does_not_matter(method: Estimator, problem_of) -> None:
    rng = np.random.default_rng(8)
    r = 1 + rng.binomial(19, rng.beta(0.4, 2.0, 400))
    one, other = problem_of(r, 20, 900), problem_of(rng.permutation(r), 20, 900)
    np.testing.assert_allclose(
        method.values(one, METRICS, one.cells.shares),
        method.values(other, METRICS, other.cells.shares),
        rtol=1e-12,
    )


@every_method
@pytest.mark.parametrize(
    ("ranks", "n", "n_items"),
    [
        pytest.param([3], 20, 900, id="one-row"),
        pytest.param([1] * 50, 20, 900, id="all-first"),
        pytest.param([20] * 50, 20, 900, id="all-last"),
        pytest.param([1, 2, 2], 2, 900, id="n=2"),
        pytest.param([1, 30, 60], 60, 60, id="n=N"),
        pytest.param([1, 1, 2], 2, 3, id="tiny"),
        pytest.param([1, 5, 100], 100, 10**8, id="huge-N"),
    ],
)
@pytest.mark.parametrize("replacement", [True, False])
def test_extremes_give_finite_values(
    method: Estimator, ranks: list[int], n: int, n_items: int, replacement: bool, problem_of
) -> None:
    problem = problem_of(ranks, n, n_items, replacement=replacement)
    values = method.values(problem, METRICS, problem.cells.shares)
    assert np.isfinite(values).all()


@pytest.mark.parametrize(
    "method",
    [m for name, m in METHODS.items() if name in ("cls", "bv", "bv-mle", "mn-mle", "mn-mes")],
)
def test_exact_ranks_need_no_correction(method: Estimator, problem_of) -> None:
    problem = problem_of([1, 7, 7, 900], 900, 900, replacement=False)
    values = method.values(problem, METRICS[:4], problem.cells.shares)
    expected = [m.row_values(np.array([1, 7, 7, 900])).mean() for m in METRICS[:4]]
    np.testing.assert_allclose(values, expected, rtol=1e-12)


@pytest.mark.parametrize("name", NEED_ONE_SIZE)
def test_a_mixture_of_sizes_is_refused_by_name(name: str) -> None:
    problem = mixture()
    with pytest.raises(InvalidDataError, match=f"method '{name}' needs one sample size.*'auto'"):
        NEED_ONE_SIZE[name].values(problem, METRICS, problem.cells.shares)


@pytest.mark.parametrize("method", TAKE_MIXTURES.values(), ids=TAKE_MIXTURES)
def test_a_mixture_of_sizes_is_taken(method: Estimator) -> None:
    problem = mixture()
    values = method.values(problem, METRICS, problem.cells.shares)
    assert ((values >= 0) & (values <= 1)).all()
