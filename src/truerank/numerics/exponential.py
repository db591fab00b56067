r"""The exponential in float32, written so that the compiler runs eight of them at once.

Without Intel's library numba calls the system's ``exp`` one number at a time, which would take
longer than the matrix products around it. With :math:`k = \lfloor x \log_2 e + 1/2 \rfloor` and
:math:`r = x - k \log 2`, taken away in two parts so that nothing is lost,

.. math::  e^x = 2^k e^r, \qquad |r| \le \tfrac12 \log 2,

:math:`e^r` is a polynomial of degree 7 (the one of Cephes' ``expf``) and :math:`2^k` is put
together from its bits: no branch, no call. The error is below 2 units in the last place.
"""

from __future__ import annotations

import numpy as np

from truerank.numerics.jit import strict

_LOG2_E = np.float32(1.44269504088896341)
_LOG_2_HIGH, _LOG_2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_C2, _C3, _C4, _C5, _C6, _C7 = (
    np.float32(c)
    for c in (
        5.0000001201e-1,
        1.6666665459e-1,
        4.1665795894e-2,
        8.3334519073e-3,
        1.3981999507e-3,
        1.9875691500e-4,
    )
)
_HALF, _ONE = np.float32(0.5), np.float32(1.0)
_BIAS, _MANTISSA = np.int32(127), np.int32(23)

LOWEST, HIGHEST = np.float32(-87.0), np.float32(88.0)
"""Arguments outside are taken as these, so that the result is a normal, finite number."""


@strict  # reordered, the two parts of log 2 would be one again
def exp32(x: np.float32) -> np.float32:
    """The exponential of a float32."""
    x = min(max(x, LOWEST), HIGHEST)
    k = np.floor(x * _LOG2_E + _HALF)
    r = (x - k * _LOG_2_HIGH) - k * _LOG_2_LOW
    p = ((((_C7 * r + _C6) * r + _C5) * r + _C4) * r + _C3) * r + _C2
    bits = np.int32((np.int32(k) + _BIAS) << _MANTISSA)
    return np.float32((p * r * r + r + _ONE) * bits.view(np.float32))
