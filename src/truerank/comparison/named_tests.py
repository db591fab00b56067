"""The tests by name, and which one to take."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from truerank.comparison.outcome import Outcome
from truerank.comparison.paired_tests import mcnemar, paired_t, sign_test, wilcoxon
from truerank.comparison.resampling_tests import N_RESAMPLES, paired_bootstrap, permutation
from truerank.comparison.unpaired_tests import two_proportion_z, two_sample_t
from truerank.comparison.values import checked_weight, is_binary, paired, unknown_name
from truerank.errors import InvalidArgumentError

TESTS: dict[str, Callable[..., Outcome]] = {
    "mcnemar": mcnemar,
    "paired-t": paired_t,
    "wilcoxon": wilcoxon,
    "sign": sign_test,
    "bootstrap": paired_bootstrap,
    "permutation": permutation,
    "two-proportion-z": two_proportion_z,
    "two-sample-t": two_sample_t,
}
"""Every test, each a function of the two models' values per user."""

EFFECT_SIZES: dict[str, str] = {
    "mcnemar": "Cohen's h",
    "paired-t": "Cohen's d_z",
    "wilcoxon": "rank-biserial correlation",
    "sign": "(wins - losses) / (wins + losses)",
    "bootstrap": "Cohen's d_z",
    "permutation": "Cohen's d_z",
    "two-proportion-z": "Cohen's h",
    "two-sample-t": "Cohen's d",
}
"""What each test gives as its effect size."""

RESAMPLED = ("bootstrap", "permutation")
"""Tests that draw random numbers."""

WEIGHTED = ("paired-t", "bootstrap")
"""Tests that are defined for users of different weight."""


def run_test(
    name: str,
    a: ArrayLike,
    b: ArrayLike,
    *,
    seed: int = 0,
    n_resamples: int = N_RESAMPLES,
    weight: ArrayLike | None = None,
) -> Outcome:
    """Run the test of this name on the values of the same users under two models.

    Args:
        name: A key of :data:`TESTS`.
        a: Value of each user under the first model.
        b: Value of each user under the second, in the same order in a paired test.
        seed: Seed of the tests that resample; the others have none.
        n_resamples: Resamples of the tests that resample.
        weight: Weight of each user. Equal weights suit every test; different ones only those in
            :data:`WEIGHTED`: the others count users, and a fraction of a user cannot be counted.

    >>> run_test("sign", [3, 5, 4, 9], [1, 2, 2, 8]).p_value
    0.125
    """
    if name not in TESTS:
        raise unknown_name("test", name, TESTS)
    drawing = {"seed": seed, "n_resamples": n_resamples} if name in RESAMPLED else {}
    if weight is None or name in WEIGHTED:
        weighing = {"weight": weight} if name in WEIGHTED else {}
        return TESTS[name](a, b, **drawing, **weighing)
    if _differ(weight, len(np.asarray(a))):
        raise InvalidArgumentError(
            "test",
            name,
            f"{' or '.join(WEIGHTED)} where users have different weights",
            f"{name} counts users and has no weighted form",
        )
    return TESTS[name](a, b, **drawing)


def choose_test(a: ArrayLike, b: ArrayLike, *, weight: ArrayLike | None = None) -> str:
    """The test we would take: ``mcnemar`` for hits and misses, else ``paired-t``.

    McNemar's test needs no more than that users are independent, and is exact where few differ.
    For other values the mean is what gets reported, and the t test is the one that tests it: with
    hundreds of users its size is right for any metric in [0, 1], its p has no simulation noise,
    and it agrees with the permutation test at a small part of the cost [smucker2007]_. Wilcoxon
    and sign test another hypothesis. Users of different weight have no McNemar test.

    >>> choose_test([1, 0, 1], [0, 0, 1]), choose_test([0.5, 0, 1], [0, 0, 1])
    ('mcnemar', 'paired-t')
    """
    x, y = paired(a, b)
    if weight is not None and _differ(weight, len(x)):
        return "paired-t"
    return "mcnemar" if is_binary(x) and is_binary(y) else "paired-t"


def _differ(weight: ArrayLike, n: int) -> bool:
    return bool(np.ptp(checked_weight(weight, n)) > 0)
