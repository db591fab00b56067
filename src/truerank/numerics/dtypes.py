"""The two precisions of a dense model, by name, and checks that many models share."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np

from truerank.errors import InvalidArgumentError

Precision = Literal["float32", "float64"]


def dtype_of(precision: str) -> type[np.floating[Any]]:
    """The numpy type of this name, or one clear sentence.

    >>> dtype_of("float32")
    <class 'numpy.float32'>
    """
    if precision not in get_args(Precision):
        raise InvalidArgumentError("dtype", precision, "'float32' or 'float64'")
    return np.float32 if precision == "float32" else np.float64


def check_l2(l2: float, *, zero: bool = False, hint: str = "") -> None:
    """A penalty is finite and positive; some models can do without (``zero``)."""
    if not is_number(l2) or not math.isfinite(l2) or not (l2 > 0 or (zero and l2 == 0)):
        raise InvalidArgumentError(
            "l2", l2, "at least 0 and finite" if zero else "positive and finite", hint
        )


def check_rank(rank: int, name: str = "rank") -> None:
    """A rank is a whole number from 1."""
    if isinstance(rank, bool) or not isinstance(rank, int | np.integer) or rank < 1:
        raise InvalidArgumentError(name, rank, "a whole number, at least 1")


def check_dropout(**shares: float) -> None:
    """Shares of what is left out leave something, or one sentence names the one that does not."""
    for name, share in shares.items():
        if not is_number(share) or not 0 <= share < 1:
            raise InvalidArgumentError(name, share, "at least 0 and below 1", "try 0.33")


def is_number(value: object) -> bool:
    """A real number, Python's or numpy's: no text, no truth value.

    Nor a whole number from 2**63 on, which compiled code cannot take: write it as a float.

    >>> is_number(0.5), is_number(np.int64(3)), is_number("0.5"), is_number(True), is_number(2**63)
    (True, True, False, False, False)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 2**63
    return isinstance(value, float | np.integer | np.floating)
