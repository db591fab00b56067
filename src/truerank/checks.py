"""Checks of what people pass, each the same sentence everywhere: what, why, what to do."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from truerank.errors import InvalidArgumentError


def is_number(value: object) -> bool:
    """A real number, Python's or numpy's: no text, no truth value.

    Nor a whole number from 2**63 on, which compiled code cannot take: write it as a float.

    >>> is_number(0.5), is_number(np.int64(3)), is_number("0.5"), is_number(True), is_number(2**63)
    (True, True, False, False, False)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 2**63
    return isinstance(value, float | np.integer | np.floating)


def is_whole(value: object, least: int = 1) -> bool:
    """A whole number from ``least`` on, Python's or numpy's, and no truth value.

    >>> is_whole(3), is_whole(np.int64(0)), is_whole(0, least=0), is_whole(3.0), is_whole(True)
    (True, False, True, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return False
    return int(value) >= least


def whole_number(
    name: str,
    value: Any,
    least: int = 1,
    most: int | None = None,
    *,
    want: str = "",
    hint: str = "",
) -> int:
    """The value as a plain integer, or one sentence with its name.

    >>> whole_number("k", np.int64(10))
    10
    >>> whole_number("k", 2.5)
    Traceback (most recent call last):
    truerank.errors.InvalidArgumentError: k must be a whole number, at least 1, got 2.5
    """
    if not is_whole(value, least) or (most is not None and value > most):
        limits = f"at least {least}" + ("" if most is None else f" and at most {most:,}")
        raise InvalidArgumentError(name, value, want or f"a whole number, {limits}", hint)
    return int(value)


def check_counts(**counts: int) -> None:
    """Whole numbers from 1, or one sentence with the name of the one that is not."""
    for name, value in counts.items():
        whole_number(name, value)


def check_positive(**values: float) -> None:
    """Positive finite numbers, or one sentence with the name of the one that is not."""
    for name, value in values.items():
        if not is_number(value) or not 0 < value < math.inf:
            raise InvalidArgumentError(name, value, "positive and finite")


def check_not_negative(**values: float) -> None:
    """Finite numbers from 0, or one sentence with the name of the one that is not."""
    for name, value in values.items():
        if not is_number(value) or not 0 <= value < math.inf:
            raise InvalidArgumentError(name, value, "at least 0 and finite")


def check_l2(l2: float, *, zero: bool = False, hint: str = "") -> None:
    """A penalty is finite and positive; some models can do without (``zero``)."""
    if not is_number(l2) or not math.isfinite(l2) or not (l2 > 0 or (zero and l2 == 0)):
        raise InvalidArgumentError(
            "l2", l2, "at least 0 and finite" if zero else "positive and finite", hint
        )


def check_dropout(**shares: float) -> None:
    """Shares of what is left out leave something, or one sentence names the one that does not."""
    for name, share in shares.items():
        if not is_number(share) or not 0 <= share < 1:
            raise InvalidArgumentError(name, share, "at least 0 and below 1", "try 0.33")


def check_one_of(name: str, value: object, known: Iterable[str]) -> None:
    """One of these words, or a sentence with the nearest.

    >>> check_one_of("solver", "cgg", ("cholesky", "cg"))
    Traceback (most recent call last):
    truerank.errors.InvalidArgumentError: solver must be one of cholesky, cg, got 'cgg'; did you \
mean 'cg'?
    """
    known = list(known)
    if value not in known:
        raise InvalidArgumentError(
            name, value, f"one of {', '.join(known)}", did_you_mean(value, known)
        )


def nearest(name: object, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that looks most like this one; None if none does.

    Capitals do not count, nor whether words are joined by ``-`` or ``_``.

    >>> nearest("Item_KNN", ["item-knn", "user-knn"]), nearest("rpb", ["bpr"], cutoff=0.9)
    ('item-knn', None)
    """
    plain = {_plain(one): one for one in reversed(list(known))}
    near = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=cutoff)
    return plain[near[0]] if near else None


def did_you_mean(name: object, known: Iterable[str], cutoff: float = 0.6) -> str:
    """``"did you mean 'bpr'?"``, or nothing if no known name is near.

    >>> did_you_mean("brp", ["bpr", "ccl"])
    "did you mean 'bpr'?"
    """
    near = nearest(name, known, cutoff)
    return "" if near is None else f"did you mean {near!r}?"


def _plain(name: object) -> str:
    return str(name).lower().replace("_", "-")
