"""What a screen certifies, by enumeration, scipy and simulation; and the law of its samples."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from slow_ranking import p_value

import truerank as tr
from truerank.data.interactions import Interactions
from truerank.execution import Serial
from truerank.ranking import FactorScorer, RankTable, Sampled, Screened
from truerank.ranking.screening.certificate import certified_stages, drop_probability
from truerank.ranking.stages import Stages

ALARM = 1e-4
"""False-alarm rate of each statistical test below, were its seeds not fixed."""

ROUNDING = 1e-6
"""Relative error of probabilities by logarithms of factorials of ten million."""


def stages(*rows: tuple[int, int, float], blocks: int = 1) -> Stages:
    sizes, max_rank, continue_prob = zip(*rows, strict=True)
    return Stages(np.array(sizes), np.array(max_rank), np.array(continue_prob), blocks)


def stops(chosen: Stages, stage: int, above: int) -> float:
    """The chance to stop at a stage with so many rivals above, told anew."""
    rank, most = above + 1, int(chosen.max_rank[stage])
    share = float(chosen.continue_prob[stage])
    return 0.0 if rank < most else 1.0 - share if rank == most else 1.0


# ---------------------------------------------------------------- enumeration


def enumerated(rank: int, n_items: int, chosen: Stages) -> tuple[float, float]:
    """The chance to be dropped at all, and the sum of the chances at each stage by itself.

    All places that the rivals above may have, counted.
    """
    anywhere, by_stage, n = 0.0, 0.0, 0
    for places in combinations(range(n_items), rank - 1):
        left = 1.0
        for stage, size in enumerate(chosen.sizes[:-1].tolist()):
            stop = stops(chosen, stage, sum(place < size for place in places))
            by_stage += stop
            left *= 1.0 - stop
        anywhere += 1.0 - left
        n += 1
    return anywhere / n, by_stage / n


SMALL = [
    stages((3, 1, 1.0), (7, 0, 1.0)),
    stages((2, 1, 0.5), (5, 2, 0.3), (8, 0, 1.0)),
    stages((2, 2, 1.0), (3, 2, 1.0), (6, 3, 0.9), (9, 0, 1.0)),
    stages((5, 0, 1.0), (10, 0, 1.0)),
    stages((4, 4, 0.25), (10, 0, 1.0)),
]


@pytest.mark.parametrize("chosen", SMALL, ids=lambda s: str(s.sizes.tolist()))
def test_the_chance_to_be_dropped_is_that_of_all_orders(chosen: Stages) -> None:
    n_items = int(chosen.sizes[-1])
    found = drop_probability(np.arange(1, n_items + 1), n_items, chosen)
    for rank in range(1, n_items + 1):
        anywhere, by_stage = enumerated(rank, n_items, chosen)
        assert found[rank - 1] == pytest.approx(min(1.0, by_stage), abs=1e-12)
        assert found[rank - 1] >= anywhere - 1e-12
        if len(chosen.sizes) == 2:
            assert found[rank - 1] == pytest.approx(anywhere, abs=1e-12)
    assert (np.diff(found) >= -1e-12).all()


def test_whoever_is_excluded() -> None:
    """By all orders of six items: the own target and excluded items take places, and no rank."""
    n_items, chosen = 6, stages((2, 1, 0.5), (4, 2, 1.0), (6, 0, 1.0))
    for n_excluded in range(4):
        for rank in range(1, n_items - n_excluded + 1):
            rivals, excluded = range(1, n_items - n_excluded), range(n_items - n_excluded, n_items)
            above, total, n = set(range(1, rank)), 0.0, 0
            for order in permutations(range(n_items)):  # item 0 is the target
                left = 1.0
                for stage, size in enumerate(chosen.sizes[:-1].tolist()):
                    met = [item for item in order[:size] if item != 0 and item not in excluded]
                    if len(met) == len(rivals):  # an exact rank is not dropped
                        break
                    left *= 1.0 - stops(chosen, stage, sum(item in above for item in met))
                total += 1.0 - left
                n += 1
            bound = float(drop_probability(np.array([rank]), n_items, chosen)[0])
            assert total / n <= bound + 1e-12
            if n_excluded == 0:
                assert total / n == pytest.approx(enumerated(rank, n_items, chosen)[0], abs=1e-12)


def test_a_screen_without_an_exact_end_drops_all() -> None:
    chosen = stages((50, 3, 1.0), (100, 0, 1.0))
    assert drop_probability(np.array([1, 7]), 101, chosen).tolist() == [1.0, 1.0]
    assert drop_probability(np.array([1]), 100, chosen).tolist() == [0.0]
    whole = stages((100, 0, 1.0))
    assert drop_probability(np.array([1, 50, 100]), 100, whole).tolist() == [0.0] * 3


# ---------------------------------------------------------------- scipy


def by_scipy(rank: int, n_items: int, chosen: Stages) -> float:
    """The same sum by scipy's hypergeometric tails; everybody below ``max_rank`` goes on."""
    total = 0.0
    for size, most in zip(chosen.sizes[:-1].tolist(), chosen.max_rank[:-1].tolist(), strict=True):
        total += float(stats.hypergeom.sf(most - 1, n_items, rank - 1, size))
    return min(1.0, total)


