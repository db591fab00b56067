"""Which test, and what others get wrong, in numbers; writes docs/significance.md.

Run it with ``python docs/significance.py``; tests/comparison/test_significance_page.py checks that
the page is the one this script writes, and what it says of ranx by running ranx. With the argument
``ranx`` it prints, as JSON, the p-values that ranx's randomisation test gives for one question.
"""

from __future__ import annotations

import json
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from truerank.comparison.corrections import adjust
from truerank.comparison.named_tests import EFFECT_SIZES, TESTS, run_test
from truerank.comparison.resampling_tests import ENUMERATE_TO
from truerank.metrics import parse

PAGE = Path(__file__).with_suffix(".md")
Values = NDArray[np.float64]

N_USERS = 400
LEAD = 0.12
LEVEL = 0.05
REPEATS = 600
BINARY = ("mcnemar", "two-proportion-z")

RANX = "0.3.21"
"""The version of ranx that was read and run."""

RECORDED = {
    "one thread": [0.006, 0.008, 0.011, 0.015, 0.009, 0.013],
    "two threads": [0.016, 0.014, 0.007, 0.013, 0.011, 0.007],
}
"""What ``python docs/significance.py ranx`` printed when this page was made. It prints something
else each time, which is the point, so these numbers are recorded and not recomputed."""

HOLM_CASE = [0.001, 0.020, 0.022, 0.045]
BH_CASE = [0.020, 0.030, 0.035, 0.040]

NULLS = {
    "mcnemar": "equally many users are hit by one model only",
    "paired-t": "the mean difference is 0",
    "wilcoxon": "differences are symmetric about 0",
    "sign": "a user that differs is as likely won as lost",
    "bootstrap": "the mean difference is 0",
    "permutation": "the models are interchangeable for every user",
    "two-proportion-z": "equal hit rates of unrelated users",
    "two-sample-t": "equal means of unrelated users",
}
WHEN = {
    "mcnemar": "recall, hit rate of one held-out item: the default there",
    "paired-t": "everything else: the default",
    "wilcoxon": "not for means; for a typical user, where differences are symmetric",
    "sign": "how many users are better off",
    "bootstrap": "weighted users; skewed differences",
    "permutation": f"few users: exact where at most {ENUMERATE_TO} differ",
    "two-proportion-z": "the dissertation's tables; different users",
    "two-sample-t": "the dissertation's tables; different users",
}


def ranks(rng: np.random.Generator, n_models: int, lead: float) -> list[NDArray[np.int64]]:
    """Ranks of one held-out item per user; some users are easy for every model.

    The first model is best: each ranks items ``exp(lead)`` times better than the next.
    """
    easy = rng.normal(2.5, 1.5, N_USERS)
    noise = 0.5 * rng.normal(size=(n_models, N_USERS))
    worse = lead * np.arange(n_models)[:, None]
    return list(np.ceil(np.exp(easy + noise + worse)).astype(np.int64))


def values(metric: str, of: list[NDArray[np.int64]]) -> list[Values]:
    """Per-user values of a metric."""
    return [parse(metric).row_values(rank) for rank in of]


def skewed(rng: np.random.Generator) -> list[Values]:
    """Two models of equal mean: the first loses 0.05 with 9 users of 10 and wins 0.45 with one."""
    base = rng.uniform(0.05, 0.5, N_USERS)
    return [base + np.where(rng.random(N_USERS) < 0.1, 0.45, -0.05), base]


def rates() -> dict[str, list[str]]:
    """How often each test says "different": equal models, equal means but skewed, a better one."""
    shown: dict[str, list[str]] = {test: [] for test in TESTS}
    for kind in ("equal", "skewed", "better"):
        rng = np.random.default_rng(1)
        said = dict.fromkeys(TESTS, 0)
        for _ in range(REPEATS):
            of = ranks(rng, 2, LEAD if kind == "better" else 0.0)
            pair = skewed(rng) if kind == "skewed" else values("ndcg@10", of)
            hits = values("hit@10", of)
            for test in TESTS:
                a, b = hits if test in BINARY else pair
                said[test] += run_test(test, a, b, n_resamples=99).p_value <= LEVEL
        for test in TESTS:
            none = kind == "skewed" and test in BINARY
            shown[test].append("" if none else f"{said[test] / REPEATS:.1%}")
    return shown


