"""Pipelines and scorers of `LensKit <https://lenskit.org>`_ 2025 and later."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import numpy as np

from truerank.adapters.numbering import Numbering
from truerank.adapters.scorers import CalledScorer
from truerank.arrays import Int, Scores
from truerank.data.id_order import find_ids
from truerank.data.interactions import Interactions
from truerank.errors import InvalidDataError
from truerank.ranking.scorer import Scorer


def from_lenskit(model: Any, data: Interactions, *, component: str = "scorer") -> Scorer:
    """A trained pipeline, or a trained scorer component, as a Scorer.

    LensKit scores a user at a time, and so does this: expect about a millisecond per user and
    model call. Items that it gives no score (NaN) rank last, as it never recommends them.

    Args:
        model: A trained ``Pipeline``, or a component that scores items.
        data: Our training data, under the same external ids. A component alone, which has no
            component to look histories up, gets them from here (weights as ratings).
        component: Which component of the pipeline scores.
    """
    lk = import_module("lenskit.data")
    everything = lk.ItemList(item_ids=data.item_ids)
    numbering = Numbering.by_ids(data, data.user_ids, data.item_ids)
    is_pipeline = hasattr(model, "run") and hasattr(model, "node")
    name = type(model.node(component).component if is_pipeline else model).__name__
    takes_query = not is_pipeline and "query" in inspect.signature(model).parameters

    def score(user: int) -> Any:
        who = data.user_ids[user].item()
        if is_pipeline:
            return model.run(component, query=who, items=everything)
        if not takes_query:
            return model(items=everything)
        seen = slice(data.indptr[user], data.indptr[user + 1])
        ratings = {} if data.weights is None else {"rating": data.weights[seen]}
        history = lk.ItemList(item_ids=data.item_ids[data.indices[seen]], **ratings)
        return model(query=lk.RecQuery(user_id=who, history_items=history), items=everything)

    def rows(users: Int) -> Scores:
        scores = np.full((len(users), data.n_items), -np.inf)
        for k, user in enumerate(users):
            scored = score(int(user))
            values = np.asarray(scored.scores("numpy"), dtype=np.float64)
            known = ~np.isnan(values)
            if not known.any():
                raise InvalidDataError(
                    f"LensKit's {name} gives no item a score for user {data.user_ids[user]}; it "
                    "does not know the user, or has no history: train it on the same data"
                )
            places = find_ids(data.item_ids, np.asarray(scored.ids())[known])
            scores[k, places] = values[known]
        return scores

    return CalledScorer(rows, numbering, f"LensKit {name}")
