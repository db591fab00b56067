"""The dissertation's tests: against statsmodels and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from truerank.comparison.outcome import SMALLEST_P
from truerank.comparison.unpaired_tests import two_proportion_z, two_sample_t


@pytest.mark.parametrize(("m", "k"), [(40, 40), (1_000, 1_000), (300, 70)])
def test_z_is_statsmodels(m: int, k: int) -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion", reason="see truerank[dev]")
    rng = np.random.default_rng(m)
    a, b = (rng.random(m) < 0.4).astype(float), (rng.random(k) < 0.3).astype(float)
    z, p = proportion.proportions_ztest([a.sum(), b.sum()], [m, k])
    mine = two_proportion_z(a, b)
    assert mine.statistic == pytest.approx(z, rel=1e-12)
    assert mine.p_value == pytest.approx(p, rel=1e-12)
    assert mine.effect_size == pytest.approx(
        proportion.proportion_effectsize(a.mean(), b.mean()), rel=1e-12
    )
    assert mine.n == m + k


def test_z_as_the_dissertation_prints_it() -> None:
    """eq:std_z, and its interval, with both models on m users."""
    m, p1, p2 = 200, 0.35, 0.30
    a, b = np.r_[np.ones(70), np.zeros(130)], np.r_[np.ones(60), np.zeros(140)]
    mean = (p1 + p2) / 2
    mine = two_proportion_z(a, b)
    assert mine.statistic == pytest.approx((p1 - p2) / math.sqrt(2 * mean * (1 - mean) / m))
    interval = math.sqrt(p1 * (1 - p1) / m + p2 * (1 - p2) / m)
    assert mine.std_error == pytest.approx(interval, rel=1e-14)


@pytest.mark.parametrize(("m", "k"), [(2, 1), (50, 50), (400, 90)])
def test_t_is_scipys_pooled_one(m: int, k: int) -> None:
    rng = np.random.default_rng(k)
    a, b = rng.normal(0.1, 1, m), rng.normal(0, 2, k)
    theirs = stats.ttest_ind(a, b, equal_var=True)
    mine = two_sample_t(a, b)
    assert mine.statistic == pytest.approx(theirs.statistic, rel=1e-12)
    assert mine.p_value == pytest.approx(theirs.pvalue, rel=1e-12)
    pooled = math.sqrt((((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum()) / (m + k - 2))
    assert mine.effect_size == pytest.approx((a.mean() - b.mean()) / pooled, rel=1e-12)


def test_with_as_many_users_in_both_welchs_t_is_the_same() -> None:
    rng = np.random.default_rng(8)
    a, b = rng.normal(0.1, 1, 80), rng.normal(0, 5, 80)
    welch = stats.ttest_ind(a, b, equal_var=False)
    assert two_sample_t(a, b).statistic == pytest.approx(welch.statistic, rel=1e-12)


def test_unpaired_tests_ignore_the_order_of_users() -> None:
    rng = np.random.default_rng(9)
    a = rng.random(60)
    b = np.where(rng.random(60) < 0.5, a, rng.random(60))
    shuffled = two_sample_t(a, rng.permutation(b))
    assert shuffled.p_value == pytest.approx(two_sample_t(a, b).p_value, rel=1e-12)


@pytest.mark.parametrize("value", [0, 1])
def test_no_spread_at_all_is_no_evidence(value: int) -> None:
    same = np.full(30, value)
    for test in (two_proportion_z, two_sample_t):
        outcome = test(same, same)
        assert outcome.p_value == 1.0
        assert outcome.note == f"every user of both models has the value {value}"


def test_no_spread_within_models_has_the_p_of_the_divisions() -> None:
    outcome = two_sample_t([1, 1, 1], [0, 0, 0])
    assert outcome.p_value == pytest.approx(2 / math.comb(6, 3))
    assert outcome.statistic == math.inf
    assert two_sample_t(np.ones(2_000), np.zeros(2_000)).p_value == SMALLEST_P


def test_one_user_of_each_model_tells_nothing() -> None:
    outcome = two_sample_t([0.9], [0.1])
    assert outcome.p_value == 1.0
    assert "one user of each" in outcome.note


def test_p_is_never_zero() -> None:
    a = np.r_[np.ones(50_000), np.zeros(50)]
    for test in (two_proportion_z, two_sample_t):
        assert test(a, 1 - a).p_value == SMALLEST_P
