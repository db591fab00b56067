"""Corrections: against statsmodels, by hand, and by their guarantee."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from truerank.comparison.corrections import CORRECTIONS, adjust
from truerank.errors import InvalidArgumentError, InvalidDataError

THEIRS = {"bonferroni": "bonferroni", "holm": "holm", "benjamini-hochberg": "fdr_bh"}
p_lists = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@pytest.mark.parametrize("method", THEIRS)
@pytest.mark.parametrize("m", [1, 2, 7, 200])
def test_adjusted_as_statsmodels(method: str, m: int) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="see truerank[dev]")
    rng = np.random.default_rng(m)
    p = rng.random(m) ** 3
    p[m // 2 :] = np.round(p[m // 2 :], 1)  # ties, zeros and perhaps ones
    theirs = multitest.multipletests(p, method=THEIRS[method])[1]
    np.testing.assert_allclose(adjust(p, method), theirs, rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    ("method", "p", "expected"),
    [
        pytest.param("bonferroni", [0.01, 0.3], [0.02, 0.6], id="twice"),
        pytest.param("holm", [0.001, 0.02, 0.022, 0.045], [0.004, 0.06, 0.06, 0.06], id="down"),
        pytest.param("holm", [0.045, 0.022, 0.02, 0.001], [0.06, 0.06, 0.06, 0.004], id="order"),
        pytest.param("benjamini-hochberg", [0.02, 0.03, 0.035, 0.04], [0.04] * 4, id="up"),
        pytest.param("none", [0.2, 0.1], [0.2, 0.1], id="none"),
    ],
)
def test_by_hand(method: str, p: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(adjust(p, method), expected, rtol=1e-14)


@given(p_lists, st.sampled_from(sorted(CORRECTIONS)))
def test_order_is_kept_and_nothing_gets_smaller(p: list[float], method: str) -> None:
    """A larger p is never more significant: what a correction without its steps breaks."""
    adjusted = adjust(p, method)
    assert (adjusted >= np.array(p)).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()


@given(p_lists)
def test_holm_lies_between_hochberg_and_bonferroni(p: list[float]) -> None:
    assert (adjust(p, "holm") <= adjust(p, "bonferroni")).all()
    assert (adjust(p, "benjamini-hochberg") <= adjust(p, "holm") * (1 + 1e-12)).all()


@pytest.mark.parametrize(("method", "most"), [("bonferroni", 0.05), ("holm", 0.05)])
def test_the_family_has_one_false_alarm_at_most_so_often(method: str, most: float) -> None:
    """Eight true nulls of twelve, all dependent; false-alarm rate of this test 1e-4."""
    rng = np.random.default_rng(4)
    B = 2_000
    z = 0.6 * rng.normal(size=(B, 1)) + 0.8 * rng.normal(size=(B, 12))
    z[:, 8:] += 4.0
    p = 2 * stats.norm.sf(np.abs(z))
    wrong = sum((adjust(row, method)[:8] <= most).any() for row in p)
    assert wrong <= stats.binom.ppf(1 - 1e-4, B, most)


def test_the_share_of_false_alarms_is_held() -> None:
    """Benjamini-Hochberg with independent tests: exactly alpha m0 / m on average."""
    rng = np.random.default_rng(5)
    B, m, m0, level = 2_000, 20, 15, 0.2
    z = rng.normal(size=(B, m))
    z[:, m0:] += 3.0
    shares = []
    for row in 2 * stats.norm.sf(np.abs(z)):
        called = adjust(row, "benjamini-hochberg") <= level
        shares.append(called[:m0].sum() / max(called.sum(), 1))
    error = np.std(shares, ddof=1) / np.sqrt(B)
    assert abs(np.mean(shares) - level * m0 / m) < 4 * error  # P(|Z| > 4) = 6e-5


def test_no_tests_nothing_to_correct() -> None:
    for method in CORRECTIONS:
        assert adjust([], method).shape == (0,)


def test_the_given_array_stays_as_it_was() -> None:
    p = np.array([0.3, 0.1])
    for method in CORRECTIONS:
        adjust(p, method)[:] = 9
    assert p.tolist() == [0.3, 0.1]


def test_bad_p_values_are_refused() -> None:
    for method in CORRECTIONS:
        with pytest.raises(InvalidDataError, match="1 of 3 p-values are nan"):
            adjust([0.1, np.nan, 0.2], method)
        with pytest.raises(InvalidArgumentError, match=r"between 0 and 1, got 1\.5"):
            adjust([0.1, 1.5], method)
        with pytest.raises(InvalidArgumentError, match="flat array"):
            adjust([[0.1]], method)


def test_unknown_corrections_get_the_nearest_name() -> None:
    with pytest.raises(InvalidArgumentError, match="did you mean 'holm'"):
        adjust([0.1], "hollm")
    with pytest.raises(InvalidArgumentError, match="did you mean 'benjamini-hochberg'"):
        adjust([0.1], "benjamini_hochberg")
    with pytest.raises(InvalidArgumentError, match="correction must be one of bonferroni, holm"):
        adjust([0.1], "xyz")
