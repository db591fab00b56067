"""Ranking some of the users: a simple random sample, the same for every model."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats
from slow_ranking import make_world

from truerank.execution import Serial
from truerank.ranking import Adaptive, FactorScorer, Full, Sampled, Users, rank_pairs

WORLD = make_world()
SCORER = FactorScorer(WORLD.X, WORLD.Y)


def ranked(design: Any, scorer: Any = SCORER, seed: int = 0) -> Any:
    return rank_pairs(scorer, WORLD.users, WORLD.items, design, seed=seed, executor=Serial())


def test_all_rows_of_m_users_in_their_order() -> None:
    table = ranked(Users(17))
    chosen = set(table.user.tolist())
    assert len(chosen) == table.n_users == 17
    mine = np.isin(WORLD.users, list(chosen))
    assert table.user.tolist() == WORLD.users[mine].tolist()
    assert table.item.tolist() == WORLD.items[mine].tolist()
    assert table.header.n_population == len(np.unique(WORLD.users))
    assert table.header.design == Users(17, Full())


def test_inner_designs_give_what_they_give_alone() -> None:
    for inner in (Full(), Sampled(9), Sampled(9, replacement=True), Adaptive(3, None)):
        some, everyone = ranked(Users(20, inner)), ranked(inner)
        mine = np.isin(WORLD.users, some.user)
        for column in ("rank", "n_sampled", "n_items", "n_scored"):
            assert np.array_equal(getattr(some, column), getattr(everyone, column)[mine])
        assert some.header.replacement == everyone.header.replacement


def test_every_model_is_ranked_on_the_same_users() -> None:
    other = FactorScorer(WORLD.X[:, ::-1].copy(), WORLD.Y)
    assert ranked(Users(17)).user.tolist() == ranked(Users(17), other).user.tolist()
    assert ranked(Users(17)).user.tolist() != ranked(Users(17), seed=1).user.tolist()


def test_a_larger_sample_contains_the_smaller() -> None:
    assert set(ranked(Users(10)).user.tolist()) < set(ranked(Users(25)).user.tolist())


def test_all_users_are_all_users() -> None:
    n_users = len(np.unique(WORLD.users))
    assert np.array_equal(ranked(Users(n_users)).rank, ranked(Full()).rank)


def test_every_user_is_as_likely() -> None:
    """Inclusions over 400 seeds; their chi-square is exact up to the factor of sampling without
    replacement. False alarm: 1e-4.
    """
    M, m, B = 30, 7, 400
    scorer = FactorScorer(np.ones((M, 1)), np.ones((2, 1)))
    count = np.zeros(M)
    for seed in range(B):
        users = rank_pairs(
            scorer, np.arange(M), np.zeros(M, int), Users(m), seed=seed, executor=Serial()
        ).user
        count[users] += 1
    expected = B * m / M
    statistic = ((count - expected) ** 2).sum() / expected / ((M - m) / (M - 1))
    assert stats.chi2.ppf(0.5e-4, M - 1) < statistic < stats.chi2.ppf(1 - 0.5e-4, M - 1)
