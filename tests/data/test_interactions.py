from __future__ import annotations

import copy
import datetime as dt
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from truerank.data.duplicates import pair_order
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError

USER = ["bo", "al", "al", "cy"]
ITEM = [30, 10, 30, 20]


def small(**more: Any) -> Interactions:
    return Interactions.from_arrays(USER, ITEM, **more)


def triples(data: Interactions) -> list[tuple[Any, ...]]:
    table = data.to_arrow().to_pydict()
    return sorted(zip(*table.values(), strict=True))


# -------------------------------------------------------------------- what it is


def test_ids_are_numbered_in_sorted_order() -> None:
    data = small()
    assert data.user_ids.tolist() == ["al", "bo", "cy"]
    assert data.item_ids.tolist() == [10, 20, 30]
    assert data.indptr.tolist() == [0, 2, 3, 4]
    assert data.indices.tolist() == [0, 2, 2, 1]
    assert data.users.tolist() == [0, 0, 1, 2]
    assert data.items_of(0).tolist() == [0, 2]
    assert data.user_counts.tolist() == [2, 1, 1]
    assert data.item_counts.tolist() == [1, 1, 2]
    assert (data.indptr.dtype, data.indices.dtype) == (np.int64, np.int32)
    assert repr(data) == "Interactions(3 users x 3 items, 4 interactions)"


def test_vocabulary_may_be_larger_than_what_occurs() -> None:
    data = small(user_ids=["zo", "cy", "bo", "al"], item_ids=range(5, 35, 5))
    assert data.user_ids.tolist() == ["al", "bo", "cy", "zo"]
    assert data.item_ids.tolist() == [5, 10, 15, 20, 25, 30]
    assert data.user_counts.tolist() == [2, 1, 1, 0]
    assert triples(data) == triples(small())


@pytest.mark.parametrize(
    ("user", "item"),
    [
        pytest.param([7], [7], id="one-pair"),
        pytest.param([7, 7], [1, 2], id="one-user"),
        pytest.param([1, 2], [7, 7], id="one-item"),
    ],
)
def test_one_user_and_one_item_are_enough(user: list[int], item: list[int]) -> None:
    data = Interactions.from_arrays(user, item)
    assert triples(data) == sorted(zip(user, item, strict=True))
    assert data.matrix().shape == (len(set(user)), len(set(item)))


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param(np.array([2.0, 1.0]), id="whole-floats"),
        pytest.param(np.array([2, 1], dtype=np.uint8), id="unsigned"),
        pytest.param(np.array([2, 1], dtype=object), id="objects"),
        pytest.param(np.array([np.int32(2), 1], dtype=object), id="numpy-objects"),
        pytest.param((2, 1), id="tuple"),
    ],
)
def test_whole_numbers_of_any_type(ids: Any) -> None:
    data = Interactions.from_arrays(ids, [5, 5])
    assert data.user_ids.tolist() == [1, 2]
    assert data.user_ids.dtype == np.int64


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param(np.array(["é", "b", "é"]), id="unicode"),
        pytest.param(np.array(["é".encode(), b"b", "é".encode()]), id="utf-8"),
        pytest.param(np.array(["é", "b", "é"], dtype=object), id="objects"),
        pytest.param(np.array(["é", "b", "é"], dtype=np.dtypes.StringDType()), id="StringDType"),
    ],
)
def test_strings_of_any_type(ids: Any) -> None:
    data = Interactions.from_arrays(ids, [1, 2, 3])
    assert data.user_ids.tolist() == ["b", "é"]
    assert data.user_counts.tolist() == [1, 2]


def test_huge_ids_need_no_huge_table() -> None:
    data = Interactions.from_arrays([2**62, 3, 2**62], [1, 2, 2])
    assert data.user_ids.tolist() == [3, 2**62]
    assert data.user_counts.tolist() == [1, 2]


# -------------------------------------------------------------------- times and weights


@pytest.mark.parametrize(
    "times",
    [
        pytest.param([86_400, 0, 0, 0], id="seconds"),
        pytest.param([86_400.9, 0.0, 0.5, 0.0], id="fractions"),
        pytest.param(np.array([1, 0, 0, 0], dtype="datetime64[D]"), id="datetime64"),
        pytest.param([dt.date(1970, 1, 2)] + [dt.date(1970, 1, 1)] * 3, id="dates"),
        pytest.param(
            [dt.datetime(1970, 1, 2, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))]
            + [dt.datetime(1970, 1, 1)] * 3,
            id="time-zone",
        ),
    ],
)
def test_times_become_seconds(times: Any) -> None:
    data = small(timestamp=times)
    assert data.timestamps is not None
    assert data.timestamps.tolist() == [0, 0, 86_400, 0]


