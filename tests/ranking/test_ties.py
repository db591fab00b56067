"""Tied scores: one order of a user's items, the same for every backend, and laws in samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats
from slow_ranking import (
    TIES,
    ItemItem,
    banned_for,
    full_ranks,
    held_by,
    in_order,
    item_item_scores,
    p_value,
    place,
    rivals_of,
)

import truerank as tr
from truerank.data.interactions import Interactions
from truerank.estimators.simulate import simulate
from truerank.execution import Serial
from truerank.ranking import (
    Adaptive,
    FactorScorer,
    FixedNegatives,
    Full,
    FunctionScorer,
    RankTable,
    Sampled,
    rank_pairs,
)

N_USERS, N_ITEMS, SEED = 25, 60, 4
ALARM = 1e-4
"""False-alarm rate of each statistical test below, were its seed not fixed."""


def cells(rng: np.random.Generator, per_user: int) -> tuple[np.ndarray, np.ndarray]:
    users = np.repeat(np.arange(N_USERS), per_user)
    return users, np.concatenate(
        [rng.choice(N_ITEMS, per_user, replace=False) for _ in range(N_USERS)]
    )


RNG = np.random.default_rng(1)
SEEN = Interactions.from_arrays(
    *cells(RNG, 9), user_ids=range(N_USERS), item_ids=range(N_ITEMS)
)  # fmt: skip
USERS, ITEMS = cells(RNG, 6)
_SOME = RNG.permutation(len(USERS))[:110]  # 1 to 6 targets a user, in no order, some of them seen
USERS, ITEMS = USERS[_SOME], ITEMS[_SOME]
HELD = held_by(USERS, ITEMS)
ONE = np.unique(USERS, return_index=True)[1]  # one target per user: another kernel


def scorers() -> dict[str, tuple[Any, np.ndarray]]:
    """Each kind of backend, with a handful of distinct scores; and constant ones."""
    X, Y = RNG.integers(-1, 2, (N_USERS, 2)), RNG.integers(-1, 2, (N_ITEMS, 2))
    W = (RNG.random((N_ITEMS, N_ITEMS)) < 0.04).astype(np.float32)
    by_items, calls = item_item_scores(SEEN.matrix(), W), (X @ Y.T).astype(float)
    flat = np.zeros((N_USERS, N_ITEMS))
    return {
        "factors": (FactorScorer(X.astype(np.float32), Y.astype(np.float32)), calls),
        "dense": (ItemItem(SEEN.matrix(), W), by_items),
        "sparse": (ItemItem(SEEN.matrix(), sparse.csr_array(W)), by_items),
        "calls": (FunctionScorer(lambda users: calls[users], n_items=N_ITEMS), calls),
        "constant-factors": (FactorScorer(np.zeros((N_USERS, 1)), np.zeros((N_ITEMS, 1))), flat),
        "constant-items": (ItemItem(SEEN.matrix(), 0 * W), flat),
        "constant-calls": (FunctionScorer(lambda users: flat[users], n_items=N_ITEMS), flat),
    }


SCORERS = scorers()
CONSTANT = [kind for kind in SCORERS if kind.startswith("constant")]


def ranked(kind: str, design: Any, ties: Any, seen: Any, rows: Any = slice(None)) -> RankTable:
    return rank_pairs(
        SCORERS[kind][0], USERS[rows], ITEMS[rows], design,
        seed=SEED, exclude=seen, ties=ties, executor=Serial(),
    )  # fmt: skip


def test_the_world_has_what_it_is_for() -> None:
    targets = np.bincount(USERS, minlength=N_USERS)
    assert targets.min() >= 1
    assert targets.max() >= 5
    assert sum(item in SEEN.items_of(user) for user, item in zip(USERS, ITEMS, strict=True)) >= 10
    for kind in ("factors", "sparse"):
        own = SCORERS[kind][1][USERS, ITEMS]
        assert len(np.unique(own)) <= 6
        assert len(set(zip(USERS.tolist(), own.tolist(), strict=True))) < 0.8 * len(own)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("kind", SCORERS)
def test_full_ranks_are_places_in_one_list(kind: str, ties: str) -> None:
    for seen in (None, SEEN):
        for rows in (slice(None), ONE):
            table = ranked(kind, Full(), ties, seen, rows)
            ranks, sizes = full_ranks(
                SCORERS[kind][1], USERS[rows], ITEMS[rows], seen, ties, SEED
            )  # fmt: skip
            assert table.rank.tolist() == ranks
            assert table.n_items.tolist() == sizes


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("kind", SCORERS)
def test_sampled_ranks_are_places_among_the_drawn(kind: str, ties: str) -> None:
    scores = SCORERS[kind][1]
    for seen in (None, SEEN):
        for replacement in (False, True):
            table = ranked(kind, Sampled(12, replacement=replacement), ties, seen)
            for row, (user, target) in enumerate(zip(USERS.tolist(), ITEMS.tolist(), strict=True)):
                banned = banned_for(user, HELD[user], seen)
                rivals = rivals_of(SEED, user, target, N_ITEMS, banned, 11, replacement)
                place_of_row = place(
                    scores[user], target, rivals, ties, SEED, user, HELD[user], whole=False
                )  # fmt: skip
                assert table.rank[row] == place_of_row


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("kind", SCORERS)
def test_a_sample_of_everything_is_the_full_ranking(kind: str, ties: str) -> None:
    """To the bit, whether that is asked for, a default's, or an adaptive sample ends there."""
    asked = [Sampled(N_ITEMS), Adaptive(N_ITEMS)]
    for seen, some in ((None, asked), (SEEN, [])):
        full = ranked(kind, Full(), ties, seen)
        for design in (
            *some, Sampled(), Adaptive(budget=np.inf, top=N_ITEMS),
            Adaptive(4, budget=np.inf, top=N_ITEMS),
        ):  # fmt: skip
            table = ranked(kind, design, ties, seen)
            assert table.is_exact.all()
            assert np.array_equal(table.rank, full.rank)
            assert np.array_equal(table.n_items, full.n_items)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("kind", SCORERS)