@pytest.mark.parametrize(
    ("n_items", "k"),
    [(1_000, 20), (40_981, 20), (40_981, 1_000), (10**6, 100), (10**7, 1), (10**7, 20),
     (10**7, 1_000)],
)  # fmt: skip
def test_large_catalogues_agree_with_scipy(n_items: int, k: int) -> None:
    for miss in (0.001, 0.05):
        chosen = certified_stages(k, miss, n_items, 200)
        ranks = np.unique(np.append(np.geomspace(1, min(4 * k, n_items), 9).astype(int), k))
        found = drop_probability(ranks, n_items, chosen)
        for rank, one in zip(ranks.tolist(), found.tolist(), strict=True):
            assert one == pytest.approx(by_scipy(rank, n_items, chosen), rel=ROUNDING, abs=1e-15)


def test_chances_between_go_on_as_they_should() -> None:
    n_items, chosen = 50_000, stages((400, 3, 0.25), (9_000, 40, 0.6), (50_000, 0, 1.0))
    for rank in (1, 5, 300, 2_000):
        total = 0.0
        for stage, size in enumerate(chosen.sizes[:-1].tolist()):
            above = np.arange(rank)
            chance = stats.hypergeom.pmf(above, n_items, rank - 1, size)
            total += float(sum(p * stops(chosen, stage, int(h)) for h, p in enumerate(chance)))
        found = float(drop_probability(np.array([rank]), n_items, chosen)[0])
        assert found == pytest.approx(min(1.0, total), rel=ROUNDING)


# ---------------------------------------------------------------- what is certified


def assert_certified(k: int, miss: float, n_items: int) -> Stages:
    chosen = certified_stages(k, miss, n_items, 200)
    assert chosen.n_blocks == 200
    assert len(chosen.sizes) == len(chosen.max_rank) == len(chosen.continue_prob)
    assert (np.diff(chosen.sizes) > 0).all()
    assert chosen.sizes[0] >= 2
    assert chosen.sizes[-1] == max(2, n_items)
    assert chosen.max_rank[-1] == 0
    assert (chosen.continue_prob == 1.0).all()
    most = min(k, n_items)
    assert by_scipy(most, n_items, chosen) <= miss * (1 + ROUNDING)
    if most <= 2_000:
        chances = drop_probability(np.arange(1, most + 1), n_items, chosen)
        assert chances.max() <= miss * (1 + ROUNDING)
        assert (np.diff(chances) >= -1e-12).all()
    return chosen


