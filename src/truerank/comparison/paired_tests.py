"""Tests of two models on the same users, by formula. All are two-sided.

Both models are scored on the same users, and some users are easy for every model. A paired test
looks at each user's difference, where that common part has cancelled.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from truerank.arrays import Float
from truerank.comparison.outcome import SMALLEST_P, Outcome, joined, never_zero
from truerank.comparison.values import Pairs, checked_binary

EXACT_BELOW = 25
"""McNemar: the binomial distribution below so many discordant users, else its normal limit."""

WILCOXON_EXACT_TO = 50
"""Wilcoxon: the exact distribution for at most this many users that differ, else the normal."""

FEW = 20
"""With fewer users that differ than this, the t distribution is a guess and the note says so."""


def paired_t(a: ArrayLike, b: ArrayLike, *, weight: ArrayLike | None = None) -> Outcome:
    r"""Student's t test of the mean difference.

    .. math::  t = m / \mathrm{SE}, \qquad p = P(|T_{n-1}| \ge |t|)

    with m and SE of :class:`~truerank.comparison.values.Pairs`. Valid for any values where users
    are independent and enough of them differ for the mean to be nearly normal: some tens
    usually, more if a few users have differences much larger than the rest.

    Where all differences are one number other than 0, t is infinite and its p would be 0. The
    p-value then is that of the exact sign-flip test, :math:`2^{1-n}`.

    Args:
        a: Value of each user under the first model.
        b: Value of the same users, in the same order, under the second.
        weight: Weight of each user. The standard error takes the weights as given numbers, not
            as counts of users: doubling all of them changes nothing.

    Returns:
        The statistic is t; the effect size is Cohen's d_z, the mean difference over the standard
        deviation of the differences.

    >>> round(paired_t([0.6, 0.5, 0.9, 0.8], [0.4, 0.5, 0.6, 0.7]).p_value, 4)
    0.1027
    """
    pairs = Pairs.of(a, b, weight)
    if pairs.why_undecided:
        return undecided("paired-t", pairs)
    if pairs.constant:
        p, note = constant_difference(pairs.n)
        return outcome_of(
            "paired-t", pairs, math.copysign(math.inf, pairs.mean), p, pairs.d_z, note
        )
    t = pairs.mean / pairs.std_error
    p, note = never_zero(2 * float(special.stdtr(pairs.n - 1, -abs(t))))
    return outcome_of("paired-t", pairs, t, p, pairs.d_z, joined(note, few_differ(pairs)))


def mcnemar(a: ArrayLike, b: ArrayLike) -> Outcome:
    r"""McNemar's test of hit or miss, 0 or 1 for every user.

    Of the users that one model hits and the other misses, let b be those that only the first
    hits and c those that only the second hits. If the models are equally good, b is
    Binomial(b + c, 1/2). Users that both hit or both miss tell nothing.

    * b + c < 25: exact, :math:`p = \min(1, 2 P(X \le \min(b, c)))`; valid for any number of
      users, and conservative.
    * otherwise: :math:`\chi^2_1 = (\max(|b - c| - 1, 0))^2 / (b + c)`. The 1 is the continuity
      correction, which keeps this p close to the exact one; b = c gives p = 1.

    Returns:
        The statistic is min(b, c) if exact, else chi-square; the effect size is Cohen's h of the
        two hit rates, :math:`2 \arcsin\sqrt{p_a} - 2 \arcsin\sqrt{p_b}`.

    >>> mcnemar([1, 1, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, 0, 1]).p_value
    0.125
    """
    pairs = Pairs.of(a, b)
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    checked_binary("a", x, "mcnemar")
    checked_binary("b", y, "mcnemar")
    effect = cohens_h(float(x.mean()), float(y.mean()))
    if pairs.why_undecided:
        return undecided("mcnemar", pairs, effect)
    only_a, only_b = _wins(pairs)
    n = only_a + only_b
    if n < EXACT_BELOW:
        fewer = min(only_a, only_b)
        note = f"exact: only {n} users differ"
        return outcome_of("mcnemar", pairs, fewer, _binomial_p(fewer, n), effect, note)
    chi2 = max(abs(only_a - only_b) - 1, 0) ** 2 / n
    p, note = never_zero(math.erfc(math.sqrt(chi2 / 2)))
    return outcome_of("mcnemar", pairs, chi2, p, effect, note)


def sign_test(a: ArrayLike, b: ArrayLike) -> Outcome:
    r"""The sign test: does one model win more users than the other?

    Of the n users that differ, the first model wins W. If a user is as likely to be won as
    lost, W is Binomial(n, 1/2), and :math:`p = \min(1, 2 P(X \le \min(W, n - W)))`, exactly,
    for any n. Users that do not differ are left out.

    It says nothing about the mean: many small losses and few large wins are a loss here.

    Returns:
        The statistic is W; the effect size is (wins - losses) / (wins + losses).

    >>> sign_test([3, 5, 4, 9, 7], [1, 2, 2, 8, 7]).p_value
    0.125
    """
    pairs = Pairs.of(a, b)
    wins, losses = _wins(pairs)
    n = wins + losses
    effect = (wins - losses) / n if n else 0.0
    if pairs.why_undecided:
        return undecided("sign", pairs, effect)
    p, note = never_zero(_binomial_p(min(wins, losses), n))
    return outcome_of("sign", pairs, wins, p, effect, note)


def wilcoxon(a: ArrayLike, b: ArrayLike) -> Outcome:
    r"""Wilcoxon's signed-rank test.

    The differences that are not 0 are ranked by size, ties sharing the mean of their ranks;
    :math:`W_+` and :math:`W_-` sum the ranks of the positive and the negative ones. If the
    differences are symmetric about 0, each rank is as likely to be in one as in the other.

    * at most 50 differ: the exact distribution over all signs, given the ranks, ties included.
      Without ties it is scipy's ``wilcoxon(zero_method="wilcox", method="exact")``, with them
      ``method=PermutationMethod()`` taken over all signs.
    * otherwise the normal limit, :math:`z = (W_+ - n(n+1)/4) / \sqrt{(n(n+1)(2n+1) -
      \tfrac12\sum(t^3 - t)) / 24}` over groups of t ties; no continuity correction: scipy's
      ``method="asymptotic", correction=False``.

    It tests symmetry, not the mean: where the differences are skewed, it may be sure of a
    difference of means that does not exist. See docs/significance.md.

    Returns:
        The statistic is min(W+, W-), as scipy's; the effect size is the rank-biserial
        correlation, :math:`(W_+ - W_-) / (W_+ + W_-)`.

    >>> wilcoxon([3, 5, 4, 9, 7], [1, 2, 0, 8, 7]).p_value
    0.125
    """
    pairs = Pairs.of(a, b)
    d = pairs.differing
    n = len(d)
    ranks, ties = _midranks(np.abs(d)) if n else (d, d)
    plus = float(ranks[d > 0].sum())
    minus = float(ranks[d < 0].sum())
    effect = (plus - minus) / (plus + minus) if n else 0.0
    if pairs.why_undecided:
        return undecided("wilcoxon", pairs, effect)
    fewer = min(plus, minus)
    if n <= WILCOXON_EXACT_TO:
        p = _signed_rank_p(fewer, ranks)
        note = f"exact: only {n} users differ" if n < FEW else ""
    else:
        variance = (n * (n + 1) * (2 * n + 1) - float((ties**3 - ties).sum()) / 2) / 24
        z = (plus - n * (n + 1) / 4) / math.sqrt(variance)
        p, note = never_zero(2 * float(special.ndtr(-abs(z))))
    return outcome_of("wilcoxon", pairs, fewer, p, effect, note)


# -------------------------------------------------------------------- what tests share


def undecided(name: str, pairs: Pairs, effect: float | None = None) -> Outcome:
    """The outcome where nothing can be told: p = 1, and why."""
    size = pairs.d_z if effect is None else effect
    return outcome_of(name, pairs, 0.0, 1.0, size, pairs.why_undecided)


def constant_difference(n: int) -> tuple[float, str]:
    """The p of n equal differences: only one sign pattern and its opposite are as extreme.

    >>> constant_difference(3)[0]
    0.25
    """
    p = max(2.0 ** max(1 - n, -1022), SMALLEST_P)
    return p, "all users differ by the same amount: p is that of the exact sign-flip test"


def few_differ(pairs: Pairs) -> str:
    """A warning where so few users differ that limit theorems do not help."""
    n = len(pairs.differing)
    return f"only {n} of {pairs.n:,} users differ: permutation is exact there" if n < FEW else ""


def cohens_h(p: float, q: float) -> float:
    """Cohen's h: the difference of two proportions where equal steps are equally hard to see."""
    return 2 * math.asin(math.sqrt(p)) - 2 * math.asin(math.sqrt(q))


