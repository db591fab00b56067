"""Leave-one-out, leave-k-out and ratio: what they promise, checked by loops and by counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.rng import Stream, addresses
from truerank.split import Split, leave_k_out, leave_one_out, ratio

Pairs = set[tuple[int, int]]


def pairs(data: Interactions) -> Pairs:
    return set(
        zip(data.user_ids[data.users].tolist(), data.item_ids[data.indices].tolist(), strict=True)
    )


def a_log(n_users: int = 40, n_items: int = 30, seed: int = 3) -> Interactions:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 12, n_users)
    user = np.repeat(np.arange(n_users), counts)
    item = np.concatenate([rng.choice(n_items, c, replace=False) for c in counts])
    return Interactions.from_arrays(user, item, timestamp=rng.integers(0, 6, len(user)))


@st.composite
def logs(draw: st.DrawFn) -> Interactions:
    cells = draw(
        st.sets(st.tuples(st.integers(0, 6), st.integers(0, 8)), min_size=2).filter(
            lambda s: len({u for u, _ in s}) < len(s)  # somebody has two interactions
        )
    )
    user, item = zip(*sorted(cells), strict=True)
    times = draw(st.lists(st.integers(0, 3), min_size=len(cells), max_size=len(cells)))
    return Interactions.from_arrays(user, item, timestamp=times)


@settings(deadline=None)
@given(logs(), st.sampled_from(["random", "latest"]), st.integers(0, 5))
def test_parts_are_a_partition_and_every_user_keeps_something(
    data: Interactions, by: str, seed: int
) -> None:
    for split in (
        leave_one_out(data, by=by, seed=seed),
        leave_k_out(data, 1, by=by, seed=seed),
        ratio(data, 0.5, by=by, seed=seed),
    ):
        train, held = pairs(split.train), pairs(split.held_out)
        assert not train & held
        assert train | held == pairs(data)
        assert np.all(split.train.user_counts >= 1)
        assert split.report.users_evaluated + split.report.users_not_evaluated == data.n_users
        assert split.report.train == len(train)
        assert split.report.held_out == len(held)


def test_leave_one_out_is_leave_k_out_with_one() -> None:
    data = a_log()
    assert leave_one_out(data, seed=4).fingerprint() == leave_k_out(data, 1, seed=4).fingerprint()


@pytest.mark.parametrize("k", [1, 2, 5])
def test_leave_k_out_takes_k_from_users_with_more(k: int) -> None:
    data = a_log()
    held = leave_k_out(data, k, seed=1).held_out.user_counts
    np.testing.assert_array_equal(held, np.where(data.user_counts > k, k, 0))


@pytest.mark.parametrize(
    ("n", "fraction", "expected"),
    [
        pytest.param(5, 0.2, 1, id="exact"),
        pytest.param(3, 0.5, 2, id="half-rounds-up"),
        pytest.param(2, 0.2, 0, id="0.4-rounds-to-nothing"),
        pytest.param(10, 0.35, 4, id="3.5-rounds-up"),
        pytest.param(100, 0.145, 15, id="14.5-despite-binary-fractions"),
        pytest.param(2, 0.99, 1, id="one-always-stays"),
    ],
)
def test_ratio_rounding_by_hand(n: int, fraction: float, expected: int) -> None:
    user = [0] * n + [1] * 1000
    item = [*range(n), *range(1000)]
    split = ratio(Interactions.from_arrays(user, item), fraction)
    assert split.held_out.user_counts[0] == expected


@pytest.mark.parametrize("by", ["random", "latest"])
def test_row_order_of_the_input_does_not_matter(by: str) -> None:
    data = a_log()
    user, item = data.user_ids[data.users], data.item_ids[data.indices]
    shuffle = np.random.default_rng(0).permutation(len(data))
    assert data.timestamps is not None
    shuffled = Interactions.from_arrays(
        user[shuffle], item[shuffle], timestamp=data.timestamps[shuffle]
    )
    for make in (leave_one_out, lambda d, **kw: leave_k_out(d, 3, **kw), ratio):
        assert make(data, by=by).fingerprint() == make(shuffled, by=by).fingerprint()


def test_seed_decides_the_choice() -> None:
    data = a_log()
    assert leave_one_out(data, seed=1).fingerprint() == leave_one_out(data, seed=1).fingerprint()
    assert leave_one_out(data, seed=1).fingerprint() != leave_one_out(data, seed=2).fingerprint()


@pytest.mark.parametrize("k", [1, 3])
def test_latest_against_a_loop(k: int) -> None:
    data, seed = a_log(seed=8), 5
    assert data.timestamps is not None
    expected: Pairs = set()
    for user in range(data.n_users):
        rows = range(data.indptr[user], data.indptr[user + 1])
        if len(rows) <= k:
            continue
        word = {r: int(addresses(seed, Stream.SPLIT, user, int(data.indices[r]))[0]) for r in rows}
        latest = sorted(rows, key=lambda r: (data.timestamps[r], word[r]))[-k:]
        expected |= {(user, int(data.item_ids[data.indices[r]])) for r in latest}
    assert pairs(leave_k_out(data, k, by="latest", seed=seed).held_out) == expected


def held_positions(split: Split, per_user: int) -> np.ndarray:
    return np.bincount(split.held_out.indices, minlength=per_user)


@pytest.mark.parametrize(
    "times", [pytest.param(None, id="random"), pytest.param(0, id="latest-all-tied")]
)
@pytest.mark.parametrize("k", [1, 2])
def test_every_interaction_is_equally_likely(k: int, times: int | None) -> None:
    n_users, per_user = 20_000, 5
    user = np.repeat(np.arange(n_users), per_user)
    item = np.tile(np.arange(per_user), n_users)
    stamp = None if times is None else np.full(len(user), times)
    data = Interactions.from_arrays(user, item, timestamp=stamp)
    split = leave_k_out(data, k, by="random" if times is None else "latest", seed=11)
    codes = np.zeros(n_users, dtype=np.int64)
    np.add.at(codes, split.held_out.users, 2**split.held_out.indices)
    subsets = np.unique(codes, return_counts=True)[1]
    assert len(subsets) == {1: 5, 2: 10}[k]
    assert stats.chisquare(subsets).pvalue > 1e-4  # false alarm once in 10,000 seeds


def test_two_seeds_choose_independently() -> None:
    n_users, per_user = 20_000, 4
    user = np.repeat(np.arange(n_users), per_user)
    data = Interactions.from_arrays(user, np.tile(np.arange(per_user), n_users))
    a, b = (leave_one_out(data, seed=s).held_out.indices for s in (0, 1))
    table = np.zeros((per_user, per_user))
    np.add.at(table, (a, b), 1)
    assert stats.chi2_contingency(table).pvalue > 1e-4  # false alarm once in 10,000 pairs


def test_short_users_stay_in_training_or_go() -> None:
    data = Interactions.from_arrays([1, 2, 2, 2], [7, 7, 8, 9])
    kept, dropped = leave_one_out(data), leave_one_out(data, short_users="drop")
    assert kept.train.user_counts.tolist() == [1, 2]
    assert kept.report.users_not_evaluated == 1
    assert dropped.train.user_counts.tolist() == [0, 2]
    assert dropped.report.dropped.short_users == 1
    assert dropped.report.dropped.short_user_interactions == 1
    assert dropped.report.users_not_evaluated == 0


def test_cold_items_are_counted_or_dropped() -> None:
    data = Interactions.from_arrays([1, 1, 2, 2], [5, 6, 5, 7], timestamp=[1, 2, 2, 1])
    kept = leave_one_out(data, by="latest")
    assert kept.report.cold_pairs == 1  # item 6; item 5 is in the training part of user 1
    dropped = leave_one_out(
        Interactions.from_arrays([1, 1, 2, 2, 3, 3], [5, 6, 6, 7, 6, 5], timestamp=range(6)),
        by="latest",
        cold_items="drop",
    )
    assert dropped.report.dropped.cold_pairs == 1  # item 7
    assert dropped.report.cold_pairs == 0
    assert dropped.report.users_evaluated == 2


def test_report_reads_well() -> None:
    data = Interactions.from_arrays([1, 2, 2, 2], [7, 7, 8, 9])
    text = str(leave_one_out(data, short_users="drop").report)
    assert "users evaluated" in text
    assert "dropped: short users" in text
    assert "dropped: cold pairs" not in text
    assert len({len(line) for line in text.splitlines()}) == 1


def test_rule_names_every_parameter() -> None:
    split = ratio(a_log(), 0.25, seed=9, by="latest", cold_items="drop")
    assert split.description == {
        "name": "ratio",
        "fraction": 0.25,
        "seed": 9,
        "by": "latest",
        "short_users": "keep_in_train",
        "cold_items": "drop",
    }
    assert "ratio" in repr(split)


def test_one_user_is_enough() -> None:
    split = leave_one_out(Interactions.from_arrays([1, 1, 1], [4, 5, 6]))
    assert split.report.users_evaluated == 1
    assert split.report.train == 2


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        pytest.param(
            lambda: leave_one_out(Interactions.from_arrays([1, 2], [5, 5])),
            "nothing can be held out: the most active of 2 users has 1 interaction and",
            id="one-item",
        ),
        pytest.param(
            lambda: leave_k_out(a_log(), 1000),
            "nothing can be held out: the most active of 40 users has 11 interactions",
            id="k-too-large",
        ),
        pytest.param(
            lambda: leave_one_out(Interactions.from_arrays([1, 1], [5, 6]), by="latest"),
            "by='latest' needs timestamps and these interactions have none",
            id="no-timestamps",
        ),
        pytest.param(
            lambda: leave_one_out(Interactions.from_arrays([1, 1], [5, 6]), cold_items="drop"),
            "nothing is held out (1 have an item unseen in training)",
            id="all-cold",
        ),
    ],
)
def test_data_that_cannot_be_split(make: object, sentence: str) -> None:
    with pytest.raises(InvalidDataError) as error:
        make()  # type: ignore[operator]
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        pytest.param(lambda d: leave_k_out(d, 0), "k must be a whole number, at least 1", id="k=0"),
        pytest.param(lambda d: leave_k_out(d, 1.5), "k must be a whole number", id="k=1.5"),
        pytest.param(lambda d: leave_k_out(d, True), "k must be a whole number", id="k=True"),
        pytest.param(lambda d: ratio(d, 0.0), "fraction must be between 0 and 1", id="f=0"),
        pytest.param(lambda d: ratio(d, 1.0), "fraction must be between 0 and 1", id="f=1"),
        pytest.param(lambda d: ratio(d, -0.1), "fraction must be between 0 and 1", id="f<0"),
        pytest.param(lambda d: ratio(d, float("nan")), "fraction must be between", id="f=nan"),
        pytest.param(lambda d: ratio(d, "a"), "fraction must be a number between", id="f=str"),
        pytest.param(lambda d: ratio(d, 20), "for 20 percent write 0.2", id="f=percent"),
        pytest.param(lambda d: leave_one_out(d, by="first"), "one of random, latest", id="by"),
        pytest.param(lambda d: leave_one_out(d, seed=-1), "seed must be an integer", id="seed"),
        pytest.param(
            lambda d: leave_one_out(d, cold_items="no"), "cold_items must be one of", id="cold"
        ),
        pytest.param(
            lambda d: leave_one_out(d, short_users="keep"),
            "short_users must be one of keep_in_train, drop, got 'keep'",
            id="short",
        ),
    ],
)
def test_wrong_arguments(make: object, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        make(a_log())  # type: ignore[operator]
    assert sentence in str(error.value)
