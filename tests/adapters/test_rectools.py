"""Fitted models of RecTools: our ranks are the rank column of its ``recommend``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adapter_world import TRAIN, OwnList, check_against_lists, check_pairs, library

from truerank.adapters import from_rectools, scorer_for
from truerank.adapters.scorers import CalledScorer
from truerank.errors import InvalidArgumentError
from truerank.models.item_item import ItemItemScorer
from truerank.ranking.scorer import FactorScorer

models = library("rectools.models")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the library

import pandas as pd  # noqa: E402
from implicit.als import AlternatingLeastSquares  # noqa: E402
from implicit.bpr import BayesianPersonalizedRanking  # noqa: E402
from implicit.nearest_neighbours import CosineRecommender  # noqa: E402
from rectools.dataset import Dataset  # noqa: E402

MODELS: dict[str, tuple[Any, type]] = {
    "als": (
        lambda: models.ImplicitALSWrapperModel(
            AlternatingLeastSquares(factors=8, iterations=3, random_state=1)
        ),
        FactorScorer,
    ),
    "bpr": (
        lambda: models.ImplicitBPRWrapperModel(
            BayesianPersonalizedRanking(factors=8, iterations=20, random_state=1)
        ),
        FactorScorer,
    ),
    "pure-svd": (lambda: models.PureSVDModel(factors=8), FactorScorer),
    "ease": (lambda: models.EASEModel(regularization=20.0), ItemItemScorer),
    "item-knn": (
        lambda: models.ImplicitItemKNNWrapperModel(CosineRecommender(K=15)),
        ItemItemScorer,
    ),
    "popular": (lambda: models.PopularModel(), CalledScorer),
}


def make_dataset() -> Any:
    frame = TRAIN.to_arrow().to_pandas().sample(frac=1.0, random_state=3)
    return Dataset.construct(frame.assign(weight=1.0, datetime=pd.Timestamp("2020-01-01")))


def own_list(model: Any, dataset: Any) -> Any:
    lists = model.recommend(
        users=dataset.user_id_map.external_ids,
        dataset=dataset,
        k=TRAIN.n_items,
        filter_viewed=True,
    )
    by_user = {user: rows.sort_values("rank") for user, rows in lists.groupby("user_id")}

    def of(user: str) -> OwnList:
        rows = by_user[user]
        return rows["item_id"].tolist(), rows["score"].to_numpy(dtype=np.float64)

    return of


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    make, kind = MODELS[name]
    dataset = make_dataset()
    assert dataset.item_id_map.external_ids.tolist() != TRAIN.item_ids.tolist()
    model = make().fit(dataset)
    scorer = scorer_for(model, TRAIN, dataset=dataset)
    assert isinstance(scorer, kind)
    sharp = {"popular": 0.3, "item-knn": 0.6}.get(name, 0.9)
    check_against_lists(scorer, own_list(model, dataset), sharp=sharp)
    check_pairs(scorer)


def test_the_dataset_must_come_along() -> None:
    model = models.PopularModel().fit(make_dataset())
    with pytest.raises(InvalidArgumentError, match="the data set of rectools"):
        scorer_for(model, TRAIN)


def test_a_model_that_is_not_fitted() -> None:
    with pytest.raises(InvalidArgumentError, match="must be fitted"):
        from_rectools(models.PopularModel(), make_dataset(), TRAIN)
