"""Corrections of p-values for the number of questions asked.

With m tests at level alpha of true null hypotheses, one of them is "significant" with a chance of
up to m alpha. An adjusted p-value can be held against alpha as if it were the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.arrays import Float
from truerank.comparison.values import unknown_name
from truerank.errors import InvalidArgumentError, InvalidDataError


def bonferroni(p_values: ArrayLike) -> Float:
    r"""Bonferroni: :math:`\tilde p_i = \min(1, m p_i)`.

    The chance of any false alarm among the m is at most alpha, however they depend on each
    other. :func:`holm` gives the same guarantee and is never larger.

    >>> bonferroni([0.01, 0.04, 0.5]).tolist()
    [0.03, 0.12, 1.0]
    """
    p = _checked(p_values)
    return np.minimum(p * len(p), 1.0)


def holm(p_values: ArrayLike) -> Float:
    r"""Holm's step-down correction [holm1979]_.

    With the p-values in ascending order,

    .. math::  \tilde p_{(i)} = \min\Bigl(1, \max_{j \le i} (m - j + 1)\, p_{(j)}\Bigr).

    The chance of any false alarm is at most alpha, however the tests depend on each other. The
    maximum is the step-down: once one hypothesis stands, so do all with a larger p. Without it,
    a larger p can be significant where a smaller one is not.

    >>> holm([0.04, 0.01, 0.03]).tolist()
    [0.06, 0.03, 0.06]
    """
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    steps = np.arange(len(p), 0, -1)
    return _put_back(np.maximum.accumulate(steps * p[order]), order)


def benjamini_hochberg(p_values: ArrayLike) -> Float:
    r"""Benjamini and Hochberg's step-up correction [benjamini1995]_.

    With the p-values in ascending order,

    .. math::  \tilde p_{(i)} = \min\Bigl(1, \min_{j \ge i} \frac{m}{j}\, p_{(j)}\Bigr).

    The expected *share* of false alarms among what is called significant is at most alpha, for
    tests that are independent or positively dependent. The minimum is the step-up: what comes
    before a significant p is significant too.

    >>> benjamini_hochberg([0.03, 0.04, 0.01]).tolist()
    [0.04, 0.04, 0.03]
    """
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    stretched = p[order] * (len(p) / np.arange(1, len(p) + 1))
    return _put_back(np.minimum.accumulate(stretched[::-1])[::-1], order)


def none(p_values: ArrayLike) -> Float:
    """The p-values as they are: right if one question is asked, and was chosen beforehand."""
    return _checked(p_values).copy()


CORRECTIONS: dict[str, Callable[[ArrayLike], Float]] = {
    "bonferroni": bonferroni,
    "holm": holm,
    "benjamini-hochberg": benjamini_hochberg,
    "none": none,
}
"""Every correction by name."""


def adjust(p_values: ArrayLike | Sequence[float], method: str = "holm") -> Float:
    """Adjusted p-values in the order given, by a name of :data:`CORRECTIONS`.

    >>> adjust([0.01, 0.04], "holm").tolist()
    [0.02, 0.04]
    """
    if method not in CORRECTIONS:
        raise unknown_name("correction", method, CORRECTIONS)
    return CORRECTIONS[method](p_values)


def _put_back(ascending: Float, order: NDArray[np.intp]) -> Float:
    adjusted = np.empty_like(ascending)
    adjusted[order] = np.minimum(ascending, 1.0)
    return adjusted


def _checked(p_values: ArrayLike) -> Float:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise InvalidArgumentError("p_values", p.shape, "a flat array of p-values")
    if np.isnan(p).any():
        raise InvalidDataError(
            f"{int(np.isnan(p).sum())} of {len(p)} p-values are nan, so how many tests there are "
            "is unknown; leave these tests out before correcting"
        )
    outside = p[(p < 0) | (p > 1)]
    if len(outside):
        raise InvalidArgumentError("p_values", float(outside[0]), "between 0 and 1")
    return p
