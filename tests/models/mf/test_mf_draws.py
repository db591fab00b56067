from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import truerank as tr
from truerank.numerics.streams import word
from truerank.training.batches import Batch, BatchPlan, make_batch
from truerank.training.negative_sampling import (
    NegativeSampler,
    Pairs,
    draw,
    draw_absent,
    negative_sampler,
)

KEY = np.uint64(12345)


def data(seed: int = 0, *, users: int = 40, items: int = 30) -> tr.Interactions:
    rng = np.random.default_rng(seed)
    X = rng.random((users, items)) < rng.uniform(0.05, 0.5, items)
    X[3] = False  # a user without interactions
    X[4, :-2] = True  # and one who has nearly everything
    user, item = np.nonzero(X)
    return tr.Interactions.from_arrays(
        user, item, user_ids=np.arange(users), item_ids=np.arange(items)
    )


DATA = data()
PAIRS = Pairs.of(DATA)
POPULAR = NegativeSampler.popular(DATA.item_counts, 0.75)


def batch_of(
    plan: BatchPlan, sampler: NegativeSampler | None = None, *, n: int = 64, number: int = 0
) -> Batch:
    users, items = np.full(DATA.n_users, -1, np.int32), np.full(DATA.n_items, -1, np.int32)
    chosen = np.random.default_rng(3).permutation(len(DATA))[:n]
    batch = make_batch(
        PAIRS,
        sampler or NegativeSampler.uniform(),
        plan,
        DATA.users,
        chosen,
        chosen,
        KEY,
        number,
        users,
        items,
    )
    assert (users == -1).all()
    assert (items == -1).all()
    np.testing.assert_array_equal(batch.users, DATA.users[chosen])
    np.testing.assert_array_equal(batch.own[:, 0], DATA.indices[chosen])
    return batch


def bits(i: int) -> np.uint64:
    return np.uint64(word(KEY, i))


def chi_squared(observed: np.ndarray, share: np.ndarray) -> float:
    """The p-value of counts under a distribution; what cannot be drawn was not."""
    assert (observed[share == 0] == 0).all()
    possible = share > 0
    return float(stats.chisquare(observed[possible], share[possible] * observed.sum()).pvalue)


@pytest.mark.parametrize(
    "sampler", [NegativeSampler.uniform(), POPULAR], ids=["uniform", "popularity"]
)
def test_draws_follow_their_distribution(sampler: NegativeSampler) -> None:
    n = 60_000
    share = sampler.share if len(sampler.share) else np.full(DATA.n_items, 1 / DATA.n_items)
    drawn = np.bincount([draw(sampler, DATA.n_items, bits(i)) for i in range(n)], minlength=30)
    assert chi_squared(drawn, share) > 1e-4


@pytest.mark.parametrize(
    "sampler", [NegativeSampler.uniform(), POPULAR], ids=["uniform", "popularity"]
)
@pytest.mark.parametrize("user", [0, 4])
def test_absent_draws_follow_the_distribution_without_the_positives(
    sampler: NegativeSampler, user: int
) -> None:
    share = sampler.share.copy() if len(sampler.share) else np.full(DATA.n_items, 1 / DATA.n_items)
    share[DATA.items_of(user)] = 0.0
    drawn = np.bincount(
        [draw_absent(PAIRS, sampler, user, bits(i)) for i in range(20_000)], minlength=30
    )
    assert chi_squared(drawn, share / share.sum()) > 1e-4


def test_when_rejection_gives_up_the_absent_items_are_counted_through() -> None:
    """A popular item takes nearly all of q: the user who has it would reject for ever."""
    counts = np.array([10**9, 1, 3])
    own = tr.Interactions.from_arrays([0, 1, 1], [0, 1, 2])
    sampler = NegativeSampler.popular(counts, 1.0)
    drawn = np.bincount(
        [draw_absent(Pairs.of(own), sampler, 0, bits(i)) for i in range(4_000)], minlength=3
    )
    assert drawn[0] == 0
    assert chi_squared(drawn, np.array([0.0, 0.25, 0.75])) > 1e-4