def pairing() -> tuple[list[Values], list[str]]:
    """Three models and what Tukey's test and paired tests say of each pair."""
    from scipy import stats

    models = values("ndcg@10", ranks(np.random.default_rng(0), 3, LEAD))
    tukey = stats.tukey_hsd(*models).pvalue
    pairs = list(combinations(range(3), 2))
    outcomes = [run_test("paired-t", models[i], models[j]) for i, j in pairs]
    holm = adjust([outcome.p_value for outcome in outcomes], "holm")
    rows = [
        f"| {'ABC'[i]} - {'ABC'[j]} | {outcome.difference:+.4f} | {tukey[i, j]:.3f} "
        f"| {outcome.p_value:.2g} | {p:.2g} |"
        for (i, j), outcome, p in zip(pairs, outcomes, holm, strict=True)
    ]
    return models, rows


def close_call() -> list[Values]:
    """Two models whose difference is near the 0.01 that ranx holds p against."""
    return values("ndcg@10", ranks(np.random.default_rng(5), 2, LEAD))


def ranx_fisher(n_calls: int = 6) -> dict[str, list[float]]:
    """The p of ranx for the close call, again and again, always with its default seed."""
    import numba
    from ranx.statistical_tests import fisher_randomization_test

    a, b = close_call()
    found = {}
    for threads, words in ((1, "one thread"), (2, "two threads")):
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
        found[words] = [float(fisher_randomization_test(a, b)[0]) for _ in range(n_calls)]
    far_apart = np.linspace(0, 1, N_USERS)
    found["far apart"] = [float(fisher_randomization_test(far_apart + 1, far_apart)[0])]
    return found


def each_for_itself(p_values: list[float], thresholds: Values) -> list[bool]:
    """The mistake: every p against its own threshold, without the steps."""
    return (np.sort(p_values) < thresholds).tolist()


def steps(p_values: list[float], method: str, thresholds: Values) -> str:
    """A table of what comes out without and with the steps."""
    alone = each_for_itself(p_values, thresholds)
    adjusted = adjust(p_values, method)
    rows = ["| p | its threshold | each for itself | adjusted p | right |", "|---|---|---|---|---|"]
    for p, threshold, wrong, right in zip(p_values, thresholds, alone, adjusted, strict=True):
        rows.append(
            f"| {p:.3f} | {threshold:.4f} | {_says(wrong)} | {right:.3f} "
            f"| {_says(right <= LEVEL)} |"
        )
    return "\n".join(rows)


def _says(significant: bool) -> str:
    return "significant" if significant else "no"


def page() -> str:
    """The page, with every number computed anew but the recorded ones."""
    which = ["| test | null hypothesis | take it for | effect size |", "|---|---|---|---|"]
    which += [f"| `{t}` | {NULLS[t]} | {WHEN[t]} | {EFFECT_SIZES[t]} |" for t in TESTS]
    measured = [
        "| test | equal models | equal means, skewed | a better model |",
        "|---|---|---|---|",
    ]
    found = rates()
    measured += [f"| `{test}` | {' | '.join(shares)} |" for test, shares in found.items()]
    models, pairs = pairing()
    a, b = close_call()
    drawn = run_test("permutation", a, b, seed=0)
    t = run_test("paired-t", a, b)
    m = np.arange(1, len(HOLM_CASE) + 1)
    recorded = [f"- {k}: {', '.join(f'{p:.3f}' for p in v)}" for k, v in RECORDED.items()]
    calls = [p for v in RECORDED.values() for p in v]
    noise = np.sqrt(drawn.p_value * (1 - drawn.p_value) / 1000)
    return _TEXT.format(
        which="\n".join(which),
        measured="\n".join(measured),
        n_users=N_USERS,
        repeats=REPEATS,
        margin=f"{2 * np.sqrt(0.05 * 0.95 / REPEATS):.1%}",
        paired_power=found["paired-t"][-1],
        unpaired_power=found["two-sample-t"][-1],
        means=", ".join(f"{name} {x.mean():.4f}" for name, x in zip("ABC", models, strict=True)),
        correlation=f"{np.corrcoef(models[0], models[1])[0, 1]:.2f}",
        pairs="\n".join(pairs),
        ranx=RANX,
        recorded="\n".join(recorded),
        n_significant=sum(p <= 0.01 for p in calls),
        n_calls=len(calls),
        drawn=f"{drawn.p_value:.4f}",
        t=f"{t.p_value:.4f}",
        noise=f"{noise:.4f}",
        holm=steps(HOLM_CASE, "holm", LEVEL / m[::-1]),
        bh=steps(BH_CASE, "benjamini-hochberg", LEVEL * m / len(m)),
    )


