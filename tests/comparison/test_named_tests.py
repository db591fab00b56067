"""Tests by name: what runs, what is chosen, and the sentence for every mistake."""

from __future__ import annotations

import math

import numpy as np
import pytest

from truerank.comparison.named_tests import (
    EFFECT_SIZES,
    RESAMPLED,
    TESTS,
    WEIGHTED,
    choose_test,
    run_test,
)
from truerank.comparison.outcome import SMALLEST_P
from truerank.errors import InvalidArgumentError, InvalidDataError

UNPAIRED = ("two-proportion-z", "two-sample-t")
"""Tests that ignore that both models have the same users."""

BINARY = ("mcnemar", "two-proportion-z")
A = np.array([1.0, 0, 1, 1, 0, 1, 1, 1, 0, 1])
B = np.array([0.0, 0, 1, 0, 1, 0, 1, 0, 0, 1])


@pytest.mark.parametrize("name", TESTS)
def test_every_test_keeps_the_contract(name: str) -> None:
    outcome = run_test(name, A, B, seed=1, n_resamples=99)
    assert outcome.name == name
    assert SMALLEST_P <= outcome.p_value <= 1
    assert outcome.difference == pytest.approx(0.3)
    assert outcome.std_error > 0
    assert outcome.effect_size > 0
    assert outcome.n == (20 if name in UNPAIRED else 10)
    assert outcome == run_test(name, A.astype(bool), B.astype(int), seed=1, n_resamples=99)
    assert run_test(name, A, A).p_value == 1.0


def test_the_tables_are_about_the_same_tests() -> None:
    assert set(EFFECT_SIZES) == set(TESTS)
    assert {*RESAMPLED, *WEIGHTED, *UNPAIRED} <= set(TESTS)


@pytest.mark.parametrize("name", RESAMPLED)
def test_seed_and_resamples_are_passed_on(name: str) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 60))
    p = {run_test(name, a, b, seed=s, n_resamples=37).p_value for s in range(5)}
    assert len(p) > 1
    assert all((38 * x) == pytest.approx(round(38 * x)) for x in p)


@pytest.mark.parametrize("name", TESTS)
def test_weights_only_where_they_mean_something(name: str) -> None:
    w = np.arange(1.0, 11.0)
    plain = run_test(name, A, B, n_resamples=99)
    alike = run_test(name, A, B, n_resamples=99, weight=np.full(10, 2.0))
    assert alike.p_value == pytest.approx(plain.p_value)
    if name in WEIGHTED:
        weighted = run_test(name, A, B, n_resamples=99, weight=w)
        assert weighted.difference == pytest.approx(w @ (A - B) / w.sum())
    else:
        with pytest.raises(InvalidArgumentError, match="has no weighted form"):
            run_test(name, A, B, weight=w)


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        ([1.0, 2.0], "weight must be one number per user, 10, got 2"),
        (-np.ones(10), "non-negative"),
        (np.zeros(10), "positive for some user"),
        (np.full(10, np.nan), "not finite"),
    ],
)
def test_bad_weights_are_refused(weight: object, sentence: str) -> None:
    for name in ("paired-t", "bootstrap", "sign"):
        with pytest.raises(ValueError, match=sentence):
            run_test(name, A, B, weight=weight)


@pytest.mark.parametrize("name", TESTS)
def test_bad_values_are_refused(name: str) -> None:
    nan = A.copy()
    nan[4] = math.nan
    with pytest.raises(InvalidDataError, match=r"b has 1 values that are not finite .* user 4"):
        run_test(name, A, nan)
    with pytest.raises(InvalidDataError, match="a has 10 values that are not finite"):
        run_test(name, np.full(10, np.inf), B)
    with pytest.raises(InvalidArgumentError, match="a must be the value of at least one user"):
        run_test(name, [], [])
    with pytest.raises(InvalidArgumentError, match=r"b must be a flat array .* shape \(1, 10\)"):
        run_test(name, A, B[None])
    with pytest.raises(InvalidArgumentError, match="a must be a flat array of numbers"):
        run_test(name, list("abc"), [1, 0, 1])


@pytest.mark.parametrize("name", [name for name in TESTS if name not in UNPAIRED])
def test_users_must_be_the_same(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match="b must be as many values as a, 10, got 9; ali"):
        run_test(name, A, B[:9])


@pytest.mark.parametrize("name", UNPAIRED)
def test_unpaired_users_may_differ_in_number(name: str) -> None:
    assert run_test(name, A, B[:9]).n == 19


@pytest.mark.parametrize("name", BINARY)
def test_hits_are_0_or_1(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"b must be 0 or 1 .* in {name}, got 0\.5"):
        run_test(name, A, B / 2)


@pytest.mark.parametrize(
    ("name", "near"), [("macnemar", "mcnemar"), ("paired_t", "paired-t"), ("Wilcoxen", "wilcoxon")]
)
def test_unknown_tests_get_the_nearest_name(name: str, near: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"test must be one of .* did you mean '{near}'"):
        run_test(name, A, B)


def test_the_choice() -> None:
    assert choose_test(A, B) == "mcnemar"
    assert choose_test(A, B / 2) == "paired-t"
    assert choose_test(A / 2, B) == "paired-t"
    assert choose_test(A, B, weight=np.ones(10)) == "mcnemar"
    assert choose_test(A, B, weight=np.arange(10)) == "paired-t"
    with pytest.raises(InvalidArgumentError, match="align both"):
        choose_test(A, B[:3])
