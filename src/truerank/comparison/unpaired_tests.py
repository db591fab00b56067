r"""The dissertation's tests, which treat the two models as if they had different users.

They are here for its tables and for users who really differ, as in an A/B test. Two models scored
on the same users agree on who is easy; unpaired, that agreement counts as noise, twice:
:math:`\mathrm{Var}(a) + \mathrm{Var}(b)` in place of :math:`\mathrm{Var}(a - b)`. So they miss
real differences, often most of them. Both are two-sided; for the one-sided alternative of the
text (the first model is worse) halve p where the difference is negative.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from truerank.arrays import Float
from truerank.comparison.outcome import SMALLEST_P, Outcome, never_zero
from truerank.comparison.paired_tests import cohens_h
from truerank.comparison.values import ROUNDING, checked_binary, checked_values


def two_proportion_z(a: ArrayLike, b: ArrayLike) -> Outcome:
    r"""The z test of two hit rates, pooled: ``eq:std_z`` of the dissertation.

    .. math::
        z = \frac{\hat p_1 - \hat p_2}{\sqrt{\bar p \bar q \left(1/m_1 + 1/m_2\right)}},
        \qquad \bar p = \frac{m_1 \hat p_1 + m_2 \hat p_2}{m_1 + m_2}, \quad \bar q = 1 - \bar p

    which is the text's :math:`\sqrt{2 \bar p \bar q / m}` where both have m users. Valid for
    *independent* samples with some tens of hits and misses. On the same users, whose hits are
    positively correlated between models, its p is too large: use
    :func:`~truerank.comparison.paired_tests.mcnemar`.

    Returns:
        The statistic is z. The standard error is the text's unpooled one, for an interval,
        :math:`\sqrt{\hat p_1 \hat q_1 / m_1 + \hat p_2 \hat q_2 / m_2}`; the effect size is
        Cohen's h.

    >>> round(two_proportion_z([1] * 40 + [0] * 60, [1] * 30 + [0] * 70).statistic, 4)
    1.4825
    """
    x, y = checked_values("a", a), checked_values("b", b)
    checked_binary("a", x, "two-proportion-z")
    checked_binary("b", y, "two-proportion-z")
    p, q = float(x.mean()), float(y.mean())
    pooled = float(x.sum() + y.sum()) / (len(x) + len(y))
    pooled_error = math.sqrt(pooled * (1 - pooled) * (1 / len(x) + 1 / len(y)))
    error = math.sqrt(p * (1 - p) / len(x) + q * (1 - q) / len(y))
    if pooled_error == 0:
        note = f"every user of both models has the value {p:g}"
        return _outcome("two-proportion-z", x, y, 0.0, 1.0, error, 0.0, note)
    z = (p - q) / pooled_error
    p_value, note = never_zero(2 * float(special.ndtr(-abs(z))))
    return _outcome("two-proportion-z", x, y, z, p_value, error, cohens_h(p, q), note)


def two_sample_t(a: ArrayLike, b: ArrayLike) -> Outcome:
    r"""Student's two-sample t test with pooled variance.

    .. math::
        t = \frac{\bar a - \bar b}{s_p \sqrt{1/m_1 + 1/m_2}}, \qquad
        s_p^2 = \frac{(m_1 - 1) s_a^2 + (m_2 - 1) s_b^2}{m_1 + m_2 - 2}

    with :math:`m_1 + m_2 - 2` degrees of freedom. The dissertation says "two-sample t-test" and
    not whether pooled or Welch's; pooled, as its z test. With as many users in both, t is the
    same either way. Valid for *independent* samples of nearly equal variance; on the same users
    its p is too large: use :func:`~truerank.comparison.paired_tests.paired_t`.

    Where neither model's values vary but their means differ, t is infinite; p then is two
    over the number of ways to divide the users, at least that of the exact permutation test.

    Returns:
        The statistic is t; the effect size is Cohen's d, the difference of means over s_p.

    >>> round(two_sample_t([0.6, 0.5, 0.9, 0.8], [0.4, 0.5, 0.6, 0.7]).p_value, 4)
    0.2283
    """
    x, y = checked_values("a", a), checked_values("b", b)
    m, k = len(x), len(y)
    difference = float(x.mean() - y.mean())
    size = max(float(np.abs(x).max()), float(np.abs(y).max()))
    if abs(difference) <= ROUNDING * size and max(np.ptp(x), np.ptp(y)) <= ROUNDING * size:
        note = f"every user of both models has the value {x[0]:g}"
        error = math.nan if m + k == 2 else 0.0
        return _outcome("two-sample-t", x, y, 0.0, 1.0, error, 0.0, note)
    if m + k == 2:
        note = "one user of each model only: the spread between users is unknown"
        return _outcome("two-sample-t", x, y, 0.0, 1.0, math.nan, math.nan, note)
    if max(np.ptp(x), np.ptp(y)) <= ROUNDING * size:
        infinite = math.copysign(math.inf, difference)
        p = max(min(2 / float(special.binom(m + k, m)), 1.0), SMALLEST_P)
        note = "no user differs from the others of a model: p is that of the permutation test"
        return _outcome("two-sample-t", x, y, infinite, p, 0.0, infinite, note)
    squares = float(((x - x.mean()) ** 2).sum() + ((y - y.mean()) ** 2).sum())
    s = math.sqrt(squares / (m + k - 2))
    error = s * math.sqrt(1 / m + 1 / k)
    t = difference / error
    p, note = never_zero(2 * float(special.stdtr(m + k - 2, -abs(t))))
    return _outcome("two-sample-t", x, y, t, p, error, difference / s, note)


def _outcome(
    name: str, x: Float, y: Float, statistic: float, p: float, error: float, effect: float,
    note: str,
) -> Outcome:  # fmt: skip
    return Outcome(
        name=name,
        statistic=statistic,
        p_value=p,
        difference=float(x.mean() - y.mean()),
        std_error=error,
        effect_size=effect,
        n=len(x) + len(y),
        note=note,
    )
