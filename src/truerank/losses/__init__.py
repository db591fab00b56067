"""Losses: pure torch functions of the scores of positives and negatives, one value per positive.

``LOSSES["bpr"](pos, neg)`` with ``pos`` of shape (batch,) and ``neg`` of shape (batch, n) gives
(batch,); the trainer reduces. Each is one file: its formula, its torch function, whose signature
declares the parameters and their defaults, and its fused gradient, the compiled one that trains;
:mod:`.table` names the files. torch is imported when a loss is looked up, not before.

Memory: at most four arrays like ``neg``, the gradient with respect to it included.
"""

from truerank.losses.debiasing import positive_rate
from truerank.losses.loss import LossFn
from truerank.losses.table import (
    DEFINITIONS,
    LOSSES,
    check_parameters,
    inputs_of,
    resolve,
    temperature_of,
)

__all__ = [
    "LOSSES",
    "LossFn",
    "check_parameters",
    "inputs_of",
    "positive_rate",
    "resolve",
    "temperature_of",
]

# Every loss of the table is also here by its name, which is that of its file as well:
# ``truerank.losses.bpr`` is the function.
globals().update({name: loss.function for name, loss in DEFINITIONS.items()})


def __getattr__(name: str) -> LossFn:
    """For type checkers, which cannot see the line above; nothing else comes here."""
    raise AttributeError(f"module 'truerank.losses' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *LOSSES]
