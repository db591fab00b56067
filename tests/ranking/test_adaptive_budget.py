"""The adaptive design with a budget: what it may cost, and that chance alone drops a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from slow_ranking import make_world

from truerank.errors import InvalidArgumentError
from truerank.execution import Serial
from truerank.ranking import Adaptive, FactorScorer, Full, RankTable, Sampled, rank_pairs
from truerank.ranking import adaptive_budget as schedule
from truerank.ranking import rank_models as api

N = 2000


def world_of_ranks(kind: str, n_users: int) -> tuple[FactorScorer, np.ndarray]:
    """Items in descending order of score, so that item R - 1 has rank R; and one target a user."""
    rng = np.random.default_rng(1)
    ranks = {
        "perfect": np.ones(n_users, int),
        "useless": rng.integers(1, N + 1, n_users),
        "real": np.minimum(N, 1 + rng.pareto(0.4, n_users).astype(int)),
    }[kind]
    return FactorScorer(np.ones((n_users, 1)), -np.arange(N, dtype=float)[:, None]), ranks - 1


def ranked(kind: str, design: Any, n_users: int = 1500) -> RankTable:
    scorer, items = world_of_ranks(kind, n_users)
    return rank_pairs(scorer, np.arange(n_users), items, design, seed=4, executor=Serial())


@pytest.mark.parametrize("budget", [20, 100, 600])
@pytest.mark.parametrize("kind", ["perfect", "useless", "real"])
def test_the_budget_holds_on_average(kind: str, budget: float) -> None:
    table = ranked(kind, Adaptive(25, None, budget=budget))
    cost = table.n_scored.astype(float)
    standard_error = cost.std() / np.sqrt(len(cost))
    assert cost.mean() <= max(25, budget) + 4 * standard_error  # P = 3e-5
    assert (table.n_scored == table.n_sampled).all()


@pytest.mark.parametrize("kind", ["perfect", "useless", "real"])
def test_a_small_pilot_is_careful(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "PILOT_ROWS", 200)
    cost = ranked(kind, Adaptive(25, None, budget=100)).n_scored.astype(float)
    assert cost.mean() <= 100 + 4 * cost.std() / np.sqrt(len(cost))


def test_rows_that_reach_the_end_are_exact() -> None:
    table, exact = ranked("real", Adaptive(25, None, budget=1200)), ranked("real", Full())
    assert table.is_exact.sum() > 20
    assert table.rank[table.is_exact].tolist() == exact.rank[table.is_exact].tolist()


def test_every_row_is_the_sample_of_its_size() -> None:
    table = ranked("real", Adaptive(25, None, budget=100))
    sizes = np.unique(table.n_sampled)
    assert len(sizes) > 3
    for n in sizes:
        here = table.n_sampled == n
        alone = ranked("real", Sampled(int(n)))
        assert table.rank[here].tolist() == alone.rank[here].tolist()


def test_the_header_has_the_levels_as_they_were() -> None:
    design = ranked("real", Adaptive(25, None, budget=100)).header.to_dict()["design"]
    levels = design["levels"]
    assert levels["sizes"] == [25, 50, 100, 200, 400, 800, 1600, 2000]
    assert min(levels["keep"]) < 1
    assert levels["go_on"][-1] == 0
    assert (design["n0"], design["budget"]) == (25, 100)


def test_without_a_limit_all_go_on_that_look_like_the_top() -> None:
    table = ranked("real", Adaptive(25, None, budget=np.inf, top=100))
    levels = table.header.to_dict()["design"]["levels"]
    assert levels["keep"] == [1.0] * 8
    assert levels["go_on"] == [1, 2, 5, 10, 20, 40, 80, 0]  # r N / n at most 100, and rank 1
    ended = table.n_sampled < N
    last = np.searchsorted(levels["sizes"], table.n_sampled[ended])
    assert (table.rank[ended] > np.array(levels["go_on"])[last]).all()


def test_the_dissertations_form_has_no_budget() -> None:
    assert not Adaptive(100, 3200).limited
    assert Adaptive(100, 3200, budget=50).limited
    assert Adaptive().limited
    assert not Adaptive(budget=np.inf).limited


@pytest.mark.parametrize("kind", ["perfect", "useless", "real"])
def test_by_default_it_costs_no_more_than_the_dissertations_form(kind: str) -> None:
    ours = ranked(kind, Adaptive()).n_scored.astype(float)
    plain = ranked(kind, Adaptive(100, 1999, replacement=True)).n_scored.astype(float)
    error = np.hypot(ours.std(), plain.std()) / np.sqrt(len(ours))
    # The budget counts on sizes up to 3200, of which this catalogue has only 2000.
    allowed = plain.mean() + (1200 if kind == "perfect" else 1200 * np.mean(plain >= 1600))
    assert ours.mean() <= allowed + 4 * error


def test_the_plain_cost_is_that_of_the_plain_design() -> None:
    """Shares known at every level: the formula against a loop over rows."""
    rng = np.random.default_rng(3)
    ranks = np.minimum(50_000, 1 + rng.pareto(0.4, 4_000).astype(int))
    sizes = np.array([25, 50, 100, 200, 400, 800, 1600])
    first = np.array([np.mean((1 - (ranks - 1) / 49_999) ** (n - 1)) for n in sizes])
    expected = 0.0
    for rank in ranks:
        alone = (1 - (rank - 1) / 49_999) ** (np.array([100, 200, 400, 800, 1600]) - 1)
        expected += 100 + float(alone @ [100, 200, 400, 800, 1600])
    assert schedule.plain_cost(sizes, first) == pytest.approx(expected / len(ranks))


def test_users_who_have_seen_different_amounts() -> None:
    world = make_world()
    scorer = FactorScorer(world.X, world.Y)
    table = rank_pairs(
        scorer, world.users, world.items, Adaptive(4, None, budget=20), exclude=world.seen
    )
    full = rank_pairs(scorer, world.users, world.items, exclude=world.seen)
    assert table.rank[table.is_exact].tolist() == full.rank[table.is_exact].tolist()
    assert table.n_items.tolist() == full.n_items.tolist()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"budget": 0}, "budget must be a positive number, or None, got 0"),
        ({"budget": -5.0}, "budget must be a positive number, or None, got -5.0"),
        ({"budget": float("nan")}, "budget must be a positive number, or None, got nan"),
        ({"budget": "600"}, "budget must be a positive number, or None, got '600'"),
        ({"top": 0}, "top must be a whole number, at least 1, got 0"),
        ({"top": 1.5}, "top must be a whole number, at least 1, got 1.5"),
    ],
)
def test_budgets_that_make_no_sense(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        Adaptive(**options)
