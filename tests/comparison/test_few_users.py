"""Few users, and users who all agree: neither an interval nor p may look sure, nor disagree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import truerank as tr


def two_tables(rng: np.random.Generator, n_users: int, *, n: int) -> dict[str, tr.RankTable]:
    """Two models of which the first is somewhat better, on ``n`` of 500 items."""
    ranks = rng.integers(1, 400, n_users), rng.integers(60, 501, n_users)
    return {
        name: tr.RankTable.from_arrays(1 + rng.hypergeometric(R - 1, 500 - R, n - 1), n, 500)
        for name, R in zip("ab", ranks, strict=True)
    }


@pytest.mark.parametrize("n_users", [2, 3, 5])
def test_so_few_users_have_no_interval_and_no_small_p(n_users: int) -> None:
    """Two users with hardly a spread had p = 2e-308."""
    table = {
        "a": tr.RankTable.from_arrays(np.ones(n_users, int), 50, 500),
        "b": tr.RankTable.from_arrays(np.full(n_users, 50), 50, 500),
    }
    (row,) = tr.compare(table, "recall@100", n_boot=200).comparisons
    assert row.p_value >= 2.0 ** (1 - n_users)
    assert math.isnan(row.low)
    assert math.isnan(row.high)
    assert "no interval" in row.caveats
    assert "better" not in tr.compare(table, "recall@100", n_boot=200).sentence


@pytest.mark.parametrize("test", ["z", "bootstrap"])
def test_interval_and_test_never_disagree(test: str) -> None:
    """0 is outside the interval exactly where p is below 1 - level, and the value is inside."""
    rng = np.random.default_rng(7)
    outside = 0
    for seed in range(60):
        tables = two_tables(rng, int(rng.integers(6, 200)), n=40)
        (row,) = tr.compare(tables, "recall@150", test=test, n_boot=199, seed=seed).comparisons
        assert row.low <= row.difference <= row.high
        if not math.isclose(row.p_value, 0.05, abs_tol=0.01):
            assert (row.low > 0 or row.high < 0) == (row.p_value < 0.05)
        outside += row.low > 0
    assert 0 < outside < 60


@pytest.mark.parametrize("n_users", [3, 20, 1000])
def test_users_who_all_agree_have_the_interval_of_what_they_may_have_missed(n_users: int) -> None:
    """No hit in n users: the exact binomial interval, where resamples would say [0, 0]."""
    for rank, value in ((500, 0.0), (1, 1.0)):
        table = tr.RankTable.from_arrays(np.full(n_users, rank), 500, 500)
        (found,) = tr.estimate(table, "recall@10", n_boot=200)
        assert (found.value, found.std_error) == (value, 0.0)
        expected = stats.binomtest(int(value * n_users), n_users).proportion_ci(method="exact")
        assert found.interval() == pytest.approx((expected.low, expected.high), abs=1e-9)
        few = any("too few for a reliable interval" in note for note in found.diagnostics.notes)
        assert few == (n_users < 30)


def test_users_who_are_all_known_need_no_such_interval() -> None:
    header = tr.ranking.header.Header(design={"kind": "full"}, n_population=20)
    table = tr.RankTable.from_arrays(np.full(20, 500), 500, 500, header=header)
    (found,) = tr.estimate(table, "recall@10", population="finite")
    assert found.interval() == (0.0, 0.0)
