r"""Slopes of the losses of :mod:`truerank.losses` in the scores, one row at a time; compiled.

With :math:`s_0` the score of the positive, :math:`s_j` those of its n negatives and :math:`s_k`
those of m further positives, each function returns the loss of the row and
:math:`\partial\ell/\partial s_0`, and puts :math:`\partial\ell/\partial s_j` and
:math:`\partial\ell/\partial s_k` in the place of the scores. The losses themselves are printed in
:mod:`truerank.losses`; a test compares every slope with that of torch's autograd.

All in float32, logarithms of sums and what is made of them excepted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from truerank.arrays import Float32
from truerank.losses.entries import ENTRIES
from truerank.numerics.exponential import exp32
from truerank.numerics.jit import fastmath

_0, _1, _2 = np.float32(0), np.float32(1), np.float32(2)
_FACTORS = 96  # numbers up to 2: their product is a float32; 3 x 32 run without a rest
_LARGE = 2.0**900  # times 2 to the 96 it is still a double
_SIGN, _MAGNITUDE, _LEAST = np.int32(31), np.int32(0x7FFFFFFF), np.int32(-0x80000000)
_BPR, _BCE, _MSE, _CCL, _SOFTMAX, _MINE, _DEBIASED = range(7)
_CODES = {
    "bpr": _BPR,
    "bce": _BCE,
    "mse": _MSE,
    "mse_debiased": _MSE,
    "ccl": _CCL,
    "ccl_debiased": _CCL,
    "softmax": _SOFTMAX,
    "sampled_softmax": _SOFTMAX,  # the negatives' scores have lost their log q before
    "infonce": _SOFTMAX,
    "mine": _MINE,
    "mine_plus": _MINE,
    "infonce_debiased": _DEBIASED,
}


class Rule(NamedTuple):
    """A loss and its parameters, for compiled code."""

    code: int
    temperature: np.float32
    margin: np.float32
    weight: np.float32  # negative: the number of negatives

    @classmethod
    def of(cls, name: str, parameters: dict[str, Any]) -> Rule | None:
        """The rule of a named loss with checked parameters; None for one that is not here."""
        if name not in _CODES:
            return None
        weight = parameters.get("weight", None if name == "infonce_debiased" else 1.0)
        return cls(
            code=_CODES[name],
            temperature=np.float32(parameters.get("temperature", 1.0)),
            margin=np.float32(parameters.get("margin", 0.0)),
            weight=np.float32(-1.0 if weight is None else weight),
        )


def has_slopes(loss: object) -> bool:
    """Whether this loss needs no autograd.

    >>> [has_slopes(loss) for loss in ("ccl", len)]
    [True, False]
    """
    return isinstance(loss, str) and loss in _CODES and loss in ENTRIES


@fastmath
def _logistic_part(
    s: Float32, less: np.float32, scale: np.float32
) -> tuple[np.float32, np.float32, np.float32]:
    """Sum of max(x, 0), product of 1 + exp(-|x|) and sum of the slopes, x = s - less.

    For at most :data:`_FACTORS` scores, which become ``scale`` times their slopes.
    """
    above, product, slopes = _0, _1, _0
    for j in range(len(s)):
        x = s[j] - less
        small = exp32(-abs(x))
        above += max(x, _0)
        product *= _1 + small
        part = scale / (_1 + small)
        s[j] = part if x > _0 else part * small
        slopes += s[j]
    return above, product, slopes


@fastmath
def _logistic(s: Float32, less: np.float32, scale: np.float32) -> tuple[float, np.float32]:
    """Sum of log(1 + exp(s - less)); ``s`` becomes ``scale`` times its slopes; and their sum.

    Terms are max(x, 0) + log(1 + exp(-|x|)), and one logarithm does for a product of hundreds.
    """
    total, product, slopes = np.float64(0), np.float64(1), _0
    for start in range(0, len(s), _FACTORS):
        above, factors, slope = _logistic_part(s[start : start + _FACTORS], less, scale)
        total += np.float64(above)
        slopes += slope
        product *= np.float64(factors)
        if product > _LARGE:
            total += np.log(product)
            product = np.float64(1)
    return total + np.log(product), slopes


@fastmath
def _in_order(bits: np.int32) -> np.int32:
    """The bits of a float32 as a number that is larger for a larger float; and back again."""
    return np.int32(bits ^ np.int32(np.int32(bits >> _SIGN) & _MAGNITUDE))


@fastmath
def _largest(s: Float32, start: np.float32) -> np.float32:
    """The largest of these and ``start``.

    Among integers, because the compiler takes floats one at a time (is one of them NaN?): 12
    times faster at 800. A NaN comes first or last; the exponentials of all show it.
    """
    bits, top = s.view(np.int32), _LEAST
    for j in range(len(bits)):
        mine = _in_order(bits[j])
        top = mine if mine > top else top
    return max(np.int32(_in_order(top)).view(np.float32), start)


@fastmath
def _exponentials(s: Float32, top: np.float32, inverse: np.float32) -> np.float32:
    """``s`` becomes exp((s - top) inverse); their sum."""
    total = _0
    for j in range(len(s)):
        s[j] = exp32((s[j] - top) * inverse)
        total += s[j]
    return total


@fastmath
def _times(s: Float32, factor: np.float32) -> None:
    for j in range(len(s)):
        s[j] *= factor


@fastmath
def _squares(s: Float32, factor: np.float32) -> np.float32:
    """Sum of squares; ``s`` becomes 2 s ``factor``."""
    total = _0
    for j in range(len(s)):
        total += s[j] * s[j]
        s[j] *= _2 * factor
    return total


@fastmath
def _above(s: Float32, margin: np.float32, factor: np.float32) -> np.float32:
    """Sum of what is above the margin; ``s`` becomes ``factor`` where something is, else 0."""
    total = _0
    for j in range(len(s)):
        over = s[j] - margin
        total += max(over, _0)
        s[j] = factor if over > _0 else _0
    return total


@fastmath
def _infonce_debiased(
    rule: Rule, pos: np.float32, neg: Float32, extra: Float32, tau: np.float32, scale: np.float32
) -> tuple[float, np.float32]:
    """Logarithms relative to the positive, in double precision: sums may be far apart."""
    n, m = len(neg), len(extra)
    t, share, own = np.float64(rule.temperature), np.float64(tau), np.float64(pos)
    weight = np.float64(rule.weight) if rule.weight >= _0 else np.float64(n)
    top, top_extra = _largest(neg, neg[0]), _largest(extra, extra[0])
    ahead, ahead_extra = (np.float64(top) - own) / t, (np.float64(top_extra) - own) / t
    everything = ahead + np.log(np.float64(_exponentials(neg, top, _1 / rule.temperature)) / n)
    positives = np.float64(_exponentials(extra, top_extra, _1 / rule.temperature)) / m
    gap = np.log(share) + ahead_extra + np.log(positives) - everything
    log_f, floor = everything + np.log(-np.expm1(gap)) - np.log1p(-share), -(1.0 + own) / t
    kept = not (gap >= 0.0 or log_f <= floor)  # which NaN is not either: it must be seen
    level = (log_f if kept else floor) + np.log(weight)
    loss = max(level, 0.0) + np.log1p(np.exp(-abs(level)))
    slope = np.float64(scale) * weight / ((1.0 - share) * t)
    _times(neg, np.float32(slope / n * np.exp(ahead - loss)) if kept else _0)
    _times(extra, np.float32(-slope * share / m * np.exp(ahead_extra - loss)) if kept else _0)
    return loss, np.float32(-np.float64(scale) / t * np.exp(level - loss))


@fastmath
def slopes_of_row(
    rule: Rule, pos: np.float32, neg: Float32, extra: Float32, tau: np.float32, scale: np.float32
) -> tuple[float, np.float32]:
    """Loss of one positive and ``scale`` times its slope; the other slopes replace the scores.

    Args:
        rule: The loss.
        pos: Score of the positive.
        neg: Scores of its negatives; becomes their slopes.
        extra: Scores of further positives, for debiased losses; becomes their slopes.
        tau: The user's share of positives; 0 for losses that know none.
        scale: A factor of all slopes, not of the loss.
    """
    n, t = np.float32(len(neg)), rule.temperature
    if rule.code == _BPR:
        loss, slopes = _logistic(neg, pos, scale)
        return loss, -slopes
    if rule.code == _BCE:
        loss, _ = _logistic(neg, _0, scale * rule.weight / n)
        small = exp32(-abs(pos))
        below = small if pos > _0 else _1
        own = np.log1p(np.float64(small)) + max(np.float64(-pos), 0.0)
        return own + np.float64(rule.weight / n) * loss, -scale * below / (_1 + small)
    if rule.code == _MSE or rule.code == _CCL:
        share, each = tau if tau > _0 else _1, rule.weight / n
        of_extra = -rule.weight * tau / np.float32(max(len(extra), 1))
        if rule.code == _MSE:
            own, slope = (_1 - pos) * (_1 - pos), _2 * (pos - _1)
            pushed, more = _squares(neg, scale * each), _squares(extra, scale * of_extra)
        else:
            own, slope = _1 - pos, -_1
            pushed = _above(neg, rule.margin, scale * each)
            more = _above(extra, rule.margin, scale * of_extra)
        return np.float64(share * own + each * pushed + of_extra * more), scale * share * slope
    if rule.code == _SOFTMAX:
        top = _largest(neg, pos)
        own = exp32((pos - top) / t)
        others = _exponentials(neg, top, _1 / t)
        _times(neg, scale / (t * (own + others)))
        loss = np.log(np.float64(own + others)) + np.float64((top - pos) / t)
        return loss, -scale * others / (t * (own + others))
    if rule.code == _MINE:
        top = _largest(neg, neg[0])
        total = _exponentials(neg, top, _1 / t)
        _times(neg, scale * rule.weight / (t * total))
        level = np.log(np.float64(total)) + np.float64(top / t)
        return np.float64(rule.weight) * level - np.float64(pos / t), -scale / t
    return _infonce_debiased(rule, pos, neg, extra, tau, scale)
