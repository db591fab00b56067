"""Addressed random numbers: the same for an address, unrelated between addresses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import truerank
from truerank.errors import InvalidArgumentError
from truerank.rng import GOLDEN, Stream, addresses, checked_seed, stream, uniforms

ALARM = 1e-4
"""False-alarm rate of each statistical test below, were its seed not fixed."""

WORD = 2**64


def mix(x: int) -> int:
    """SplitMix64 as published, in Python's integers."""
    z = (x + GOLDEN) % WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def test_the_first_words_of_splitmix64() -> None:
    """The published sequence of seed 1234567."""
    words = [mix((1234567 + i * GOLDEN) % WORD) for i in range(3)]
    assert words == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize("seed", [0, 1, 2**63, WORD - 1])
def test_addresses_by_hand(seed: int) -> None:
    word = mix(seed)
    for part in (int(Stream.SPLIT), 5, 2**40):
        word = mix(((word ^ mix(part)) + GOLDEN) % WORD)
    assert addresses(seed, Stream.SPLIT, 5, 2**40).tolist() == [word]


def test_addresses_broadcast() -> None:
    grid = addresses(1, Stream.SPLIT, np.arange(3)[:, None], np.arange(4))
    assert grid.shape == (3, 4)
    assert grid[2, 3] == addresses(1, Stream.SPLIT, 2, 3)[0]
    assert grid.dtype == np.uint64


def test_addresses_differ_where_anything_differs() -> None:
    words = [
        addresses(seed, purpose, *key)[0]
        for seed in (0, 1)
        for purpose in Stream
        for key in ((), (0,), (1,), (0, 0), (0, 1), (1, 0))
    ]
    assert len(set(words)) == len(words)


def test_every_generator_of_the_library_has_a_numbered_purpose() -> None:
    """A purpose numbered by hand was used twice: search drew what learning drew."""
    home = Path(truerank.__file__).parent
    by_hand = [
        f"{path.relative_to(home)}:{number}"
        for path in sorted(home.rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if "default_rng(" in line and ">>>" not in line and path.name != "rng.py"
    ]
    assert not by_hand, "use truerank.rng.stream with a purpose of Stream"


def test_words_are_uniform_and_neighbours_unrelated() -> None:
    u = uniforms(addresses(7, Stream.NEGATIVES, np.arange(20_000)))
    assert stats.kstest(u, "uniform").pvalue > ALARM
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 4 / np.sqrt(20_000)  # P = 6e-5
    other = uniforms(addresses(8, Stream.NEGATIVES, np.arange(20_000)))
    assert abs(np.corrcoef(u, other)[0, 1]) < 4 / np.sqrt(20_000)


def test_every_bit_is_a_fair_coin() -> None:
    words = addresses(3, Stream.TIES, np.arange(10_000))
    bits = (words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    low, high = stats.binom.interval(1 - ALARM / 64, 10_000, 0.5)
    heads = bits.sum(axis=0)
    assert ((low <= heads) & (heads <= high)).all()


def test_uniforms_are_below_one() -> None:
    words = np.array([0, 2**11 - 1, 2**11, WORD - 1], dtype=np.uint64)
    assert uniforms(words).tolist() == [0.0, 0.0, 2.0**-53, 1.0 - 2.0**-53]


def test_streams_belong_to_their_address() -> None:
    draw = stream(3, Stream.BOOTSTRAP, 5).random(4)
    assert draw.tolist() == stream(3, Stream.BOOTSTRAP, 5).random(4).tolist()
    assert draw.tolist() != stream(3, Stream.BOOTSTRAP, 6).random(4).tolist()
    assert draw.tolist() != stream(3, Stream.SPLIT, 5).random(4).tolist()


@pytest.mark.parametrize("seed", [-1, WORD, 0.0, "1", None])
def test_seeds_that_are_none(seed: Any) -> None:
    for use in (
        checked_seed,
        lambda s: stream(s, Stream.DEMO),
        lambda s: addresses(s, Stream.DEMO),
    ):
        with pytest.raises(
            InvalidArgumentError, match=r"seed must be an integer from 0 to 2\*\*64 - 1, got"
        ):
            use(seed)


def test_numpy_integers_are_seeds() -> None:
    assert checked_seed(np.int32(5)) == 5  # type: ignore[arg-type]
    assert type(checked_seed(np.uint64(WORD - 1))) is int  # type: ignore[arg-type]


def test_purposes_keep_their_numbers() -> None:
    """Renumbering would change published results."""
    assert {name: int(number) for name, number in Stream.__members__.items()} | {
        "SPLIT": 1, "NEGATIVES": 2, "USER_SAMPLE": 3, "BOOTSTRAP": 4, "TIES": 5, "DEMO": 6,
        "FOLD_IN": 7,
    } == dict(Stream.__members__)  # fmt: skip
