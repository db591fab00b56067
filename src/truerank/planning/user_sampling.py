r"""How many users are enough, and how far off a sample of users may be.

The metric of a model is a mean over users of values :math:`v_u` in :math:`[0, 1]`. A simple random
sample of :math:`m` of :math:`M` users estimates it. Here are the margin of error by the normal
distribution and the one that holds for any distribution (Hoeffding);
:mod:`truerank.planning.sample_size` has two models. Formulas of the dissertation have their labels,
such as ``eq:m_moe``.

**Several models.** For :math:`k` statements to hold together each is made at level
:math:`1 - \alpha / k` (Bonferroni). The text says that this multiplies the sample size. Not by
:math:`k`: the size grows with :math:`z_{\alpha/2k}^2`, about with :math:`\log k`, and ten models
need 2.1 times the users of one.

**Finite populations.** With ``population=M`` the users are drawn without replacement and the
metric wanted is that of these :math:`M`: variances shrink by :math:`(M - m) / (M - 1)`. The text
leaves this out. Without ``population`` the answer is for future users, an infinite population.

**Rounding.** Sizes by the normal distribution are rounded to the nearest whole number, as in the
text (1,067 for 3 %), since the distribution itself is an approximation; those by Hoeffding are a
guarantee, rounded up.
"""

from __future__ import annotations

import math

from truerank.checks import check_positive
from truerank.errors import InvalidArgumentError
from truerank.planning.numbers import whole

__all__ = [
    "hoeffding_margin",
    "margin_of_error",
    "users_by_hoeffding",
    "users_for_margin",
]

# ---------------------------------------------------------------- one model, normal distribution


def margin_of_error(
    m: int,
    *,
    p: float = 0.5,
    std: float | None = None,
    confidence: float = 0.95,
    n_models: int = 1,
    population: int | None = None,
) -> float:
    r"""Half the width of the interval on ``m`` sampled users (``eq:m_moe`` solved for e).

    .. math::  e = z_{\alpha/2k}\, \sigma \sqrt{\frac1m \cdot \frac{M - m}{M - 1}},
        \qquad \sigma = \sqrt{p (1 - p)}

    Valid where :math:`m p` and :math:`m (1 - p)` are at least ten or so: the mean is then nearly
    normal. The margin is absolute. The text takes 1 % for a relative error too, because
    Recall@50 is often above .4; at p = 0.1 a margin of 1 % is a tenth of the value.

    Args:
        m: Users in the sample.
        p: Expected value of the metric, as a proportion; 0.5 is the worst case.
        std: Standard deviation of the values of single users, in place of p; at most 0.5 for
            values in [0, 1], so p = 0.5 is safe for every metric.
        confidence: Confidence.
        n_models: Models for which the margin holds at once.
        population: Users there are, M; None for future users (an infinite population).

    >>> round(margin_of_error(1_067), 4), round(margin_of_error(9_604), 4)
    (0.03, 0.01)
    >>> margin_of_error(500, population=500)
    0.0
    """
    m = _users("m", m, population)
    spread = spread_of(p, std)
    return critical_value(confidence, n_models) * spread * math.sqrt(_left(m, population) / m)


def users_for_margin(
    margin: float,
    *,
    p: float = 0.5,
    std: float | None = None,
    confidence: float = 0.95,
    n_models: int = 1,
    population: int | None = None,
) -> int:
    r"""Users for a wanted margin of error (``eq:m_moe``).

    .. math::  m_\infty = p (1 - p) \Bigl(\frac{z_{\alpha/2k}}{e}\Bigr)^2, \qquad
               m = \frac{m_\infty}{1 + (m_\infty - 1) / M}

    Valid as :func:`margin_of_error`, whose arguments it shares.

    >>> users_for_margin(0.03), users_for_margin(0.01)
    (1067, 9604)
    >>> users_for_margin(0.01, population=20_000)
    6488
    >>> round(users_for_margin(0.01, n_models=10) / users_for_margin(0.01), 2)  # not ten times
    2.05
    """
    check_positive(margin=margin)
    needed = (spread_of(p, std) * critical_value(confidence, n_models) / margin) ** 2
    return nearest_size(needed, population)