def test_given_negatives(kind: str, ties: str) -> None:
    lists = np.random.default_rng(3).integers(0, N_ITEMS, (len(USERS), 30))
    lists[::4, 3] = ITEMS[::4]  # the target itself
    for row in range(1, len(USERS), 3):  # another target of the user
        lists[row, 7] = max(HELD[int(USERS[row])])
    table = ranked(kind, FixedNegatives(lists), ties, None)
    for row, (user, target) in enumerate(zip(USERS.tolist(), ITEMS.tolist(), strict=True)):
        scores = SCORERS[kind][1][user]
        expected = place(scores, target, lists[row].tolist(), ties, SEED, user, HELD[user])
        assert table.rank[row] == expected


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("kind", SCORERS)
def test_no_two_targets_share_a_place(kind: str, ties: str) -> None:
    """So a list has one first place, and nDCG@1, which was 2.00 once, is at most 1."""
    for seen in (None, SEEN):
        table = ranked(kind, Full(), ties, seen)
        taken = list(zip(table.user.tolist(), table.rank.tolist(), strict=True))
        assert len(set(taken)) == len(taken)
        for metric in ("ndcg@1", "ndcg@5", "precision@1", "recall@3", "ap@10"):
            assert table.per_user(metric)[1].max() <= 1.0
    if kind in CONSTANT and ties == "optimistic":
        assert table.per_user("ndcg@1")[1].min() == 1.0


def test_rows_apart_have_the_random_order_that_they_have_together() -> None:
    together = ranked("sparse", Full(), "random", None).rank
    for some in (slice(0, None, 2), slice(1, None, 2)):
        assert np.array_equal(ranked("sparse", Full(), "random", None, some).rank, together[some])


