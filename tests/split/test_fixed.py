"""Splits made elsewhere: parts of one's own, and the published ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError, TruerankError
from truerank.split import from_parts, leave_one_out, published
from truerank.split.fixed import split_of_arrays
from truerank.split.pair_sets import contained
from truerank.split.policies import Policies

TRAIN = Interactions.from_arrays(["a", "a", "b", "c"], [10, 20, 10, 30])


def parts_of(user: list[Any], item: list[int]) -> Interactions:
    return Interactions.from_arrays(user, item)


def test_vocabularies_are_merged_and_pairs_survive() -> None:
    split = from_parts(TRAIN, parts_of(["b", "d", "a"], [20, 10, 40]))
    assert split.train.user_ids.tolist() == split.held_out.user_ids.tolist() == list("abcd")
    assert split.train.item_ids.tolist() == split.held_out.item_ids.tolist() == [10, 20, 30, 40]
    held = split.held_out.to_arrow().to_pylist()
    assert [(row["user_id"], row["item_id"]) for row in held] == [("a", 40), ("b", 20), ("d", 10)]
    assert split.train.to_arrow().to_pylist() == TRAIN.to_arrow().to_pylist()
    assert split.report.users_without_history == 1  # d
    assert split.report.users_not_evaluated == 1  # c
    assert split.report.cold_pairs == 1  # item 40


def test_weights_and_times_survive_the_merge() -> None:
    train = Interactions.from_arrays([3, 1], [7, 8], weight=[2.5, 1.5], timestamp=[30, 10])
    held = Interactions.from_arrays([2, 3], [6, 8], timestamp=[9, 40])
    split = from_parts(train, held)
    assert split.train.weights is not None
    assert split.train.weights.tolist() == [1.5, 2.5]
    assert split.train.timestamps is not None
    assert split.train.timestamps.tolist() == [10, 30]


def test_taking_a_split_apart_and_together_again() -> None:
    rng = np.random.default_rng(0)
    cells = rng.choice(30 * 20, 200, replace=False)
    split = leave_one_out(Interactions.from_arrays(cells // 20, cells % 20))
    assert from_parts(split.train, split.held_out).fingerprint() == split.fingerprint()


LEAKY = parts_of(["a", "b", "c"], [10, 20, 20])


def test_a_leak_is_an_error_unless_told_otherwise() -> None:
    with pytest.raises(InvalidDataError) as error:
        from_parts(TRAIN, LEAKY)
    assert str(error.value) == (
        "1 of 3 held-out pairs are in the training part as well, the first is user a, item 10: "
        "a leak; take them out of the held-out part with overlap='drop', or say overlap='keep'"
    )


def test_a_leak_kept_is_counted_and_dropped_is_gone() -> None:
    kept, dropped = (from_parts(TRAIN, LEAKY, overlap=rule) for rule in ("keep", "drop"))
    assert kept.report.overlapping_pairs == 1
    assert kept.report.held_out == 3
    assert dropped.report.overlapping_pairs == 0
    assert dropped.report.dropped.overlapping_pairs == 1
    assert not contained(dropped.held_out, dropped.train).any()


def test_a_leak_through_fold_in_is_a_leak() -> None:
    held, known = parts_of(["x", "x"], [10, 20]), parts_of(["x"], [20])
    with pytest.raises(InvalidDataError, match="1 of 2 held-out pairs"):
        from_parts(TRAIN, held, fold_in=known)
    split = from_parts(TRAIN, held, fold_in=known, overlap="drop")
    assert split.report.users_without_history == 0
    assert split.fold_in is not None
    assert split.fold_in.user_ids.tolist() == ["a", "b", "c", "x"]


def test_new_users_with_fold_in_are_not_new() -> None:
    held, known = parts_of(["x", "y"], [10, 20]), parts_of(["x"], [30])
    split = from_parts(TRAIN, held, fold_in=known, new_users="drop")
    assert split.report.dropped.new_users == 1
    assert split.report.users_evaluated == 1


def test_ids_of_two_kinds_are_refused() -> None:
    with pytest.raises(InvalidDataError, match="user ids are strings in one part and whole"):
        from_parts(TRAIN, parts_of([1], [10]))


def test_everything_dropped_says_why() -> None:
    with pytest.raises(InvalidDataError) as error:
        from_parts(TRAIN, parts_of(["a", "z"], [10, 99]), overlap="drop", cold_items="drop")
    assert "nothing is held out (1 pairs overlap with training, 1 have an item unseen" in str(
        error.value
    )


def test_wrong_rule() -> None:
    with pytest.raises(InvalidArgumentError, match="overlap must be one of error, drop"):
        from_parts(TRAIN, LEAKY, overlap="ignore")  # type: ignore[arg-type]


# ------------------------------------------------------------------ arrays of published sets

ARRAYS = {
    "loo_train_user": np.array([0, 0, 1, 1]),
    "loo_train_item": np.array([0, 0, 1, 2]),  # a repeated pair
    "loo_test_user": np.array([0, 1]),
    "loo_test_item": np.array([1, 0]),
    "split_train_user": np.array([0, 1]),
    "split_train_item": np.array([0, 1]),
    "split_test_user": np.array([0, 1]),
    "split_test_item": np.array([0, 2]),
    "n_users": np.int32(3),
    "n_items": np.int32(4),
}


def test_leave_one_out_is_the_part_that_need_not_be_named() -> None:
    split = split_of_arrays(ARRAYS, "toy", None, Policies())
    assert split.description["part"] == "loo"
    assert split.report.dropped.repeated_rows == 1
    assert split.train.n_users == 3
    assert split.train.n_items == 4
    assert split.report.users_not_evaluated == 0  # user 2 has no interactions at all


def test_another_part_by_name() -> None:
    with pytest.raises(InvalidDataError, match="1 of 2 held-out pairs"):
        split_of_arrays(ARRAYS, "toy", "split", Policies())


def test_unknown_parts_and_sets_without_a_split() -> None:
    with pytest.raises(InvalidArgumentError, match="part must be one of 'loo', 'split'"):
        split_of_arrays(ARRAYS, "toy", "cv", Policies())
    plain = {key.removeprefix("loo_"): value for key, value in ARRAYS.items()}
    single = {key: value for key, value in plain.items() if not key.startswith("split_")}
    assert split_of_arrays(single, "toy", None, Policies()).description["part"] == ""
    with pytest.raises(InvalidArgumentError, match="left out, 'toy' has a single split"):
        split_of_arrays(single, "toy", "loo", Policies())
    for arrays in ({"user": np.arange(2)}, {"train_user": np.arange(2)}):
        with pytest.raises(InvalidDataError, match="'toy' has no published split"):
            split_of_arrays(arrays, "toy", None, Policies())


def test_sizes_that_are_not_stated_are_counted() -> None:
    arrays = {key: value for key, value in ARRAYS.items() if not key.startswith("n_")}
    split = split_of_arrays(arrays, "toy", "loo", Policies())
    assert (split.train.n_users, split.train.n_items) == (2, 3)


def test_the_demo_data_have_no_published_split() -> None:
    with pytest.raises(TruerankError, match=r"made on the spot.* have no arrays or split"):
        published("demo")


# ------------------------------------------------------------------ the real ones

FOLDER = Path(
    os.environ.get("TRUERANK_DATA")
    or Path(__file__).resolve().parents[2].parent / "shared" / "data"
)


def needs(name: str) -> pytest.MarkDecorator:
    file = FOLDER / name / f"{name}.npz"
    return pytest.mark.skipif(
        not file.is_file(), reason=f"{file} is not there; set TRUERANK_DATA to the data folder"
    )


@pytest.fixture
def data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUERANK_DATA", str(FOLDER))


@needs("pinterest-37501")
@pytest.mark.usefixtures("data_folder")
def test_the_random_pinterest_split_leaks() -> None:
    with pytest.raises(InvalidDataError, match=r"^8,743 of 218,891 held-out pairs"):
        published("pinterest-37501", part="split")
    split = published("pinterest-37501", part="split", overlap="drop")
    assert split.report.dropped.overlapping_pairs == 8_743
    assert split.report.dropped.repeated_rows == 15_736 + 1_076


@needs("pinterest-37501")
@pytest.mark.usefixtures("data_folder")
def test_the_leave_one_out_pinterest_split_does_not() -> None:
    report = published("pinterest-37501").report
    assert (report.train, report.held_out) == (962_653, 37_501)
    assert (report.overlapping_pairs, report.users_without_history) == (0, 0)


@needs("gowalla")
@pytest.mark.usefixtures("data_folder")
def test_gowalla_has_its_published_size() -> None:
    split = published("gowalla")
    assert (split.report.train, split.report.held_out) == (810_128, 217_242)
    assert split.report.users_evaluated == split.train.n_users == 29_858
    assert (split.report.cold_pairs, split.report.dropped.repeated_rows) == (0, 0)


@needs("yelp-social")
@pytest.mark.usefixtures("data_folder")
def test_yelp_social_is_a_real_cold_item_case() -> None:
    kept, dropped = (published("yelp-social", cold_items=rule) for rule in ("keep", "drop"))
    cold_items = np.unique(kept.held_out.indices[kept.train.item_counts[kept.held_out.items] == 0])
    assert len(cold_items) == 943
    assert dropped.report.dropped.cold_pairs == kept.report.cold_pairs > 943
