"""What :class:`Interactions` refuses, and the sentence it says."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest

from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError

USER = ["bo", "al", "al", "cy"]
ITEM = [30, 10, 30, 20]


def small(**more: Any) -> Interactions:
    return Interactions.from_arrays(USER, ITEM, **more)


def refused(message: str, user: Any = USER, item: Any = ITEM, **more: Any) -> None:
    with pytest.raises((InvalidDataError, InvalidArgumentError)) as caught:
        Interactions.from_arrays(user, item, **more)
    assert str(caught.value) == message


def test_empty_data() -> None:
    refused(
        "there are no interactions: the data are empty; check the file, or the filter that ran "
        "before",
        [],
        [],
    )


def test_negative_ids() -> None:
    refused(
        "user ids must not be negative, got -1; negative numbers usually mark missing values: "
        "drop these rows, or convert the ids to strings",
        [3, -1],
        [1, 1],
    )


def test_fractional_ids() -> None:
    refused(
        "item ids must be whole numbers or strings, got 1.5; convert them to strings",
        [1, 2],
        [1.0, 1.5],
    )


def test_missing_ids() -> None:
    refused(
        "user ids must be whole numbers or strings, got nan; drop the rows without an id",
        [1, float("nan")],
        [1, 2],
    )
    refused(
        "user ids must all be strings or all be whole numbers, got NoneType and str; drop missing "
        "ids and convert the rest to one type",
        ["a", None],
        [1, 2],
    )


@pytest.mark.parametrize("make", [list, lambda ids: np.array(ids, dtype=object)])
def test_mixed_types(make: Any) -> None:
    refused(
        "user ids must all be strings or all be whole numbers, got int and str; drop missing ids "
        "and convert the rest to one type",
        make([1, "a"]),
        [1, 2],
    )


def test_ids_too_large() -> None:
    message = f"user ids must be below 2**63, got {2**63}; convert the ids to strings"
    refused(message, np.array([2**63, 1], dtype=np.uint64), [1, 2])
    refused(message, np.array([2**63, 1], dtype=object), [1, 2])
    refused(
        "user ids beyond 2**53 are not exact as floating-point numbers, got 1e+300; read them as "
        "integers or strings",
        [1e300, 1],
        [1, 2],
    )


def test_ids_that_are_no_ids() -> None:
    refused(
        "user ids must be whole numbers or strings, got of type bool",
        np.array([True, False]),
        [1, 2],
    )
    refused("user must be one-dimensional, got 'shape (1, 2)'", [[1, 2]], [1, 2])
    refused("user must be one-dimensional, got 'nested sequences'", [[1], [2, 3]], [1, 2])
    refused(
        "user ids are bytes that are not UTF-8 (b'\\xe9'); decode them to strings",
        np.array([b"\xe9"]),
        [1],
    )


def test_ids_missing_from_the_vocabulary() -> None:
    refused(
        "2 item ids are not in the vocabulary item_ids, the first is 10; add them to it or drop "
        "their rows",
        item_ids=[20, 25],
    )
    refused(
        "3 user ids are not in the vocabulary user_ids, the first is al; add them to it or drop "
        "their rows",
        user_ids=[],
    )


def test_vocabulary_that_repeats_or_has_another_type() -> None:
    refused("item_ids repeats 1 ids; a vocabulary names each id once", item_ids=[10, 20, 30, 20])
    refused(
        "item ids are whole numbers but item_ids are strings; convert one to the type of the other",
        item_ids=["10", "20", "30"],
    )


def test_unequal_lengths() -> None:
    refused("item must be as long as user (4 ids), got '2 ids'", USER, [1, 2])
    refused("weight must be of shape (4,) like user, got 'shape (2,)'", weight=[1, 2])
    refused("timestamp must be of shape (4,) like user, got 'shape (5,)'", timestamp=range(5))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), 1e39])
def test_weights_that_are_not_finite(bad: float) -> None:
    refused(
        f"weights must be finite (and within float32), got {bad} in row 2 (1 such rows); drop "
        "these rows or fill them in",
        weight=[1, 2, bad, 4],
    )


def test_weights_that_are_no_numbers() -> None:
    refused(
        "weights must be numbers: could not convert string to float: 'x'; convert them first",
        weight=[1, 2, "x", 4],
    )


@pytest.mark.parametrize(
    ("bad", "shown"),
    [
        pytest.param([1, 2, -5, 4], "-5", id="negative"),
        pytest.param(np.array([1, 2, 2**63, 4], dtype=np.uint64), str(2**63), id="too-late"),
        pytest.param([1, 2, 1e30, 4], "1e+30", id="far-too-late"),
        pytest.param([1, 2, float("nan"), 4], "nan", id="nan"),
        pytest.param([1, 2, None, 4], "nan", id="none"),
        pytest.param(np.array([0, 0, "NaT", 0], dtype="datetime64[s]"), "NaT", id="NaT"),
        pytest.param(np.array([0, 0, -1, 0], dtype="datetime64[D]"), "1969-12-31", id="before"),
    ],
)
def test_timestamps_out_of_range(bad: Any, shown: str) -> None:
    refused(
        f"timestamps must lie between 0 (1970) and 2**63 - 1, got {shown} in row 2 (1 such rows); "
        "drop or shift these rows",
        timestamp=bad,
    )


@pytest.mark.parametrize(
    "bad", [["1970", "1971", "1972", "1973"], [True] * 4, [dt.date(2000, 1, 1), "x", 3, 4]]
)
def test_timestamps_of_another_type(bad: Any) -> None:
    with pytest.raises(InvalidDataError, match=r"must be whole numbers or dates .* parse them"):
        small(timestamp=bad)


def test_unknown_rule() -> None:
    with pytest.raises(InvalidArgumentError, match="duplicates must be one of"):
        small(duplicates="mean")


def test_select_wants_one_truth_value_per_interaction() -> None:
    with pytest.raises(InvalidArgumentError, match=r"keep must be bool of shape \(4,\)"):
        small().select(np.array([0, 1]))


def test_duplicates_are_an_error_by_default() -> None:
    refused(
        "2 of 4 rows repeat a (user, item) pair, the first is user 1, item 5; say what a repeat "
        "means with duplicates='first', 'last', 'sum' or 'max'",
        user=[1, 1, 1, 2],
        item=[5, 5, 5, 5],
        weight=[3.0, 1.0, 2.0, 9.0],
    )