_TEXT = """\
# Which test, and what others get wrong

Written by `docs/significance.py` and checked by `tests/comparison/test_significance_page.py`: do
not edit.

## Which test

Both models are scored on the same users, so take a paired test, and correct for the number of
questions asked. `tr.compare` does both unless told otherwise.

All tests ask about future users, of whom the users ranked are a sample, whatever design chose them.
`tr.compare(..., population="finite")` asks about the users there are: with all of them ranked in
full the difference is known and nothing is tested; with some of them, or with sampled ranks, z and
bootstrap take the smaller error of a finite population, and the tests below are refused.

{which}

Every p-value is two-sided and never 0. All tests report the same mean difference, with a standard
error. Read these first: with a million users nearly every difference is significant, few matter.

How often each says "different" at 5 %, in {repeats} repeats of {n_users} users (so ± {margin} in
two standard errors at 5 %), on `hit@10` for `mcnemar` and `two-proportion-z` and on `ndcg@10` for
the others:

{measured}

- *Equal models* should give 5 % or less, but for the chance of {repeats} repeats.
- *Equal means, skewed*: one model loses a little with nine users of ten and wins much with the
  tenth; neither is better on average. `wilcoxon` and `sign` are sure that they differ. They are
  right about their own null hypothesis, and wrong for a table of means.
- *A better model*: more is better. The two unpaired tests find next to nothing.

## Mistake 1: an unpaired test of paired values

Tukey's test is for independent groups. Users who are easy for one model are easy for the other;
unpaired, that common part counts as noise. Three models on the same {n_users} users have a mean
ndcg@10 of {means}; the values of A and B have a correlation of {correlation}.
By construction A is better than B, and B than C:

| pair | difference | Tukey p | paired t p | Holm-adjusted |
|---|---|---|---|---|
{pairs}

In the simulation above, the paired t test finds {paired_power} of differences such as that of A and
B, its unpaired form {unpaired_power}.

ranx {ranx} offers this test as `compare(..., stat_test="tukey")`: it hands the per-query scores to
`scipy.stats.tukey_hsd`, which knows nothing of pairs. Its default is the paired t test, which is
right; but it does not correct for the number of pairs. The dissertation's own two-proportion z
and two-sample t are unpaired too. We keep them for its tables, under their names.

Ours: `run_test("paired-t", a, b)`, then `adjust(p_values, "holm")`.

## Mistake 2: a randomisation test whose p changes

A test by random sign flips must give the same p for the same seed, or nobody can check it. ranx
{ranx} takes a `random_seed` and calls `np.random.seed` in a function that numba compiles with
`parallel=True`. That seeds the calling thread; the loop runs on the threads of numba's pool (ranx
chooses the layer `workqueue`), which have generators of their own. One question, chosen to be a
close call, always with `random_seed=42`, asked {n_calls} times (numba 0.68.1):

{recorded}

{n_significant} of these {n_calls} answers are significant at ranx's default of 0.01, the others
are not. One thread is not enough to get the same p twice. The numbers scatter as 1,000 flips must,
with a standard deviation of {noise}; what is missing is a seed that works. Also, its p is the share
of flips that are as extreme, which is 0 where none is: a p-value of 0 claims what no finite number
of flips can show.

Ours draws from addresses made of the seed and the number of the resample, so threads, order and
machine do not enter; counts the sample as one of its own resamples, so that p is at least
1 / (1 + resamples); and enumerates all signs where few users differ. For this question
`run_test("permutation", a, b, seed=0)` says p = {drawn}, every time, and the paired t test {t}.

## Mistake 3: Holm without the step-down

Holm's correction holds the smallest of m p-values against alpha / m, the next against
alpha / (m - 1), and so on, *and stops at the first that fails*. Without the stop:

{holm}

0.022 and 0.045 are called significant where the smaller 0.020 is not. And the guarantee is gone: a
family of two true null hypotheses can be arranged to give a false alarm with a chance of 1.5 alpha.

The step-up of Benjamini and Hochberg goes the other way: all p-values *up to the last* that passes
are significant. Each for itself, real findings are lost:

{bh}

WarpRec did both of these up to version 2.1.3, and does them right since 2.1.4 (read in 1.0.0,
1.5.12, 1.15.2, 2.0.0, 2.1.0, 2.1.2 to 2.1.4 and 2.2.8; the functions of 2.1.3 give the third column
of both tables, those of 2.1.4 and 2.2.8 the last).

Ours: `adjust(p_values, "holm")` and `adjust(p_values, "benjamini-hochberg")` return adjusted
p-values, which never change the order of the p-values they came from.
"""


if __name__ == "__main__":
    if sys.argv[1:] == ["ranx"]:
        sys.stdout.write(json.dumps(ranx_fisher()) + "\n")
    else:
        PAGE.write_text(page(), encoding="utf-8")
