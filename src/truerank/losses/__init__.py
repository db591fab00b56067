"""Losses: pure torch functions of the scores of positives and negatives, one value per positive.

``LOSSES["bpr"](pos, neg)`` with ``pos`` of shape (batch,) and ``neg`` of shape (batch, n) gives
(batch,); the trainer reduces. torch is imported when a loss is looked up, not before.

Memory: at most four arrays like ``neg``, the gradient with respect to it included.
"""

from truerank.losses.parameters import check_parameters
from truerank.losses.positive_rate import positive_rate
from truerank.losses.table import LOSSES, LossFn, inputs_of, resolve, temperature_of

__all__ = [
    "LOSSES",
    "LossFn",
    "check_parameters",
    "inputs_of",
    "positive_rate",
    "resolve",
    "temperature_of",
]


def __getattr__(name: str) -> LossFn:
    """Every loss of the table is also here by its name: ``truerank.losses.bpr``."""
    if name not in LOSSES:
        raise AttributeError(f"module 'truerank.losses' has no attribute {name!r}")
    return LOSSES[name]


def __dir__() -> list[str]:
    return [*__all__, *LOSSES]
