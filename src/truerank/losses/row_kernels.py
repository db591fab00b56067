"""Sums over the scores of one row that several fused gradients are made of; compiled."""

from __future__ import annotations

import numpy as np

from truerank.arrays import Float32
from truerank.numerics.exponential import exp32
from truerank.numerics.jit import fastmath

_0, _1 = np.float32(0), np.float32(1)
_FACTORS = 96  # numbers up to 2: their product is a float32; 3 x 32 run without a rest
_LARGE = 2.0**900  # times 2 to the 96 it is still a double
_SIGN, _MAGNITUDE, _LEAST = np.int32(31), np.int32(0x7FFFFFFF), np.int32(-0x80000000)


@fastmath
def _logistic_part(
    s: Float32, less: np.float32, scale: np.float32
) -> tuple[np.float32, np.float32, np.float32]:
    """Sum of max(x, 0), product of 1 + exp(-|x|) and sum of the gradients, x = s - less.

    For at most :data:`_FACTORS` scores, which become ``scale`` times their gradients.
    """
    above, product, gradients = _0, _1, _0
    for j in range(len(s)):
        x = s[j] - less
        small = exp32(-abs(x))
        above += max(x, _0)
        product *= _1 + small
        part = scale / (_1 + small)
        s[j] = part if x > _0 else part * small
        gradients += s[j]
    return above, product, gradients


@fastmath
def logistic(s: Float32, less: np.float32, scale: np.float32) -> tuple[float, np.float32]:
    """Sum of log(1 + exp(s - less)); ``s`` becomes ``scale`` times its gradient; and its sum.

    Terms are max(x, 0) + log(1 + exp(-|x|)), and one logarithm does for a product of hundreds.
    """
    total, product, gradients = np.float64(0), np.float64(1), _0
    for start in range(0, len(s), _FACTORS):
        above, factors, gradient = _logistic_part(s[start : start + _FACTORS], less, scale)
        total += np.float64(above)
        gradients += gradient
        product *= np.float64(factors)
        if product > _LARGE:
            total += np.log(product)
            product = np.float64(1)
    return total + np.log(product), gradients


@fastmath
def _in_order(bits: np.int32) -> np.int32:
    """The bits of a float32 as a number that is larger for a larger float; and back again."""
    return np.int32(bits ^ np.int32(np.int32(bits >> _SIGN) & _MAGNITUDE))


@fastmath
def largest(s: Float32, start: np.float32) -> np.float32:
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
def exponentials(s: Float32, top: np.float32, inverse: np.float32) -> np.float32:
    """``s`` becomes exp((s - top) inverse); their sum."""
    total = _0
    for j in range(len(s)):
        s[j] = exp32((s[j] - top) * inverse)
        total += s[j]
    return total


@fastmath
def times(s: Float32, factor: np.float32) -> None:
    """``s`` becomes ``factor`` times itself."""
    for j in range(len(s)):
        s[j] *= factor
