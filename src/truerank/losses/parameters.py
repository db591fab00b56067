"""The numbers that losses take, each with its check; without torch.

Which of them a loss takes, and their defaults, stand in the signature of its function.
"""

from __future__ import annotations

import math
from typing import Any

from truerank.checks import is_number
from truerank.errors import InvalidArgumentError


def check_temperature(temperature: Any) -> None:
    """Scores are divided by it."""
    if not is_number(temperature) or not 0 < temperature < math.inf:
        raise InvalidArgumentError(
            "temperature", temperature, "a positive number", "0.05 to 0.5 is usual for cosines"
        )


def check_margin(margin: Any) -> None:
    """A margin of 1 or more would never push a negative away: no cosine is above it."""
    if not is_number(margin) or not 0 <= margin < 1:
        raise InvalidArgumentError(
            "margin", margin, "in [0, 1)", "it is a cosine below which negatives are left alone"
        )


def check_weight(weight: Any) -> None:
    """A negative weight would reward high scores of negatives."""
    if not is_number(weight) or not 0 <= weight < math.inf:
        raise InvalidArgumentError("weight", weight, "a finite number, at least 0")


CHECKS = {"temperature": check_temperature, "margin": check_margin, "weight": check_weight}

PARAMETERS = tuple(CHECKS)
"""Their names, as settings of a model are called beside them."""

NEUTRAL = {"temperature": 1.0, "margin": 0.0, "weight": 1.0}
"""What changes nothing: how a loss without the parameter is computed by one that has it."""
