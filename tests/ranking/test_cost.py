"""``n_scored`` is exactly what the scorer was asked for, and the ranks are those of the plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from slow_ranking import (
    ItemItem,
    World,
    banned_for,
    held_by,
    item_item_scores,
    make_world,
    place,
    rivals_of,
)

from truerank.data.interactions import Interactions
from truerank.execution import Processes, Serial, Threads
from truerank.ranking import (
    Adaptive,
    FactorScorer,
    FixedNegatives,
    Full,
    RankTable,
    Sampled,
    Users,
    rank_pairs,
)
from truerank.ranking import rank_models as api
from truerank.ranking.backends import calls as call_backend
from truerank.rng import Stream, addresses


class Counting:
    """A scorer that counts every score it is asked for."""

    def __init__(self, scores: np.ndarray) -> None:
        self.scores, self.asked = scores, 0
        self.n_items = scores.shape[1]

    def score_all(self, users: np.ndarray) -> np.ndarray:
        self.asked += len(users) * self.n_items
        return self.scores[users]

    def score_pairs(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        self.asked += items.size
        return np.take_along_axis(self.scores[users], items, axis=1)


SEVERAL = make_world(n_users=60, n_items=90)
"""Several targets a user, in no order."""


def one_target(world: World) -> World:
    users, first = np.unique(world.users, return_index=True)
    return World(world.X, world.Y, users, world.items[first], world.seen, world.scores)


def few_items(world: World, n_items: int) -> World:
    """A world of the first items only: fewer candidates than the defaults of any design."""
    users, items = world.seen.users, world.seen.indices
    seen = Interactions.from_arrays(
        users[items < n_items], items[items < n_items],
        user_ids=range(len(world.X)), item_ids=range(n_items),
    )  # fmt: skip
    here = world.items < n_items
    return World(
        world.X, world.Y[:n_items], world.users[here], world.items[here], seen,
        world.scores[:, :n_items],
    )  # fmt: skip


WORLDS = {"one": one_target(SEVERAL), "several": SEVERAL, "tiny": few_items(SEVERAL, 23)}
DESIGNS: dict[str, Any] = {
    "full": Full(),
    "sampled": Sampled(),
    "few": Sampled(7),
    "replacement": Sampled(7, replacement=True),
    "adaptive": Adaptive(),
    "budget": Adaptive(3, budget=12, top=4),
    "starved": Adaptive(2, budget=2.5),
    "no-limit": Adaptive(3, budget=np.inf),
    "dissertation": Adaptive(3, 12, replacement=True),
    "ceiling-and-budget": Adaptive(3, 14, budget=6, growth=1.5, replacement=True),
    "given": None,
    "users": Users(6),
    "users-adaptive": Users(7, Adaptive(3)),
}


def design_of(name: str, world: World) -> Any:
    """The design; given negatives are lists of different lengths, some of them with the target."""
    if name != "given":
        return DESIGNS[name]
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 9, len(world.users))
    return FixedNegatives([rng.integers(0, world.scores.shape[1], n) for n in lengths])


def ranked(scorer: Any, world: World, name: str, seen: bool, **options: Any) -> RankTable:
    return rank_pairs(
        scorer, world.users, world.items, design_of(name, world), seed=6,
        exclude=world.seen if seen else None, progress=False, **options,
    )  # fmt: skip


@pytest.mark.parametrize("pilot", [9, 4096], ids=["more-rows-than-the-pilot", "fewer"])
@pytest.mark.parametrize("seen", [False, True], ids=["all", "unseen"])
@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("world", WORLDS)
def test_every_score_is_counted_once(
    world: str, name: str, seen: bool, pilot: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "PILOT_ROWS", pilot)
    scorer = Counting(WORLDS[world].scores)
    table = ranked(scorer, WORLDS[world], name, seen)
    assert table.n_scored.sum() == scorer.asked
    fast = FactorScorer(WORLDS[world].X, WORLDS[world].Y)
    compiled = ranked(fast, WORLDS[world], name, seen)
    assert compiled.rank.tolist() == table.rank.tolist()
    assert compiled.n_sampled.tolist() == table.n_sampled.tolist()
    assert compiled.header.to_dict()["design"] == table.header.to_dict()["design"]
    if "full" in name or name == "users":
        assert compiled.n_scored.tolist() == table.n_scored.tolist()
    else:
        assert compiled.n_scored.tolist() == table.n_sampled.tolist()


def test_by_calls_the_target_is_scored_at_each_stage() -> None:
    scorer = Counting(SEVERAL.scores)
    table = ranked(scorer, SEVERAL, "budget", True)
    stages = table.header.stages
    assert stages is not None
    passed = 1 + np.searchsorted(stages.sizes, table.n_sampled)
    assert len(set(passed)) > 3
    assert table.n_scored.tolist() == (table.n_sampled - 1 + passed).tolist()


def test_rows_of_a_user_share_the_cost_of_its_list() -> None:
    users = np.array([5, 2, 5, 5, 5])
    items = np.array([80, 3, 7, 60, 41])
    table = rank_pairs(FactorScorer(SEVERAL.X, SEVERAL.Y), users, items)
    assert table.n_scored.tolist() == [22, 90, 23, 22, 23]  # 90 of user 5: 7 and 41 come first
    assert table.n_sampled.tolist() == [90] * 5


def test_nothing_is_padded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every item that a scorer meets is the target or one of the row's own rivals."""
    met: list[tuple[int, int, list[int]]] = []

    class Noting(Counting):
        def score_pairs(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
            rows = zip(users.tolist(), items.tolist(), strict=True)
            met.extend((user, line[0], line[1:]) for user, line in rows)
            return super().score_pairs(users, items)

    given = design_of("given", SEVERAL)
    for block in (5000, 64 * 2**20):
        met.clear()
        monkeypatch.setattr(call_backend, "BLOCK_BYTES", block)
        ranked(Noting(SEVERAL.scores), SEVERAL, "given", False)
        lists = zip(SEVERAL.users.tolist(), SEVERAL.items.tolist(), given.negatives, strict=True)
        assert sorted(met) == sorted((u, i, line.tolist()) for u, i, line in lists)


# ---------------------------------------------------------------- executors and backends

MANY = make_world(n_users=300, n_items=150)
WEIGHTS = np.random.default_rng(2).normal(size=(150, 150)).astype(np.float32)
THIN = WEIGHTS * (WEIGHTS > 1)
HISTORY = MANY.seen.matrix()
BACKENDS: dict[str, tuple[Any, np.ndarray]] = {
    "factors": (FactorScorer(MANY.X, MANY.Y), MANY.scores),
    "dense": (ItemItem(HISTORY, WEIGHTS), item_item_scores(HISTORY, WEIGHTS)),
    "sparse": (ItemItem(HISTORY, sparse.csr_array(THIN)), item_item_scores(HISTORY, THIN)),
    "calls": (Counting(MANY.scores), MANY.scores),
}


def in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    backend_for = api.backend_for

    def small(*args: Any) -> Any:
        backend = backend_for(*args)
        object.__setattr__(backend, "users_per_block", 7)
        return backend

    monkeypatch.setattr(api, "backend_for", small)
    monkeypatch.setattr(call_backend, "BLOCK_BYTES", 5000)


@pytest.mark.parametrize("pilot", [130, 4096])
@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("kind", BACKENDS)
def test_no_executor_and_no_block_changes_the_cost(
    kind: str, name: str, pilot: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "PILOT_ROWS", pilot)
    scorer = BACKENDS[kind][0]
    large = ranked(scorer, MANY, name, True, executor=Serial())
    in_small_blocks(monkeypatch)
    for executor in (Serial(), Threads(2)):
        table = ranked(scorer, MANY, name, True, executor=executor)
        for column in ("rank", "n_sampled", "n_items", "n_scored"):
            assert np.array_equal(getattr(table, column), getattr(large, column)), column
        assert table.header == large.header


@pytest.mark.parametrize("name", ["full", "adaptive", "given"])
def test_other_processes_cost_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "PILOT_ROWS", 130)
    one = ranked(BACKENDS["factors"][0], MANY, name, True, executor=Serial())
    two = ranked(BACKENDS["factors"][0], MANY, name, True, executor=Processes(2))
    assert two.n_scored.tolist() == one.n_scored.tolist()
    assert two.rank.tolist() == one.rank.tolist()


