"""Learnt recommenders of irspack: our ranks are those of ``get_score_remove_seen``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adapter_world import TRAIN, OwnList, check_against_lists, check_pairs, library, shuffled
from scipy import sparse

from truerank.adapters import from_irspack, scorer_for
from truerank.adapters.scorers import CalledScorer
from truerank.errors import InvalidArgumentError
from truerank.models.item_item import ItemItemScorer
from truerank.ranking.scorer import FactorScorer

irspack = library("irspack")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the library

MATRIX = sparse.csr_matrix(TRAIN.matrix())
MODELS: dict[str, tuple[Any, type]] = {
    "edlae": (lambda m: irspack.EDLAERecommender(m, reg=10.0), ItemItemScorer),
    "rp3beta": (lambda m: irspack.RP3betaRecommender(m), ItemItemScorer),
    "cosine-knn": (lambda m: irspack.CosineKNNRecommender(m, top_k=15), ItemItemScorer),
    "ials": (lambda m: irspack.IALSRecommender(m, n_components=8, train_epochs=3), FactorScorer),
    "svd": (lambda m: irspack.TruncatedSVDRecommender(m, n_components=8), FactorScorer),
    "user-knn": (lambda m: irspack.CosineUserKNNRecommender(m, top_k=15), CalledScorer),
    "top-pop": (lambda m: irspack.TopPopRecommender(m), CalledScorer),
}


def own_list(model: Any, user_ids: Any, item_ids: Any) -> Any:
    rows = {name: k for k, name in enumerate(user_ids.tolist())}

    def of(user: str) -> OwnList:
        scores = model.get_score_remove_seen(np.array([rows[user]]))[0]
        order = np.argsort(-scores, kind="stable")
        order = order[np.isfinite(scores[order])]
        return item_ids[order].tolist(), scores[order]

    return of


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    make, kind = MODELS[name]
    model = make(MATRIX).learn()
    scorer = scorer_for(model, TRAIN)
    assert isinstance(scorer, kind)
    lists = own_list(model, TRAIN.user_ids, TRAIN.item_ids)
    sharp = {"top-pop": 0.3, "cosine-knn": 0.5, "user-knn": 0.7}.get(name, 0.9)
    check_against_lists(scorer, lists, sharp=sharp)
    check_pairs(scorer)


def test_a_matrix_in_an_order_of_its_own() -> None:
    matrix, user_ids, item_ids = shuffled()
    model = MODELS["edlae"][0](matrix).learn()
    scorer = from_irspack(model, TRAIN, user_ids=user_ids, item_ids=item_ids)
    assert isinstance(scorer, ItemItemScorer)
    check_against_lists(scorer, own_list(model, user_ids, item_ids))


def test_a_model_that_has_not_learnt() -> None:
    with pytest.raises(InvalidArgumentError, match=r"call its learn\(\) first"):
        from_irspack(MODELS["edlae"][0](MATRIX), TRAIN)