# ---------------------------------------------------------------- one model, any distribution


def hoeffding_margin(
    m: int, *, confidence: float = 0.95, n_models: int = 1, population: int | None = None
) -> float:
    r"""A margin that holds for any metric with values in [0, 1] and any number of users.

    .. math::  t = \sqrt{\frac{\log(2k/\alpha)}{2m} \Bigl(1 - \frac{m - 1}{M}\Bigr)}

    from :math:`P(|\bar v - T| \ge t) \le 2 e^{-2 m t^2}` (``eq:hoeff_bound``); the factor for a
    finite population is Serfling's [serfling1974]_. In the text the mean of the sample has the
    cutoff :math:`\delta(R \le K)` and the expectation beside it has not: it belongs to both.

    Args:
        m: Users in the sample.
        confidence: Confidence, at least.
        n_models: Models for which the margin holds at once.
        population: Users there are, M; None for future users (an infinite population).

    >>> hoeffding_margin(10_000, confidence=0.999) < 0.02  # the example of the text
    True
    """
    m = _users("m", m, population)
    left = 1.0 if population is None else 1.0 - (m - 1) / population
    return math.sqrt(_log_odds(confidence, n_models) * left / (2 * m))


def users_by_hoeffding(
    margin: float, *, confidence: float = 0.95, n_models: int = 1, population: int | None = None
) -> int:
    r"""Users that guarantee a margin for any metric with values in [0, 1] (``eq:hoeff_bound``).

    .. math::  m = \frac{L\,(1 + 1/M)}{2 t^2 + L / M}, \qquad L = \log\frac{2k}{\alpha}

    Twice the users of the normal distribution at p = 0.5, and far more for small values: the price
    of assuming nothing.

    >>> users_by_hoeffding(0.03), users_by_hoeffding(0.01)
    (2050, 18445)
    >>> users_by_hoeffding(0.01, population=20_000)
    9596
    """
    check_positive(margin=margin)
    L = _log_odds(confidence, n_models)
    if population is None:
        return math.ceil(L / (2 * margin**2))
    M = _users("population", population)
    return min(M, math.ceil(L * (1 + 1 / M) / (2 * margin**2 + L / M)))


# ---------------------------------------------------------------- parts


def critical_value(confidence: float, k: int) -> float:
    """The two-sided normal quantile, the error probability divided by k."""
    return normal_quantile(1.0 - _alpha(confidence, k) / 2.0)


def normal_quantile(probability: float) -> float:
    """The quantile of the standard normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def _log_odds(confidence: float, k: int) -> float:
    return math.log(2.0 / _alpha(confidence, k))


def _alpha(confidence: float, k: int) -> float:
    if not 0 < confidence < 1:
        raise InvalidArgumentError("confidence", confidence, "between 0 and 1")
    if k < 1:
        raise InvalidArgumentError("the number of models or comparisons", k, "at least 1")
    return (1.0 - confidence) / k


def spread_of(p: float, std: float | None) -> float:
    """The standard deviation of the values of single users."""
    if std is not None:
        if not std >= 0:
            raise InvalidArgumentError("std", std, "at least 0")
        return float(std)
    if not 0 <= p <= 1:
        raise InvalidArgumentError("p", p, "from 0 to 1")
    return math.sqrt(p * (1.0 - p))


def _left(m: int, population: int | None) -> float:
    """The part of the variance that sampling m of M without replacement leaves."""
    if population is None or m == 1:
        return 1.0
    return (population - m) / (population - 1)


def nearest_size(needed: float, population: int | None) -> int:
    """The nearest whole number, at least one; of a finite population fewer are needed."""
    if population is not None:
        M = _users("population", population)
        needed = min(float(M), needed / (1.0 + (needed - 1.0) / M))
    return max(1, math.floor(needed + 0.5))


def _users(name: str, value: int, most: int | None = None) -> int:
    value = whole(name, value)
    if most is not None and value > _users("population", most):
        raise InvalidArgumentError(name, value, f"at most the {most:,} users there are")
    return value
