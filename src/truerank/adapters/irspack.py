"""Models of `irspack <https://github.com/tohtsky/irspack>`_."""

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


def from_irspack(
    model: Any,
    data: Interactions,
    *,
    user_ids: ArrayLike | None = None,
    item_ids: ArrayLike | None = None,
) -> Scorer:
    """A learnt recommender of irspack as a Scorer.

    Item-item models (EDLAE, SLIM, kNN, P3alpha, RP3beta) score by their matrix, factor models
    (IALS, truncated SVD) by their factors, all others by ``get_score``.

    Args:
        model: The recommender after ``learn()``.
        data: The training data: what the model was made with is ``data.matrix()``, or has the
            rows and columns that ``user_ids`` and ``item_ids`` name.
        user_ids: External ids of the model's rows, where they are not ``data.user_ids``.
        item_ids: External ids of the model's columns, where they are not ``data.item_ids``.
    """
    numbering = Numbering.of_matrix(data, model.X_train_all.shape, user_ids, item_ids)

    def rows(users: Int) -> Scores:
        scores = model.get_score(users)
        return np.asarray(scores.toarray() if hasattr(scores, "toarray") else scores)

    called = CalledScorer(rows, numbering, f"irspack {type(model).__name__}")
    try:
        rows(np.zeros(1, dtype=np.int64))
    except RuntimeError as error:
        raise InvalidArgumentError(
            "model", type(model).__name__, "learnt", f"call its learn() first ({error})"
        ) from error
    if hasattr(model, "W"):
        return by_item_item(called, model.X_train_all, model.W)
    if hasattr(model, "get_user_embedding") and hasattr(model, "get_item_embedding"):
        return by_factors(called, model.get_user_embedding(), model.get_item_embedding())
    return called
