"""Models of `RecTools <https://github.com/MobileTeleSystems/RecTools>`_."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank.adapters.numbering import Numbering
from truerank.adapters.scorers import CalledScorer, by_factors, by_item_item
from truerank.arrays import Int, Scores
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError
from truerank.ranking.scorer import Scorer


def from_rectools(model: Any, dataset: Any, data: Interactions) -> Scorer:
    """A fitted model of RecTools as a Scorer.

    Any model works through its ``recommend`` for whole lists; those that score by vectors (the
    wrappers of implicit's ALS and BPR, PureSVD, LightFM) or by an item-item matrix (EASE, the
    wrapper of implicit's neighbours) take the fast path. Items that a model never recommends
    rank last.

    Args:
        model: The fitted model.
        dataset: The ``rectools.dataset.Dataset`` it was fitted on.
        data: Our training data, under the same external ids.
    """
    if not getattr(model, "is_fitted", False):
        raise InvalidArgumentError(
            "model", type(model).__name__, "fitted", "call its fit(dataset) first"
        )
    user_ids, item_ids = (
        id_map.get_external_sorted_by_internal()
        for id_map in (dataset.user_id_map, dataset.item_id_map)
    )
    numbering = Numbering.by_ids(data, user_ids, item_ids)
    distance = getattr(getattr(model, "u2i_dist", None), "name", "DOT")
    sign = -1.0 if distance == "EUCLIDEAN" else 1.0  # RecTools returns distances there

    def rows(users: Int) -> Scores:
        lists = model.recommend(
            users=user_ids[users],
            dataset=dataset,
            k=numbering.n_items,
            filter_viewed=False,
            add_rank_col=False,
        )
        place = np.full(numbering.n_users, -1)
        place[users] = np.arange(len(users))
        at = place[dataset.user_id_map.convert_to_internal(lists["user_id"])]
        items = dataset.item_id_map.convert_to_internal(lists["item_id"])
        scores = np.full((len(users), numbering.n_items), -np.inf)
        scores[at, items] = sign * lists["score"].to_numpy(dtype=np.float64)
        return scores

    called = CalledScorer(rows, numbering, f"RecTools {type(model).__name__}")
    if hasattr(model, "_get_u2i_vectors") and distance == "DOT":
        return by_factors(called, *model._get_u2i_vectors(dataset))
    item_item = _item_item(model)
    if item_item is None:
        return called
    history = dataset.get_user_item_matrix(include_weights=True)
    scorer = by_item_item(called, history, item_item)
    # EASE of RecTools 0.19 recommends by the transpose of its matrix; we rank what it recommends.
    return scorer if scorer is not called else by_item_item(called, history, item_item.T)


def _item_item(model: Any) -> Any:
    """The matrix of EASE or of a neighbour model, None where there is none."""
    if hasattr(model, "weight"):
        return model.weight
    return getattr(getattr(model, "model", None), "similarity", None)
