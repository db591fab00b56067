"""Trained pipelines and scorers of LensKit: our ranks are positions in its recommendations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adapter_world import TRAIN, OwnList, check_against_lists, check_pairs, library

from truerank.adapters import from_lenskit, scorer_for
from truerank.data import Interactions
from truerank.errors import InvalidDataError

lenskit = library("lenskit")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the library

from lenskit.als import ImplicitMFScorer  # noqa: E402
from lenskit.basic import PopScorer  # noqa: E402
from lenskit.data import from_interactions_df  # noqa: E402
from lenskit.knn import EASEScorer, ItemKNNScorer  # noqa: E402
from lenskit.pipeline import topn_pipeline  # noqa: E402

SCORERS = {
    "als": lambda: ImplicitMFScorer(embedding_size=8, epochs=3),
    "ease": lambda: EASEScorer(regularization=20.0),
    "item-knn": lambda: ItemKNNScorer(k=15, feedback="implicit"),
    "popular": lambda: PopScorer(),
}


def make_dataset() -> Any:
    return from_interactions_df(TRAIN.to_arrow().to_pandas().sample(frac=1.0, random_state=3))


def trained(name: str) -> tuple[Any, Any]:
    scorer = SCORERS[name]()
    pipeline = topn_pipeline(scorer)
    pipeline.train(make_dataset())
    return pipeline, scorer


def own_list(pipeline: Any) -> Any:
    def of(user: str) -> OwnList:
        listed = lenskit.recommend(pipeline, user)
        return listed.ids().tolist(), np.asarray(listed.scores("numpy"), dtype=np.float64)

    return of


@pytest.mark.parametrize("name", SCORERS)
def test_pipelines_and_components(name: str) -> None:
    pipeline, component = trained(name)
    lists = own_list(pipeline)
    sharp = {"popular": 0.3, "item-knn": 0.5}.get(name, 0.9)
    by_pipeline = scorer_for(pipeline, TRAIN)
    check_against_lists(by_pipeline, lists, sharp=sharp)
    check_pairs(by_pipeline)
    alone = scorer_for(component, TRAIN)
    check_against_lists(alone, lists, sharp=sharp)
    assert alone.name == by_pipeline.name == f"LensKit {type(component).__name__}"


def test_a_user_that_the_pipeline_does_not_know() -> None:
    pipeline, _ = trained("ease")
    more = Interactions.from_arrays(
        [*TRAIN.user_ids[TRAIN.users], "new"], [*TRAIN.item_ids[TRAIN.items], TRAIN.item_ids[0]]
    )
    scorer = from_lenskit(pipeline, more)
    with pytest.raises(InvalidDataError, match="EASEScorer gives no item a score for user new"):
        scorer.score_all(np.flatnonzero(more.user_ids == "new"))