def test_any_order_of_the_rows_costs_the_same() -> None:
    order = np.random.default_rng(9).permutation(len(MANY.users))
    mixed = World(MANY.X, MANY.Y, MANY.users[order], MANY.items[order], MANY.seen, MANY.scores)
    for name in ("full", "adaptive"):
        plain = ranked(BACKENDS["factors"][0], MANY, name, True)
        shuffled = ranked(BACKENDS["factors"][0], mixed, name, True)
        assert shuffled.n_scored.tolist() == plain.n_scored[order].tolist()


# ---------------------------------------------------------------- the bits


def by_the_plan(
    table: RankTable, world: World, scores: np.ndarray, rows: slice
) -> tuple[list[int], list[int]]:
    """Ranks and sizes of some rows under the table's own stages, each from the beginning."""
    stages, held = table.header.stages, held_by(world.users, world.items)
    assert stages is not None
    ranks, sizes = [], []
    replacement, n_items = table.header.replacement, scores.shape[1]
    for user, target in zip(world.users[rows].tolist(), world.items[rows].tolist(), strict=True):
        banned = banned_for(user, held[user], world.seen)
        there_are = n_items - len(banned)
        most = there_are - (2 if replacement else 1)
        for stage, size in enumerate(stages.sizes.tolist()):
            n = min(size - 1, most)
            rivals = rivals_of(6, user, target, n_items, banned, n, replacement)
            whole = n == most and not replacement
            rank = place(scores[user], target, rivals, "random", 6, user, held[user], whole)
            word = int(addresses(6, Stream.NEGATIVES, user, target, stage)[0])
            chance = (word >> 11) / 2**53
            if n == most or chance >= stages.probability(stage, np.array(rank)):
                break
        ranks.append(rank)
        sizes.append(n + 1)
    return ranks, sizes


@pytest.mark.parametrize("pilot", [130, 4096])
@pytest.mark.parametrize("name", ["adaptive", "budget", "starved", "ceiling-and-budget"])
@pytest.mark.parametrize("kind", BACKENDS)
def test_ranks_are_those_of_the_plan_followed_from_the_start(
    kind: str, name: str, pilot: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "PILOT_ROWS", pilot)
    in_small_blocks(monkeypatch)
    scorer, scores = BACKENDS[kind]
    table = ranked(scorer, MANY, name, True)
    some = slice(None, None, 4)
    ranks, sizes = by_the_plan(table, MANY, scores, some)
    assert table.rank[some].tolist() == ranks
    assert table.n_sampled[some].tolist() == sizes
    assert len(set(sizes)) > 1
