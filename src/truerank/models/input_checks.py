"""What a model is given: interactions to fit, and histories over its own items to fold in."""

from __future__ import annotations

from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError


def check_interactions(given: object, name: str = "interactions") -> None:
    """Interactions, or a sentence that says how to make some."""
    if not isinstance(given, Interactions):
        raise InvalidArgumentError(
            name, type(given).__name__, "Interactions",
            "make them with Interactions.from_csr(matrix) or Interactions.from_arrays(user, item)",
        )  # fmt: skip


def check_history(history: Interactions, n_items: int) -> None:
    """Histories of other users must be over the items of the model."""
    check_interactions(history, "history")
    if history.n_items != n_items:
        raise InvalidDataError(
            f"the history is over {history.n_items:,} items and the model over {n_items:,}; give "
            "both the same item vocabulary"
        )