def outcome_of(
    name: str, pairs: Pairs, statistic: float, p: float, effect: float, note: str
) -> Outcome:
    """An outcome with the mean difference and standard error of the pairs."""
    return Outcome(
        name=name,
        statistic=float(statistic),
        p_value=p,
        difference=pairs.mean,
        std_error=pairs.std_error,
        effect_size=effect,
        n=pairs.n,
        note=note,
    )


def _wins(pairs: Pairs) -> tuple[int, int]:
    return int((pairs.difference > 0).sum()), int((pairs.difference < 0).sum())


def _binomial_p(fewer: int, n: int) -> float:
    """min(1, 2 P(X <= fewer)) for X ~ Binomial(n, 1/2), by the incomplete beta function."""
    if 2 * fewer >= n:
        return 1.0
    return min(1.0, 2 * float(special.betainc(n - fewer, fewer + 1, 0.5)))


def _midranks(size: Float) -> tuple[Float, Float]:
    """Ranks from 1, ties sharing their mean; and the sizes of the groups of ties.

    Sizes that agree to 12 digits of the largest are ties: 0.3 - 0.2 and 0.2 - 0.1.
    """
    _, group, ties = np.unique(
        np.round(size / size.max(), 12), return_inverse=True, return_counts=True
    )
    last = np.cumsum(ties)
    return (last - (ties - 1) / 2)[group], ties.astype(np.float64)


def _signed_rank_p(fewer: float, ranks: Float) -> float:
    """2 P(W <= fewer), W summing each rank with probability 1/2: counted over all 2^n signs."""
    doubled = np.rint(2 * ranks).astype(np.int64)  # midranks are halves
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled:
        ways[rank:] = ways[rank:] + ways[:-rank]  # counts up to 2^50: exact in a double
    at_most = float(ways[: round(2 * fewer) + 1].sum())
    return min(1.0, 2 * at_most / 2.0 ** len(ranks))
