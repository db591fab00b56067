"""Random words by address, compiled: the one SplitMix64 of the kernels.

The same words as :mod:`truerank.rng` gives for whole arrays. Word ``i`` of a stream depends on the
stream's key and on ``i`` alone, so neither blocks nor threads nor a restart can change it.
"""

from __future__ import annotations

import numpy as np

from truerank.numerics.jit import strict
from truerank.rng import GOLDEN, MULTIPLIERS

_GOLDEN = np.uint64(GOLDEN)
_M1, _M2 = (np.uint64(multiplier) for multiplier in MULTIPLIERS)
_S11, _S27, _S30, _S31, _S32 = (np.uint64(shift) for shift in (11, 27, 30, 31, 32))
_LOW = np.uint64(0xFFFFFFFF)


@strict
def mix(x: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64, as in :mod:`truerank.rng`."""
    z = x + _GOLDEN
    z = (z ^ (z >> _S30)) * _M1
    z = (z ^ (z >> _S27)) * _M2
    return z ^ (z >> _S31)


@strict
def extend_address(prefix: np.uint64, part: int) -> np.uint64:
    """The word of address (..., part), given the word of (...): one step of ``rng.addresses``."""
    return mix((prefix ^ mix(np.uint64(part))) + _GOLDEN)


@strict
def word(key: np.uint64, i: int) -> np.uint64:
    """Word ``i`` of the stream that starts at ``key``."""
    return mix(key + np.uint64(i) * _GOLDEN)


@strict
def uniform(bits: np.uint64) -> float:
    """A random word as a number in [0, 1): its upper 53 bits."""
    return float(np.float64(bits >> _S11) * 2.0**-53)


@strict
def below(bits: np.uint64, n: int) -> int:
    """A random word as a whole number from 0 to n - 1, n < 2**32: floor(word * n / 2**64).

    No rejection step: no value is off by more than n / 2**64 in probability.
    """
    size = np.uint64(n)
    return int(np.int64(((bits >> _S32) * size + (((bits & _LOW) * size) >> _S32)) >> _S32))
