"""Sampled and adaptive ranks: against slow draws, and against the laws they obey."""

from __future__ import annotations

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
    item_item_scores,
    make_world,
    p_value,
    place,
    rivals_of,
)

from truerank.data.interactions import Interactions
from truerank.execution import Serial
from truerank.ranking import Adaptive, FactorScorer, Full, FunctionScorer, Sampled, rank_pairs
from truerank.ranking.backends.base import Backend
from truerank.ranking.backends.select import backend_for
from truerank.ranking.rows import TargetRows
from truerank.ranking.stages import SampleState, Stages

ALARM = 1e-4
"""False-alarm rate of each statistical test below, were its seed not fixed."""

WORLD = make_world()
HELD = held_by(WORLD.users, WORLD.items)
WEIGHTS = np.rint(np.random.default_rng(2).normal(scale=2, size=(90, 90))).astype(np.float32)
HISTORY = WORLD.seen.matrix()


def scorers() -> dict[str, tuple[Any, np.ndarray]]:
    by_items = item_item_scores(HISTORY, WEIGHTS)
    thin = WEIGHTS * (np.abs(WEIGHTS) > 2)
    return {
        "factors": (FactorScorer(WORLD.X, WORLD.Y), WORLD.scores),
        "dense": (ItemItem(HISTORY, WEIGHTS), by_items),
        "sparse": (ItemItem(HISTORY, sparse.csr_array(thin)), item_item_scores(HISTORY, thin)),
        "calls": (FunctionScorer(lambda users: by_items[users], n_items=90), by_items),
    }


SCORERS = scorers()


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("n", [5, 40], ids=["few", "many"])  # "many" fills whole rows of scores
@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("kind", SCORERS)
def test_sampled_ranks_by_the_slow_draws(kind: str, replacement: bool, n: int, ties: str) -> None:
    scorer, scores = SCORERS[kind]
    for seen in (None, WORLD.seen):
        table = rank_pairs(
            scorer, WORLD.users, WORLD.items, Sampled(n, replacement=replacement), seed=3,
            exclude=seen, ties=ties, executor=Serial(),
        )  # fmt: skip
        expected = []
        for user, target in zip(WORLD.users.tolist(), WORLD.items.tolist(), strict=True):
            banned = banned_for(user, HELD[user], seen)
            rivals = rivals_of(3, user, target, 90, banned, n - 1, replacement)
            row = (scores[user], target, rivals, ties, 3, user, HELD[user])
            expected.append(place(*row, whole=False))
        assert table.rank.tolist() == expected
        assert set(table.n_sampled.tolist()) == {n}
        assert table.n_scored.tolist() == table.n_sampled.tolist()
        assert table.n_items.tolist() == full_ranks(scores, WORLD.users, WORLD.items, seen)[1]
        assert table.header.replacement is replacement
        assert table.header.seed == 3


def by_rank(R: int, n_items: int, n_users: int) -> FactorScorer:
    """Every user ranks item R - 1 at place R: items in descending order of score."""
    return FactorScorer(np.ones((n_users, 1)), -np.arange(n_items, dtype=float)[:, None])


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("R", [1, 2, 9, 30, 59, 60])
def test_sampled_ranks_follow_their_law(R: int, replacement: bool) -> None:
    """r - 1 is hypergeometric, or binomial with replacement: chi-square over users and seeds."""
    N, n, users = 60, 13, np.arange(2000)
    observed = np.zeros(n)
    for seed in range(5):
        table = rank_pairs(
            by_rank(R, N, 2000), users, np.full(2000, R - 1),
            Sampled(n, replacement=replacement), seed=seed, executor=Serial(),
        )  # fmt: skip
        observed += np.bincount(table.rank - 1, minlength=n)
    law = stats.binom(n - 1, (R - 1) / (N - 1))
    law = law if replacement else stats.hypergeom(N - 1, R - 1, n - 1)
    assert p_value(observed, law.pmf(np.arange(n)) * observed.sum()) > ALARM


@pytest.mark.parametrize("replacement", [False, True])
def test_the_law_holds_among_the_unseen(replacement: bool) -> None:
    """Eight of the 24 better items and twelve of the worse are seen: N = 40 - 20, R = 25 - 8."""
    users = np.arange(4000)
    gone = np.concatenate([np.arange(8), np.arange(28, 40)])
    seen = Interactions.from_arrays(
        np.repeat(users, 20), np.tile(gone, 4000), user_ids=users, item_ids=range(40)
    )
    table = rank_pairs(
        by_rank(25, 40, 4000), users, np.full(4000, 24),
        Sampled(7, replacement=replacement), exclude=seen, executor=Serial(),
    )  # fmt: skip
    law = stats.binom(6, 16 / 19) if replacement else stats.hypergeom(19, 16, 6)
    assert set(table.n_items.tolist()) == {20}
    observed = np.bincount(table.rank - 1, minlength=7)
    assert p_value(observed, law.pmf(np.arange(7)) * 4000) > ALARM