CATALOGUES = st.floats(0, np.log(10**7)).map(lambda x: max(1, round(np.exp(x))))
CUTOFFS = st.floats(0, np.log(2_000)).map(lambda x: max(1, round(np.exp(x))))
MISSES = st.floats(np.log(1e-6), np.log(0.9)).map(lambda x: float(np.exp(x)))


@settings(max_examples=150, deadline=None)
@given(CUTOFFS, MISSES, CATALOGUES)
def test_no_rank_up_to_k_is_missed_more_often(k: int, miss: float, n_items: int) -> None:
    assert_certified(k, miss, n_items)


@pytest.mark.parametrize("n_items", [1, 2, 3, 64, 127, 128, 129, 500, 3_000, 10**6])
@pytest.mark.parametrize("k", [1, 2, 499, 500, 501, 502, 1_000])
def test_cutoffs_at_and_beyond_the_catalogue(k: int, n_items: int) -> None:
    chosen = assert_certified(k, 0.001, n_items)
    if k >= n_items:  # nobody may be dropped
        assert drop_probability(np.array([n_items]), n_items, chosen).tolist() == [0.0]


def test_the_first_is_never_dropped() -> None:
    """It stands first in every sample."""
    for n_items in (200, 40_981, 10**7):
        chosen = certified_stages(1, 0.001, n_items, 200)
        assert len(chosen.sizes) > 1
        assert (chosen.max_rank[:-1] == 1).all()
        assert drop_probability(np.array([1]), n_items, chosen).tolist() == [0.0]


@pytest.mark.parametrize(("n_items", "part"), [(40_981, 0.30), (10**6, 0.21)])
def test_screens_are_worth_it(n_items: int, part: float) -> None:
    """Products of a model whose ranks have density 1 / (R + 10); by k = 20, miss = .001."""
    chosen = certified_stages(20, 0.001, n_items, 200)
    ranks = np.unique(np.geomspace(1, n_items, 400).astype(np.int64))
    mass = np.diff(np.append(np.log(ranks + 10.0), np.log(n_items + 10.0)))
    alive, cost, before = np.ones(len(ranks)), 0.0, 0
    for size, most in zip(chosen.sizes.tolist(), chosen.max_rank.tolist(), strict=True):
        scored = n_items if size >= n_items else size - before
        cost += scored * float(alive @ mass / mass.sum())
        passing = stats.hypergeom.cdf(most - 1, n_items, ranks - 1, min(size, n_items))
        alive, before = np.minimum(alive, passing), size  # nested: not fewer than all pass
    assert cost <= part * n_items


# ---------------------------------------------------------------- simulation


def popularity(n_items: int, n_users: int, seed: int) -> FactorScorer:
    """The same scores for everybody: blocks of users who meet the same rivals agree."""
    scores = np.random.default_rng(seed).permutation(n_items).astype(np.float32)
    return FactorScorer(np.ones((n_users, 1), np.float32), scores[:, None])


def rows_of_rank(k: int, n_items: int, n_users: int, seen: Any) -> tuple[Any, np.ndarray]:
    """A scorer, and for each user the item at place k of its candidates."""
    scorer = popularity(n_items, n_users, 1)
    best = np.argsort(-scorer.item_factors[:, 0])
    targets = [
        int(best[~np.isin(best, [] if seen is None else seen.items_of(user))][k - 1])
        for user in range(n_users)
    ]
    return scorer, np.array(targets)


def seen_at_random(n_items: int, n_users: int, each: int) -> Interactions:
    rng = np.random.default_rng(3)
    items = np.concatenate([rng.choice(n_items, each, replace=False) for _ in range(n_users)])
    return Interactions.from_arrays(
        np.repeat(np.arange(n_users), each), items,
        user_ids=range(n_users), item_ids=range(n_items),
    )  # fmt: skip


N_SEEDS = 300