def test_a_pair_asked_for_twice_has_one_place() -> None:
    scorer = FactorScorer(np.ones((1, 1)), np.ones((5, 1)))
    for ties, ranks in {
        "optimistic": [1, 1, 2],
        "pessimistic": [4, 4, 5],
        "half": [3, 3, 4],
    }.items():
        assert rank_pairs(scorer, [0, 0, 0], [1, 1, 3], ties=ties).rank.tolist() == ranks


def test_the_slow_order_itself() -> None:
    """By hand: items 1, 2, 4 tie; 2 and 4 are held out."""
    scores = np.array([5.0, 3.0, 3.0, 1.0, 3.0, 3.0])
    lists = {ties: in_order(scores, list(range(6)), {2, 4}, ties, 0, 0) for ties in TIES[:3]}
    assert lists["optimistic"] == [0, 2, 4, 1, 5, 3]
    assert lists["pessimistic"] == [0, 1, 5, 2, 4, 3]
    assert lists["half"] == [0, 1, 2, 4, 5, 3]


# ---------------------------------------------------------------- laws of samples


def test_half_in_a_sample_is_binomial_around_the_middle() -> None:
    """Half of the drawn ties would have no variance at all: every rank would be 7."""
    n, n_users = 13, 3000
    scorer = FactorScorer(np.zeros((n_users, 1)), np.zeros((40, 1)))
    table = rank_pairs(scorer, range(n_users), np.arange(n_users) % 40, Sampled(n), ties="half")
    observed = np.bincount(table.rank - 1, minlength=n)
    assert p_value(observed, stats.binom(n - 1, 0.5).pmf(np.arange(n)) * n_users) > ALARM


