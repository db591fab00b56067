"""Models of `RecBole <https://recbole.io>`_."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np

from truerank.adapters.numbering import Numbering
from truerank.adapters.scorers import CalledScorer, by_factors
from truerank.arrays import Int, Scores
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError
from truerank.ranking.scorer import Scorer

PAIRS = 2**20
"""Most (user, item) pairs that a model without ``full_sort_predict`` is asked at once."""


def from_recbole(model: Any, dataset: Any, data: Interactions) -> Scorer:
    """A trained model of RecBole as a Scorer: general, context-aware and knowledge models.

    Scores come from ``full_sort_predict``, or from ``predict`` over all items where a model has
    none, in evaluation mode. RecBole's ids are strings, so ours are compared as strings.
    Sequential models score a history, not a user, and are refused.

    Args:
        model: The trained model.
        dataset: The ``recbole.data.dataset.Dataset`` of its training data
            (``train_data.dataset``).
        data: Our training data, under the same external ids.
    """
    kind = getattr(getattr(model, "type", None), "name", "")
    if kind == "SEQUENTIAL":
        raise InvalidArgumentError(
            "model", type(model).__name__, "a model that scores users",
            "it scores sequences: write its scores with RecBole's full_sort_scores and read them "
            "with tr.read_lists, see docs/elsewhere.md",
        )  # fmt: skip
    user_field, item_field = dataset.uid_field, dataset.iid_field
    numbering = Numbering.by_ids(
        data,
        *(np.asarray(dataset.field2id_token[field]) for field in (user_field, item_field)),
        as_text=True,
    )
    interaction = import_module("recbole.data.interaction").Interaction
    torch = sys.modules["torch"]  # loaded: the model is made of it

    def rows(users: Int) -> Scores:
        was_training = model.training
        model.eval()
        try:
            with torch.no_grad():
                return np.concatenate([part.cpu().numpy() for part in parts(users)])
        finally:
            model.train(was_training)

    def parts(users: Int) -> Any:
        asked = dataset.join(interaction({user_field: users})).to(model.device)
        try:
            yield model.full_sort_predict(asked).view(-1, numbering.n_items)
        except NotImplementedError:
            items = dataset.get_item_feature().to(model.device)
            step = max(1, PAIRS // numbering.n_items)
            for first in range(0, len(users), step):
                some = interaction({user_field: users[first : first + step]})
                pairs = dataset.join(some).to(model.device).repeat_interleave(numbering.n_items)
                pairs.update(items.repeat(len(some)))
                yield model.predict(pairs).view(-1, numbering.n_items)

    called = CalledScorer(rows, numbering, f"RecBole {type(model).__name__}")
    weights: list[Any] = [getattr(model, f"{side}_embedding", None) for side in ("user", "item")]
    if all(hasattr(part, "weight") for part in weights):
        return by_factors(called, *(part.weight.detach().cpu().numpy() for part in weights))
    return called