def test_alias_tables_hold_their_distribution_exactly() -> None:
    for counts in ([1, 2, 3, 4], [0, 5, 0], [7], [1, 10**6, 1, 1]):
        sampler = NegativeSampler.popular(np.array(counts), 1.0)
        n = len(counts)
        held = sampler.own / n
        np.add.at(held, sampler.other, (1 - sampler.own) / n)
        np.testing.assert_allclose(held, sampler.share, rtol=1e-9, atol=1e-12)


def test_no_power_of_counts_is_too_large() -> None:
    sampler = NegativeSampler.popular(np.array([1000, 1000, 50, 2]), 300.0)
    np.testing.assert_allclose(sampler.share, [0.5, 0.5, 0.0, 0.0], atol=1e-300)
    drawn = np.bincount([draw(sampler, 4, bits(i)) for i in range(2_000)], minlength=4)
    assert drawn[2:].tolist() == [0, 0]
    assert chi_squared(drawn[:2], np.array([0.5, 0.5])) > 1e-4


def test_log_lift_is_zero_on_average_of_exponentials() -> None:
    lift = POPULAR.log_lift(DATA.n_items)
    np.testing.assert_allclose(np.exp(lift), POPULAR.share * DATA.n_items, rtol=1e-6)
    assert (NegativeSampler.uniform().log_lift(4) == 0).all()
    in_batch = negative_sampler("in-batch", DATA.item_counts, 0.3)
    np.testing.assert_allclose(in_batch.share, DATA.item_counts / len(DATA))


def test_groups_hold_every_entry_once_in_order() -> None:
    batch = batch_of(BatchPlan(2, 3, 11, False, False))
    keys = {
        "user": (batch.users, batch.by_user),
        "item": (np.concatenate([batch.own.ravel(), batch.shared.ravel()]), batch.by_item),
    }
    for key, groups in keys.values():
        assert sorted(groups.entries) == list(range(len(key)))
        assert len(set(groups.rows)) == len(groups.rows) == len(set(key))
        for g, row in enumerate(groups.rows):
            mine = groups.entries[groups.starts[g] : groups.starts[g + 1]]
            assert (key[mine] == row).all()
            assert (np.diff(mine) > 0).all()


def test_further_positives_are_the_users_own_and_uniform() -> None:
    batch = batch_of(BatchPlan(500, 0, 5, False, False), n=20)
    for user, own in zip(batch.users, batch.own[:, 1:], strict=True):
        mine = DATA.items_of(user)
        assert np.isin(own, mine).all()
        drawn = np.bincount(np.searchsorted(mine, own), minlength=len(mine))
        assert chi_squared(drawn, np.full(len(mine), 1 / len(mine))) > 1e-5


@pytest.mark.parametrize(
    "sampler", [NegativeSampler.uniform(), POPULAR], ids=["uniform", "popularity"]
)
def test_excluded_positives_are_never_negatives(sampler: NegativeSampler) -> None:
    own = batch_of(BatchPlan(0, 50, 0, False, True), sampler)
    for user, negatives in zip(own.users, own.own[:, 1:], strict=True):
        assert not np.isin(negatives, DATA.items_of(user)).any()
    allowed = batch_of(BatchPlan(0, 50, 0, False, False), sampler)
    assert any(
        np.isin(negatives, DATA.items_of(user)).any()
        for user, negatives in zip(allowed.users, allowed.own[:, 1:], strict=True)
    )
    shared = batch_of(BatchPlan(0, 0, 200, False, True), sampler)
    assert len(shared.swaps.column) > 0
    for b, user in enumerate(shared.users):
        met = shared.shared[0].copy()
        for s in range(shared.swaps.starts[b], shared.swaps.starts[b + 1]):
            met[shared.swaps.column[s]] = shared.shared[0, shared.swaps.instead[s]]
        assert not np.isin(met, DATA.items_of(user)).any()


