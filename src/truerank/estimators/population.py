"""Whose metric is wanted: that of future users, or that of the users there are."""

from __future__ import annotations

import warnings
from typing import Literal, cast, get_args

from truerank.errors import InvalidArgumentError

Population = Literal["infinite", "finite"]
"""Future users, of whom those ranked are a sample; or the users there are."""


def checked_population(population: str) -> Population:
    """The population that a word names.

    ``auto`` once meant ``finite`` for tables of :class:`truerank.Users` and ``infinite`` for all
    others, so that the same ranks gave two answers. It is still taken, with a warning, and means
    ``infinite``.

    >>> checked_population("finite")
    'finite'
    """
    if population == "auto":
        warnings.warn(
            "population='auto' now means 'infinite', future users, for every design; say "
            "population='finite' for the metric of the users there are",
            DeprecationWarning,
            stacklevel=4,
        )
        return "infinite"
    if population not in get_args(Population):
        raise InvalidArgumentError(
            "population", population, "'infinite' or 'finite'",
            "infinite: future users, of whom these are a sample; finite: the users there are",
        )  # fmt: skip
    return cast("Population", population)
