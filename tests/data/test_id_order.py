"""Ids that are all numbers stand in the order of numbers, whatever their type; so no result moves.

A file of whole numbers is read as text, a frame of them as numbers: every index, split, draw,
estimate and p-value must be the same.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from truerank.data.id_order import distinct_ids, find_ids
from truerank.estimators.simulate import simulate
from truerank.split.pair_sets import on_common_vocabularies

whole = st.integers(0, 2**63 - 1) | st.integers(0, 200)


@settings(deadline=None, max_examples=100)
@given(ids=st.lists(whole, min_size=1, max_size=20))
def test_numbers_have_one_order(ids: list[int]) -> None:
    numbers, text = np.array(ids, dtype=np.int64), np.array([str(k) for k in ids])
    (a, at_a), (b, at_b) = distinct_ids(numbers), distinct_ids(text)
    assert a.tolist() == sorted(set(ids)) == [int(word) for word in b]
    assert at_a.tolist() == at_b.tolist()
    assert find_ids(b[::-1], text).tolist() == (len(b) - 1 - at_b).tolist()
    assert find_ids(a[1:], a[:1]).tolist() == [-1]
    assert find_ids(a, b).tolist() == [-1] * len(b)


@settings(deadline=None, max_examples=100)
@given(ids=st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")))))
def test_other_names_are_ordered_by_their_letters(ids: list[str]) -> None:
    found, place = distinct_ids(np.array(["x", "007", *ids], dtype=object))
    assert found.tolist() == sorted({"x", "007", *ids})
    assert found[place].tolist() == ["x", "007", *ids]


def test_one_name_that_is_no_number_makes_all_of_them_names() -> None:
    assert distinct_ids(np.array(["10", "9", "2"]))[0].tolist() == ["2", "9", "10"]
    for odd in ("007", "+1", "1.0", "-1", "x", "٣", str(2**63)):
        assert distinct_ids(np.array(["10", "9", odd]))[0].tolist() == sorted(["10", "9", odd])


def loans(n_users: int = 130) -> pd.DataFrame:
    """Users and items below and above 10 and 100, so that letters would order them otherwise."""
    rng = np.random.default_rng(11)
    p = 1 / np.arange(1, 121)
    rows = [
        (user, item)
        for user in range(5, 5 + n_users)
        for item in rng.choice(120, 8, replace=False, p=p / p.sum())
    ]
    table = pd.DataFrame(rows, columns=["user_id", "item_id"])
    return table.assign(time=rng.integers(0, 10**9, len(table)))


def test_every_result_is_the_same_for_text_and_numbers(tmp_path: Path) -> None:
    frame = loans()
    frame.to_csv(tmp_path / "x.csv", index=False)
    numbers = tr.Interactions.from_frame(frame, timestamp="time")
    text = tr.Interactions.from_csv(tmp_path / "x.csv", timestamp="time")
    assert text.user_ids.tolist() == [str(user) for user in numbers.user_ids]
    assert text.item_ids.tolist() == [str(item) for item in numbers.item_ids]
    verdicts = []
    for data in (numbers, text):
        split = tr.split.leave_one_out(data, by="random", seed=3)
        tables = {}
        for name, model in (("pop", tr.models.Popularity()), ("knn", tr.models.ItemKNN(k=5))):
            fitted = model.fit(split.train)
            ranked = tr.rank(fitted, split, tr.Sampled(20), seed=5, progress=False)
            # the order of rows says nothing either
            tables[name] = ranked[np.random.default_rng(1).permutation(len(ranked))]
        exact = {name: replace(t, n_items=t.n_sampled) for name, t in tables.items()}
        verdicts.append(
            [
                tr.compare(tables, "recall@10", n_boot=100, seed=2).to_dict(),
                tr.compare(exact, "recall@10", test="permutation", seed=2).to_dict(),
                [e.to_dict() for e in tr.estimate(tables["knn"], "recall@10", n_boot=100)],
                exact["knn"].per_user("ndcg@10")[1].tolist(),
            ]
        )
    assert verdicts[0] == verdicts[1]


def test_several_targets_a_user() -> None:
    rng = np.random.default_rng(4)
    user, item = np.arange(40) // 2 + 1, np.arange(40)
    rank = rng.integers(1, 41, 40)
    weight = (rng.random(21) + 0.1)[user]
    found = []
    for ids in (user, user.astype(str)):
        table = tr.RankTable.from_arrays(rank, 40, 40, user=ids, item=item, weight=weight)
        (estimate,) = tr.estimate(table, "hit@10", n_boot=30)
        found.append((estimate.value, estimate.std_error))
        half = simulate(table, tr.Users(m=7), seed=1)
        assert len(half) == 14
        found[-1] += (sorted(int(name) for name in half.user),)
    assert found[0] == found[1]


def test_weights_of_users() -> None:
    rng = np.random.default_rng(6)
    user, weight = np.arange(5, 105), rng.random(100) + 0.1
    ranks = rng.geometric(0.1, (2, 100)).clip(1, 50)
    found = []
    for ids in (user, user.astype(str)):
        tables = {
            name: tr.RankTable.from_arrays(rank, 50, 50, user=ids, item=user, weight=weight)
            for name, rank in zip("ab", ranks, strict=True)
        }
        (row,) = tr.compare(tables, "ndcg@10").comparisons
        found.append((row.difference, row.std_error, row.p_value))
    assert found[0] == found[1]
    value = (1 / np.log2(1 + ranks)) * (ranks <= 10)
    assert abs(found[0][0]) == pytest.approx(abs((value[0] - value[1]) @ weight / weight.sum()))


@pytest.mark.parametrize("odd", ["x", "zz"])
def test_parts_whose_ids_stand_in_different_orders(odd: str) -> None:
    """All numbers in one part, a name more in the other: both are brought into the same order."""
    train = tr.Interactions.from_arrays(
        ["10", "9", "9"], ["100", "20", "3"], weight=[1, 2, 3], timestamp=[4, 5, 6]
    )
    other = tr.Interactions.from_arrays(["10", odd], ["3", odd])
    assert train.user_ids.tolist() == ["9", "10"]
    one, two = on_common_vocabularies(train, other)
    assert one.user_ids.tolist() == two.user_ids.tolist() == ["10", "9", odd]
    same = tr.Interactions.from_arrays(
        ["10", "9", "9"], ["100", "20", "3"], weight=[1, 2, 3], timestamp=[4, 5, 6],
        user_ids=["10", "9", odd], item_ids=["3", "20", "100", odd],
    )  # fmt: skip
    assert one.fingerprint() == same.fingerprint()
    assert two.to_arrow().to_pydict() == {"user_id": ["10", odd], "item_id": ["3", odd]}


def test_unsigned_ids_are_found_and_never_wrap() -> None:
    """As int64, 2**64 - 1 would be -1, and 2**63 an overflow in Arrow's words."""
    large = np.array([3, 2**63, 2**64 - 1], np.uint64)
    assert find_ids(large, large[::-1]).tolist() == [2, 1, 0]
    assert find_ids(large, np.array([-1, 3])).tolist() == [-1, 0]
    assert find_ids(np.array([-1, 3]), large).tolist() == [1, -1, -1]
    assert find_ids(large[:1], np.array([3], np.int32)).tolist() == [0]
    assert find_ids(large, np.array(["3"])).tolist() == [-1]