def test_stand_ins_keep_the_distribution_of_the_absent_items() -> None:
    user = 0
    drawn = np.zeros(DATA.n_items)
    for number in range(300):
        batch = batch_of(BatchPlan(0, 0, 30, False, True), number=number)
        b = int(np.flatnonzero(batch.users == batch.users[0])[0])
        user = batch.users[b]
        met = batch.shared[0].copy()
        for s in range(batch.swaps.starts[b], batch.swaps.starts[b + 1]):
            met[batch.swaps.column[s]] = batch.shared[0, batch.swaps.instead[s]]
        drawn += np.bincount(met, minlength=DATA.n_items)
    absent = np.setdiff1d(np.arange(DATA.n_items), DATA.items_of(user))
    assert drawn.sum() == drawn[absent].sum()
    # Stand-ins repeat draws of the same batch, so the spread is up to twice that of free draws.
    expected = drawn.sum() / len(absent)
    assert np.abs(drawn[absent] - expected).max() < 5 * np.sqrt(2 * expected)


def test_in_batch_negatives_are_the_other_positives() -> None:
    batch = batch_of(BatchPlan(0, 0, 0, True, False))
    np.testing.assert_array_equal(batch.shared, [batch.own[:, 0]])
    for b in range(len(batch.users)):
        at = slice(batch.swaps.starts[b], batch.swaps.starts[b + 1])
        columns, instead = batch.swaps.column[at], batch.swaps.instead[at]
        assert sorted(columns) == np.flatnonzero(batch.shared[0] == batch.own[b, 0]).tolist()
        assert (batch.shared[0, instead] != batch.own[b, 0]).all()


def test_draws_are_addressed() -> None:
    plan = BatchPlan(2, 3, 7, False, False)
    first, again = batch_of(plan), batch_of(plan)
    np.testing.assert_array_equal(first.own, again.own)
    np.testing.assert_array_equal(first.shared, again.shared)
    part = batch_of(plan, n=10)  # a pair meets the same items whoever stands beside it
    np.testing.assert_array_equal(part.own, first.own[:10])
    assert (batch_of(plan, number=1).shared != first.shared).any()


def test_every_set_has_draws_of_its_own() -> None:
    batch = batch_of(BatchPlan(0, 0, 2_000, False, False, sharing=30))  # 64 pairs: 30, 30 and 4
    assert batch.shared.shape == (3, 2_000)
    for one in batch.shared:
        assert chi_squared(np.bincount(one, minlength=30), np.full(30, 1 / 30)) > 1e-4
    for one, other in ((0, 1), (0, 2), (1, 2)):
        same = (batch.shared[one] == batch.shared[other]).mean()
        assert abs(same - 1 / 30) < 4 * np.sqrt(1 / 30 / 2_000)  # as often as by chance


def test_one_set_has_the_draws_of_the_first_of_several() -> None:
    """So that a batch shared as a whole is what it was before there were sets."""
    whole = batch_of(BatchPlan(0, 0, 40, False, True))
    sets = batch_of(BatchPlan(0, 0, 40, False, True, sharing=30))
    np.testing.assert_array_equal(whole.shared[0], sets.shared[0])
    n = whole.swaps.starts[30]
    assert n > 0
    np.testing.assert_array_equal(whole.swaps.instead[:n], sets.swaps.instead[:n])


def test_sets_leave_out_the_positives_of_their_pairs() -> None:
    batch = batch_of(BatchPlan(0, 0, 200, False, True, sharing=10))
    for b, user in enumerate(batch.users):
        met = batch.shared[b // 10].copy()
        for s in range(batch.swaps.starts[b], batch.swaps.starts[b + 1]):
            met[batch.swaps.column[s]] = batch.shared[b // 10, batch.swaps.instead[s]]
        assert not np.isin(met, DATA.items_of(user)).any()
