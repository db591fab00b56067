"""docs/significance.md: the page its script writes, and true of what it says of ranx."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from truerank.comparison.corrections import adjust
from truerank.comparison.named_tests import TESTS, run_test

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "significance.py"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("significance", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


doc = load()
TEXT = doc.PAGE.read_text(encoding="utf-8")


def ranx_version() -> str:
    try:
        return version("ranx")
    except PackageNotFoundError:
        return ""


as_read = pytest.mark.skipif(
    ranx_version() != doc.RANX, reason=f"the page speaks of ranx {doc.RANX}; read this one again"
)


def test_the_page_is_the_one_the_script_writes() -> None:
    assert doc.page() == TEXT


def test_every_test_is_on_the_page() -> None:
    assert set(doc.NULLS) == set(doc.WHEN) == set(TESTS)


def test_the_rates_support_the_words() -> None:
    """Read from the page, so that the simulation runs once."""
    cells = re.findall(r"\| `([\w-]+)` \| ([\d.]+)% \| (?:([\d.]+)%)? ?\| ([\d.]+)% \|", TEXT)
    rate = {name: [float(r) / 100 if r else None for r in rest] for name, *rest in cells}
    assert set(rate) == set(TESTS)
    most = stats.binom.ppf(1 - 1e-4, doc.REPEATS, doc.LEVEL) / doc.REPEATS
    assert all(equal <= most for equal, _, _ in rate.values())
    for name in ("paired-t", "bootstrap", "permutation"):
        assert rate[name][1] <= most
        assert rate[name][2] > 0.5
    for name in ("wilcoxon", "sign"):
        assert rate[name][1] > 0.9
    for name in ("two-proportion-z", "two-sample-t"):
        assert rate[name][2] < 0.05


def test_paired_tests_find_what_tukey_misses() -> None:
    models, _ = doc.pairing()
    tukey = stats.tukey_hsd(*models).pvalue
    pairs = [(0, 1), (0, 2), (1, 2)]
    holm = adjust([run_test("paired-t", models[i], models[j]).p_value for i, j in pairs], "holm")
    assert (holm <= 0.05).all()
    assert all(tukey[pair] > 0.05 for pair in pairs)


def test_the_close_call_does_not_depend_on_who_asks() -> None:
    a, b = doc.close_call()
    asked = "from significance import close_call, run_test; "
    asked += "print(repr(run_test('permutation', *close_call(), seed=0)))"
    again = subprocess.run(
        [sys.executable, "-B", "-c", asked],
        cwd=SCRIPT.parent, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert again.stdout.strip() == repr(run_test("permutation", a, b, seed=0))


@as_read
def test_what_the_page_says_of_ranx() -> None:
    """In a process of its own: ranx sets numba's threads for the whole process.

    Twelve honest repeats would differ with probability 1 - 1e-9 and more; p has a standard
    deviation of 0.003 in steps of 0.001.
    """
    run = subprocess.run(
        [sys.executable, str(SCRIPT), "ranx"],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    found = json.loads(run.stdout)
    assert set(doc.RECORDED) < set(found)
    for words in doc.RECORDED:
        assert len(set(found[words])) > 1, f"ranx's seed works now with {words}: change the page"
    assert found["far apart"] == [0.0]
    a, b = doc.close_call()
    p = run_test("permutation", a, b).p_value
    every = [x for words in doc.RECORDED for x in found[words] + doc.RECORDED[words]]
    assert abs(np.mean(every) - p) < 5 * np.sqrt(p * (1 - p) / 1000 / len(every) + p / 10_000)


@as_read
def test_ranx_hands_the_scores_to_the_unpaired_tukey() -> None:
    module = importlib.util.find_spec("ranx")
    assert module is not None
    assert module.origin is not None
    folder = Path(module.origin).parent
    tukey = (folder / "statistical_tests" / "tukey_hsd_test.py").read_text(encoding="utf-8")
    assert "tukey_hsd(*scores).pvalue" in tukey
    compare = (folder / "meta" / "compare.py").read_text(encoding="utf-8")
    assert 'stat_test: str = "student"' in compare


def test_holm_and_hochberg_as_the_page_has_them() -> None:
    wrong = doc.each_for_itself(doc.HOLM_CASE, 0.05 / np.array([4, 3, 2, 1]))
    assert wrong == [True, False, True, True]
    assert (adjust(doc.HOLM_CASE, "holm") <= 0.05).tolist() == [True, False, False, False]
    wrong = doc.each_for_itself(doc.BH_CASE, 0.05 * np.array([1, 2, 3, 4]) / 4)
    assert wrong == [False, False, True, True]
    assert (adjust(doc.BH_CASE, "benjamini-hochberg") <= 0.05).all()


def test_without_the_step_down_a_false_alarm_can_come_half_as_often_again() -> None:
    """Two true nulls, each p uniform: both in (alpha/2, alpha), or one small and one large."""
    alpha, n = 0.05, 200_000
    p1 = (np.arange(n) + 0.5) / n
    cut = [round(n * x) for x in (0, alpha / 2, alpha, 3 * alpha / 2)]
    p2 = p1.copy()
    # The smallest p of one test goes with one above alpha of the other, both ways.
    p2[cut[0] : cut[1]], p2[cut[2] : cut[3]] = p1[cut[2] : cut[3]], p1[cut[0] : cut[1]]
    assert np.array_equal(np.sort(p2), p1)
    low, high = np.minimum(p1, p2), np.maximum(p1, p2)
    alone = (low < alpha / 2) | (high < alpha)
    assert alone.mean() == pytest.approx(1.5 * alpha)
    holm = np.array([(adjust(pair, "holm") < alpha).any() for pair in np.stack([p1, p2], 1)[::50]])
    assert holm.mean() == pytest.approx(alpha, abs=0.002)
