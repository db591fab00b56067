"""Fitted models of implicit: our ranks are the positions in the lists of its ``recommend``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adapter_world import TRAIN, OwnList, check_against_lists, check_pairs, library, shuffled
from scipy import sparse

from truerank.adapters import from_implicit, scorer_for
from truerank.adapters.scorers import CalledScorer
from truerank.errors import InvalidArgumentError
from truerank.models.item_item import ItemItemScorer
from truerank.ranking.scorer import FactorScorer

library("implicit")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the library

from implicit.als import AlternatingLeastSquares  # noqa: E402
from implicit.bpr import BayesianPersonalizedRanking  # noqa: E402
from implicit.lmf import LogisticMatrixFactorization  # noqa: E402
from implicit.nearest_neighbours import BM25Recommender, CosineRecommender  # noqa: E402

MATRIX = sparse.csr_matrix(TRAIN.matrix().copy())
FACTORS = {
    "als": lambda: AlternatingLeastSquares(factors=8, iterations=3, random_state=1),
    "bpr": lambda: BayesianPersonalizedRanking(factors=8, iterations=20, random_state=1),
    "lmf": lambda: LogisticMatrixFactorization(factors=8, iterations=5, random_state=1),
}
NEIGHBOURS = {"cosine": lambda: CosineRecommender(K=15), "bm25": lambda: BM25Recommender(K=15)}


def fitted(make: Any, matrix: Any = MATRIX) -> Any:
    model = make()
    model.fit(sparse.csr_matrix(matrix), show_progress=False)
    return model


def own_list(model: Any, matrix: Any, user_ids: Any, item_ids: Any) -> Any:
    rows = {name: k for k, name in enumerate(user_ids.tolist())}
    matrix = sparse.csr_matrix(matrix)

    def of(user: str) -> OwnList:
        row = rows[user]
        items, scores = model.recommend(row, matrix[row], N=matrix.shape[1])
        seen = set(matrix[row].indices.tolist())
        keep = [k for k, item in enumerate(items.tolist()) if item not in seen]
        return item_ids[items[keep]].tolist(), scores[keep]

    return of


@pytest.mark.parametrize("name", FACTORS)
def test_factor_models(name: str) -> None:
    model = fitted(FACTORS[name])
    scorer = from_implicit(model, TRAIN)
    assert isinstance(scorer, FactorScorer)
    assert scorer.name == f"implicit {type(model).__name__}"
    check_against_lists(scorer, own_list(model, MATRIX, TRAIN.user_ids, TRAIN.item_ids))
    check_pairs(scorer)


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_neighbour_models(name: str) -> None:
    model = fitted(NEIGHBOURS[name])
    scorer = scorer_for(model, TRAIN)
    assert isinstance(scorer, ItemItemScorer)
    lists = own_list(model, MATRIX, TRAIN.user_ids, TRAIN.item_ids)
    check_against_lists(scorer, lists, sharp=0.6)
    check_pairs(scorer)


@pytest.mark.parametrize("make", [FACTORS["als"], NEIGHBOURS["bm25"]], ids=["als", "bm25"])
def test_a_matrix_in_an_order_of_its_own(make: Any) -> None:
    matrix, user_ids, item_ids = shuffled()
    model = fitted(make, matrix)
    scorer = from_implicit(model, TRAIN, user_ids=user_ids, item_ids=item_ids)
    assert not isinstance(scorer, CalledScorer)
    check_against_lists(scorer, own_list(model, matrix, user_ids, item_ids), sharp=0.6)


def test_items_that_the_model_does_not_know_rank_last() -> None:
    known = TRAIN.item_ids[:-10]
    model = fitted(FACTORS["als"], MATRIX[:, :-10])
    scorer = from_implicit(model, TRAIN, item_ids=known)
    assert isinstance(scorer, CalledScorer)
    scores = scorer.score_all(np.arange(5))
    assert np.isneginf(scores[:, -10:]).all()
    assert np.allclose(
        scores[:, :-10], model.user_factors[:5] @ model.item_factors.T, rtol=1e-4, atol=1e-6
    )


def test_new_users_fold_in_to_neighbours() -> None:
    model = fitted(NEIGHBOURS["cosine"])
    folded = from_implicit(model, TRAIN).fold_in(TRAIN)
    users = np.arange(TRAIN.n_users)
    assert np.allclose(folded.score_all(users), (MATRIX @ model.similarity).toarray())


def test_a_model_that_is_not_fitted() -> None:
    with pytest.raises(InvalidArgumentError, match="call its fit"):
        from_implicit(AlternatingLeastSquares(factors=8), TRAIN)


def test_a_model_fitted_on_the_transpose() -> None:
    model = fitted(FACTORS["als"], MATRIX.T)
    with pytest.raises(
        InvalidArgumentError, match=r"over the 80 users of the model, got '150 users'"
    ):
        from_implicit(model, TRAIN)
