"""Blocks, tiles, threads, processes, order: none of them may change a bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from slow_ranking import ItemItem, make_world

from truerank.execution import Processes, Serial, Threads
from truerank.ranking import (
    Adaptive,
    FactorScorer,
    FixedNegatives,
    Full,
    FunctionScorer,
    RankTable,
    Sampled,
    Users,
    rank_pairs,
)
from truerank.ranking import rank_models as api
from truerank.ranking.backends import calls as call_backend
from truerank.ranking.backends import factors as factor_backend
from truerank.ranking.backends import item_item as item_item_backend

WORLD = make_world(n_users=300, n_items=150)
WEIGHTS = np.random.default_rng(2).normal(size=(150, 150)).astype(np.float32)
HISTORY = WORLD.seen.matrix()
DESIGNS: dict[str, Any] = {
    "full": Full(),
    "sampled": Sampled(20),
    "replacement": Sampled(20, replacement=True),
    "adaptive": Adaptive(5, None),
    "budget": Adaptive(5, None, budget=12),
    "users": Users(100, Adaptive(5, 40)),
    "given": FixedNegatives(np.random.default_rng(1).integers(0, 150, (len(WORLD.users), 9))),
}
SCORERS: dict[str, Any] = {
    "factors": FactorScorer(WORLD.X, WORLD.Y),
    "float64": FactorScorer(WORLD.X.astype(float), WORLD.Y.astype(float)),
    "dense": ItemItem(HISTORY, WEIGHTS),
    "sparse": ItemItem(HISTORY, sparse.csr_array(WEIGHTS * (WEIGHTS > 1))),
    "calls": FunctionScorer(lambda users: WORLD.scores[users], n_items=150),
}


def ranked(scorer: str, design: str, executor: Any, **options: Any) -> RankTable:
    return rank_pairs(
        SCORERS[scorer], WORLD.users, WORLD.items, DESIGNS[design],
        seed=6, exclude=WORLD.seen, ties="random", executor=executor, **options,
    )  # fmt: skip


def assert_same(one: RankTable, two: RankTable) -> None:
    assert one.header == two.header
    for name in ("user", "item", "rank", "n_sampled", "n_items", "weight", "n_scored"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven users to a block, eleven items to a tile, a few scores to a call."""
    backend_for = api.backend_for

    def small(*args: Any) -> Any:
        backend = backend_for(*args)
        object.__setattr__(backend, "users_per_block", 7)
        return backend

    monkeypatch.setattr(api, "backend_for", small)
    monkeypatch.setattr(factor_backend, "TILE_ITEMS", 11)
    monkeypatch.setattr(call_backend, "BLOCK_BYTES", 5000)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("scorer", SCORERS)
def test_blocks_and_tiles(scorer: str, design: str, request: pytest.FixtureRequest) -> None:
    large = ranked(scorer, design, Serial())
    request.getfixturevalue("small_blocks")
    assert_same(ranked(scorer, design, Serial()), large)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("scorer", SCORERS)
def test_threads(scorer: str, workers: int) -> None:
    for design in DESIGNS:
        assert_same(ranked(scorer, design, Threads(workers)), ranked(scorer, design, Serial()))


@pytest.mark.usefixtures("small_blocks")
def test_the_default_executor() -> None:
    assert_same(ranked("factors", "full", None), ranked("factors", "full", Serial()))


@pytest.mark.parametrize(
    ("scorer", "design"),
    [
        ("factors", "given"),
        ("float64", "full"),
        ("sparse", "users"),
        ("dense", "replacement"),
    ],
)
def test_processes(scorer: str, design: str, small_blocks: None) -> None:
    assert_same(ranked(scorer, design, Processes(2)), ranked(scorer, design, Serial()))


@pytest.mark.parametrize("design", [name for name in DESIGNS if name != "given"])
@pytest.mark.parametrize("scorer", SCORERS)
def test_order_of_the_rows(scorer: str, design: str) -> None:
    order = np.random.default_rng(9).permutation(len(WORLD.users))

    def shuffled(order: np.ndarray) -> dict[tuple[int, int], tuple[int, int, int]]:
        table = rank_pairs(
            SCORERS[scorer], WORLD.users[order], WORLD.items[order], DESIGNS[design],
            seed=6, exclude=WORLD.seen,
        )  # fmt: skip
        rows = zip(table.rank, table.n_sampled, table.n_items, strict=True)
        return dict(zip(zip(table.user, table.item, strict=True), rows, strict=True))

    assert shuffled(order) == shuffled(np.arange(len(order)))


def test_order_of_given_rows() -> None:
    order = np.random.default_rng(9).permutation(len(WORLD.users))
    given = DESIGNS["given"]
    plain = rank_pairs(SCORERS["factors"], WORLD.users, WORLD.items, given)
    mixed = rank_pairs(
        SCORERS["factors"], WORLD.users[order], WORLD.items[order], given.take(order)
    )
    assert mixed.rank.tolist() == plain.rank[order].tolist()


def test_other_users_do_not_matter() -> None:
    some = WORLD.users % 3 == 0
    for design in ("full", "sampled", "adaptive"):
        whole = ranked("factors", design, Serial())[some]
        part = rank_pairs(
            SCORERS["factors"], WORLD.users[some], WORLD.items[some], DESIGNS[design],
            seed=6, exclude=WORLD.seen, ties="random",
        )  # fmt: skip
        assert part.rank.tolist() == whole.rank.tolist()


def test_the_callers_arrays_stay_as_they_were() -> None:
    X, Y = WORLD.X.copy(), WORLD.Y.copy()
    users, items, W = WORLD.users.copy(), WORLD.items.copy(), WEIGHTS.copy()
    rank_pairs(FactorScorer(X, Y), users, items)
    rank_pairs(ItemItem(HISTORY, W), users, items)
    for array, before in ((X, WORLD.X), (Y, WORLD.Y), (users, WORLD.users), (W, WEIGHTS)):
        assert array.flags.writeable
        assert np.array_equal(array, before)
    assert items.flags.writeable


def test_a_function_cannot_leave_the_process() -> None:
    from truerank.errors import InvalidArgumentError

    with pytest.raises(
        InvalidArgumentError, match=r"executor must be Serial\(\) for a scorer made of functions"
    ):
        ranked("calls", "full", Processes(2))


def test_backends_are_what_they_should_be() -> None:
    kinds = {name: type(api.backend_for(scorer, None)) for name, scorer in SCORERS.items()}
    assert kinds == {
        "factors": factor_backend.FactorBackend,
        "float64": factor_backend.FactorBackend,
        "dense": item_item_backend.ItemItemBackend,
        "sparse": item_item_backend.ItemItemBackend,
        "calls": call_backend.CallBackend,
    }