@pytest.mark.parametrize("kind", ["factors", "calls"])
def test_random_ties_make_sampled_ranks_hypergeometric(kind: str) -> None:
    """For a constant scorer: the full rank is uniform, and the sampled one obeys it."""
    N, n, users = 7, 4, np.arange(7000 if kind == "factors" else 2100)
    scorer: Any = FactorScorer(np.ones((len(users), 1)), np.ones((N, 1)))
    if kind == "calls":
        scorer = FunctionScorer(lambda some: np.ones((len(some), N)), n_items=N)
    items = users % N
    full = rank_pairs(scorer, users, items, Full(), ties="random", seed=1, executor=Serial())
    few = rank_pairs(scorer, users, items, Sampled(n), ties="random", seed=1, executor=Serial())
    assert full.header.seed == 1  # it decided the ties
    observed = np.bincount(full.rank - 1, minlength=N)
    assert p_value(observed, np.full(N, len(users) / N)) > ALARM
    for R in range(1, N + 1):
        here = np.bincount(few.rank[full.rank == R] - 1, minlength=n)
        law = stats.hypergeom(N - 1, R - 1, n - 1).pmf(np.arange(n))
        assert p_value(here, law * here.sum()) > ALARM / N


def test_constant_scorers_land_where_the_rule_says() -> None:
    scorer = FactorScorer(np.ones((4, 1)), np.ones((11, 1)))
    for ties, rank in {"optimistic": 1, "half": 6, "pessimistic": 11}.items():
        assert set(rank_pairs(scorer, range(4), [0, 3, 7, 10], ties=ties).rank) == {rank}


