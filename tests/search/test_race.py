"""Pruning keeps what it promises: the best is dropped at most as often as it may be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import truerank as tr
from truerank.arrays import Int
from truerank.metrics import parse
from truerank.ranking import Full, RankTable
from truerank.search.conclusion import told_apart
from truerank.search.examination import Examination
from truerank.search.race import Race, set_rows, user_stages
from truerank.search.search_models import search

from .search_world import peaked, world

N_USERS, N_ITEMS = 1_100, 200


class Drawn(Examination):
    """Ranks come from an array instead of a model."""

    def rank(self, scorer: Any, rows: Int | None = None) -> RankTable:
        some = np.arange(N_USERS) if rows is None else rows
        return RankTable.from_arrays(scorer[some], N_ITEMS, N_ITEMS, user=some, item=some * 0)


@pytest.fixture(scope="module")
def examination() -> Drawn:
    data = tr.Interactions.from_arrays(
        np.repeat(np.arange(N_USERS), 2), np.tile([0, 1], N_USERS), item_ids=np.arange(N_ITEMS)
    )
    return Drawn(
        validation=tr.split.leave_one_out(data), metric=parse("ndcg@20"), design=Full(),
        method="auto", candidates="unseen", seed=0,
    )  # fmt: skip


def raced(examination: Drawn, ranks: list[np.ndarray], size: float) -> list[bool]:
    """Whether each trial of a search with these ranks was dropped."""
    race = Race.of(examination, size, len(ranks))
    assert len(race.stages) == 2
    leader, best, dropped = None, -1.0, []
    for own in ranks:
        table, whole = race.run(own, leader)
        dropped.append(not whole)
        value = examination.measure(table).value
        if whole and value > best:
            leader, best = table, value
    return dropped


def equal_models(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    """Ranks of models that are equally good and agree on which users are easy."""
    easy = rng.normal(size=N_USERS)
    noise = rng.normal(size=(n, N_USERS))
    percentile = stats.norm.cdf((easy + noise) / np.sqrt(2))
    return list(np.minimum(1 + (N_ITEMS * percentile**3).astype(np.int64), N_ITEMS))


def test_the_best_is_dropped_no_more_often_than_allowed(examination: Drawn) -> None:
    """All are equally good, so each is a best one; the last meets the luckiest leader."""
    rng, runs, size, n = np.random.default_rng(1), 60, 0.2, 6
    lost = sum(raced(examination, equal_models(rng, n), size)[-1] for _ in range(runs))
    assert lost <= stats.binom.ppf(0.9999, runs, size / 2)  # one-sided tests of six: far below


def test_any_of_equals_is_dropped_at_the_rate_of_its_own_look(examination: Drawn) -> None:
    """Two trials and one look: the threshold is the size, and is used up."""
    rng, runs, size = np.random.default_rng(2), 200, 0.2
    lost = sum(raced(examination, equal_models(rng, 2), size)[1] for _ in range(runs))
    low, high = stats.binom.ppf([5e-5, 1 - 5e-5], runs, size)
    assert low <= lost <= high


def test_what_is_worse_is_dropped(examination: Drawn) -> None:
    rng = np.random.default_rng(3)
    good, bad = equal_models(rng, 2)
    bad = np.minimum(bad * 3, N_ITEMS)
    assert raced(examination, [good, bad, good], 0.05) == [False, True, False]
    assert raced(examination, [bad, good], 0.05) == [False, False]  # nothing to compare with yet


def test_no_trial_is_dropped_for_being_better(examination: Drawn) -> None:
    rng = np.random.default_rng(4)
    race = Race.of(examination, 0.05, 2)
    one, other = (examination.rank(ranks) for ranks in equal_models(rng, 2))
    better = examination.rank(np.maximum(one.rank // 3, 1))
    assert race.p_worse(better, one) == 1.0
    assert race.p_worse(one, better) < 1e-6
    p = race.p_worse(one, other), race.p_worse(other, one)
    assert min(p) < 0.5
    assert max(p) == 1.0


DATA, AFFINITY = world(seed=2, n_users=2_000)


@pytest.mark.parametrize("design", [tr.Full(), tr.Sampled(25), tr.Adaptive(n0=10, n_max=50)])
def test_a_seeded_search_keeps_its_best(design: Any) -> None:
    space = {"x": [3.0, 0.0, 1.0, 2.5, 5.0, 6.0, 2.8]}
    how: dict[str, Any] = {"metric": "ndcg@10", "design": design}
    whole = search(peaked(AFFINITY), space, DATA, **how)
    pruned = search(peaked(AFFINITY), space, DATA, prune=0.05, **how)
    assert pruned.best == whole.best
    dropped = [trial for trial in pruned.trials if trial.status == "pruned"]
    assert {trial.parameters["x"] for trial in dropped} >= {0.0, 6.0}
    assert all(trial.n_users < 2_000 for trial in dropped)
    for mine, theirs in zip(pruned.trials, whole.trials, strict=True):
        if mine.status == "finished":  # stages or not: the same ranks
            assert mine == theirs
    assert pruned.share_scored < 0.8 * whole.share_scored
    assert f"{len(dropped)} were dropped early" in pruned.sentence


def test_stages_are_nested_random_subsets_of_whole_users() -> None:
    users = np.repeat(np.arange(5_000), 3)
    stages = user_stages(users, seed=1)
    sizes = np.cumsum([len(np.unique(users[rows])) for rows in stages])
    assert sizes.tolist() == [312, 1250, 5000]
    assert np.array_equal(np.sort(np.concatenate(stages)), np.arange(15_000))
    first = np.unique(users[stages[0]])
    assert abs(first.mean() - 2499.5) < 4 * 5000 / np.sqrt(12 * 312)
    assert not np.array_equal(stages[0], user_stages(users, seed=2)[0])


def test_rows_are_matched_by_user_and_item() -> None:
    table = RankTable.from_arrays([1, 2, 3, 4], 9, 9, user=[5, 5, 6, 7], item=[1, 2, 1, 2])
    like = RankTable.from_arrays([9, 9], 9, 9, user=[7, 5], item=[2, 2])
    assert set_rows(table, like).rank.tolist() == [4, 2]


@pytest.mark.parametrize(("n_others", "told"), [(2, {"b"}), (3, set())])
def test_the_set_of_the_best_is_corrected_for_all_trials(n_others: int, told: set[str]) -> None:
    """p = 0.02 in a comparison of three trials; two more that were pruned count as well."""
    rng = np.random.default_rng(0)
    a = rng.integers(1, 40, size=400)
    tables = {
        "a": RankTable.from_arrays(a, 50, 50),
        "b": RankTable.from_arrays(a + rng.integers(-6, 8, size=400).clip(1 - a), 50, 50),
    }
    verdict = tr.compare(tables, parse("ndcg@20"), baseline="a", n_boot=100, bounds=False)
    row = replace(verdict.comparisons[0], p_value=0.02, difference=-0.01)
    changed = replace(verdict, comparisons=(row,))
    assert told_apart(changed, n_others, 0.95) == told
    assert (
        told_apart(replace(changed, comparisons=(replace(row, difference=0.01),)), 1, 0.95) == set()
    )
