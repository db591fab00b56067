"""Models of `implicit <https://github.com/benfred/implicit>`_."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from truerank.adapters.numbering import Numbering
from truerank.adapters.scorers import CalledScorer, by_factors, by_item_item
from truerank.arrays import Int, Scores
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError
from truerank.ranking.scorer import Scorer


def from_implicit(
    model: Any,
    data: Interactions,
    *,
    user_ids: ArrayLike | None = None,
    item_ids: ArrayLike | None = None,
) -> Scorer:
    """A fitted model of implicit as a Scorer: factors (ALS, BPR, LMF) or item-item neighbours.

    The biases of BPR and LMF are columns of their factors already. Item-item models score
    ``history @ similarity``; an item that is nobody's neighbour scores 0 and ties with the others
    of its kind, where implicit leaves it out of its list.

    Args:
        model: The fitted model.
        data: The training data: what the model was fitted on is ``data.matrix()``, or has the
            rows and columns that ``user_ids`` and ``item_ids`` name. Item-item models score
            from its history, weights included. (implicit writes to the matrix it is given and
            ours is read-only: fit on ``data.matrix().copy()``.)
        user_ids: External ids of the model's rows, where they are not ``data.user_ids``.
        item_ids: External ids of the model's columns, where they are not ``data.item_ids``.
    """
    similarity = getattr(model, "similarity", None)
    factors = [_array(getattr(model, name, None)) for name in ("user_factors", "item_factors")]
    if similarity is None and any(part is None for part in factors):
        raise InvalidArgumentError(
            "model", type(model).__name__, "a fitted factor or item-item model of implicit",
            "call its fit(data.matrix()) first",
        )  # fmt: skip
    n_users = data.n_users if user_ids is None else len(np.asarray(user_ids))
    shape = (n_users, similarity.shape[0]) if similarity is not None else _sizes(factors)
    numbering = Numbering.of_matrix(data, shape, user_ids, item_ids)
    history = numbering.history()

    def rows(users: Int) -> Scores:
        scores = np.full((len(users), numbering.n_items), -np.inf)
        for k, user in enumerate(users):
            items, values = model.recommend(
                int(user), history[user], N=numbering.n_items, filter_already_liked_items=False
            )
            scores[k, items] = values
        return scores

    called = CalledScorer(rows, numbering, f"implicit {type(model).__name__}")
    if similarity is not None:
        return by_item_item(called, history, similarity)
    return by_factors(called, *factors)


def _array(factors: Any) -> Any:
    """Factors on a GPU come as implicit's own matrix."""
    return factors.to_numpy() if hasattr(factors, "to_numpy") else factors


def _sizes(factors: list[Any]) -> tuple[int, int]:
    return len(factors[0]), len(factors[1])
