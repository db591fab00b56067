"""The compiled words are those of Python's integers, and of :mod:`truerank.rng`."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from truerank.numerics import streams
from truerank.rng import GOLDEN, MULTIPLIERS, Stream, addresses, uniforms

WORD = 2**64
words = st.integers(0, WORD - 1)


def mix(x: int) -> int:
    """SplitMix64 as published, in Python's integers."""
    z = (x + GOLDEN) % WORD
    z = (z ^ (z >> 30)) * MULTIPLIERS[0] % WORD
    z = (z ^ (z >> 27)) * MULTIPLIERS[1] % WORD
    return z ^ (z >> 31)


def test_below_is_the_floor_of_the_product() -> None:
    """In Python's integers; large n, where the lower half of a word has a say, as well as small."""
    rng = np.random.default_rng(0)
    for size in (1, 2, 1000, 2**20, 2**31, 2**32 - 1):
        for bits in rng.integers(0, WORD, 300, dtype=np.uint64):
            n = int(rng.integers(max(1, size // 2), size + 1))
            assert int(streams.below(bits, n)) == int(bits) * n // WORD
        for bits in (0, 1, 2**32 - 1, 2**32, WORD - 1):
            assert int(streams.below(np.uint64(bits), size)) == bits * size // WORD


@given(words, st.integers(0, 2**31))
@settings(deadline=None)
def test_words_of_a_stream(key: int, i: int) -> None:
    assert int(streams.word(np.uint64(key), i)) == mix((key + i * GOLDEN) % WORD)


def test_compiled_addresses_are_those_of_rng() -> None:
    prefix = addresses(9, Stream.TIES, 4)[0]
    longer = addresses(9, Stream.TIES, 4, np.arange(50))
    assert [streams.extend_address(prefix, i) for i in range(50)] == longer.tolist()


@given(words)
@settings(deadline=None)
def test_uniform_numbers_are_those_of_rng(bits: int) -> None:
    assert streams.uniform(np.uint64(bits)) == uniforms(np.array([bits], np.uint64))[0] < 1.0