@pytest.mark.parametrize("each", [0, 40])
@pytest.mark.parametrize(("k", "miss", "n_items"), [(5, 0.05, 500), (3, 0.1, 600)])
def test_targets_at_the_top_are_dropped_as_rarely_as_promised(
    k: int, miss: float, n_items: int, each: int
) -> None:
    """Over seeds; users of a seed share an order, so the error is that of the means of seeds."""
    n_users, design = 30, Screened(k=k, miss=miss)
    seen = seen_at_random(n_items, n_users, each) if each else None
    scorer, targets = rows_of_rank(k, n_items, n_users, seen)
    users, dropped = np.arange(n_users), np.empty(N_SEEDS)
    for seed in range(N_SEEDS):
        table = tr.rank_pairs(
            scorer, users, targets, design, seed=seed, exclude=seen, executor=Serial()
        )
        dropped[seed] = 1.0 - table.is_exact.mean()
        assert (table.rank[table.is_exact] == k).all()
    chosen = table.header.stages
    assert len(chosen.sizes) >= 2
    error = float(dropped.std(ddof=1)) / np.sqrt(N_SEEDS)
    assert 0 < dropped.mean() <= miss + 4 * error
    expected = by_scipy(k, n_items, chosen)
    off = stats.norm.isf(ALARM / 2) * error
    if len(chosen.sizes) == 2:  # one screen: no bound, the very chance
        assert abs(dropped.mean() - expected) < off
    assert dropped.mean() < expected + off


def test_the_first_of_the_list_is_exact_in_every_table() -> None:
    scorer, targets = rows_of_rank(1, 700, 40, None)
    for seed in range(30):
        table = tr.rank_pairs(
            scorer, np.arange(40), targets, Screened(k=1, miss=0.5), seed=seed, executor=Serial()
        )
        assert len(table.header.stages.sizes) > 1
        assert (table.rank == 1).all()
        assert table.is_exact.all()


# ---------------------------------------------------------------- the law of samples


def tables_by_seed(
    design: Any, ranks: list[int], n_items: int, n_seeds: int, seen: Any = None
) -> list[RankTable]:
    """One user for each rank, ranked with many seeds."""
    scorer = popularity(n_items, len(ranks), 2)
    best = np.argsort(-scorer.item_factors[:, 0])
    targets = []
    for user, rank in enumerate(ranks):
        known = [] if seen is None else seen.items_of(user)
        targets.append(int(best[~np.isin(best, known)][rank - 1]))
    return [
        tr.rank_pairs(
            scorer,
            np.arange(len(ranks)),
            np.array(targets),
            design,
            seed=seed,
            exclude=seen,
            executor=Serial(),
        )
        for seed in range(n_seeds)
    ]


@pytest.mark.parametrize("each", [0, 6])
def test_shared_ranks_are_hypergeometric(each: int) -> None:
    """Given the rank, the size of the sample and the candidates, row by row over seeds.

    One p-value for each row and size of sample, which is n, or n + 1 where the target was not met,
    less the excluded that were: so many are Bonferroni's share of the alarm.
    """
    n_items, n, ranks = 80, 30, [1, 2, 9, 40, 80 - each]
    seen = seen_at_random(n_items, len(ranks), each) if each else None
    tables = tables_by_seed(Sampled(n, shared=3), ranks, n_items, 1_500, seen)
    rank, size = (np.array([getattr(t, name) for t in tables]) for name in ("rank", "n_sampled"))
    assert tables[0].n_items.tolist() == [n_items - each] * len(ranks)
    values = []
    for user, full in enumerate(ranks):
        for m in np.unique(size[:, user]):
            mine = rank[size[:, user] == m, user]
            law = stats.hypergeom(n_items - each - 1, full - 1, m - 1)
            expected = len(mine) * law.pmf(np.arange(m))
            if len(mine) >= 50:
                values.append(p_value(np.bincount(mine - 1, minlength=m), expected))
    assert len(values) >= 10
    assert min(values) > ALARM / len(values)


