"""Simulated ranks follow the law of real ones, and budgets hold.

Seeds are fixed, so a failure is reproducible; the rates below say how often a right
implementation would fail under other seeds.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.estimators.simulate import simulate

FALSE_ALARM = 1e-4
N_USERS, N_ITEMS = 4_000, 500


@pytest.fixture(scope="module")
def scorer() -> tr.FactorScorer:
    rng = np.random.default_rng(3)
    return tr.FactorScorer(rng.normal(size=(N_USERS, 6)), rng.normal(size=(N_ITEMS, 6)))


@pytest.fixture(scope="module")
def pairs(scorer: tr.FactorScorer) -> tuple[np.ndarray, np.ndarray]:
    """Targets near the top for half of the users: where designs differ."""
    rng = np.random.default_rng(4)
    users = np.arange(N_USERS)
    order = np.argsort(-scorer.score_all(users), axis=1)
    place = np.where(
        rng.random(N_USERS) < 0.5,
        rng.geometric(0.1, N_USERS) - 1,
        rng.integers(0, N_ITEMS, N_USERS),
    )
    return users, order[users, np.minimum(place, N_ITEMS - 1)]


def chi_square(first: tr.RankTable, second: tr.RankTable) -> float:
    """P value of the same law of (rank, n_sampled): rare cells are pooled by expectation."""
    key_a, key_b = (t.n_sampled * 10_000 + np.minimum(t.rank, 9_999) for t in (first, second))
    keys = np.unique(np.concatenate([key_a, key_b]))
    counts = np.array([np.bincount(np.searchsorted(keys, k), minlength=len(keys))
                       for k in (key_a, key_b)])  # fmt: skip
    pooled, waiting = [], np.zeros(2, dtype=np.int64)
    for column in counts.T:
        waiting = waiting + column
        if waiting.sum() >= 20:
            pooled.append(waiting)
            waiting = np.zeros(2, dtype=np.int64)
    if waiting.any():
        pooled[-1] = pooled[-1] + waiting
    return float(stats.chi2_contingency(np.array(pooled).T).pvalue)


@pytest.mark.parametrize(
    "design",
    [
        pytest.param(tr.Sampled(n=40), id="sampled"),
        pytest.param(tr.Sampled(n=40, replacement=True), id="sampled-replacement"),
        pytest.param(tr.Adaptive(n0=10, n_max=160, replacement=True), id="reference"),
        pytest.param(tr.Adaptive(n0=10, n_max=160), id="doubling"),
        pytest.param(tr.Adaptive(n0=10, budget=60, top=20), id="budget"),
    ],
)
def test_the_law_is_that_of_real_ranking(
    scorer: tr.FactorScorer, pairs: tuple[np.ndarray, np.ndarray], design: tr.Sampled | tr.Adaptive
) -> None:
    users, items = pairs
    exact = tr.rank_pairs(scorer, users, items, tr.Full())
    real = tr.rank_pairs(scorer, users, items, design, seed=11)
    drawn = simulate(exact, design, seed=12)
    # Rows are paired by user, which makes the two counts more alike than independent ones:
    # the test errs towards passing, and a right implementation fails less often than stated.
    assert chi_square(real, drawn) > FALSE_ALARM
    assert drawn.header.replacement == real.header.replacement
    # The means of the sizes agree within 5 standard errors: P < 6e-7.
    spread = np.hypot(real.n_sampled.std(), drawn.n_sampled.std()) / np.sqrt(N_USERS)
    assert abs(real.n_sampled.mean() - drawn.n_sampled.mean()) <= 5 * spread


def test_the_test_can_fail(scorer: tr.FactorScorer, pairs: tuple[np.ndarray, np.ndarray]) -> None:
    users, items = pairs
    exact = tr.rank_pairs(scorer, users, items, tr.Full())
    real = tr.rank_pairs(scorer, users, items, tr.Sampled(n=40), seed=11)
    shifted = tr.RankTable.from_arrays(
        rank=np.minimum(exact.rank + 12, N_ITEMS), n_sampled=N_ITEMS, n_items=N_ITEMS
    )
    assert chi_square(real, simulate(shifted, tr.Sampled(n=40), seed=12)) < FALSE_ALARM


@pytest.mark.parametrize("budget", [20.0, 100.0, 400.0])
@pytest.mark.parametrize("n_users", [300, 20_000])
def test_the_budget_is_respected(budget: float, n_users: int) -> None:
    rng = np.random.default_rng(5)
    n_items = 5_000
    # A good model: half of the targets in the top 20, so that doubling alone would cost a lot.
    rank = np.where(
        rng.random(n_users) < 0.5, rng.integers(1, 21, n_users), rng.integers(1, n_items, n_users)
    )
    exact = tr.RankTable.from_arrays(rank=rank, n_sampled=n_items, n_items=n_items)
    design = tr.Adaptive(budget=budget)
    scored = np.array([simulate(exact, design, seed=s).n_scored.mean() for s in range(5)])
    # On average over tables. Of 300 users the last few cost 5,000 each, hence the tolerance.
    room = 1.05 if n_users > 4096 else 1.25
    assert scored.mean() <= max(design.first_size(n_items), budget) * room
    plain = simulate(exact, tr.Adaptive(budget=np.inf), seed=0).n_scored.mean()
    assert plain > 2 * 400.0  # the budget is what keeps it


def test_full_is_exact_and_sampled_ranks_are_refused() -> None:
    exact = tr.RankTable.from_arrays(rank=[1, 5], n_sampled=50, n_items=50)
    assert simulate(exact, tr.Full()) is exact
    sampled = simulate(exact, tr.Sampled(n=10), seed=1)
    with pytest.raises(InvalidDataError, match="exact ranks"):
        simulate(sampled, tr.Sampled(n=5))


def test_extreme_ranks_leave_nothing_to_chance() -> None:
    exact = tr.RankTable.from_arrays(rank=[1, 50], n_sampled=50, n_items=50)
    for seed in range(20):
        drawn = simulate(exact, tr.Sampled(n=10), seed=seed)
        assert drawn.rank.tolist() == [1, 10]


def test_some_users_are_drawn_and_then_ranked() -> None:
    exact = tr.RankTable.from_arrays(rank=np.arange(1, 101), n_sampled=500, n_items=500)
    some = simulate(exact, tr.Users(30), seed=1)
    assert (len(some), some.header.n_population) == (30, 100)
    assert np.array_equal(some.rank, exact.rank[some.user])
    assert some.header.design == tr.Users(30)
    assert simulate(exact, tr.Users(30), seed=2).user.tolist() != some.user.tolist()
    sampled = simulate(exact, tr.Users(30, tr.Sampled(n=10)), seed=1)
    assert sampled.user.tolist() == some.user.tolist()
    assert sampled.header.to_dict()["design"]["inner"]["levels"]["sizes"] == [10]
    with pytest.raises(InvalidArgumentError, match="at most the 100 users"):
        simulate(exact, tr.Users(101))


def test_levels_of_an_earlier_table_are_kept() -> None:
    rng = np.random.default_rng(6)
    exact = tr.RankTable.from_arrays(rng.integers(1, 40, 3_000), 5_000, 5_000)
    first = simulate(exact, tr.Adaptive(budget=200), seed=1)
    stages = first.header.stages
    assert stages is not None
    again = simulate(exact, tr.Adaptive(budget=200), seed=1, stages=stages)
    assert again.header.stages is stages
    assert set(again.n_sampled.tolist()) <= set(stages.sizes.tolist())
    # Other draws: a plan that is at hand needs no pilot before the other rows.
    error = np.hypot(first.n_scored.std(), again.n_scored.std()) / np.sqrt(3_000)
    assert abs(first.n_scored.mean() - again.n_scored.mean()) < 5 * error
