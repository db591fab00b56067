"""How many users tell two models apart: separate samples, as in the text, and paired ones."""

from __future__ import annotations

import math

from truerank.checks import check_positive
from truerank.errors import InvalidArgumentError
from truerank.planning.user_sampling import (
    critical_value,
    nearest_size,
    normal_quantile,
    spread_of,
)

__all__ = ["users_to_detect", "users_to_detect_paired"]


def users_to_detect(
    difference: float,
    *,
    p: float = 0.5,
    std: float | None = None,
    power: float = 0.8,
    confidence: float = 0.95,
    n_comparisons: int = 1,
    population: int | None = None,
) -> int:
    r"""Users *of each of two separate samples* that find a difference between two models.

    .. math::  m_\infty = 2\, p (1 - p) \Bigl(\frac{z_{\alpha/2k} + z_\beta}{d}\Bigr)^2

    With ``power=0.5``, :math:`z_\beta = 0`, this is ``eq:m_two`` of the text, twice ``eq:m_moe``: a
    true difference of :math:`d` is then found in half of the cases only. (The test beside it has
    a one-sided hypothesis and a two-sided z; this is two-sided.) It also takes the two samples as
    independent. Models are ranked on the *same* users, so use
    :func:`users_to_detect_paired`; this one is for comparing with somebody's published value.

    Args:
        difference: Difference to be found, absolute.
        p: Expected value of the metric, as a proportion; 0.5 is the worst case.
        std: Standard deviation of the values of single users, in place of p.
        power: Probability to find it.
        confidence: 1 - confidence is the probability of a false alarm.
        n_comparisons: Comparisons made at once: k (k - 1) / 2 for all pairs of k models.
        population: Users there are, M; None for future users (an infinite population).

    >>> users_to_detect(0.01, power=0.5), users_to_detect(0.01)
    (19207, 39244)
    """
    spread = math.sqrt(2.0) * spread_of(p, std)
    return _needed(difference, spread, power, confidence, n_comparisons, population)


def users_to_detect_paired(
    difference: float,
    *,
    p: float = 0.5,
    std: float | None = None,
    correlation: float | None = None,
    discordance: float | None = None,
    power: float = 0.8,
    confidence: float = 0.95,
    n_comparisons: int = 1,
    population: int | None = None,
) -> int:
    r"""Users, the same for both models, that find a difference between two models.

    .. math::  m_\infty = \sigma_d^2 \Bigl(\frac{z_{\alpha/2k} + z_\beta}{d}\Bigr)^2, \qquad
               \sigma_d^2 = 2 \sigma^2 (1 - \rho) \quad\text{or}\quad \psi - d^2

    with :math:`\rho` the correlation of the two models' values over users or, for recall with one
    held-out item, :math:`\psi` the part of the users that one model hits and the other misses
    (McNemar). Valid where :math:`m \psi` is at least ten or so.

    Args:
        difference: Difference to be found, absolute.
        p: Expected value of the metric, as a proportion; not used with ``discordance``.
        std: Standard deviation of the values of single users, in place of p.
        correlation: Of the two models' values over users, from -1 to below 1.
        discordance: Part of the users on which the models differ, at least ``difference``.
            Exactly one of these two.
        power: Probability to find it.
        confidence: 1 - confidence is the probability of a false alarm.
        n_comparisons: Comparisons made at once: k (k - 1) / 2 for all pairs of k models.
        population: Users there are, M; None for future users (an infinite population).

    >>> users_to_detect_paired(0.01, correlation=0.8)  # a fifth of the unpaired 39,244
    7849
    >>> users_to_detect_paired(0.01, discordance=0.05)
    3917
    """
    if (correlation is None) == (discordance is None):
        raise InvalidArgumentError(
            "correlation", correlation, "given, or discordance in its place, and not both",
            "a correlation of 0.5 is a cautious guess for two models of one family",
        )  # fmt: skip
    if discordance is not None:
        if not abs(difference) <= discordance <= 1:
            raise InvalidArgumentError(
                "discordance", discordance, f"from the difference {abs(difference):g} up to 1"
            )
        spread = math.sqrt(discordance - difference**2)
    else:
        if correlation is None or not -1 <= correlation < 1:
            raise InvalidArgumentError("correlation", correlation, "from -1 to below 1")
        spread = math.sqrt(2.0 * (1.0 - correlation)) * spread_of(p, std)
    return _needed(difference, spread, power, confidence, n_comparisons, population)


def _needed(
    difference: float,
    spread: float,
    power: float,
    confidence: float,
    n_comparisons: int,
    population: int | None,
) -> int:
    check_positive(difference=difference)
    if not 0.5 <= power < 1:
        raise InvalidArgumentError("power", power, "from 0.5 to below 1")
    found = (critical_value(confidence, n_comparisons) + normal_quantile(power)) / difference
    return nearest_size((spread * found) ** 2, population)
