"""Paired tests by formula: against scipy, statsmodels, and enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from truerank.comparison.outcome import SMALLEST_P
from truerank.comparison.paired_tests import (
    EXACT_BELOW,
    FEW,
    WILCOXON_EXACT_TO,
    cohens_h,
    mcnemar,
    paired_t,
    sign_test,
    wilcoxon,
)

CLOSE = {"rel": 1e-12, "abs": 0}


def two_models(seed: int, n: int, shift: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Values that share the users' difficulty, without ties."""
    rng = np.random.default_rng(seed)
    easy = rng.normal(size=n)
    return easy + rng.normal(size=n) + shift, easy + rng.normal(size=n)


def hits(seed: int, n: int, p: float = 0.5, q: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (rng.random(n) < p).astype(float), (rng.random(n) < q).astype(float)


@pytest.mark.parametrize("n", [2, 3, 10, 100, 5_000])
def test_paired_t_is_scipys(n: int) -> None:
    a, b = two_models(n, n)
    mine, theirs = paired_t(a, b), stats.ttest_rel(a, b)
    assert mine.statistic == pytest.approx(theirs.statistic, **CLOSE)
    assert mine.p_value == pytest.approx(theirs.pvalue, **CLOSE)
    d = a - b
    assert mine.difference == pytest.approx(d.mean(), rel=1e-12)
    assert mine.std_error == pytest.approx(d.std(ddof=1) / math.sqrt(n), **CLOSE)
    assert mine.effect_size == pytest.approx(d.mean() / d.std(ddof=1), rel=1e-12)
    assert mine.n == n


def test_weighted_t_is_weighted_least_squares_with_robust_errors() -> None:
    linear = pytest.importorskip("statsmodels.regression.linear_model", reason="see truerank[dev]")
    a, b = two_models(1, 200)
    w = np.random.default_rng(2).gamma(0.7, size=200)
    mine = paired_t(a, b, weight=w)
    fit = linear.WLS(a - b, np.ones(200), weights=w).fit(cov_type="HC1", use_t=True)
    assert mine.difference == pytest.approx(fit.params[0], rel=1e-12)
    assert mine.std_error == pytest.approx(fit.bse[0], rel=1e-12)
    assert mine.p_value == pytest.approx(fit.pvalues[0], rel=1e-11)  # two roundings of t


def test_weights_are_no_counts_and_weight_zero_is_absence() -> None:
    a, b = two_models(3, 50)
    w = np.random.default_rng(4).random(50)
    assert paired_t(a, b, weight=2 * w).p_value == pytest.approx(
        paired_t(a, b, weight=w).p_value, rel=1e-12
    )
    same = paired_t(a, b, weight=np.full(50, 7.0))
    assert same.p_value == pytest.approx(paired_t(a, b).p_value, rel=1e-12)
    w[10:] = 0
    assert paired_t(a, b, weight=w) == paired_t(a[:10], b[:10], weight=w[:10])


def test_weighted_effect_size_by_the_formula() -> None:
    a, b, w = np.array([3.0, 1, 4]), np.array([1.0, 2, 2]), np.array([1.0, 2, 3])
    m = (1 * 2 + 2 * -1 + 3 * 2) / 6
    s2 = 3 / 2 * (1 * (2 - m) ** 2 + 2 * (-1 - m) ** 2 + 3 * (2 - m) ** 2) / 6
    assert paired_t(a, b, weight=w).effect_size == pytest.approx(m / math.sqrt(s2), rel=1e-14)


@pytest.mark.parametrize("n", [9, 20, 60, 400, 20_000])
def test_mcnemar_is_statsmodels(n: int) -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables", reason="see truerank[dev]")
    a, b = hits(n, n)
    only_a, only_b = int((a > b).sum()), int((b > a).sum())
    assert only_a != only_b  # where they are equal statsmodels corrects past zero
    table = [[int((a * b).sum()), only_a], [only_b, int(((1 - a) * (1 - b)).sum())]]
    exact = only_a + only_b < EXACT_BELOW
    mine, theirs = mcnemar(a, b), tables.mcnemar(table, exact=exact, correction=True)
    assert mine.statistic == pytest.approx(theirs.statistic, **CLOSE)
    assert mine.p_value == pytest.approx(theirs.pvalue, **CLOSE)
    assert mine.note.startswith("exact") == exact


def test_both_branches_of_mcnemar_meet_at_the_rule() -> None:
    for discordant in (EXACT_BELOW - 1, EXACT_BELOW):
        a = np.r_[np.ones(18), np.zeros(discordant - 18)]
        p = mcnemar(a, 1 - a).p_value
        exact = stats.binomtest(discordant - 18, discordant).pvalue
        assert p == pytest.approx(exact, rel=0.06)
        assert (p == pytest.approx(exact, rel=1e-12)) == (discordant < EXACT_BELOW)


@pytest.mark.parametrize("each", [3, 40])
def test_equal_wins_are_no_evidence(each: int) -> None:
    a = np.r_[np.ones(each), np.zeros(each)]
    assert mcnemar(a, 1 - a).p_value == 1.0
    assert sign_test(a, 1 - a).p_value == 1.0


def test_users_that_agree_do_not_move_mcnemar() -> None:
    a, b = hits(7, 100)
    more = mcnemar(np.r_[a, np.ones(500)], np.r_[b, np.ones(500)])
    assert more.p_value == mcnemar(a, b).p_value
    assert abs(more.difference) < abs(mcnemar(a, b).difference)


def test_effect_size_of_hits_is_cohens_h() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion", reason="see truerank[dev]")
    a, b = hits(5, 300)
    h = proportion.proportion_effectsize(a.mean(), b.mean())
    assert mcnemar(a, b).effect_size == pytest.approx(h, rel=1e-12)
    assert cohens_h(1.0, 0.0) == pytest.approx(math.pi)


@pytest.mark.parametrize("n", [3, 10, 101, 3_000])
def test_sign_test_is_the_binomial_test(n: int) -> None:
    a, b = two_models(n + 1, n)
    a[: n // 3] = b[: n // 3]  # left out
    wins, losses = int((a > b).sum()), int((a < b).sum())
    mine = sign_test(a, b)
    assert mine.p_value == pytest.approx(stats.binomtest(wins, wins + losses).pvalue, **CLOSE)
    assert mine.statistic == wins
    assert mine.effect_size == pytest.approx((wins - losses) / (wins + losses))


@pytest.mark.parametrize("n", [3, 12, 50, 51, 2_000])
def test_wilcoxon_without_ties_is_scipys(n: int) -> None:
    a, b = two_models(n + 2, n)
    method = "exact" if n <= WILCOXON_EXACT_TO else "asymptotic"
    theirs = stats.wilcoxon(a, b, zero_method="wilcox", correction=False, method=method)
    mine = wilcoxon(a, b)
    assert mine.statistic == pytest.approx(theirs.statistic, **CLOSE)
    assert mine.p_value == pytest.approx(theirs.pvalue, **CLOSE)
    assert mine.note == (f"exact: only {n} users differ" if n < FEW else "")


def test_wilcoxon_with_many_ties_and_zeros_is_scipys() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 4, (2, 400)).astype(float)
    assert (a == b).sum() > 50
    theirs = stats.wilcoxon(a, b, zero_method="wilcox", correction=False, method="asymptotic")
    mine = wilcoxon(a, b)
    assert mine.statistic == pytest.approx(theirs.statistic, **CLOSE)
    assert mine.p_value == pytest.approx(theirs.pvalue, **CLOSE)


def test_wilcoxon_with_few_ties_is_counted_over_all_signs() -> None:
    a, b = np.array([3.0, 1, 4, 1, 5, 9, 2, 6]), np.array([2.0, 2, 1, 1, 3, 1, 1, 1])
    d = (a - b)[a != b]
    ranks = stats.rankdata(np.abs(d))
    assert len(set(ranks)) < len(ranks)
    fewer = min(ranks[d > 0].sum(), ranks[d < 0].sum())
    as_low = [
        min(ranks[np.array(s)].sum(), ranks[~np.array(s)].sum()) <= fewer
        for s in itertools.product([True, False], repeat=len(d))
    ]
    assert wilcoxon(a, b).p_value == pytest.approx(np.mean(as_low), rel=1e-14)
    theirs = stats.wilcoxon(a, b, method=stats.PermutationMethod(n_resamples=np.inf))
    assert wilcoxon(a, b).p_value == pytest.approx(theirs.pvalue, rel=1e-12)


def test_rank_biserial_goes_from_minus_one_to_one() -> None:
    a = np.arange(1.0, 9.0)
    assert wilcoxon(a, np.zeros(8)).effect_size == 1.0
    assert wilcoxon(np.zeros(8), a).effect_size == -1.0
    assert wilcoxon([1, 2, 3], [0, 4, 0]).effect_size == pytest.approx((1 + 3 - 2) / 6)


def test_rounding_makes_neither_wins_nor_ranks() -> None:
    a, b = np.array([0.1 + 0.2, 0.5, 0.7]), np.array([0.3, 0.4, 0.5])
    assert a[0] != b[0]
    assert sign_test(a, b).statistic == 2
    # 0.3 - 0.2, 0.2 - 0.1 and 0.1 - 0 differ in their last bits: three ties of rank 2.
    assert wilcoxon([0.3, 0.2, 0.0], [0.2, 0.1, 0.1]).effect_size == pytest.approx(1 / 3)


@pytest.mark.parametrize("test", [paired_t, mcnemar, sign_test, wilcoxon])
def test_nobody_differs_or_nobody_else(test: object) -> None:
    none = test([1, 0, 1], [1, 0, 1])
    assert (none.p_value, none.difference, none.effect_size) == (1.0, 0.0, 0.0)
    assert none.note == "no user differs between the two models"
    one = test([1], [0])
    assert (one.p_value, one.difference) == (1.0, 1.0)
    assert math.isnan(one.std_error)
    assert one.note == "one user only: the spread between users is unknown"


@pytest.mark.parametrize("n", [2, 10, 3_000])
def test_one_difference_for_all_has_the_p_of_the_sign_flips(n: int) -> None:
    b = np.random.default_rng(n).random(n)
    outcome = paired_t(b + 0.1, b)  # equal up to rounding only
    assert outcome.p_value == max(2.0 ** (1 - n) if n < 1000 else 0.0, SMALLEST_P)
    assert outcome.statistic == math.inf
    assert outcome.std_error == 0.0
    assert "same amount" in outcome.note


@pytest.mark.parametrize("test", [paired_t, mcnemar, sign_test, wilcoxon])
def test_p_is_never_zero(test: object) -> None:
    n = 200_000
    a = np.ones(n)
    a[:100] = 0.0
    outcome = test(a, 1 - a)
    assert outcome.p_value == SMALLEST_P
    assert "2e-308" in outcome.note


def test_a_handful_of_differing_users_gets_a_warning() -> None:
    a, b = np.zeros(1_000), np.zeros(1_000)
    a[:3] = [0.2, 0.3, 0.1]
    assert "only 3 of 1,000 users differ" in paired_t(a, b).note


@pytest.mark.parametrize("test", [paired_t, mcnemar, sign_test, wilcoxon])
def test_swapping_the_models_changes_signs_only(test: object) -> None:
    a, b = hits(11, 90)
    one, other = test(a, b), test(b, a)
    assert one.p_value == pytest.approx(other.p_value, rel=1e-14)
    assert one.difference == -other.difference
    assert one.effect_size == pytest.approx(-other.effect_size)
    assert one.std_error == pytest.approx(other.std_error)


def test_an_outcome_reads_as_a_sentence() -> None:
    assert str(sign_test([3, 5, 4, 9], [1, 2, 2, 8])) == "sign: +2 ± 0.41, p = 0.12 (n = 4)"