def test_nanoseconds_as_integers_stay_exact() -> None:
    late = np.full(4, 1_600_000_000_123_456_789, dtype=np.uint64)
    times = small(timestamp=late).timestamps
    assert times is not None
    assert times.tolist() == late.tolist()


# -------------------------------------------------------------------- repeated pairs

REPEATS: dict[str, Any] = {
    "user": [1, 1, 1, 2],
    "item": [5, 5, 5, 5],
    "weight": [3.0, 1.0, 2.0, 9.0],
}


@pytest.mark.parametrize(
    ("rule", "weight"), [("first", 3.0), ("last", 2.0), ("sum", 6.0), ("max", 3.0)]
)
def test_each_rule_without_times(rule: Any, weight: float) -> None:
    data = Interactions.from_arrays(**REPEATS, duplicates=rule)
    assert triples(data) == [(1, 5, weight), (2, 5, 9.0)]


@pytest.mark.parametrize(
    ("rule", "weight", "time"),
    [("first", 1.0, 10), ("last", 3.0, 30), ("sum", 6.0, 30), ("max", 3.0, 30)],
)
def test_each_rule_with_times(rule: Any, weight: float, time: int) -> None:
    data = Interactions.from_arrays(**REPEATS, timestamp=[30, 10, 20, 5], duplicates=rule)
    assert triples(data) == [(1, 5, weight, time), (2, 5, 9.0, 5)]


def test_sum_without_weights_counts() -> None:
    data = Interactions.from_arrays(REPEATS["user"], REPEATS["item"], duplicates="sum")
    assert triples(data) == [(1, 5, 3.0), (2, 5, 1.0)]
    for rule in ("first", "last", "max"):
        plain = Interactions.from_arrays(REPEATS["user"], REPEATS["item"], duplicates=rule)
        assert plain.weights is None


rows = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3), st.floats(-9, 9, width=32)),
    min_size=1,
    max_size=40,
)


def test_zeros_of_either_sign_are_the_same() -> None:
    one, other = (
        Interactions.from_arrays([1, 1], [5, 5], weight=weight, duplicates="first", min_rating=0)
        for weight in ([0.0, -0.0], [-0.0, 0.0])
    )
    assert one.fingerprint() == other.fingerprint()


@settings(deadline=None)
@given(rows=rows, rule=st.sampled_from(["first", "last", "sum", "max"]), data=st.data())
def test_row_order_does_not_matter(rows: list[Any], rule: Any, data: st.DataObject) -> None:
    def build(rows: list[Any]) -> Interactions:
        user, item, time, weight = zip(*rows, strict=True)
        return Interactions.from_arrays(
            user, item, timestamp=time, weight=weight, duplicates=rule, min_rating=-np.inf
        )

    one, other = build(rows), build(data.draw(st.permutations(rows)))
    assert one.fingerprint() == other.fingerprint()
    assert triples(one) == triples(other)
    assert {(u, i) for u, i, _, _ in rows} == {(t[0], t[1]) for t in triples(one)}


def test_wide_keys_are_sorted_in_two_steps() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 50, 300) + 2**31 - 60
    columns = rng.integers(0, 5, 300) + 2**31 - 60
    order = pair_order(rows, columns, 2**31)
    assert order is not None
    assert order.tolist() == np.lexsort((columns, rows)).tolist()


# -------------------------------------------------------------------- other doors


def test_external_ids_come_back_through_arrow() -> None:
    data = small(weight=[1, 2, 3, 4], timestamp=[9, 8, 7, 6])
    table = data.to_arrow()
    assert table.column_names == ["user_id", "item_id", "weight", "timestamp"]
    assert triples(data) == sorted(zip(USER, ITEM, [1, 2, 3, 4], [9, 8, 7, 6], strict=True))
    again = Interactions.from_arrow(table, weight="weight", timestamp="timestamp")
    assert again.fingerprint() == data.fingerprint()


def test_from_csr() -> None:
    dense = np.array([[0, 2, 0], [1, 0, 0]])
    data = Interactions.from_csr(sparse.csr_array(dense))
    assert data.matrix().toarray().tolist() == dense.tolist()
    plain = Interactions.from_csr(sparse.csr_array(dense), weighted=False)
    assert plain.weights is None
    assert Interactions.from_csr(sparse.coo_array(dense > 0)).weights is None


