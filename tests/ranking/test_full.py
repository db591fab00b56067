"""Exact ranks against a loop, for each way a scorer can be given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from slow_ranking import TIES, ItemItem, full_ranks, item_item_scores, make_world, scores_of

from truerank.data.interactions import Interactions
from truerank.execution import Serial
from truerank.ranking import FactorScorer, Full, FunctionScorer, Scorer, rank_pairs

WORLD = make_world()


def assert_as_by_the_loop(
    scorer: Any, scores: np.ndarray, world: Any, ties: str, seen: Any
) -> None:
    table = rank_pairs(
        scorer, world.users, world.items, Full(), exclude=seen, ties=ties, seed=5,
        executor=Serial(),
    )  # fmt: skip
    ranks, sizes = full_ranks(scores, world.users, world.items, seen, ties, seed=5)
    assert table.rank.tolist() == ranks
    assert table.n_items.tolist() == table.n_sampled.tolist() == sizes
    # A user's whole list is scored once, whatever the number of its targets.
    assert table.n_scored.sum() == len(set(world.users.tolist())) * scores.shape[1]
    assert table.is_exact.all()
    assert table.user.tolist() == world.users.tolist()
    assert table.item.tolist() == world.items.tolist()


@pytest.mark.parametrize("excluding", [False, True], ids=["all", "unseen"])
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.float16])
def test_factors(dtype: Any, ties: str, excluding: bool) -> None:
    world = make_world(dtype=dtype)
    seen = world.seen if excluding else None
    assert_as_by_the_loop(FactorScorer(world.X, world.Y), world.scores, world, ties, seen)


def test_the_world_has_what_it_is_for() -> None:
    pairs = set(zip(WORLD.users.tolist(), WORLD.items.tolist(), strict=True))
    held_and_seen = [i in WORLD.seen.items_of(u) for u, i in pairs]
    assert sum(held_and_seen) >= 20  # targets among the excluded
    assert (np.diff(WORLD.users) < 0).any()  # unsorted
    assert np.bincount(WORLD.users).max() >= 4  # several targets per user
    by_rule = {
        ties: full_ranks(WORLD.scores, WORLD.users, WORLD.items, None, ties)[0] for ties in TIES
    }
    assert len({tuple(ranks) for ranks in by_rule.values()}) == 4  # each tie rule matters


@pytest.mark.parametrize("excluding", [False, True], ids=["all", "unseen"])
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("kind", ["dense32", "dense64", "fortran", "sparse32", "sparse64", "int"])
def test_item_item(kind: str, ties: str, excluding: bool) -> None:
    rng = np.random.default_rng(1)
    n = WORLD.seen.n_items
    W = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.2)
    W[:, 10:20] = W[:, 30:40]
    W = np.rint(3 * W).astype(np.int64) if kind == "int" else W
    weights: Any = {
        "dense32": lambda: W.astype(np.float32),
        "dense64": lambda: W,
        "fortran": lambda: np.asfortranarray(W),
        "sparse32": lambda: sparse.csc_array(W.astype(np.float32)),
        "sparse64": lambda: sparse.csr_matrix(W),
        "int": lambda: sparse.coo_array(W),
    }[kind]()
    history = WORLD.seen.matrix() * np.float32(0.7)
    scores = item_item_scores(history, weights)
    seen = WORLD.seen if excluding else None
    assert_as_by_the_loop(ItemItem(history, weights), scores, WORLD, ties, seen)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("kind", ["all_items", "pairs", "float32", "integers"])
def test_functions(kind: str, ties: str) -> None:
    scores = {
        "float32": WORLD.scores.astype(np.float32),
        "integers": np.rint(WORLD.scores).astype(np.int32),
    }.get(kind, WORLD.scores)
    if kind == "pairs":
        scorer = FunctionScorer(
            pairs=lambda users, items: scores[users[:, None], items], n_items=scores.shape[1]
        )
    else:
        scorer = FunctionScorer(lambda users: scores[users], n_items=scores.shape[1])
    assert isinstance(scorer, Scorer)
    assert_as_by_the_loop(scorer, scores, WORLD, ties, WORLD.seen)


def test_function_scorer_answers_both_questions() -> None:
    users, items = np.array([3, 0]), np.array([[5, 1, 1], [0, 2, 7]])
    expected = WORLD.scores[users[:, None], items]
    by_row = FunctionScorer(lambda u: WORLD.scores[u], n_items=90)
    by_pair = FunctionScorer(pairs=lambda u, i: WORLD.scores[u[:, None], i], n_items=90)
    for scorer in (by_row, by_pair):
        assert np.array_equal(scorer.score_pairs(users, items), expected)
        assert np.array_equal(scorer.score_all(users), WORLD.scores[users])


def test_more_items_than_fit_one_tile() -> None:
    world = make_world(n_users=20, n_items=2500)
    for seen in (None, world.seen):
        assert_as_by_the_loop(FactorScorer(world.X, world.Y), world.scores, world, "half", seen)


def test_a_user_who_has_seen_everything_has_rank_one_of_one() -> None:
    seen = Interactions.from_arrays([0, 0, 0, 1], [0, 1, 2, 0])
    scorer = FactorScorer(np.ones((2, 1)), np.arange(3.0)[:, None])
    table = rank_pairs(scorer, [0, 1], [1, 1], exclude=seen)
    assert table.rank.tolist() == [1, 2]
    assert table.n_items.tolist() == [1, 2]


def test_one_item_one_user() -> None:
    table = rank_pairs(FactorScorer(np.ones((1, 2)), np.ones((1, 2))), [0], [0])
    assert (table.rank[0], table.n_items[0]) == (1, 1)


def test_factors_without_anything_else_are_enough() -> None:
    class Bare:
        user_factors, item_factors = WORLD.X, WORLD.Y

    ours = rank_pairs(Bare(), WORLD.users, WORLD.items)
    assert np.array_equal(
        ours.rank, rank_pairs(FactorScorer(WORLD.X, WORLD.Y), WORLD.users, WORLD.items).rank
    )
    assert ours.header.model == "Bare"


def test_factors_that_are_none_open_no_fast_path() -> None:
    class Unfactored(FunctionScorer):
        user_factors = item_factors = None

    scorer = Unfactored(lambda users: WORLD.scores[users], n_items=90)
    ranks = full_ranks(WORLD.scores, WORLD.users, WORLD.items)[0]
    assert rank_pairs(scorer, WORLD.users, WORLD.items).rank.tolist() == ranks


@pytest.mark.parametrize(
    ("scale_user", "scale_item"),
    [
        pytest.param(1e-20, 1e-22, id="all-denormal"),
        pytest.param(1e25, 1e-25, id="far-apart"),
        pytest.param(0.0, 1.0, id="zero-user"),
    ],
)
def test_extreme_lengths(scale_user: float, scale_item: float) -> None:
    world = make_world(dtype=np.float64, d=3)
    X, Y = world.X * scale_user, world.Y * scale_item
    scores = np.array([scores_of(X, Y, user) for user in range(len(X))])
    table = rank_pairs(FactorScorer(X, Y), world.users, world.items)
    assert table.rank.tolist() == full_ranks(scores, world.users, world.items)[0]


@pytest.mark.parametrize("scale", [1e35, 1e120])
def test_lengths_beyond_float32_are_left_to_the_scorer(scale: float) -> None:
    world = make_world(dtype=np.float64, d=3)
    table = rank_pairs(FactorScorer(world.X * scale, world.Y / scale), world.users, world.items)
    # The scorer's own product decides, so exact ties may fall either way, and nothing else.
    low, high = (
        np.array(full_ranks(world.scores, world.users, world.items, ties=ties)[0])
        for ties in ("optimistic", "pessimistic")
    )
    assert ((low <= table.rank) & (table.rank <= high)).all()


def test_infinite_scores_are_ordered() -> None:
    scores = np.array([[1.0, np.inf, -np.inf, np.inf, 0.5, -np.inf]])
    scorer = FunctionScorer(lambda users: scores[users], n_items=6)
    for ties in ("optimistic", "pessimistic"):  # all are held out: tied ones by their index
        table = rank_pairs(scorer, [0] * 6, range(6), ties=ties)
        assert table.rank.tolist() == [3, 1, 5, 2, 4, 6]
    for ties, ranks in {"optimistic": [1, 5], "pessimistic": [2, 6]}.items():
        assert [int(rank_pairs(scorer, [0], [i], ties=ties).rank[0]) for i in (1, 2)] == ranks


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_infinite_factors_fall_back_to_the_scorer(dtype: Any) -> None:
    X = np.array([[1.0, 2.0]], dtype=dtype)
    Y = np.array([[1, 1], [np.inf, 1], [-np.inf, 1], [3, 1]], dtype=dtype)
    table = rank_pairs(FactorScorer(X, Y), [0] * 4, range(4))
    assert table.rank.tolist() == [3, 1, 4, 2]

    class Bare:
        user_factors, item_factors = X, Y

    assert rank_pairs(Bare(), [0] * 4, range(4)).rank.tolist() == [3, 1, 4, 2]


def test_infinite_item_item_falls_back_to_the_scorer() -> None:
    W = np.array([[1.0, np.inf, -np.inf], [1, 2, 3], [1, 2, 3]])
    scorer = ItemItem(sparse.csr_array(np.array([[1.0, 0, 0]])), W)
    with np.errstate(invalid="ignore"):
        assert rank_pairs(scorer, [0] * 3, range(3)).rank.tolist() == [2, 1, 3]
