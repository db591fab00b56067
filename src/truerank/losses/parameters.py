"""The numbers that losses take, checked before any training starts, and without torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

from truerank.errors import InvalidArgumentError
from truerank.losses.entries import entry_of


def check_temperature(temperature: object) -> None:
    """Scores are divided by it."""
    if not 0 < _number(temperature) < math.inf:
        raise InvalidArgumentError(
            "temperature", temperature, "a positive number", "0.05 to 0.5 is usual for cosines"
        )


def check_margin(margin: object) -> None:
    """A margin of 1 or more would never push a negative away: no cosine is above it."""
    if not 0 <= _number(margin) < 1:
        raise InvalidArgumentError(
            "margin", margin, "in [0, 1)", "it is a cosine below which negatives are left alone"
        )


def check_weight(weight: object) -> None:
    """A negative weight would reward high scores of negatives."""
    if not 0 <= _number(weight) < math.inf:
        raise InvalidArgumentError("weight", weight, "a finite number, at least 0")


_CHECKS = {"temperature": check_temperature, "margin": check_margin, "weight": check_weight}

PARAMETERS = tuple(_CHECKS)
"""Their names, as settings of a model are called beside them."""


def check_parameters(name: str, parameters: Mapping[str, Any]) -> None:
    """These are parameters of the loss ``name``, with values that it can use.

    A weight of None is left to the loss (``infonce_debiased``: the number of samples).

    >>> check_parameters("ccl", {"margin": 0.9, "weight": 150.0})
    """
    known = entry_of(name).parameters
    for parameter, value in parameters.items():
        if parameter not in known:
            raise InvalidArgumentError(
                "parameter", parameter, f"one that the loss {name!r} takes",
                f"it takes {', '.join(known)}" if known else "it takes none",
            )  # fmt: skip
        if not (name == "infonce_debiased" and parameter == "weight" and value is None):
            _CHECKS[parameter](value)


def _number(value: object) -> float:
    """NaN, which is in no range, for what is not a number."""
    return float(value) if isinstance(value, Real) else math.nan
