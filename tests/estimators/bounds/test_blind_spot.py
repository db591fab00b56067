"""What a sample cannot tell is said, and how large a sample could."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from truerank.errors import InvalidArgumentError
from truerank.estimators import estimate
from truerank.estimators.bounds.blind_spot import HITS, SEEN, blind_spot, is_blind
from truerank.estimators.bounds.identification import (
    CompatibleSet,
    compatible_set,
)
from truerank.estimators.methods.em import em
from truerank.estimators.problem import Problem
from truerank.metrics import Metric, parse
from truerank.ranking import RankTable

from .bounds_world import (
    METRICS,
    identification_bounds,
    log_normal_ranks,
    power_law_ranks,
    problem_of,
    sampled_problem,
)


def fitted(problem: Problem) -> Callable[[Metric], float]:
    """Values by the maximum-likelihood fit, in place of an estimate's own."""
    pi = em(problem.A, problem.cells.shares, problem.grid.uniform(), steps=100)
    return lambda metric: float(problem.grid.metric_values(metric) @ pi)


def test_a_hundred_rivals_do_not_see_the_top_ten_of_ten_thousand() -> None:
    problem = sampled_problem(14, 37_501, 100, 9836, power_law_ranks)
    spot = blind_spot(problem, problem.cells.shares, value=fitted(problem))
    assert 10 in spot.blind
    example = spot.examples[0]
    assert (example.k, example.low) == (10, 0.0)
    assert example.high > 3 * example.value
    assert example.n_needed == 3000
    head, sentence = spot.sentences
    assert head.startswith("recall@K is in the blind spot of these samples for K = 1-")
    assert sentence.startswith("recall@10 is only known to lie in [0, 0.")
    assert "the estimate extrapolates by smoothness; n >= 3,000 or exact ranks of " in sentence


@pytest.mark.parametrize("k", [5, 20, 50])
def test_what_the_sentence_recommends_resolves_it(k: int) -> None:
    """On a distribution like those of real models. It is a rule of thumb: some are harder."""
    n_items, m = 9836, 20_000
    n = int(np.ceil(SEEN * (n_items - 1) / k)) + 1
    problem = sampled_problem(15, m, n, n_items, power_law_ranks)
    assert blind_spot(problem, problem.cells.shares, ks=[k], value=fitted(problem)).blind == ()

    R = power_law_ranks(np.random.default_rng(15), m, n_items)
    hits = np.less_equal(R, k)
    some = R[: int(HITS / hits.mean())]
    exact = problem_of(some, np.full(len(some), n_items), n_items)
    low, high = identification_bounds(exact, [parse(f"recall@{k}")], exact.cells.shares)[0]
    assert high < 6.0 * low


def test_brackets_decide_as_every_single_programme_would() -> None:
    problem = sampled_problem(16, 10_000, 300, 2000, power_law_ranks)
    shares = problem.cells.shares
    spot = blind_spot(problem, shares, ks=range(1, 31), value=fitted(problem))
    allowed = compatible_set(problem, shares)
    pi = em(problem.A, shares, problem.grid.uniform(), steps=100)
    one_by_one = []
    for k in range(1, 31):
        metric = parse(f"recall@{k}")
        value = float(problem.grid.metric_values(metric) @ pi)
        if is_blind(allowed, allowed.bounds([metric])[0], value=value, n_rows=10_000):
            one_by_one.append(k)
    assert list(spot.blind) == one_by_one
    assert 0 < len(one_by_one) < 30  # both kinds are there


def test_few_users_are_not_a_blind_spot() -> None:
    rng = np.random.default_rng(17)
    R = log_normal_ranks(rng, 60, 5000)
    problem = problem_of(R, np.full(60, 5000), 5000)
    spot = blind_spot(problem, problem.cells.shares, value=fitted(problem))
    assert spot.blind == ()
    assert spot.sentences == []


def test_cutoffs_must_exist() -> None:
    problem = sampled_problem(18, 100, 20, 300)
    with pytest.raises(InvalidArgumentError, match="ks must be"):
        blind_spot(problem, problem.cells.shares, ks=[0, 5])
    with pytest.raises(InvalidArgumentError, match="ks must be"):
        blind_spot(problem, problem.cells.shares, ks=[301])


def test_bounds_are_those_of_the_set() -> None:
    problem = sampled_problem(19, 500, 20, 300)
    found = compatible_set(problem, problem.cells.shares)
    assert isinstance(found, CompatibleSet)
    assert found.bounds(METRICS) == identification_bounds(problem, METRICS, problem.cells.shares)
    assert found.range_of(np.zeros(len(problem.grid))) == (0.0, 0.0)


@pytest.mark.parametrize(("text", "n", "mean"), [("mrr", 500, 5.5), ("recall@10", 4000, 6.5)])
def test_a_naive_value_is_marked_where_the_corrected_one_is(text: str, n: int, mean: float) -> None:
    """Far outside its bounds, its own noise made it look sure."""
    rng = np.random.default_rng(15)
    R = np.clip(np.exp(rng.normal(mean, 1.3, 3000)).astype(np.int64), 1, 20_000)
    table = RankTable.from_arrays(1 + rng.hypergeometric(R - 1, 20_000 - R, n - 1), n, 20_000)
    corrected, naive = (estimate(table, text, m, n_boot=0)[0] for m in ("auto", "naive"))
    assert corrected.diagnostics.blind
    assert naive.diagnostics.blind
    assert str(naive).startswith(f"{text} between ")
    assert naive.diagnostics.bounds == corrected.diagnostics.bounds
