"""Screened ranking and shared rivals: those of the slow reference, whatever runs them and where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import slow_screening
from scipy import sparse
from slow_ranking import (
    TIES,
    ItemItem,
    full_ranks,
    item_item_scores,
    make_world,
    scores_of,
)
from slow_screening import assert_rows, block_of, order_of_block, slow_screened

import truerank as tr
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError
from truerank.execution import Processes, Serial, Threads
from truerank.ranking import FactorScorer, FunctionScorer, RankTable, Sampled, Screened, Users
from truerank.ranking import rank_models as api
from truerank.ranking.backends import calls as call_backend
from truerank.ranking.backends import factors as factor_backend
from truerank.ranking.backends import full_rank_single
from truerank.ranking.screening import screened_ranks
from truerank.ranking.stages import Stages
from truerank.ranking.user_blocks import blocks_for

SEED = 11
N_USERS, N_ITEMS = 70, 401
WORLD = make_world(N_USERS, N_ITEMS, 4, seed=3)
DOUBLE = make_world(N_USERS, N_ITEMS, 4, dtype=np.float64, seed=4)
WHOLE = make_world(N_USERS, N_ITEMS, 3, dtype=np.int64, seed=5)  # a few distinct scores
HISTORY = WORLD.seen.matrix()
_rng = np.random.default_rng(2)
WEIGHTS = _rng.normal(size=(N_ITEMS, N_ITEMS)).astype(np.float32)
THIN = sparse.csr_array(WEIGHTS * (WEIGHTS > 1.5))
NATURAL = _rng.integers(-1, 3, (N_ITEMS, N_ITEMS)).astype(np.float32)


def factors(world: Any) -> FactorScorer:
    X, Y = world.X, world.Y
    return FactorScorer(X, Y) if X.dtype.kind == "f" else FactorScorer(X * 1.0, Y * 1.0)


SCORERS: dict[str, tuple[Any, np.ndarray]] = {
    "float32": (factors(WORLD), WORLD.scores),
    "float64": (factors(DOUBLE), DOUBLE.scores),
    "tied factors": (factors(WHOLE), WHOLE.scores),
    "dense": (ItemItem(HISTORY, WEIGHTS), item_item_scores(HISTORY, WEIGHTS)),
    "tied dense": (ItemItem(HISTORY, NATURAL), item_item_scores(HISTORY, NATURAL)),
    "sparse": (ItemItem(HISTORY, THIN), item_item_scores(HISTORY, THIN)),
    "calls": (FunctionScorer(lambda users: WHOLE.scores[users], N_ITEMS), WHOLE.scores),
    "calls32": (
        FunctionScorer(lambda users: WORLD.scores[users].astype(np.float32), N_ITEMS),
        WORLD.scores.astype(np.float32),
    ),
}


def with_liked_items() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The world's pairs, and for every user an item that one of the scorers has at the top."""
    matrices = [SCORERS[kind][1] for kind in ("float32", "float64", "tied factors", "dense",
                                              "tied dense", "sparse")]  # fmt: skip
    top = [
        int(np.argsort(-matrices[user % 6][user], kind="stable")[user // 6 % 4])
        for user in range(N_USERS)
    ]
    cells = np.concatenate(
        [np.arange(N_USERS) * N_ITEMS + top, WORLD.users * N_ITEMS + WORLD.items]
    )
    _, first = np.unique(cells, return_index=True)
    order = np.random.default_rng(7).permutation(len(first))
    cells, liked = cells[first[order]], first[order] < N_USERS
    return cells // N_ITEMS, cells % N_ITEMS, np.flatnonzero(liked)


USERS, ITEMS, LIKED = with_liked_items()
ROWS = {"several": np.arange(len(USERS)), "one": LIKED}  # one a user is another kernel

CERTIFIED = Screened(k=5, miss=0.05)
SHARED = Sampled(60, shared=10)
DESIGNS: dict[str, Any] = {
    "certified": CERTIFIED,
    "early": Screened(k=1, miss=0.3),
    "shared": SHARED,
    "one block": Sampled(50, shared=10**6),
    "alone": Sampled(40, shared=1),
}


def stages(*rows: tuple[int, int, float], blocks: int) -> Stages:
    sizes, max_rank, continue_prob = zip(*rows, strict=True)
    return Stages(np.array(sizes), np.array(max_rank), np.array(continue_prob), blocks)


BY_HAND: dict[str, Stages] = {
    "four": stages((5, 2, 1.0), (37, 5, 0.5), (150, 9, 0.7), (N_ITEMS, 0, 1.0), blocks=7),
    "steps of one": stages((2, 2, 0.9), (3, 3, 0.9), (4, 4, 1.0), (N_ITEMS, 0, 1.0), blocks=3),
    "no exact end": stages((30, 3, 0.4), (300, 0, 1.0), blocks=200),
    "nearly all": stages((N_ITEMS - 1, 30, 1.0), (N_ITEMS, 0, 1.0), blocks=11),
    "none goes on": stages((64, 0, 1.0), (N_ITEMS, 0, 1.0), blocks=5),
    "everybody goes on": stages((64, 65, 1.0), (N_ITEMS, 0, 1.0), blocks=5),
    "more blocks than items": stages((100, 9, 0.5), (N_ITEMS, 0, 1.0), blocks=1000),
    "one block": stages((33, 3, 1.0), (200, 4, 0.5), (N_ITEMS, 0, 1.0), blocks=1),
}


def follow(chosen: Stages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Screened() follows these stages, whatever it was asked for."""
    monkeypatch.setattr(Screened, "stages", lambda design, n_items, n_users=None: chosen)


@pytest.fixture
def by_hand(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Stages:
    """Screened() follows the stages of this name."""
    chosen = BY_HAND[request.param]
    follow(chosen, monkeypatch)
    return chosen


def ranked(kind: str, design: Any, rows: Any = "several", **told: Any) -> RankTable:
    some = ROWS[rows] if isinstance(rows, str) else rows
    options = {"seed": SEED, "exclude": WORLD.seen, "executor": Serial()} | told
    return tr.rank_pairs(SCORERS[kind][0], USERS[some], ITEMS[some], design, **options)


def assert_slow(table: RankTable, kind: str, rows: Any = "several", **told: Any) -> Any:
    """The table is that of the slow reference with the stages that the table says."""
    some = ROWS[rows] if isinstance(rows, str) else rows
    users = USERS[some]
    options = {"seed": SEED, "exclude": WORLD.seen, "ties": "random"} | told
    slow = slow_screened(
        SCORERS[kind][1], users, ITEMS[some], table.header.stages,
        target_in_line=kind.startswith("calls"), **options,
    )  # fmt: skip
    assert_rows(table, slow, users)
    return slow


def assert_same(one: RankTable, two: RankTable) -> None:
    assert one.header == two.header
    for name in ("user", "item", "rank", "n_sampled", "n_items", "weight", "n_scored"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


# ---------------------------------------------------------------- the slow reference


def test_the_rows_have_what_they_are_for() -> None:
    targets = np.bincount(USERS)
    assert targets.max() >= 3
    held = zip(USERS.tolist(), ITEMS.tolist(), strict=True)
    assert sum(item in WORLD.seen.items_of(user) for user, item in held) >= 20
    for kind in ("tied factors", "tied dense", "calls"):
        assert len(np.unique(SCORERS[kind][1])) < 100
    assert len(ranked("float32", CERTIFIED).header.stages.sizes) > 1


@pytest.mark.parametrize("seen", [None, WORLD.seen], ids=["all", "unseen"])
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("kind", SCORERS)
def test_ranks_are_those_of_the_slow_reference(
    kind: str, design: str, rows: str, seen: Interactions | None
) -> None:
    table = ranked(kind, DESIGNS[design], rows, exclude=seen)
    assert_slow(table, kind, rows, exclude=seen)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("by_hand", BY_HAND, indirect=True)
@pytest.mark.parametrize("kind", SCORERS)
def test_any_stages_are_followed(kind: str, by_hand: Stages, rows: str) -> None:
    table = ranked(kind, Screened(), rows)
    assert table.header.stages is by_hand
    slow = assert_slow(table, kind, rows)
    if by_hand.sizes.tolist() == [5, 37, 150, N_ITEMS] and rows == "several":
        assert set(slow.stage) == {0, 1, 2, 3}


@pytest.mark.parametrize("by_hand", ["four", "no exact end"], indirect=True)
@pytest.mark.parametrize("ties", TIES[1:])
@pytest.mark.parametrize("kind", ["tied factors", "tied dense", "sparse", "calls"])
def test_tie_rules_by_stages(kind: str, ties: Any, by_hand: Stages) -> None:
    assert len(by_hand.sizes)
    for rows in ROWS:
        for seen in (None, WORLD.seen):
            table = ranked(kind, Screened(), rows, ties=ties, exclude=seen)
            assert_slow(table, kind, rows, ties=ties, exclude=seen)


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_every_seed_has_its_order(seed: int) -> None:
    table = ranked("float32", CERTIFIED, seed=seed)
    assert_slow(table, "float32", seed=seed)
    assert table.header.seed == seed


def test_seeds_differ_and_models_meet_the_same_rivals() -> None:
    one, two = ranked("float32", SHARED), ranked("float32", SHARED, seed=SEED + 1)
    assert (one.rank != two.rank).mean() > 0.5
    # Scores that say how early an item is met: every model is compared with the same items.
    others = ranked("float64", SHARED)
    assert np.array_equal(one.n_sampled, others.n_sampled)


# ---------------------------------------------------------------- ties


def tied_world(share: float, kind: str) -> tuple[Any, np.ndarray]:
    """A scorer by which this share of the items ties for every user, in the middle."""
    rng = np.random.default_rng(int(100 * share))
    flat = rng.permutation(N_ITEMS) < share * N_ITEMS
    if kind == "factors":
        X, Y = rng.normal(size=(N_USERS, 2)), rng.normal(size=(N_ITEMS, 2))
        Y[flat] = 0.0
        scores = np.array([scores_of(X, Y, user) for user in range(N_USERS)])
        return FactorScorer(X, Y), scores
    if kind == "calls":
        scores = rng.normal(size=(N_USERS, N_ITEMS))
        scores[:, flat] = 0.25
        return FunctionScorer(lambda users: scores[users], N_ITEMS), scores
    W = rng.normal(size=(N_ITEMS, N_ITEMS))
    W[:, flat] = 0.0
    stored = W if kind == "dense" else sparse.csr_array(W)
    return ItemItem(HISTORY, stored), item_item_scores(HISTORY, stored)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("kind", ["factors", "dense", "sparse", "calls"])
def test_any_share_of_ties(kind: str, share: float, ties: Any) -> None:
    scorer, scores = tied_world(share, kind)
    designs = [SHARED] if ties == "half" else [SHARED, CERTIFIED]
    for design in designs:
        for rows in ROWS.values():
            users, items = USERS[rows], ITEMS[rows]
            table = tr.rank_pairs(
                scorer, users, items, design, seed=SEED, exclude=WORLD.seen, ties=ties,
                executor=Serial(),
            )  # fmt: skip
            slow = slow_screened(
                scores, users, items, table.header.stages, seed=SEED, exclude=WORLD.seen,
                ties=ties, target_in_line=kind == "calls",
            )  # fmt: skip
            assert_rows(table, slow, users)


@pytest.mark.parametrize("design", [Screened(), CERTIFIED, Users(5, Screened(k=3))], ids=str)
def test_half_of_the_ties_cannot_be_certified(design: Any) -> None:
    with pytest.raises(
        InvalidArgumentError,
        match="ties must be one of optimistic, pessimistic, random where a screen is certified, "
        "got 'half'; random is the default",
    ):
        ranked("float32", design, ties="half")


# ---------------------------------------------------------------- exact rows


@pytest.mark.parametrize("ties", TIES[1:])
@pytest.mark.parametrize("kind", SCORERS)
def test_exact_rows_have_the_full_rank(kind: str, ties: Any) -> None:
    for rows in ROWS:
        full = ranked(kind, tr.Full(), rows, ties=ties)
        table = ranked(kind, CERTIFIED, rows, ties=ties)
        exact = table.is_exact
        assert 0 < exact.sum() < len(exact)
        assert np.array_equal(table.rank[exact], full.rank[exact])
        assert np.array_equal(table.n_items, full.n_items)
        assert (table.rank <= full.rank).all()
        assert (table.n_sampled - table.rank <= full.n_items - full.rank).all()


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("kind", SCORERS)
def test_a_shared_sample_of_everything_is_the_full_ranking(kind: str, ties: Any) -> None:
    full = ranked(kind, tr.Full(), ties=ties)
    for n in (N_ITEMS, 10**6):
        table = ranked(kind, Sampled(n, shared=10), ties=ties)
        assert table.is_exact.all()
        assert np.array_equal(table.rank, full.rank)
        assert np.array_equal(table.n_scored, full.n_scored)


# ---------------------------------------------------------------- small and odd worlds


def nearly_all_seen() -> tuple[np.ndarray, np.ndarray, Interactions]:
    """Users who have seen all but 0 to 3 items beside their targets, which are seen as well."""
    rng = np.random.default_rng(8)
    seen = rng.random((N_USERS, N_ITEMS)) < 2
    users, items = [], []
    for user in range(N_USERS):
        unseen = rng.choice(N_ITEMS, user % 4, replace=False)
        seen[user, unseen] = False
        own = rng.choice(N_ITEMS, 1 + user % 3, replace=False)
        users += [user] * len(own)
        items += own.tolist()
    user, item = np.nonzero(seen)
    known = Interactions.from_arrays(user, item, user_ids=range(N_USERS), item_ids=range(N_ITEMS))
    return np.array(users), np.array(items), known


@pytest.mark.parametrize("by_hand", ["four", "no exact end"], indirect=True)
@pytest.mark.parametrize("kind", ["float32", "tied dense", "sparse", "calls"])
def test_users_who_have_seen_nearly_everything(kind: str, by_hand: Stages) -> None:
    users, items, seen = nearly_all_seen()
    scorer, scores = SCORERS[kind]
    for some in (np.arange(len(users)), np.unique(users, return_index=True)[1]):
        for design in (Screened(), SHARED):
            table = tr.rank_pairs(
                scorer, users[some], items[some], design, seed=SEED, exclude=seen, executor=Serial()
            )
            slow = slow_screened(
                scores, users[some], items[some], table.header.stages, seed=SEED, exclude=seen,
                target_in_line=kind == "calls",
            )  # fmt: skip
            assert_rows(table, slow, users[some])
            assert table.n_items.max() <= 7
            assert table.is_exact[table.n_items == 1].all()
            exact, sizes = full_ranks(scores, users[some], items[some], seen, "random", SEED)
            assert table.n_items.tolist() == sizes
            whole = table.is_exact
            assert table.rank[whole].tolist() == np.array(exact)[whole].tolist()
    assert len(by_hand.sizes) in (2, 4)


def random_stages(rng: np.random.Generator, n_items: int) -> Stages:
    """Sizes from 2 on, which end with the catalogue more often than not."""
    room = np.arange(2, n_items + 1)
    sizes = np.sort(rng.choice(room, min(len(room), int(rng.integers(1, 5))), replace=False))
    if rng.random() < 0.7:
        sizes = np.unique(np.append(sizes, n_items))
    max_rank = rng.integers(0, 6, len(sizes))
    max_rank[-1] = 0
    blocks = int(rng.choice([1, 2, 5, 200]))
    return Stages(sizes, max_rank, rng.choice([0.0, 0.5, 1.0], len(sizes)), blocks)


@pytest.mark.parametrize("n_items", [2, 3, 4, 7, 16, 17, 40])
def test_tiny_catalogues(n_items: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(n_items)
    for case in range(12):
        n_users = int(rng.integers(1, 9))
        seen = rng.random((n_users, n_items)) < 0.3
        held = rng.random((n_users, n_items)) < rng.choice([0.2, 0.9])
        held[rng.integers(n_users), rng.integers(n_items)] = True
        users, items = np.nonzero(held)
        seen[0, 0] = True
        who, what = np.nonzero(seen)
        known = Interactions.from_arrays(
            who, what, user_ids=range(n_users), item_ids=range(n_items)
        )
        X = rng.integers(-2, 3, (n_users, 2)).astype([np.float32, np.float64][case % 2])
        Y = rng.integers(-2, 3, (n_items, 2)).astype(X.dtype)
        scores = np.array([scores_of(X, Y, user) for user in range(n_users)])
        W = rng.integers(-1, 2, (n_items, n_items)).astype(float)
        by_items = item_item_scores(known.matrix(), W)
        for scorer, values in (
            (FactorScorer(X, Y), scores),
            (FunctionScorer(lambda u, s=scores: s[u], n_items), scores),
            (ItemItem(known.matrix(), W), by_items),
            (ItemItem(known.matrix(), sparse.csr_array(W)), by_items),
        ):
            chosen = random_stages(rng, n_items)
            follow(chosen, monkeypatch)
            ties: Any = ("random", "optimistic", "pessimistic", "half")[case % 4]
            shared = Sampled(int(rng.integers(2, n_items + 2)), shared=int(rng.integers(1, 9)))
            for design in (shared,) if ties == "half" else (shared, Screened()):
                table = tr.rank_pairs(
                    scorer, users, items, design, seed=case, exclude=known, ties=ties,
                    executor=Serial(),
                )  # fmt: skip
                slow = slow_screened(
                    values, users, items, table.header.stages, seed=case, exclude=known,
                    ties=ties, target_in_line=isinstance(scorer, FunctionScorer),
                )  # fmt: skip
                assert_rows(table, slow, users)


@pytest.mark.parametrize("n_items", [1, 2, 3, 40, 128, 200])
@pytest.mark.parametrize("k", [1, 20, 500])
def test_default_stages_take_any_catalogue(n_items: int, k: int) -> None:
    """A cutoff beyond the catalogue is the catalogue; nothing warns, and files hold it."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(9, n_items))
    scorer = FunctionScorer(lambda users: scores[users], n_items)
    users, items = np.arange(9), np.arange(9) % n_items
    for design in (Screened(k=k), Sampled(shared=4), Sampled(5, shared=2)):
        table = tr.rank_pairs(scorer, users, items, design, executor=Serial())
        slow = slow_screened(
            scores, users, items, table.header.stages, seed=0, target_in_line=True
        )  # fmt: skip
        assert_rows(table, slow, users)
        assert tr.ranking.Header.from_dict(table.header.to_dict()) == table.header
        if isinstance(design, Screened) and k >= n_items:
            assert table.is_exact.all()


@pytest.mark.parametrize("kind", ["float32", "dense", "sparse", "calls"])
def test_one_user_and_one_row(kind: str) -> None:
    first = int(USERS[0])
    for some in ([0], np.flatnonzero(np.equal(USERS, first))):
        for design in DESIGNS.values():
            rows = np.asarray(some)
            assert_slow(ranked(kind, design, rows), kind, rows)


def test_a_pair_asked_for_twice_has_one_rank() -> None:
    twice = np.append(np.arange(len(USERS)), [3, 3, 8])
    for kind in ("float32", "dense", "calls"):
        for design in (CERTIFIED, SHARED):
            table = ranked(kind, design, twice)
            once = ranked(kind, design)
            assert np.array_equal(table.rank, once.rank[twice])
            assert np.array_equal(table.n_sampled, once.n_sampled[twice])


# ---------------------------------------------------------------- names and blocks


def test_blocks_go_by_the_names_of_users() -> None:
    """So a user meets the same rivals in any table, whatever its index there."""
    text = np.array([f"u{user % 7}-{user}é" for user in range(N_USERS)])
    gaps = np.random.default_rng(0).permutation(np.arange(N_USERS) * 10**15 - 5)
    for names in (text, gaps):
        for design in (CERTIFIED, SHARED):
            table = ranked("float32", design, user_ids=names)
            assert_slow(table, "float32", names=names)
            assert len({block_of(name, 200) for name in names}) > 40
    plain = ranked("float32", CERTIFIED)
    assert (plain.rank != ranked("float32", CERTIFIED, user_ids=text).rank).any()
    numbers = ranked("float32", CERTIFIED, user_ids=np.arange(N_USERS))
    assert np.array_equal(plain.rank, numbers.rank)


def test_other_indices_for_the_same_users_change_nothing() -> None:
    """Users of another table in another order: the same names, the same random order of ties."""
    order = np.random.default_rng(1).permutation(N_USERS)
    names = np.array([f"user {user}" for user in range(N_USERS)])
    index = np.argsort(order)
    X = WORLD.X[order]
    seen = Interactions.from_arrays(
        index[np.repeat(np.arange(N_USERS), WORLD.seen.user_counts)], WORLD.seen.indices,
        user_ids=range(N_USERS), item_ids=range(N_ITEMS),
    )  # fmt: skip
    for design in (CERTIFIED, SHARED):
        mine = ranked("float32", design, user_ids=names, ties="pessimistic")
        other = tr.rank_pairs(
            FactorScorer(X, WORLD.Y), index[USERS], ITEMS, design, seed=SEED,
            exclude=seen, user_ids=names[order], executor=Serial(), ties="pessimistic",
        )  # fmt: skip
        assert mine.user.tolist() == other.user.tolist()
        assert np.array_equal(mine.rank, other.rank)
        assert np.array_equal(mine.n_sampled, other.n_sampled)


@pytest.mark.parametrize("n_users", [1, 5, 70, 1_000, 30_000, 51_200, 10**6])
def test_blocks_hold_about_as_many_as_asked_for(n_users: int) -> None:
    for together in (1, 2, 100, 256, 10_000):
        n_blocks = blocks_for(n_users, together)
        assert 200 % n_blocks == 0 or n_blocks % 200 == 0
        wanted = max(1.0, n_users / together)
        assert n_blocks <= 2.5 * wanted
        assert n_blocks >= wanted / 2.5


def test_every_block_has_an_order_of_its_own() -> None:
    orders = [order_of_block(SEED, block, N_ITEMS, N_ITEMS - 1) for block in range(3)]
    assert all(len(set(order)) == N_ITEMS - 1 for order in orders)
    assert orders[0] != orders[1] != orders[2]


# ---------------------------------------------------------------- split, users, candidates


@pytest.mark.parametrize("candidates", ["unseen", "all"])
def test_a_split(candidates: Any) -> None:
    data = tr.load_dataset("demo", n_users=150, n_items=300)
    split = tr.split.leave_k_out(data, 2, seed=1)
    model = tr.models.EASE(l2=50.0).fit(split.train)
    seen = split.train if candidates == "unseen" else None
    users = split.held_out.users.astype(np.int64)
    items = split.held_out.indices.astype(np.int64)
    for design in (Screened(k=2, miss=0.1), Sampled(50, shared=16)):
        table = tr.rank(model, split, design, seed=2, candidates=candidates, progress=False)
        pairs = tr.rank_pairs(
            model, users, items, design, seed=2, exclude=seen, user_ids=data.user_ids,
            item_ids=data.item_ids,
        )  # fmt: skip
        assert np.array_equal(table.rank, pairs.rank)
        assert np.array_equal(table.n_sampled, pairs.n_sampled)
        assert table.header.stages.describe() == pairs.header.stages.describe()
        scores = item_item_scores(model.history, model.item_item)
        slow = slow_screened(
            scores, users, items, table.header.stages, seed=2, exclude=seen, names=data.user_ids
        )
        assert_rows(table, slow, users)


def test_some_users_only() -> None:
    """The users that are drawn meet the rivals that they meet among all."""
    whole = ranked("float32", CERTIFIED)
    some = ranked("float32", Users(25, CERTIFIED))
    assert some.n_users == 25
    assert some.header.n_population == whole.header.n_population == N_USERS
    rows = np.flatnonzero(np.isin(USERS, some.user))
    assert np.array_equal(some.rank, whole.rank[rows])
    assert np.array_equal(some.n_sampled, whole.n_sampled[rows])
    assert_slow(ranked("float32", Users(25, SHARED)), "float32", rows)


# ---------------------------------------------------------------- nothing else matters

EVERY = ("float32", "float64", "tied factors", "dense", "sparse", "calls")


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few users to a block, a few items to a tile, a few scores to a call."""
    backend_for, blocks = api.backend_for, api.RankJob.blocks

    def small(*asked: Any) -> Any:
        backend = backend_for(*asked)
        object.__setattr__(backend, "users_per_block", 3)
        return backend

    def cut(job: Any) -> list[tuple[int, int]]:
        _, starts = job.rows.grouped()
        cuts = [int(starts[k]) for k in range(0, len(starts) - 1, 3)]
        assert len(blocks(job)) >= 1
        return list(zip(cuts, [*cuts[1:], len(job.rows)], strict=True))

    monkeypatch.setattr(api, "backend_for", small)
    monkeypatch.setattr(api.RankJob, "blocks", cut)
    monkeypatch.setattr(factor_backend, "TILE_ITEMS", 11)
    monkeypatch.setattr(call_backend, "BLOCK_BYTES", 5000)


@pytest.mark.parametrize("design", ["certified", "shared"])
@pytest.mark.parametrize("kind", EVERY)
def test_blocks_and_tiles(kind: str, design: str, request: pytest.FixtureRequest) -> None:
    large = {rows: ranked(kind, DESIGNS[design], rows) for rows in ROWS}
    request.getfixturevalue("small_blocks")
    for rows in ROWS:
        small = ranked(kind, DESIGNS[design], rows)
        if kind != "calls":
            assert_same(small, large[rows])
        else:  # a user's line may be split, but never the user
            assert np.array_equal(small.rank, large[rows].rank)
            assert np.array_equal(small.n_scored, large[rows].n_scored)


@pytest.mark.parametrize("kind", EVERY)
def test_slices(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the items of a stage, a few at a time: a foreign scorer scores the target with each."""
    whole = {rows: ranked(kind, CERTIFIED, rows) for rows in ROWS}
    for size in (1, 13, 69, 70):
        monkeypatch.setattr(screened_ranks, "SLICE", size)
        monkeypatch.setattr(slow_screening, "SLICE", size)
        for rows in ROWS:
            table = ranked(kind, CERTIFIED, rows)
            assert_slow(table, kind, rows)
            assert np.array_equal(table.rank, whole[rows].rank)
            assert np.array_equal(table.n_sampled, whole[rows].n_sampled)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", EVERY)
def test_threads(kind: str) -> None:
    for design in (CERTIFIED, SHARED):
        one = ranked(kind, design)
        for workers in (1, 3):
            assert_same(ranked(kind, design, executor=Threads(workers)), one)
        assert_same(ranked(kind, design, executor=None), one)


@pytest.mark.parametrize(
    ("kind", "design"),
    [("float32", CERTIFIED), ("float64", SHARED), ("dense", SHARED), ("sparse", CERTIFIED)],
    ids=str,
)
def test_processes(kind: str, design: Any, small_blocks: None) -> None:
    assert_same(ranked(kind, design, executor=Processes(2)), ranked(kind, design))


def test_functions_cannot_leave_the_process() -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"executor must be Serial\(\) for a scorer made of functions"
    ):
        ranked("calls", CERTIFIED, executor=Processes(2))


@pytest.mark.parametrize("kind", EVERY)
def test_order_of_the_rows(kind: str) -> None:
    order = np.random.default_rng(9).permutation(len(USERS))
    for design in (CERTIFIED, SHARED, Users(30, CERTIFIED)):
        straight, shuffled = ranked(kind, design), ranked(kind, design, order)
        columns = ("user", "item", "rank", "n_sampled", "n_items", "n_scored")
        one, two = (
            sorted(zip(*(getattr(table, name).tolist() for name in columns), strict=True))
            for table in (straight, shuffled)
        )
        assert one == two


@pytest.mark.parametrize("kind", EVERY)
def test_shards_of_users_rank_as_the_whole(kind: str) -> None:
    """Wherever the number of blocks does not depend on how many users there are."""
    whole = ranked(kind, CERTIFIED)
    shard, parts = USERS % 3, []
    for k in range(3):
        rows = np.flatnonzero(shard == k)
        part = ranked(kind, CERTIFIED, rows)
        for name in ("rank", "n_sampled", "n_items", "n_scored"):
            assert np.array_equal(getattr(part, name), getattr(whole, name)[rows]), name
        parts.append(part)
    assert len(RankTable.concat(parts)) == len(whole)


def test_shards_of_shared_samples_do_not_join_if_they_met_others() -> None:
    """``shared`` is a number of users, so a shard has fewer blocks: its header says so."""
    whole = ranked("float32", SHARED)
    part = ranked("float32", SHARED, np.flatnonzero(USERS % 3 == 0))
    assert part.header.stages.n_blocks < whole.header.stages.n_blocks
    assert part.header != whole.header


def test_the_callers_arrays_stay_as_they_were() -> None:
    X, Y, W = WORLD.X.copy(), WORLD.Y.copy(), WEIGHTS.copy()
    users, items = USERS.copy(), ITEMS.copy()
    for design in (CERTIFIED, SHARED):
        tr.rank_pairs(FactorScorer(X, Y), users, items, design, exclude=WORLD.seen)
        tr.rank_pairs(ItemItem(HISTORY, W), users, items, design)
    for array, before in ((X, WORLD.X), (Y, WORLD.Y), (users, USERS), (W, WEIGHTS)):
        assert array.flags.writeable
        assert np.array_equal(array, before)


def test_tiles_that_end_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """One target a user: tiles, strips and steps begin at any place of the order."""
    assert full_rank_single.STRIP > 0
    rng = np.random.default_rng(6)
    for n_items in (95, 97, 513, 1543, 4099):
        X = rng.normal(size=(33, 9)).astype(np.float32)
        Y = rng.normal(size=(n_items, 9)).astype(np.float32)
        Y[n_items // 2 :] = Y[: n_items - n_items // 2]  # near and exact ties everywhere
        scores = np.array([scores_of(X, Y, user) for user in range(33)])
        users, items = np.arange(33), rng.integers(0, n_items, 33)
        for _ in range(3):
            chosen = random_stages(rng, n_items)
            follow(chosen, monkeypatch)
            table = tr.rank_pairs(
                FactorScorer(X, Y), users, items, Screened(), seed=1, executor=Serial()
            )
            assert_rows(table, slow_screened(scores, users, items, chosen, seed=1), users)


# ---------------------------------------------------------------- what was scored


class Counting:
    """A plain scorer that counts the scores it is asked for."""

    def __init__(self, scores: np.ndarray) -> None:
        self.scores, self.n_items, self.asked = scores, scores.shape[1], 0

    def score_all(self, users: np.ndarray) -> np.ndarray:
        self.asked += len(users) * self.n_items
        return self.scores[users]

    def score_pairs(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        self.asked += items.size
        return np.take_along_axis(self.scores[users], items, axis=1)


@pytest.mark.parametrize(
    "design", [*DESIGNS.values(), Users(20, CERTIFIED), Users(20, SHARED)], ids=str
)
def test_what_is_scored_is_counted(design: Any, request: pytest.FixtureRequest) -> None:
    for fixture in (None, "small_blocks"):
        if fixture is not None:
            request.getfixturevalue(fixture)
        for rows in ROWS.values():
            for executor in (Serial(), Threads(2), None):
                scorer = Counting(WORLD.scores)
                table = tr.rank_pairs(
                    scorer, USERS[rows], ITEMS[rows], design, seed=SEED,
                    exclude=WORLD.seen, executor=executor,
                )  # fmt: skip
                assert int(table.n_scored.sum()) == scorer.asked


@pytest.mark.parametrize("by_hand", BY_HAND, indirect=True)
def test_what_is_scored_at_any_stages_is_counted(by_hand: Stages) -> None:
    for rows in ROWS.values():
        scorer = Counting(WORLD.scores)
        table = tr.rank_pairs(
            scorer, USERS[rows], ITEMS[rows], Screened(), seed=SEED,
            exclude=WORLD.seen, executor=Serial(),
        )  # fmt: skip
        assert int(table.n_scored.sum()) == scorer.asked
        assert table.header.stages is by_hand


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Screened(k=0), "k must be a whole number, at least 1, got 0"),
        (lambda: Screened(k=2.5), "k must be a whole number"),
        (lambda: Screened(miss=0), "miss must be between 0 and 1, got 0"),
        (lambda: Screened(miss=1), "miss must be between 0 and 1, got 1"),
        (lambda: Screened(miss=np.nan), "miss must be between 0 and 1"),
        (lambda: Screened(miss=True), "miss must be between 0 and 1"),
        (lambda: Screened(miss="0.1"), "miss must be between 0 and 1"),
        (lambda: Screened(budget=0), "budget must be a positive number, got 0"),
        (lambda: Screened(budget=np.inf), "budget must be a positive number, got inf"),
        (lambda: Screened(seconds=-1), "seconds must be a positive number, got -1"),
        (lambda: Screened(seconds=[1]), "seconds must be a positive number"),
        (lambda: Screened(miss=0.1, budget=9), "budget must be left out where miss is given"),
        (lambda: Screened(budget=9, seconds=1), "seconds must be left out where budget is given"),
        (lambda: Screened(shared=0), "shared must be a whole number, at least 1, got 0"),
        (lambda: Sampled(9, shared=0), "shared must be a whole number, at least 1, got 0"),
        (lambda: Sampled(9, shared=1.5), "shared must be a whole number"),
        (
            lambda: Sampled(9, replacement=True, shared=9),
            "replacement must be False where rivals are shared",
        ),
    ],
)
def test_designs_that_make_no_sense(make: Any, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        make()


def test_numbers_of_numpy_are_taken() -> None:
    design = Screened(k=np.int64(5), miss=np.float32(0.25), shared=np.int32(3))
    assert design == Screened(k=5, miss=0.25, shared=3)
    assert type(design.miss) is float
