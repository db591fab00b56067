"""How often each test says "different": where nothing is, and where something is.

Bounds are binomial with a false-alarm rate of 1e-4 each, were the seeds not fixed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from truerank.comparison.named_tests import RESAMPLED, run_test

LEVEL = 0.05
N = 40
Pair = tuple[np.ndarray, np.ndarray]


def hits(rng: np.random.Generator, shift: float) -> Pair:
    """Hits and misses of users, easy ones and hard ones; shift moves misses of a to hits."""
    easy = rng.beta(0.5, 0.5, N)
    a, b = rng.random((2, N)) < easy
    return np.maximum(a, rng.random(N) < shift).astype(float), b.astype(float)


def values(rng: np.random.Generator, shift: float) -> Pair:
    """Normal values around each user's own level: what the t test assumes."""
    easy = 2 * rng.normal(size=N)
    return easy + rng.normal(size=N) + shift, easy + rng.normal(size=N)


def rate(name: str, draw: Callable[[np.random.Generator, float], Pair], shift: float) -> float:
    """Share of repeats that the test calls different."""
    rng = np.random.default_rng(17)
    runs = repeats(name)
    return np.mean(
        [run_test(name, *draw(rng, shift), n_resamples=39).p_value <= LEVEL for _ in range(runs)]
    )


def repeats(name: str) -> int:
    return 300 if name in RESAMPLED else 2_000


def bounds(name: str, p: float) -> tuple[float, float]:
    low, high = stats.binom.interval(1 - 1e-4, repeats(name), p)
    return low / repeats(name), high / repeats(name)


@pytest.mark.parametrize("name", ["paired-t", "wilcoxon", "bootstrap", "permutation"])
def test_size_is_the_level(name: str) -> None:
    low, high = bounds(name, LEVEL)
    assert low <= rate(name, values, 0.0) <= high


@pytest.mark.parametrize(
    "name", ["mcnemar", "sign", "permutation", "paired-t", "two-proportion-z", "two-sample-t"]
)
def test_size_on_hits_is_at_most_the_level(name: str) -> None:
    """Discrete values: sizes jump, and an exact test stays below; paired-t is near it."""
    assert rate(name, hits, 0.0) <= bounds(name, LEVEL + (name == "paired-t") * 0.01)[1]


def test_power_of_the_t_test_is_the_theory() -> None:
    shift = 0.6
    root = shift * np.sqrt(N / 2)  # the difference of two unit normals has variance 2
    cut = stats.t.ppf(1 - LEVEL / 2, N - 1)
    power = stats.nct.sf(cut, N - 1, root) + stats.nct.cdf(-cut, N - 1, root)
    low, high = bounds("paired-t", power)
    assert low <= rate("paired-t", values, shift) <= high


def test_power_of_the_sign_test_is_the_theory() -> None:
    shift = 0.6
    win = stats.norm.cdf(shift / np.sqrt(2))
    power = sum(
        stats.binom.pmf(w, N, win) for w in range(N + 1) if stats.binomtest(w, N).pvalue <= LEVEL
    )
    low, high = bounds("sign", power)
    assert low <= rate("sign", values, shift) <= high


def test_power_of_mcnemar_is_the_theory() -> None:
    """Users lost with chance 0.1, won with chance 0.4, else equal: summed over all tables."""
    lost, won = 0.1, 0.4

    def draw(rng: np.random.Generator, shift: float) -> Pair:
        u = rng.random(N)
        return (u < won).astype(float), (u > 1 - lost).astype(float)

    power = 0.0
    for b in range(N + 1):
        for c in range(N + 1 - b):
            n = b + c
            if n < 25:
                p = stats.binomtest(b, n).pvalue if n else 1.0
            else:
                p = stats.chi2.sf(max(abs(b - c) - 1, 0) ** 2 / n, 1)
            if p <= LEVEL:
                power += stats.multinomial.pmf([b, c, N - n], N, [won, lost, 1 - won - lost])
    low, high = bounds("mcnemar", power)
    assert 0.5 < power < 0.95
    assert low <= rate("mcnemar", draw, 0.0) <= high


@pytest.mark.parametrize("name", ["wilcoxon", "bootstrap", "permutation"])
def test_other_paired_tests_find_nearly_as_much_as_the_t_test(name: str) -> None:
    shift = 0.6
    power = stats.nct.sf(stats.t.ppf(0.975, N - 1), N - 1, shift * np.sqrt(N / 2))
    low, high = bounds(name, power)
    assert low - 0.06 <= rate(name, values, shift) <= high


def test_unpaired_tests_miss_what_paired_ones_find() -> None:
    assert rate("paired-t", values, 0.6) > 3 * rate("two-sample-t", values, 0.6)
    assert rate("mcnemar", hits, 0.25) > 1.2 * rate("two-proportion-z", hits, 0.25)


@pytest.mark.parametrize("name", ["two-sample-t", "two-proportion-z"])
def test_unpaired_tests_have_their_size_on_users_of_their_own(name: str) -> None:
    def draw(rng: np.random.Generator, shift: float) -> Pair:
        x = rng.random((2, 400))
        return tuple((x < 0.4).astype(float)) if name == "two-proportion-z" else tuple(x)

    low, high = bounds(name, LEVEL)
    assert low <= rate(name, draw, 0.0) <= high
