"""Published negatives: matrices and ragged lists, the target among them or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from slow_ranking import TIES, ItemItem, held_by, item_item_scores, make_world, place

from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.execution import Serial
from truerank.ranking import FactorScorer, FixedNegatives, FunctionScorer, rank_pairs

WORLD = make_world()
WEIGHTS = np.rint(np.random.default_rng(2).normal(size=(90, 90))).astype(np.float32)
BY_ITEMS = item_item_scores(WORLD.seen.matrix(), WEIGHTS)
SCORERS: dict[str, tuple[Any, np.ndarray]] = {
    "factors": (FactorScorer(WORLD.X, WORLD.Y), WORLD.scores),
    "dense": (ItemItem(WORLD.seen.matrix(), WEIGHTS), BY_ITEMS),
    "sparse": (ItemItem(WORLD.seen.matrix(), sparse.csr_array(WEIGHTS)), BY_ITEMS),
    "calls": (FunctionScorer(lambda users: WORLD.scores[users], n_items=90), WORLD.scores),
}


def ncf_like() -> np.ndarray:
    """Negatives drawn with repeats; in every fifth row the target is among them, once or twice."""
    negatives = np.random.default_rng(3).integers(0, 90, (len(WORLD.users), 20))
    negatives[::5, 4] = WORLD.items[::5]
    negatives[::10, 11] = WORLD.items[::10]
    return negatives


def expected(scores: np.ndarray, lists: Any, ties: str) -> list[int]:
    pairs = zip(WORLD.users.tolist(), WORLD.items.tolist(), lists, strict=True)
    held = held_by(WORLD.users, WORLD.items)
    return [place(scores[u], target, list(row), ties, 4, u, held[u]) for u, target, row in pairs]


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("kind", SCORERS)
def test_a_matrix_of_negatives(kind: str, ties: str) -> None:
    scorer, scores = SCORERS[kind]
    negatives = ncf_like()
    table = rank_pairs(
        scorer,
        WORLD.users,
        WORLD.items,
        FixedNegatives(negatives),
        seed=4,
        ties=ties,
        executor=Serial(),
    )
    assert table.rank.tolist() == expected(scores, negatives, ties)
    assert set(table.n_sampled.tolist()) == {21}
    assert set(table.n_items.tolist()) == {90}
    assert table.header.candidates == "given"
    assert table.header.design.describe() == {"kind": "given", "n_rows": len(negatives)}


@pytest.mark.parametrize("kind", SCORERS)
def test_ragged_lists(kind: str) -> None:
    scorer, scores = SCORERS[kind]
    rng = np.random.default_rng(5)
    lists = [row[: rng.integers(1, 20)].tolist() for row in ncf_like()]
    table = rank_pairs(
        scorer, WORLD.users, WORLD.items, FixedNegatives(lists), seed=4, executor=Serial()
    )
    assert table.rank.tolist() == expected(scores, lists, "random")
    assert table.n_sampled.tolist() == [1 + len(row) for row in lists]


def test_the_target_as_its_own_negative() -> None:
    """It ties with itself: NCF counts it against the target, so pessimistic is NCF's rule."""
    scorer = FactorScorer(np.ones((1, 1)), np.array([[3.0], [2.0], [1.0]]))
    rank = {
        ties: int(rank_pairs(scorer, [0], [1], FixedNegatives([[1, 2]]), ties=ties).rank[0])
        for ties in TIES
    }
    assert rank == {"optimistic": 1, "random": 1, "half": 2, "pessimistic": 2}


def test_only_the_random_rule_needs_the_seed() -> None:
    scorer, _ = SCORERS["factors"]
    given = FixedNegatives(ncf_like())
    by_rule = {
        ties: rank_pairs(scorer, WORLD.users, WORLD.items, given, seed=4, ties=ties).header.seed
        for ties in TIES
    }
    assert by_rule == {"optimistic": None, "half": None, "pessimistic": None, "random": 4}


def test_taking_rows_keeps_each_list() -> None:
    given = FixedNegatives([[5], [1, 2, 3], [7, 8]])
    some = given.take(np.array([2, 0, 2]))
    assert some.indptr.tolist() == [0, 2, 3, 5]
    assert some.items.tolist() == [7, 8, 5, 7, 8]


@pytest.mark.parametrize(
    ("negatives", "sentence"),
    [
        pytest.param([], "each pair needs at least one negative", id="no-rows"),
        pytest.param([[1], []], "each pair needs at least one negative", id="empty-row"),
        pytest.param(np.empty((3, 0), int), "each pair needs at least one negative", id="no-width"),
        pytest.param([[1.5]], "negatives must be item indices: whole numbers from 0", id="float"),
        pytest.param([[-1]], "negatives must be item indices: whole numbers from 0", id="negative"),
        pytest.param([["a"]], "negatives must be item indices", id="string"),
        pytest.param([1, 2], "negatives must be a matrix or a list of lists", id="flat"),
        pytest.param(7, "each pair needs at least one negative", id="a-number"),
    ],
)
def test_what_is_no_list_of_negatives(negatives: Any, sentence: str) -> None:
    with pytest.raises(InvalidDataError, match=sentence):
        FixedNegatives(negatives)


def test_wrong_row_count() -> None:
    scorer, _ = SCORERS["factors"]
    with pytest.raises(
        InvalidArgumentError, match="negatives must be 2 rows, one per pair, got '3 rows'"
    ):
        rank_pairs(scorer, [0, 1], [2, 3], FixedNegatives([[1], [2], [3]]))


def test_items_that_do_not_exist() -> None:
    scorer, _ = SCORERS["factors"]
    with pytest.raises(
        InvalidArgumentError, match="negatives must be item indices below 90, got 90"
    ):
        rank_pairs(scorer, [0, 1], [2, 3], FixedNegatives([[1], [90]]))
