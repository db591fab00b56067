"""What every estimator promises: shapes, columns, order of rows, extremes, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from truerank.errors import InvalidDataError
from truerank.estimators.cells import cells_of
from truerank.estimators.methods.simple import Exact
from truerank.estimators.methods.table import METHODS as NAMED
from truerank.estimators.methods.table import make_method
from truerank.estimators.problem import Estimator, Problem
from truerank.metrics import parse

METHODS = {name: make_method(name, {}) for name in NAMED}
"""All there are: a new one cannot be forgotten."""

COLUMNS_SHARE = {"auto": 0.1}
"""Methods whose further columns take something from the first, and how far that may lead them."""

TAKE_MIXTURES = ("auto", "naive", "rank-unbiased", "mle", "wmle-ap", "wmle-ndcg")
"""All others must refuse rows of several sizes, and say what takes them."""

every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
METRICS = [parse(t) for t in ("recall@1", "recall@10", "ndcg@20", "ap@50", "mrr", "auc")]


def fitting(method: Estimator, simulate) -> Problem:
    """A problem that the method takes: sampled ranks, or exact ones where it needs these."""
    n = 1_500 if isinstance(method, Exact) else 20
    return simulate(1_500, n, 800, replacement=n < 1_500)[0]


def name_of(method: Estimator) -> str:
    return next(name for name, known in METHODS.items() if known is method)


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
    problem = fitting(method, simulate)
    shares = problem.cells.shares
    rng = np.random.default_rng(0)
    columns = np.column_stack([shares, *(rng.multinomial(800, shares) / 800 for _ in range(3))])
    together = method.values(problem, METRICS, columns)
    assert together.shape == (len(METRICS), 4)
    for b in range(4):
        alone = method.values(problem, METRICS, columns[:, b])
        assert alone.shape == (len(METRICS),)
        loose = COLUMNS_SHARE.get(name_of(method), 1e-6) if b else 1e-6
        np.testing.assert_allclose(together[:, b], alone, rtol=loose, atol=max(loose / 100, 1e-12))


@every_method
def test_masses_follow_the_columns_too(method: Estimator, simulate) -> None:
    problem = fitting(method, simulate)
    if name_of(method) == "cls":
        with pytest.raises(InvalidDataError, match=r"'cls' .* has no rank distribution"):
            method.distribution(problem, problem.cells.shares)
        return
    shares = problem.cells.shares
    alone = method.distribution(problem, shares)
    both = method.distribution(problem, np.column_stack([shares, shares]))
    assert alone.shape == (len(problem.grid),)
    np.testing.assert_allclose(both[:, 0], alone, rtol=1e-8, atol=1e-14)
    loose = COLUMNS_SHARE.get(name_of(method), 1e-6)
    np.testing.assert_allclose(both[:, 1], alone, rtol=loose, atol=max(loose / 100, 1e-12))
    assert alone.sum() == pytest.approx(1.0, abs=0.05)


@every_method
def test_the_order_of_rows_does_not_matter(method: Estimator, problem_of) -> None:
    rng = np.random.default_rng(8)
    n = 900 if isinstance(method, Exact) else 20
    r = 1 + rng.binomial(n - 1, rng.beta(0.4, 2.0, 400))
    one, other = problem_of(r, n, 900), problem_of(rng.permutation(r), n, 900)
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
    if isinstance(method, Exact):
        n_items = n
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


@pytest.mark.parametrize("name", METHODS)
def test_a_mixture_of_sizes_is_taken_or_refused_by_name(name: str) -> None:
    problem = mixture()
    method, shares = METHODS[name], problem.cells.shares
    if name in TAKE_MIXTURES:
        values = method.values(problem, METRICS, shares)
        assert ((values >= 0) & (values <= 1)).all()
        return
    needs = "every row ranked" if name == "exact" else "one sample size"
    with pytest.raises(InvalidDataError, match=f"method '{name}' needs {needs}.*'auto'"):
        method.values(problem, METRICS, shares)


@every_method
def test_a_method_is_its_parameters(method: Estimator) -> None:
    """Samples find what was fitted by the method again: it is frozen, and equal to its like."""
    name = name_of(method)
    assert method == make_method(name, {})
    assert hash(method) == hash(make_method(name, {}))
    assert sum(method == other for other in METHODS.values()) == 1
