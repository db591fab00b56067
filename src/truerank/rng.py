r"""Random numbers that are addressed, not consumed.

A draw belongs to an *address* ``(seed, purpose, key...)``, for instance (7, NEGATIVES, user 12).
Nothing is shared between addresses, so the same numbers come out on one core or a
hundred, in any order, after a restart. Two forms:

* :func:`stream` gives a numpy ``Generator`` for an address: for a handful of draws in Python.
* :func:`addresses` gives one well-mixed 64-bit word per address, for whole arrays of keys at
  once: for a draw per interaction, and as the starting word of the counter-based generator of
  the kernels, :mod:`truerank.numerics.streams` (word ``i`` of a stream is
  ``mix(key + i * GOLDEN)``, SplitMix64).
"""

from __future__ import annotations

from enum import IntEnum, unique

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.errors import InvalidArgumentError

GOLDEN = 0x9E3779B97F4A7C15
"""The odd increment of SplitMix64 [steele2014]_: 2**64 divided by the golden ratio."""

MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Of its finaliser."""


@unique
class Stream(IntEnum):
    """One number per purpose. Append only: renumbering changes published results."""

    SPLIT = 1
    NEGATIVES = 2
    USER_SAMPLE = 3
    BOOTSTRAP = 4
    TIES = 5
    DEMO = 6
    FOLD_IN = 7
    PILOT = 8
    FACTORS = 9
    LEARNED_LINEAR = 10
    TRAINING = 11
    SEARCH = 12
    RACE_USERS = 13
    CATALOGUE_ORDER = 14
    TORCH = 20


@unique
class Training(IntEnum):
    """What the stream of training is for: the first part of its keys. Append only."""

    BATCHES = 0
    VALIDATION_USERS = 1
    HELD_OUT_ITEMS = 2
    RANKED_AMONG = 3
    FOLD_IN = 4
    NEW_USERS = 5
    NEW_USERS_ITEMS = 6


def stream(seed: int, purpose: Stream, *key: int) -> np.random.Generator:
    """A generator for this purpose and key, the same on one core or a hundred."""
    return np.random.default_rng([checked_seed(seed), int(purpose), *key])


def addresses(seed: int, purpose: Stream, *key: ArrayLike) -> NDArray[np.uint64]:
    """One 64-bit word per address, uniform and independent for all practical purposes.

    Args:
        seed: Any integer from 0 to 2**64 - 1.
        purpose: What the numbers are for; purposes never share numbers.
        key: Non-negative integers or integer arrays, broadcast against each other.

    >>> addresses(7, Stream.SPLIT, [0, 1]) == addresses(7, Stream.SPLIT, 1)
    array([False,  True])
    """
    words = _mix(np.asarray(checked_seed(seed), dtype=np.uint64))
    for part in (int(purpose), *key):
        salt = np.asarray(part).astype(np.uint64)
        with np.errstate(over="ignore"):
            words = _mix((words ^ _mix(salt)) + np.uint64(GOLDEN))
    return np.atleast_1d(words)


def uniforms(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Words as doubles in [0, 1): their upper 53 bits.

    >>> uniforms(np.array([0, 2**63], dtype=np.uint64)).tolist()
    [0.0, 0.5]
    """
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def checked_seed(seed: int) -> int:
    """The seed as a plain integer, or one clear sentence about it."""
    if not isinstance(seed, int | np.integer) or not 0 <= int(seed) < 2**64:
        raise InvalidArgumentError("seed", seed, "an integer from 0 to 2**64 - 1")
    return int(seed)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64: every input bit flips every output bit half of the time."""
    with np.errstate(over="ignore"):
        z = x + np.uint64(GOLDEN)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(MULTIPLIERS[0])
        z = (z ^ (z >> np.uint64(27))) * np.uint64(MULTIPLIERS[1])
        return np.asarray(z ^ (z >> np.uint64(31)), dtype=np.uint64)