# ---------------------------------------------------------------- adaptive


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("kind", SCORERS)
def test_adaptive_replays_sampled_level_by_level(kind: str, replacement: bool) -> None:
    scorer, _ = SCORERS[kind]

    def ranked(design: Any) -> Any:
        return rank_pairs(
            scorer, WORLD.users, WORLD.items, design, seed=8, exclude=WORLD.seen,
            executor=Serial(),
        )  # fmt: skip

    table = ranked(Adaptive(3, 48, replacement=replacement))
    rank, size, going = np.zeros(len(table)), np.zeros(len(table)), np.ones(len(table), bool)
    for n in (3, 6, 12, 24, 48):  # the rule, read aloud: while the target is first, double
        level = ranked(Sampled(n, replacement=replacement))
        rank[going], size[going] = level.rank[going], n
        going &= level.rank == 1
    assert table.rank.tolist() == rank.tolist()
    assert table.n_sampled.tolist() == size.tolist()
    assert len(set(size)) == 5  # every level was the last one of somebody
    targets = np.log2(size // 3) if kind == "calls" else 0  # scored again with every call
    assert table.n_scored.tolist() == (size + targets).tolist()


@pytest.mark.parametrize("kind", SCORERS)
def test_adaptive_without_a_ceiling_ends_in_exact_ranks(kind: str) -> None:
    scorer, scores = SCORERS[kind]
    best = np.argmax(scores, axis=1)
    users, items = np.arange(60), np.where(np.arange(60) % 2, best, WORLD.items[:60])
    for seen in (None, WORLD.seen):
        design = Adaptive(4, None, budget=np.inf, top=1)
        table = rank_pairs(scorer, users, items, design, exclude=seen)
        ranks, sizes = full_ranks(scores, users, items, seen)
        exact = table.is_exact
        assert exact.sum() >= 20
        assert table.rank[exact].tolist() == np.array(ranks)[exact].tolist()
        assert table.n_items.tolist() == sizes
        first = np.array(ranks) == 1
        assert exact[first].all()  # who is first stays first to the end
        assert (table.rank[~exact] > 1).all()


def test_with_replacement_no_rank_is_exact() -> None:
    scorer = by_rank(1, 12, 50)
    table = rank_pairs(scorer, np.arange(50), np.zeros(50, int), Adaptive(2, 100, replacement=True))
    assert set(table.n_sampled.tolist()) == {11}
    assert not table.is_exact.any()


@pytest.mark.parametrize(
    ("design", "sizes"),
    [
        pytest.param(Adaptive(25, 3200), [25, 50, 100, 200, 400, 800, 1600, 3200], id="default"),
        pytest.param(Adaptive(10, 35, growth=1.5), [10, 15, 22, 33, 35], id="rounded-down"),
        pytest.param(Adaptive(2, 5, growth=1.01), [2, 3, 4, 5], id="at-least-one-more"),
        pytest.param(Adaptive(2, None, growth=1e300, top=1), [2, 5000], id="steep"),
        pytest.param(Adaptive(7, 7), [7], id="one-level"),
        pytest.param(Adaptive(7, 9000), [7, 14, 28, 56, 112, 224, 448, 896, 1792, 3584, 5000],
                     id="ceiling-is-the-catalogue"),
    ],
)  # fmt: skip
def test_adaptive_levels(design: Adaptive, sizes: list[int]) -> None:
    stages = design.stages(5000)
    assert stages.sizes.tolist() == sizes
    assert stages.max_rank.tolist() == [1] * (len(sizes) - 1) + [0]
    assert stages.continue_prob.tolist() == [1.0] * len(sizes)


def stage_rows(n_users: int, n_items: int, target: int) -> TargetRows:
    users = np.arange(n_users)
    targets = np.full(n_users, target)
    return TargetRows.of(users, targets, n_items=n_items, seed=2, exclude=None, ties="half")


def follow(
    backend: Backend, rows: TargetRows, stages: Stages, replacement: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Ranks and sample sizes."""
    state = SampleState.new(len(rows))
    rank = backend.sampled(rows, stages, replacement, state)
    return rank, state.drawn + 1


@pytest.mark.parametrize("kind", ["factors", "calls"])
def test_levels_keep_rows_with_the_stated_probability(kind: str) -> None:
    """Smaller ranks than the last always go on, the last one with its probability."""
    n_users, N = (6000, 40) if kind == "factors" else (1500, 40)
    fast = by_rank(4, N, n_users)
    scorer = fast if kind == "factors" else FunctionScorer(fast.score_all, n_items=N)
    backend: Backend = backend_for(scorer, None)
    rows, sizes, last = stage_rows(n_users, N, 3), np.array([5, 10, 20]), np.array([2, 1, 0])

    def at_most(j: int) -> np.ndarray:
        """The rank of every row at level j, had all gone on."""
        one = Stages(sizes[j : j + 1], np.array([0]), np.array([1.0]))
        return follow(backend, rows, one)[0]

    rank, size = follow(backend, rows, Stages(sizes, last, np.array([0.3, 0.6, 1.0])))
    for j, chance in enumerate((0.3, 0.6)):
        reached, here = size >= sizes[j], at_most(j)
        assert (size[reached & (here < last[j])] > sizes[j]).all()
        assert (size[reached & (here > last[j])] == sizes[j]).all()
        undecided = reached & (here == last[j])
        low, high = stats.binom.interval(1 - ALARM, int(undecided.sum()), chance)
        assert undecided.sum() > 150
        assert low <= (size[undecided] > sizes[j]).sum() <= high
    for j in range(3):
        stayed = size == sizes[j]
        assert (rank[stayed] == at_most(j)[stayed]).all()


@pytest.mark.parametrize("keep", [0.0, 1.0])
def test_levels_that_keep_none_or_all_of_the_last_rank(keep: float) -> None:
    backend = backend_for(by_rank(4, 40, 500), None)
    stages = Stages(np.array([5, 10]), np.array([2, 0]), np.array([keep, 1.0]))
    _, size = follow(backend, stage_rows(500, 40, 3), stages)
    one = Stages(np.array([5]), np.array([0]), np.array([1.0]))
    first = follow(backend, stage_rows(500, 40, 3), one)[0]
    assert ((size == 10) == (first <= (2 if keep else 1))).all()


def test_both_ways_to_follow_levels_agree() -> None:
    fast = by_rank(4, 40, 700)
    slow = FunctionScorer(fast.score_all, n_items=40)
    stages = Stages(np.array([4, 9, 30]), np.array([2, 1, 0]), np.array([0.5, 0.25, 1.0]))
    rows = stage_rows(700, 40, 3)
    for replacement in (False, True):
        one = follow(backend_for(fast, None), rows, stages, replacement)
        two = follow(backend_for(slow, None), rows, stages, replacement)
        assert np.array_equal(one, two)
        assert len(set(one[1].tolist())) == 3
