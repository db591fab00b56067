"""What every adapter shares, with models of our own making: no library is needed here."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from truerank.adapters import from_implicit, from_irspack, from_rectools, scorer_for
from truerank.adapters.choice import library_of
from truerank.adapters.numbering import Numbering
from truerank.adapters.scorers import (
    CalledScorer,
    by_factors,
    by_item_item,
)
from truerank.data import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.models.item_item import ItemItemScorer
from truerank.ranking import FactorScorer

DATA = Interactions.from_arrays(["b", "a", "c", "c"], [30, 10, 20, 30])
RNG = np.random.default_rng(1)
X, Y = RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2))
THEIR_USERS, THEIR_ITEMS = np.array(["c", "a", "b"]), np.array([20, 30, 10])
OURS = np.array([1, 2, 0])[:, None], np.array([2, 0, 1])
"""Rows of X and Y that belong to our users a, b, c and our items 10, 20, 30."""


class Als:
    """A factor model as implicit has them."""

    def __init__(self, scale: float = 1.0) -> None:
        self.user_factors, self.item_factors, self.scale = X, Y, scale

    def recommend(self, user: int, history: Any, *, N: int, **_: Any) -> Any:
        scores = self.scale * (X[user] @ Y.T)
        order = np.argsort(-scores)[:N]
        return order, scores[order]


def made_by(module: str, base: type = Als) -> Any:
    return type("Model", (base,), {"__module__": module})()


def test_the_library_is_known_by_the_module_of_a_class_or_its_bases() -> None:
    assert library_of(made_by("implicit.als")) == "implicit"
    base = type("Base", (Als,), {"__module__": "lenskit.knn.ease"})
    assert library_of(made_by("my_project.models", base)) == "lenskit"
    assert library_of(made_by("implicitly.other")) is None
    assert "implicit.als" not in sys.modules or library_of(object()) is None


def test_renumbered_scores_are_those_of_the_right_pairs() -> None:
    model = made_by("implicit.als")
    scorer = from_implicit(model, DATA, user_ids=THEIR_USERS, item_ids=THEIR_ITEMS)
    assert isinstance(scorer, FactorScorer)
    assert np.allclose(scorer.score_all(np.arange(3)), (X @ Y.T)[OURS])


def test_a_model_that_does_not_score_by_its_factors_is_called() -> None:
    scorer = from_implicit(
        made_by("implicit.als", type("Scaled", (Als,), {"scale": -1.0, "__init__": _minus})),
        DATA,
        user_ids=THEIR_USERS,
        item_ids=THEIR_ITEMS,
    )
    assert isinstance(scorer, CalledScorer)
    assert np.allclose(scorer.score_all(np.arange(3)), -(X @ Y.T)[OURS])


def _minus(self: Als) -> None:
    Als.__init__(self, scale=-1.0)


def test_an_item_item_matrix_is_renumbered_on_both_sides() -> None:
    W = RNG.normal(size=(3, 3))
    at = Numbering.by_ids(DATA, THEIR_USERS, THEIR_ITEMS)
    history = at.history()
    called = CalledScorer(lambda users: np.asarray(history[users] @ W), at, "model")
    for matrix in (W, sparse.csr_array(W)):
        scorer = by_item_item(called, history, matrix)
        assert isinstance(scorer, ItemItemScorer)
        assert np.allclose(scorer.score_all(np.arange(3)), (history @ W)[OURS])
    assert by_item_item(called, history, W.T) is called


def test_unlisted_items_may_score_anything_below_the_list() -> None:
    at = Numbering.by_ids(DATA, DATA.user_ids, DATA.item_ids)
    U, V = np.ones((3, 1)), np.array([[2.0], [1.0], [0.0]])
    shown = np.array([2.0, 1.0, -np.inf])
    called = CalledScorer(lambda users: np.tile(shown, (len(users), 1)), at, "model")
    assert isinstance(by_factors(called, U, V), FactorScorer)
    assert by_factors(called, U, np.array([[2.0], [1.0], [1.5]])) is called


def test_what_the_model_does_not_know() -> None:
    at = Numbering.by_ids(DATA, np.array(["a", "b"]), np.array([10, 30, 99]))
    called = CalledScorer(lambda users: np.tile([1.0, 2.0, 3.0], (len(users), 1)), at, "model")
    assert called.score_all(np.array([0])).tolist() == [[1.0, -np.inf, 2.0]]
    assert called.score_pairs(np.array([1]), np.array([[2, 1]])).tolist() == [[2.0, -np.inf]]
    with pytest.raises(InvalidDataError, match="model does not know user c; fit it on the same"):
        called.score_all(np.array([0, 2]))


def test_sentences() -> None:
    with pytest.raises(InvalidArgumentError, match="a model of implicit, irspack, lenskit"):
        scorer_for(object(), DATA)
    with pytest.raises(InvalidArgumentError, match="the data set of rectools"):
        scorer_for(made_by("rectools.models.ease"), DATA)
    with pytest.raises(InvalidArgumentError, match="must be fitted"):
        from_rectools(made_by("rectools.models.ease"), None, DATA)
    with pytest.raises(InvalidDataError, match="of another type than the model's"):
        Numbering.by_ids(DATA, np.array([1, 2]), DATA.item_ids)
    with pytest.raises(InvalidDataError, match="knows none of the 3 items of data"):
        Numbering.by_ids(DATA, DATA.user_ids, np.array([1, 2]))
    with pytest.raises(InvalidArgumentError, match=r"user_ids must be over the 3 users"):
        from_implicit(made_by("implicit.als"), DATA, user_ids=["a"])
    short = type("Short", (), {"X_train_all": sparse.csr_matrix((3, 7))})()
    with pytest.raises(InvalidArgumentError, match=r"over the 7 items of the model, got '3 items'"):
        from_irspack(short, DATA)
    wrong = CalledScorer(lambda users: np.zeros((1, 2)), Numbering.by_ids(DATA, *_ids()), "model")
    with pytest.raises(InvalidDataError, match=r"returned scores of shape \(1, 2\) for 3 users"):
        wrong.score_all(np.arange(3))


def _ids() -> tuple[Any, Any]:
    return DATA.user_ids, DATA.item_ids


def test_a_scorer_is_returned_as_it_is() -> None:
    scorer = FactorScorer(X, Y)
    assert scorer_for(scorer, DATA) is scorer
