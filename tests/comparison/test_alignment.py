"""Tables are brought onto the same rows, or refused in one sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import truerank as tr
from truerank import compare
from truerank.comparison import alignment
from truerank.comparison.alignment import align
from truerank.data.id_order import distinct_ids
from truerank.errors import InvalidArgumentError, InvalidDataError


def table(users: list[object], items: list[object] | None = None, **header: object) -> tr.RankTable:
    made = tr.RankTable.from_arrays(
        rank=np.arange(1, len(users) + 1), n_sampled=50, n_items=50,
        user=users, item=items if items is not None else [7] * len(users),
    )  # fmt: skip
    return replace(made, header=replace(made.header, **header))


def test_rows_are_matched_by_user_and_item_whatever_their_order() -> None:
    a, b = table([3, 1, 2]), table([2, 3, 1])
    found = align({"a": a, "b": b})
    assert found["a"].user.tolist() == found["b"].user.tolist() == [1, 2, 3]
    assert found["a"].rank.tolist() == [2, 3, 1]
    assert found["b"].rank.tolist() == [3, 1, 2]


def test_text_ids_and_several_items_per_user() -> None:
    a, b = table(["u", "u", "v"], [1, 2, 1]), table(["v", "u", "u"], [1, 2, 1])
    found = align({"a": a, "b": b})
    for key in ("user", "item"):
        assert getattr(found["a"], key).tolist() == getattr(found["b"], key).tolist()
    assert found["b"].rank.tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("users", "items"),
    [
        (["2", "9", "10", "10"], ["5", "5", "9", "10"]),  # text, in the order of numbers
        (["10", "9", "a"], ["x", "x", "x"]),  # by letters
        ([2, 9, 9], ["b", "a", "b"]),
    ],
)
def test_the_same_rows_in_order_are_taken_as_they_are(users: list, items: list) -> None:
    a, b = table(users, items), table(users, items)
    found = align({"a": a, "b": b})
    assert found["a"] is a
    assert found["b"] is b


def test_the_same_rows_in_another_order_are_numbered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million users with text ids took 720 MB to number those of both tables together."""
    numbered = []

    def counting(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        numbered.append(len(ids))
        return distinct_ids(ids)

    monkeypatch.setattr(alignment, "distinct_ids", counting)
    users, items = ["10", "9", "9"], ["1", "10", "9"]
    found = align({name: table(users, items) for name in "abc"})
    assert numbered == [3, 3]
    for aligned in found.values():
        assert aligned.user.tolist() == ["9", "9", "10"]
        assert aligned.item.tolist() == ["9", "10", "1"]
        assert aligned.rank.tolist() == [3, 2, 1]


@pytest.mark.parametrize("users", [["b", "a", "b"], ["a", "b", "b"], [1, 2, 2], ["1", "2", "2"]])
def test_a_pair_that_all_tables_hold_twice_is_refused(users: list) -> None:
    with pytest.raises(InvalidDataError, match=r"the table of 'a' holds a .* pair twice"):
        align({"a": table(users), "b": table(users)})


def test_one_order_whether_the_rows_are_the_same_or_not() -> None:
    """The short way, for the same rows, gives the rows of the long one."""
    rng = np.random.default_rng(3)
    for names in ([str(k) for k in range(40)], [f"u{k}" for k in range(40)], list(range(40))):
        pairs = rng.permutation(1_600)[:50]
        users, items = ([names[k] for k in part] for part in np.divmod(pairs, 40))
        a, b = table(users, items), table(users, items)
        short, long = align({"a": a, "b": b}), align({"a": a, "b": b[::-1]})
        for name in "ab":
            for column in ("user", "item", "rank"):
                one, other = (getattr(found[name], column) for found in (short, long))
                assert one.tolist() == other.tolist()


def test_numbers_are_the_text_they_are_written_as() -> None:
    numbers = table([2, 10, 9], [100, 20, 3])
    text = table(["9", "2", "10"], ["3", "100", "20"])
    found = align({"a": numbers, "b": text})
    assert found["a"].user.tolist() == found["b"].user.tolist() == ["2", "9", "10"]
    assert found["a"].item.tolist() == found["b"].item.tolist() == ["100", "3", "20"]
    assert found["a"].rank.tolist() == [1, 3, 2]
    assert found["b"].rank.tolist() == [2, 1, 3]
    # what is all numbers stays so, and resamples keep their bits
    again = align({"a": numbers, "b": table([9, 2, 10], [3, 100, 20])})
    assert again["a"].user.tolist() == [2, 9, 10]


def test_missing_rows_are_counted_and_refused_or_left_out() -> None:
    a, b = table([1, 2, 3, 4]), table([2, 3, 9])
    with pytest.raises(InvalidDataError, match=r"2 of 4 \(user, item\) rows of 'a'.*common"):
        align({"a": a, "b": b})
    found = align({"a": a, "b": b}, "common")
    assert found["a"].user.tolist() == found["b"].user.tolist() == [2, 3]
    assert found["a"].rank.tolist() == [2, 3]
    assert found["b"].rank.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (table([1, 2]), table([5, 6]), "rows of 'a' are not in every table"),
        (table([1, 2]), table(["01", "02"]), "rows of 'a' are not in every table"),
        (table([1, 1]), table([1, 2]), "pair twice"),
        (table([1], split="x"), table([1], split="y"), "same split"),
        (table([1], data="x"), table([1], data="y"), "same training data"),
        (table([1], candidates="all"), table([1], candidates="unseen"), "different metrics"),
        (table([1], ties="optimistic"), table([1], ties="random"), "rank both with the same ties="),
        (table([1], ties="half"), table([1], ties="pessimistic"), "'b' is ranked with ties='pess"),
    ],
)
def test_what_cannot_be_compared_gets_its_sentence(
    first: tr.RankTable, second: tr.RankTable, words: str
) -> None:
    with pytest.raises(InvalidDataError, match=words):
        align({"a": first, "b": second})


def test_other_candidates_or_weights_of_a_row_are_refused() -> None:
    a = table([1, 2])
    with pytest.raises(InvalidDataError, match="different n_items"):
        align({"a": a, "b": replace(a, n_items=np.array([60, 50]))})
    with pytest.raises(InvalidDataError, match="weigh the same rows differently"):
        align({"a": a, "b": replace(a, weight=np.array([1.0, 2.0]))})


def test_nothing_in_common_and_an_unknown_rule() -> None:
    with pytest.raises(InvalidDataError, match="share no"):
        align({"a": table([1]), "b": table([2])}, "common")
    with pytest.raises(InvalidArgumentError, match="'refuse' or 'common'"):
        align({"a": table([1]), "b": table([2])}, "left")  # type: ignore[arg-type]


def test_common_rows_of_different_splits_can_be_asked_for() -> None:
    found = align({"a": table([1, 2], split="x"), "b": table([2, 3], split="y")}, "common")
    assert found["a"].user.tolist() == [2]


def test_rows_in_common_of_different_training_data_are_doubted() -> None:
    """A model may have seen what is held out here: 'better' must not stand without a word."""
    users = list(range(40))
    a, b = (table(users, data=data) for data in ("x", "y"))
    with pytest.raises(InvalidDataError, match="same training data"):
        compare({"a": a, "b": b}, ["recall@5"], progress=False)
    verdict = compare({"a": a, "b": b}, ["recall@5"], align="common", progress=False)
    assert "a and b were fitted on different training data" in verdict.sentence
    alike = compare({"a": a, "b": a}, ["recall@5"], align="common", progress=False)
    assert "different training data" not in alike.sentence
