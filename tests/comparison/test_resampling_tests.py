"""Bootstrap and permutation: by enumeration, by a slow second writing, and bit by bit."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats

from truerank.comparison import resampling_tests
from truerank.comparison.paired_tests import mcnemar, paired_t
from truerank.comparison.resampling_tests import (
    ENUMERATE_TO,
    SIGNS,
    paired_bootstrap,
    permutation,
)
from truerank.errors import InvalidArgumentError
from truerank.rng import Stream, stream


def ndcg_like(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of one held-out item per user: few distinct ones, most of them 0."""
    rng = np.random.default_rng(seed)
    rank = rng.geometric(0.1, n)
    other = np.maximum(1, rank + rng.integers(-2, 3, n))
    return tuple(np.where(r <= 10, 1 / np.log2(1.0 + r), 0.0) for r in (rank, other))


def distinct(seed: int, n: int, shift: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    easy = rng.random(n)
    return easy + shift * rng.random(n), easy + 0.08 * rng.random(n)


ONLY_A = np.r_[np.ones(9), np.zeros(15)]
ONLY_B = np.r_[np.zeros(20), np.ones(4)]


def test_permutation_of_few_is_scipys_over_all_signs() -> None:
    a, b = distinct(1, 11)

    def mean_difference(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return np.mean(x - y, axis=axis)

    theirs = stats.permutation_test(
        (a, b), mean_difference, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    mine = permutation(a, b)
    assert mine.p_value == pytest.approx(theirs.pvalue, abs=1e-12)
    assert mine.statistic == pytest.approx(theirs.statistic, rel=1e-12)
    assert mine.note == "exact: only 11 users differ"


def test_permutation_of_few_counts_ties_as_extreme() -> None:
    d = np.array([0.1, 0.2, 0.3, -0.3, 0.1])
    as_extreme = [
        abs(np.dot(s, d)) >= abs(d.sum()) - 1e-9 for s in itertools.product([1, -1], repeat=len(d))
    ]
    zeros = np.zeros(7)
    mine = permutation(np.r_[d, zeros], np.zeros(12))
    assert mine.p_value == pytest.approx(np.mean(as_extreme), abs=1e-15)


def test_permutation_of_hits_and_misses_is_the_exact_mcnemar() -> None:
    a = np.r_[np.ones(14), np.zeros(5), np.ones(30)]
    b = np.r_[np.zeros(14), np.ones(5), np.ones(30)]
    assert permutation(a, b).p_value == pytest.approx(mcnemar(a, b).p_value, abs=1e-15)


def test_random_signs_agree_with_all_signs() -> None:
    d = distinct(2, ENUMERATE_TO)
    exact = permutation(*d).p_value
    longer = tuple(np.r_[x, [0.7, 0.7]] for x in d)
    longer[0][-2:] += [1e-9, -1e-9]  # two users more that differ, by next to nothing
    drawn = permutation(*longer, n_resamples=4_000, seed=3).p_value
    assert abs(drawn - exact) < 4 * math.sqrt(exact * (1 - exact) / 4_000)  # P = 6e-5


@pytest.mark.parametrize("lists", [ndcg_like(3, 400), distinct(4, 60)], ids=["shared", "distinct"])
def test_permutation_written_a_second_time(lists: tuple[np.ndarray, np.ndarray]) -> None:
    """One sign per user and a loop, from the same random numbers."""
    a, b = lists
    d = (a - b)[a != b]
    values, counts = np.unique(np.abs(d), return_counts=True)
    shared = len(values) * 8 <= len(d)
    hits = 0
    for r in range(99):
        if r % 32 == 0:
            generator = stream(5, Stream.BOOTSTRAP, 1 + r // 32, SIGNS)
        if shared:
            up = generator.binomial(counts, 0.5)
            total = math.fsum(
                v * s
                for v, k, c in zip(values, up, counts, strict=True)
                for s in [1] * k + [-1] * (c - k)
            )
        else:
            words = generator.integers(0, 2**64, (len(d) + 63) // 64, dtype=np.uint64)
            coins = [
                (int(words[i // 64]) >> (8 * (i % 64 // 8) + 7 - i % 8)) & 1 for i in range(len(d))
            ]
            total = math.fsum(v if c else -v for v, c in zip(np.abs(d), coins, strict=False))
        hits += abs(total) >= abs(math.fsum(d)) - 1e-9
    assert shared == (lists[0].size == 400)
    assert permutation(a, b, n_resamples=99, seed=5).p_value == (1 + hits) / 100


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "lists",
    [ndcg_like(3, 400), distinct(4, 60), distinct(4, 12), (ONLY_A, ONLY_B)],
    ids=["shared", "distinct", "few", "hits"],
)
def test_bootstrap_written_a_second_time(
    lists: tuple[np.ndarray, np.ndarray], weighted: bool
) -> None:
    """Each resample as a list of users, its t by the printed formula, from the same numbers."""
    a, b = lists
    d, n = a - b, len(a)
    weight = np.random.default_rng(1).random(n) if weighted else np.ones(n)
    values, counts = np.unique(d - d.mean(), return_counts=True)
    shared = len(values) * 8 <= n and not weighted

    def mean_and_error(x: np.ndarray, w: np.ndarray) -> tuple[float, float]:
        m = math.fsum(w * x) / math.fsum(w)
        return m, math.sqrt(n / (n - 1) * math.fsum(w**2 * (x - m) ** 2)) / math.fsum(w)

    m, error = mean_and_error(d, weight)
    means, hits = [], 0
    for r in range(999):
        if r % 32 == 0:
            generator = stream(5, Stream.BOOTSTRAP, 1 + r // 32)
        if shared:
            x, w = np.repeat(values + m, generator.multinomial(n, counts / n)), np.ones(n)
        else:
            who = generator.integers(0, n, n)
            x, w = d[who], weight[who]
        mean, spread = mean_and_error(x, w)
        means.append(mean)
        hits += abs((mean - m) / spread) >= abs(m / error) * (1 - 1e-9)  # ties are extreme
    mine = paired_bootstrap(a, b, n_resamples=999, seed=5, weight=weight if weighted else None)
    assert mine.p_value == (1 + hits) / 1000
    assert mine.statistic == pytest.approx(m / error, rel=1e-12)
    assert mine.std_error == pytest.approx(np.std(means, ddof=1), rel=1e-9)


def test_many_resamples_agree_with_the_formulas() -> None:
    a, b = ndcg_like(6, 3_000)
    b = b + (np.arange(3_000) % 40 == 0) * 0.1
    t = paired_t(a, b)
    assert 0.02 < t.p_value < 0.6
    B = 4_000
    noise = 4 * math.sqrt(t.p_value * (1 - t.p_value) / B)  # P(|Z| > 4) = 6e-5
    for test in (paired_bootstrap, permutation):
        drawn = test(a, b, n_resamples=B, seed=2)
        assert abs(drawn.p_value - t.p_value) < noise + 0.01  # the limit is off by O(1/n)
        assert drawn.effect_size == t.effect_size
        assert drawn.std_error == pytest.approx(t.std_error, rel=4 / math.sqrt(2 * (B - 1)))


@pytest.mark.parametrize("test", [paired_bootstrap, permutation])
@pytest.mark.parametrize("lists", [ndcg_like(7, 500), distinct(8, 80)], ids=["shared", "distinct"])
def test_same_seed_same_bits_and_other_seed_other_bits(
    test: object, lists: tuple[np.ndarray, np.ndarray]
) -> None:
    a, b = lists
    b = b + (a - b).mean() + (a - b).std() / math.sqrt(len(a))  # t = -1, where seeds show
    first = test(a, b, n_resamples=499, seed=1)
    np.random.seed(99)  # noqa: NPY002  (nothing here may depend on it)
    assert test(a, b, n_resamples=499, seed=1) == first
    assert test(a, b, n_resamples=499, seed=2) != first


@pytest.mark.parametrize(
    "test",
    [paired_bootstrap, partial(paired_bootstrap, weight=1 + np.arange(83) % 5), permutation],
    ids=["bootstrap", "weighted", "permutation"],
)
@pytest.mark.parametrize("lists", [ndcg_like(7, 83), distinct(8, 83)], ids=["shared", "distinct"])
def test_the_size_of_a_block_changes_no_bit(
    monkeypatch: pytest.MonkeyPatch, test: object, lists: tuple[np.ndarray, np.ndarray]
) -> None:
    monkeypatch.setattr(resampling_tests, "SHARED", 2)  # so that few users share enough
    outcomes = []
    for block in (1, 250, 1_700, 2**18):
        monkeypatch.setattr(resampling_tests, "BLOCK", block)
        outcomes.append(test(*lists, n_resamples=150))
    assert all(outcome == outcomes[0] for outcome in outcomes)


@pytest.mark.parametrize("test", [paired_bootstrap, permutation])
@pytest.mark.parametrize("lists", [ndcg_like(7, 500), distinct(8, 80)], ids=["shared", "distinct"])
def test_a_longer_run_continues_a_shorter_one(
    test: object, lists: tuple[np.ndarray, np.ndarray]
) -> None:
    """Extreme resamples can only be added, at most as many as there are more."""
    a, b = lists
    b = b + (a - b).mean() + (a - b).std() / math.sqrt(len(a))  # t = -1: many are extreme
    hits = [round(test(a, b, n_resamples=n).p_value * (1 + n)) for n in range(40, 72)]
    assert set(np.diff(hits)) == {0, 1}


@pytest.mark.parametrize("test", [paired_bootstrap, permutation])
def test_p_is_never_zero_and_says_so(test: object) -> None:
    a, b = distinct(9, 300, shift=2.0)
    outcome = test(a, b, n_resamples=199)
    assert outcome.p_value == 1 / 200
    assert outcome.note.startswith("none of 199 resamples")


@pytest.mark.parametrize("test", [paired_bootstrap, permutation])
def test_nobody_differs_or_nobody_else(test: object) -> None:
    assert test([1, 0.5, 1], [1, 0.5, 1]).p_value == 1.0
    one = test([1], [0])
    assert one.p_value == 1.0
    assert "one user only" in one.note


def test_one_difference_for_all() -> None:
    b = np.random.default_rng(1).random(5)
    assert paired_bootstrap(b + 0.1, b, n_resamples=99).p_value == 2.0**-4
    assert permutation(b + 0.1, b).p_value == 2.0**-4
    b = np.random.default_rng(1).random(40)
    assert paired_bootstrap(b + 0.1, b, n_resamples=99).p_value == 0.01


def test_a_resample_without_spread_counts_as_extreme() -> None:
    """Three users in 500 differ: most of a bootstrap's doubt is whether they are drawn."""
    a, b = np.zeros(500), np.zeros(500)
    a[:3] = [0.4, 0.5, 0.6]
    outcome = paired_bootstrap(a, b, n_resamples=999)
    assert outcome.p_value > 0.9 * math.exp(-3)
    assert "only 3 of 500 users differ" in outcome.note


def test_bootstrap_ignores_the_scale_of_weights() -> None:
    a, b = distinct(12, 50)
    w = np.random.default_rng(3).random(50) + 0.5
    one = paired_bootstrap(a, b, n_resamples=99, weight=w)
    other = paired_bootstrap(a, b, n_resamples=99, weight=4 * w)
    assert other == replace(one, statistic=other.statistic, std_error=other.std_error)
    assert other.std_error == pytest.approx(one.std_error, rel=1e-12)


@pytest.mark.parametrize("test", [paired_bootstrap, permutation])
@pytest.mark.parametrize("n_resamples", [0, 18, -5, 99.5])
def test_too_few_resamples_are_refused(test: object, n_resamples: float) -> None:
    with pytest.raises(InvalidArgumentError, match="n_resamples must be a whole number, at least"):
        test([1, 2, 3], [0, 1, 5], n_resamples=n_resamples)


@pytest.mark.parametrize("test", [paired_bootstrap, permutation])
def test_bad_seeds_are_refused(test: object) -> None:
    with pytest.raises(InvalidArgumentError, match="seed must be an integer"):
        test([1, 2, 3], [0, 1, 5], seed=-1)
