"""How a property says that it does not hold, or has nothing to say."""

from __future__ import annotations

import numpy as np

import truerank as tr
from truerank.ranking.columns import COLUMNS

SLACK = 1e-9
"""Rounding of sums of a few thousand numbers in [0, 1]."""


class BrokenError(AssertionError):
    """A property does not hold."""


class NothingToCheck(Exception):  # noqa: N818  # no error: the property says nothing here
    """The property has no meaning in this world."""


def hold(condition: object, sentence: str) -> None:
    """The condition holds, or the property is broken."""
    if not bool(condition):
        raise BrokenError(sentence)


def hold_same_table(one: tr.RankTable, other: tr.RankTable, sentence: str) -> None:
    """Two tables have the same rows, in bits."""
    for name in COLUMNS:
        same = np.array_equal(getattr(one, name), getattr(other, name))
        hold(same, f"{sentence}: column {name} differs")
