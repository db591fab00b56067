"""Checks of what a model is given: training data to fit, histories of new users to fold in."""

from __future__ import annotations

from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError


def check_training_data(interactions: object) -> None:
    """Interactions, or a sentence that says how to make some: the first line of every ``fit``."""
    _check_interactions(interactions, "interactions")


def check_history(history: Interactions, n_items: int) -> None:
    """Histories of other users must be over the items of the model."""
    _check_interactions(history, "history")
    if history.n_items != n_items:
        raise InvalidDataError(
            f"the history is over {history.n_items:,} items and the model over {n_items:,}; give "
            "both the same item vocabulary"
        )


def _check_interactions(value: object, name: str) -> None:
    if not isinstance(value, Interactions):
        raise InvalidArgumentError(
            name, type(value).__name__, "Interactions",
            "make them with Interactions.from_csr(matrix) or Interactions.from_arrays(user, item)",
        )  # fmt: skip