def test_from_csr_adds_up_repeats_and_drops_zeros() -> None:
    twice = sparse.csr_array(
        (np.array([1.0, 2.0, 0.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2)
    )
    data = Interactions.from_csr(twice)
    assert triples(data) == [(0, 1, 3.0)]
    assert data.n_users == 2
    assert twice.nnz == 3  # the caller's matrix is as it was


def test_from_csr_sorts_the_ids_it_is_given() -> None:
    matrix = sparse.csr_array(np.array([[1, 2], [0, 3]]))
    data = Interactions.from_csr(matrix, user_ids=["b", "a"], item_ids=["y", "x"])
    assert triples(data) == [("a", "x", 3.0), ("b", "x", 2.0), ("b", "y", 1.0)]
    assert data.user_ids.tolist() == ["a", "b"]
    assert np.all(np.diff(data.items_of(1)) > 0)


def test_from_csr_refuses() -> None:
    eye = sparse.eye_array(2, format="csr")
    with pytest.raises(InvalidArgumentError, match="user_ids must be 2 ids, got '3 ids"):
        Interactions.from_csr(eye, user_ids=[1, 2, 3])
    with pytest.raises(InvalidArgumentError, match="item_ids must be 2 ids, got '2 ids"):
        Interactions.from_csr(eye, item_ids=[1, 1])
    with pytest.raises(InvalidArgumentError, match="matrix must be a scipy sparse matrix"):
        Interactions.from_csr(np.eye(2))  # type: ignore[arg-type]
    with pytest.raises(InvalidDataError, match="the data are empty"):
        Interactions.from_csr(sparse.csr_array((3, 3)))


# -------------------------------------------------------------------- immutable


def frozen_arrays(data: Interactions) -> bool:
    arrays = (
        data.indptr,
        data.indices,
        data.user_ids,
        data.item_ids,
        data.weights,
        data.timestamps,
    )
    return not any(array is not None and array.flags.writeable for array in arrays)


def test_nothing_can_be_changed() -> None:
    data = small(weight=[1, 2, 3, 4], timestamp=[1, 2, 3, 4])
    assert frozen_arrays(data)
    assert frozen_arrays(data.select(np.array([True, False, True, True])))
    with pytest.raises(ValueError, match="read-only"):
        data.indices[0] = 1
    with pytest.raises(FrozenInstanceError):
        data.indices = data.indices  # type: ignore[misc]


@pytest.mark.parametrize("again", [lambda d: pickle.loads(pickle.dumps(d)), copy.deepcopy])
def test_a_copy_is_equal_and_as_immutable(again: Any) -> None:
    data = small(weight=[1, 2, 3, 4], timestamp=[1, 2, 3, 4])
    assert frozen_arrays(again(data))
    assert again(data).fingerprint() == data.fingerprint()


def test_the_callers_arrays_stay_their_own() -> None:
    user, item, time = np.arange(3), np.arange(3), np.arange(3)
    weight = np.ones(3, dtype=np.float32)
    data = Interactions.from_arrays(user, item, weight=weight, timestamp=time)
    for array in (user, item, time, weight):
        array[0] = 2
    assert triples(data) == [(0, 0, 1.0, 0), (1, 1, 1.0, 1), (2, 2, 1.0, 2)]


# -------------------------------------------------------------------- fingerprint


def test_fingerprint_tells_different_data_apart() -> None:
    versions = [
        small(),
        small(weight=[1, 1, 1, 1]),
        small(weight=[1, 1, 1, 2]),
        small(timestamp=[1, 1, 1, 1]),
        small(user_ids=["al", "bo", "cy", "zo"]),
        Interactions.from_arrays(USER, [str(i) for i in ITEM]),
        small().select(np.array([True, True, True, False])),
    ]
    assert len({data.fingerprint() for data in versions}) == len(versions)


def test_fingerprint_does_not_see_the_width_of_strings() -> None:
    wide = np.array(USER, dtype="<U40")
    narrow = Interactions.from_arrays(USER, ITEM)
    assert Interactions.from_arrays(wide, ITEM).fingerprint() == narrow.fingerprint()
    vocabulary = np.array(["al", "bo", "cy"], dtype="<U40")
    assert small(user_ids=vocabulary).fingerprint() == narrow.fingerprint()


def test_fingerprint_is_the_same_tomorrow() -> None:
    data = Interactions.from_arrays([0, 1], [1, 0])
    assert data.fingerprint().startswith("80a12531bc48971a")