def tied_scores(share: float, n_users: int, n_items: int, seed: int) -> tuple[Any, np.ndarray]:
    """Scores of which this share ties at the bottom of each row, and targets that like the top."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_users, n_items))
    items = np.argmax(1.5 * scores + rng.gumbel(size=scores.shape), axis=1)
    scores = np.maximum(scores, np.quantile(scores, share, axis=1, keepdims=True))
    scores[:, ::7] = np.round(scores[:, ::7], 1)  # and some ties elsewhere
    return FunctionScorer(lambda users: scores[users], n_items=n_items), items


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_exact_and_sampled_agree_in_expectation(share: float, ties: Any) -> None:
    """(r - 1) / (n - 1) is unbiased for (R - 1) / (N - 1), user by user."""
    n, n_items, users = 20, 150, np.arange(2500)
    scorer, items = tied_scores(share, len(users), n_items, 2)
    full = rank_pairs(scorer, users, items, ties=ties, executor=Serial())
    few = rank_pairs(scorer, users, items, Sampled(n), ties=ties, executor=Serial())
    off = (few.rank - 1) / (n - 1) - (full.rank - 1) / (n_items - 1)
    error = off.std(ddof=1) / np.sqrt(len(off))
    rounded = 0.5 / (n_items - 1) if ties == "half" else 0.0  # ceil, where a coin has the mean
    assert abs(off.mean()) < stats.norm.isf(ALARM / 2) * error + rounded


N_BOOT = 200
MOST_WIDER = 1.3
"""How much wider bounds may be than those of ranks without ties. Measured: at most 1.15; where
half of the ties was a rank in every sample, 1.5 to 2.3."""


def assert_explained(exact: RankTable, few: RankTable, design: Any) -> None:
    """No misfit; bounds hold and are those of ranks without ties; errors are honest.

    A sample cannot know more about a mean over users than exact ranks do: their standard error is
    a lower limit, up to the bootstrap's own error, 1 / sqrt(2 n_boot) of it.
    """
    metrics = ["recall@1", "recall@10", "recall@50"]
    drawn = simulate(exact, design, seed=5)  # the law itself: no scores, so no ties
    guesses, plain = (tr.estimate(table, metrics, n_boot=N_BOOT) for table in (few, drawn))
    for metric, guess, ideal in zip(metrics, guesses, plain, strict=True):
        values = exact.per_user(metric)[1]
        truth, error = float(values.mean()), float(values.std() / np.sqrt(len(values)))
        low, high = guess.diagnostics.bounds or (1.0, 0.0)
        assert low <= truth <= high, (metric, truth, low, high)
        without_ties = ideal.diagnostics.bounds or (0.0, 0.0)
        assert high - low < MOST_WIDER * (without_ties[1] - without_ties[0]), metric
        assert "no distribution of global ranks" not in " ".join(guess.diagnostics.notes)
        assert guess.std_error > error * (1 - stats.norm.isf(ALARM) / np.sqrt(2 * N_BOOT)), metric
        if not guess.diagnostics.blind:
            assert abs(guess.value - truth) < stats.norm.isf(ALARM / 2) * guess.std_error, metric


@pytest.mark.parametrize("make", [lambda: Sampled(n=100), Adaptive], ids=["sampled", "adaptive"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_estimates_of_tied_models(share: float, make: Callable[[], Any]) -> None:
    users = np.arange(2500)
    scorer, items = tied_scores(share, len(users), 600, 6)
    exact = rank_pairs(scorer, users, items, executor=Serial())
    few = rank_pairs(scorer, users, items, make(), seed=9, executor=Serial())
    assert_explained(exact, few, make())


@pytest.mark.parametrize("ties", ["half", "random"])
@pytest.mark.parametrize("make", [lambda: Sampled(n=100), Adaptive], ids=["sampled", "adaptive"])
def test_a_sparse_item_knn(make: Callable[[], Any], ties: Any) -> None:
    """The commonest baseline: many a held-out item has score 0, as most of the catalogue has."""
    data = tr.load_dataset("demo")
    split = tr.split.leave_one_out(data, seed=0)
    model = tr.models.ItemKNN(k=5).fit(split.train)
    exact = tr.rank(model, split, ties=ties, progress=False)
    score = model.score_pairs(split.held_out.users, split.held_out.indices[:, None])
    assert 0.1 < (score == 0).mean() < 0.9
    assert_explained(exact, tr.rank(model, split, make(), ties=ties, progress=False), make())


def test_a_misfit_names_ties_where_they_may_be_the_cause() -> None:
    """Half of the ties in every sample, as this library did once and others do."""
    rank = np.where(np.arange(4000) % 3 > 0, 5, 1 + np.arange(4000) % 97)
    for ties, cause in {
        "half": "ties are the likely cause", "unknown": "ties may be the cause", "random": None,
    }.items():  # fmt: skip
        table = RankTable.from_arrays(
            rank=rank, n_sampled=100, n_items=3000, header=tr.ranking.Header(ties=ties)
        )
        notes = " ".join(tr.estimate(table, "recall@10", n_boot=100)[0].diagnostics.notes)
        assert "no distribution of global ranks explains" in notes
        assert (cause is None and "ties" not in notes) or (cause or "?") in notes


def test_half_ties_of_a_full_and_a_sampled_ranking_are_doubted() -> None:
    """Twenty items tied at the top: recall@10 is 0 in the middle of them, 1/2 anywhere there."""
    scores = np.concatenate([np.ones(20), -np.arange(80.0)])
    scorer = tr.FunctionScorer(lambda users: np.tile(scores, (len(users), 1)), n_items=100)
    users, items = np.arange(200), np.arange(200) % 20
    for rule, doubted in (("half", True), ("random", False)):
        tables = {
            name: tr.rank_pairs(scorer, users, items, design, ties=rule)
            for name, design in (("full", tr.Full()), ("sampled", tr.Sampled(n=99)))
        }
        (row,) = tr.compare(tables, "recall@10", n_boot=100).comparisons
        assert ("ties='half' puts a target into the middle" in row.caveats) == doubted