@pytest.mark.parametrize("each", [0, 6])
def test_sizes_of_shared_samples_have_their_law(each: int) -> None:
    """Of n places some are excluded items', and with a chance of n / N one is the target's."""
    n_items, n = 80, 30
    seen = seen_at_random(n_items, 1, each) if each else None
    tables = tables_by_seed(Sampled(n, shared=1), [20], n_items, 1_500, seen)
    own = np.array([1, 0]), np.array([n_items - n, n]) / n_items  # 1 more where it is not met
    expected = np.zeros(n + 2)
    for one, chance in zip(*own, strict=True):
        left = n - (1 - one)
        for out in range(each + 1):
            pmf = stats.hypergeom.pmf(out, n_items - 1, each, left)
            expected[n + one - out] += chance * pmf * len(tables)
    observed = np.bincount([int(t.n_sampled[0]) for t in tables], minlength=n + 2)
    assert p_value(observed, expected) > ALARM


def joint_law(rank: int, n_items: int, chosen: Stages) -> dict[tuple[int, int], float]:
    """The chance to end at each stage with each number of rivals above: nested draws of places."""
    alive, found, before = {0: 1.0}, {}, 0
    for stage, size in enumerate(chosen.sizes.tolist()):
        after: dict[int, float] = {}
        for above, chance in alive.items():
            others = n_items - before, rank - 1 - above, size - before
            pmf = stats.hypergeom.pmf(np.arange(rank - above), *others)
            for more in np.flatnonzero(pmf > 0).tolist():
                after[above + more] = after.get(above + more, 0.0) + chance * float(pmf[more])
        last = stage == len(chosen.sizes) - 1
        for above, chance in after.items():
            stop = 1.0 if last else stops(chosen, stage, above)
            found[stage, above] = chance * stop
        going = {
            above: chance * (1 - stops(chosen, stage, above)) for above, chance in after.items()
        }
        alive, before = {above: chance for above, chance in going.items() if chance > 0}, size
    return found


@pytest.mark.parametrize("blocks", [1, 7, 200])
def test_where_rows_end_has_the_law_of_nested_samples(
    blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_items, ranks = 70, [2, 6, 15, 50]
    chosen = stages((8, 2, 0.4), (20, 3, 0.5), (45, 8, 0.7), (n_items, 0, 1.0), blocks=blocks)
    monkeypatch.setattr(Screened, "stages", lambda design, n_items, n_users=None: chosen)
    tables = tables_by_seed(Screened(), ranks, n_items, 1_500)
    values = []
    for user, rank in enumerate(ranks):
        law = joint_law(rank, n_items, chosen)
        assert sum(law.values()) == pytest.approx(1.0)
        cells = {cell: at for at, cell in enumerate(law)}
        observed = np.zeros(len(law))
        for table in tables:  # of n places n or n - 1 are rivals'
            stage = int(np.searchsorted(chosen.sizes, table.n_sampled[user] - 1))
            observed[cells[stage, int(table.rank[user]) - 1]] += 1
        expected = np.array(list(law.values())) * len(tables)
        assert (observed[expected == 0] == 0).all()
        values.append(p_value(observed[expected > 0], expected[expected > 0]))
    assert min(values) > ALARM / len(values)


def test_rows_of_other_blocks_are_nearly_independent() -> None:
    """Of one block they meet the very same rivals."""
    n_items, scorer = 300, popularity(300, 60, 4)
    best = np.argsort(-scorer.item_factors[:, 0])
    targets = np.full(60, best[99])
    together = tr.rank_pairs(scorer, np.arange(60), targets, Sampled(40, shared=10**6), seed=5)
    assert len(np.unique(together.rank)) == 1
    apart = tr.rank_pairs(scorer, np.arange(60), targets, Sampled(40, shared=1), seed=5)
    assert len(np.unique(apart.rank)) > 5
    assert n_items == together.n_items[0]
