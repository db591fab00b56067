"""The temporal split: one moment for everybody."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.split import temporal


def a_log() -> Interactions:
    rng = np.random.default_rng(2)
    cells = rng.choice(50 * 40, 600, replace=False)
    return Interactions.from_arrays(cells // 40, cells % 40, timestamp=rng.integers(0, 500, 600))


def test_nothing_in_training_is_later_than_anything_held_out() -> None:
    split = temporal(a_log(), fraction=0.3)
    assert split.train.timestamps is not None
    assert split.held_out.timestamps is not None
    assert split.train.timestamps.max() < split.held_out.timestamps.min()
    assert split.held_out.timestamps.min() == split.description["at"]
    assert len(split.train) + len(split.held_out) == 600


@pytest.mark.parametrize("fraction", [0.01, 0.2, 0.5, 0.9])
def test_fraction_holds_out_at_least_that_much_and_no_time_more(fraction: float) -> None:
    data = a_log()
    split = temporal(data, fraction=fraction)
    wanted = int(np.floor(fraction * 600 + 0.5))
    assert data.timestamps is not None
    at_the_cut = int((data.timestamps == split.description["at"]).sum())
    assert wanted <= len(split.held_out) < wanted + at_the_cut


def test_default_is_a_fifth() -> None:
    assert temporal(a_log()).fingerprint() == temporal(a_log(), fraction=0.2).fingerprint()


@pytest.mark.parametrize(
    "at",
    [
        pytest.param(86_400, id="integer"),
        pytest.param(np.int64(86_400), id="numpy-integer"),
        pytest.param(datetime(1970, 1, 2), id="naive-is-utc"),
        pytest.param(datetime(1970, 1, 2, tzinfo=UTC), id="aware"),
        pytest.param(np.datetime64("1970-01-02"), id="datetime64"),
    ],
)
def test_ways_to_name_a_moment(at: object) -> None:
    data = Interactions.from_arrays([1, 1, 2], [5, 6, 5], timestamp=[86_399, 86_400, 86_401])
    assert temporal(data, at=at).report.held_out == 2  # type: ignore[arg-type]


def test_new_users_and_cold_items_are_counted_or_dropped() -> None:
    data = Interactions.from_arrays(
        [1, 1, 2, 3, 3, 4], [5, 6, 5, 5, 7, 5], timestamp=[10, 30, 20, 5, 40, 6]
    )
    kept = temporal(data, at=20)
    assert kept.report.users_evaluated == 3
    assert kept.report.users_not_evaluated == 1  # user 4
    assert kept.report.users_without_history == 1  # user 2
    assert kept.report.cold_pairs == 2  # items 6 and 7
    dropped = temporal(data, at=20, new_users="drop", short_users="drop")
    assert dropped.report.users_evaluated == 2
    assert dropped.report.dropped.new_users == 1
    assert dropped.report.dropped.new_user_pairs == 1
    assert dropped.report.dropped.short_users == 1
    assert dropped.report.users_without_history == 0
    warm = temporal(data, at=20, cold_items="drop")
    assert warm.report.dropped.cold_pairs == 2
    assert warm.report.held_out == 1


def test_dropping_a_short_user_can_make_an_item_cold() -> None:
    data = Interactions.from_arrays([1, 2, 2], [5, 6, 5], timestamp=[1, 2, 9])
    assert temporal(data, at=5).report.cold_pairs == 0
    assert temporal(data, at=5, short_users="drop").report.cold_pairs == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param({"fraction": 0.0}, "fraction must be between 0 and 1", id="f=0"),
        pytest.param({"fraction": 1.5}, "for 1.5 percent write 0.015", id="f=1.5"),
        pytest.param({"at": 5, "fraction": 0.2}, "left out where at= is given", id="both"),
        pytest.param({"at": "2020"}, "at must be an integer timestamp", id="at-text"),
        pytest.param({"at": np.datetime64("NaT")}, "at must be an integer timestamp", id="at-nat"),
        pytest.param({"new_users": "no"}, "new_users must be one of keep, drop", id="rule"),
    ],
)
def test_wrong_arguments(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        temporal(a_log(), **arguments)  # type: ignore[arg-type]
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("at", "side"), [pytest.param(0, "before", id="early"), pytest.param(501, "after", id="late")]
)
def test_a_cut_outside_the_times(at: int, side: str) -> None:
    with pytest.raises(InvalidDataError, match=f"leaves nothing {side} it: the times run from"):
        temporal(a_log(), at=at)


def test_one_time_for_everything_cannot_be_cut() -> None:
    data = Interactions.from_arrays([1, 1, 2], [5, 6, 5], timestamp=[7, 7, 7])
    with pytest.raises(InvalidDataError, match="leaves nothing before it"):
        temporal(data)


def test_needs_timestamps() -> None:
    with pytest.raises(InvalidDataError, match="a temporal split needs timestamps"):
        temporal(Interactions.from_arrays([1, 1], [5, 6]))
