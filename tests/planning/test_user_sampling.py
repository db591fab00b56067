"""How many users: the dissertation's numbers, the formulas turned round, and what draws show."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from truerank.errors import InvalidArgumentError
from truerank.planning.sample_size import users_to_detect, users_to_detect_paired
from truerank.planning.user_sampling import (
    hoeffding_margin,
    margin_of_error,
    users_by_hoeffding,
    users_for_margin,
)


@pytest.mark.parametrize(("margin", "m"), [(0.03, 1_067), (0.01, 9_604)])
def test_the_examples_of_the_text(margin: float, m: int) -> None:
    assert users_for_margin(margin) == m
    assert margin_of_error(m) == pytest.approx(margin, rel=1 / (2 * m))


def test_hoeffding_example_of_the_text() -> None:
    """t = 0.02 with 10,000 users: more than 99.9 % confidence, by 2 exp(-2 m t^2)."""
    level = 1 - 2 * math.exp(-2 * 10_000 * 0.02**2)
    assert level > 0.999
    assert hoeffding_margin(10_000, confidence=level) == pytest.approx(0.02, rel=1e-9)
    assert users_by_hoeffding(0.02, confidence=level) == pytest.approx(10_000, abs=1)


def test_two_models_of_the_text_need_twice_the_users() -> None:
    for e in (0.01, 0.02):
        one = 0.25 * (stats.norm.ppf(0.975) / e) ** 2
        assert users_to_detect(e, power=0.5) == pytest.approx(2 * one, abs=0.5)


@pytest.mark.parametrize("population", [None, 5_000])
@pytest.mark.parametrize("n_models", [1, 7])
def test_sizes_and_margins_are_inverse(population: int | None, n_models: int) -> None:
    for margin in (0.01, 0.02, 0.05):
        options = {"n_models": n_models, "population": population, "confidence": 0.9}
        m = users_for_margin(margin, p=0.2, **options)
        assert margin_of_error(m, p=0.2, **options) == pytest.approx(margin, rel=1.1 / m)
        m = users_by_hoeffding(margin, **options)
        assert hoeffding_margin(m, **options) <= margin
        if m > 1:
            assert hoeffding_margin(m - 1, **options) > margin


def test_the_margin_covers_and_its_finite_form_is_exact() -> None:
    """Standard deviation of means over draws without replacement; 4 standard errors of it."""
    rng = np.random.default_rng(1)
    M, m, B = 400, 240, 3_000
    values = np.where(rng.random(M) < 0.3, 1.0, 0.0)
    p = values.mean()
    means = np.array([rng.choice(values, m, replace=False).mean() for _ in range(B)])
    expected = margin_of_error(m, p=p, population=M) / stats.norm.ppf(0.975)
    assert means.std(ddof=1) == pytest.approx(expected, rel=4 / np.sqrt(2 * (B - 1)))
    infinite = margin_of_error(m, p=p) / stats.norm.ppf(0.975)
    assert means.std(ddof=1) < 0.8 * infinite  # the correction is not a detail here


def test_hoeffding_holds_for_the_worst_metric_without_replacement() -> None:
    rng = np.random.default_rng(2)
    M, m, B = 200, 100, 2_000
    values = np.repeat([0.0, 1.0], M // 2)
    t = hoeffding_margin(m, confidence=0.9, population=M)
    assert t < hoeffding_margin(m, confidence=0.9)
    off = sum(abs(rng.choice(values, m, replace=False).mean() - 0.5) >= t for _ in range(B))
    assert off <= stats.binom.ppf(1 - 1e-4, B, 0.1)


@pytest.mark.parametrize("power", [0.8, 0.9])
def test_the_promised_power_is_had(power: float) -> None:
    """McNemar's z on paired hits, B times; a binomial interval at 1e-4 plus 2 % for the z."""
    rng = np.random.default_rng(3)
    d, psi, B = 0.03, 0.12, 3_000
    m = users_to_detect_paired(d, discordance=psi, power=power)
    better = rng.multinomial(m, [(psi + d) / 2, (psi - d) / 2, 1 - psi], size=B)
    b, c = better[:, 0], better[:, 1]
    z = (b - c) / m / np.sqrt((b + c) / m / m - ((b - c) / m) ** 2 / m)
    found = (z > stats.norm.ppf(0.975)).mean()
    low, high = stats.binom.interval(1 - 1e-4, B, power)
    assert low / B - 0.02 < found < high / B + 0.02


def test_pairing_by_correlation_and_by_discordance_agree() -> None:
    """Hits with the same p: P(differ) = 2 p (1 - p) (1 - rho), read from a joint table."""
    p, rho, d = 0.3, 0.6, 1e-3
    psi = 2 * p * (1 - p) * (1 - rho)
    by_rho = users_to_detect_paired(d, p=p, correlation=rho)
    assert users_to_detect_paired(d, discordance=psi) == pytest.approx(by_rho, rel=1e-4)
    assert by_rho < 0.41 * users_to_detect(d, p=p)
    unpaired = users_to_detect_paired(d, p=p, correlation=0.0)
    assert unpaired == users_to_detect(d, p=p)


def test_bonferroni_does_not_multiply_by_the_number_of_models() -> None:
    one, ten = users_for_margin(0.01), users_for_margin(0.01, n_models=10)
    z = stats.norm.ppf([1 - 0.025, 1 - 0.0025])
    assert ten / one == pytest.approx((z[1] / z[0]) ** 2, rel=1e-4)
    # The size of 45 comparisons is that of a test at 0.05 / 45.
    strict = users_to_detect(0.02, confidence=1 - 0.05 / 45)
    assert users_to_detect(0.02, n_comparisons=45) == strict


def test_no_more_users_than_there_are() -> None:
    assert users_for_margin(1e-6, population=300) == 300
    assert users_by_hoeffding(1e-6, population=300) == 300
    assert users_to_detect(1e-6, population=300) == 300
    assert margin_of_error(300, population=300) == 0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: margin_of_error(0), "m must be a whole number, at least 1"),
        (lambda: margin_of_error(11, population=10), "at most the 10 users there are"),
        (lambda: margin_of_error(11, p=1.2), "p must be from 0 to 1"),
        (lambda: margin_of_error(11, std=-1.0), "std must be at least 0"),
        (lambda: users_for_margin(0.0), "margin must be positive"),
        (lambda: users_for_margin(0.1, confidence=95), "confidence must be between 0 and 1"),
        (lambda: users_for_margin(0.1, n_models=0), "at least 1"),
        (lambda: users_by_hoeffding(-1), "margin must be positive"),
        (lambda: users_to_detect(0.1, power=0.2), "power must be from 0.5"),
        (lambda: users_to_detect_paired(0.1), "discordance in its place"),
        (
            lambda: users_to_detect_paired(0.1, correlation=0.5, discordance=0.2),
            "discordance in its place",
        ),
        (lambda: users_to_detect_paired(0.1, correlation=1.0), "from -1 to below 1"),
        (lambda: users_to_detect_paired(0.1, discordance=0.05), "from the difference 0.1"),
    ],
)
def test_mistakes_have_a_sentence(call: object, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        call()  # type: ignore[operator]
