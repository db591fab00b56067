"""Data sets by name: every layout of the folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truerank.data.registry import npz_layout
from truerank.data.registry.load import available, describe, load_arrays, load_dataset
from truerank.errors import (
    FileFormatError,
    InvalidArgumentError,
    InvalidDataError,
)

from .registry_world import save, triples


def test_log_with_ratings_and_times(places: tuple[Path, Path]) -> None:
    save(
        places[0],
        "ml-100k",
        user=[5, 3],
        item=[7, 9],
        rating=np.float32([4, 2]),
        timestamp=[200, 100],
    )
    data = load_dataset("ml-100k")
    assert triples(data) == [(3, 9, 2.0), (5, 7, 4.0)]
    assert data.timestamps is not None
    assert data.timestamps.tolist() == [100, 200]


def test_log_with_counts(places: tuple[Path, Path]) -> None:
    save(places[0], "lastfm-hetrec", user=[1, 1], item=[2, 3], count=[10, 20])
    assert triples(load_dataset("lastfm-hetrec")) == [(1, 2, 10.0), (1, 3, 20.0)]


def test_bare_log(places: tuple[Path, Path]) -> None:
    save(places[0], "msweb", user=[0, 1], item=[0, 0])
    assert triples(load_dataset("msweb")) == [(0, 0, None), (1, 0, None)]


def test_split_is_united_and_keeps_items_nobody_touched(places: tuple[Path, Path]) -> None:
    save(
        places[0],
        "gowalla",
        train_user=[0, 1],
        train_item=[3, 0],
        test_user=[1],
        test_item=[4],
        n_users=3,
        n_items=6,
    )
    data = load_dataset("gowalla")
    assert triples(data) == [(0, 3, None), (1, 0, None), (1, 4, None)]
    assert (data.n_users, data.n_items) == (3, 6)


def test_split_without_sizes_gets_them_with_room_for_the_negatives(
    places: tuple[Path, Path],
) -> None:
    save(
        places[0],
        "deepcf-lastfm",
        train_user=[0],
        train_item=[1],
        train_value=np.float32([3]),
        test_user=[1],
        test_item=[0],
        test_value=np.float32([7]),
        test_negative=[[5, 2]],
    )
    arrays = load_arrays("deepcf-lastfm")
    assert (int(arrays["n_users"]), int(arrays["n_items"])) == (2, 6)
    assert arrays["test_negative"].tolist() == [[5, 2]]
    data = load_dataset("deepcf-lastfm")
    assert triples(data) == [(0, 1, 3.0), (1, 0, 7.0)]
    assert data.n_items == 6


def test_times_of_one_half_alone_are_left_out(places: tuple[Path, Path]) -> None:
    save(
        places[0],
        "ml-1m-ncf",
        train_user=[0],
        train_item=[1],
        train_rating=np.int8([3]),
        test_user=[0],
        test_item=[0],
        test_rating=np.int8([5]),
        test_timestamp=[9],
        n_users=1,
        n_items=2,
    )
    data = load_dataset("ml-1m-ncf")
    assert triples(data) == [(0, 0, 5.0), (0, 1, 3.0)]
    assert data.timestamps is None


def test_parts_have_a_default_and_names(places: tuple[Path, Path]) -> None:
    save(
        places[0],
        "steam-caserec",
        purchase_user=[1, 1],
        purchase_item=[2, 2],
        purchase_value=np.float32([1, 1]),
        play_user=[1],
        play_item=[2],
        play_value=np.float32([27.5]),
    )
    assert triples(load_dataset("steam-caserec")) == [(1, 2, 1.0)]  # listed twice, owned once
    assert triples(load_dataset("steam-caserec", part="play")) == [(1, 2, 27.5)]
    with pytest.raises(
        InvalidArgumentError, match="part must be one of 'purchase', 'play', got 'hours'"
    ):
        load_dataset("steam-caserec", part="hours")


def test_parts_that_are_splits(places: tuple[Path, Path]) -> None:
    halves = {
        "loo_train": ([0], [0]),
        "loo_test": ([0], [1]),
        "split_train": ([0, 0], [1, 1]),
        "split_test": ([0], [1]),
        "ncf_full_test": ([7], [7]),
    }
    columns = {f"{half}_user": user for half, (user, _) in halves.items()}
    columns |= {f"{half}_item": item for half, (_, item) in halves.items()}
    save(places[0], "pinterest-37501", **columns, n_users=1, n_items=2)
    assert triples(load_dataset("pinterest-37501")) == [(0, 0, None), (0, 1, None)]
    assert triples(load_dataset("pinterest-37501", part="split")) == [(0, 1, None)]
    assert npz_layout.parts_of(load_arrays("pinterest-37501")) == ("loo", "split")


def test_part_of_a_set_without_parts(places: tuple[Path, Path]) -> None:
    save(places[0], "msweb", user=[0], item=[0])
    with pytest.raises(InvalidArgumentError, match="part must be left out, 'msweb' has no parts"):
        load_dataset("msweb", part="loo")


def test_string_ids_come_back(places: tuple[Path, Path]) -> None:
    save(
        places[0],
        "msd",
        user=[1, 0, 1],
        item=[0, 1, 0],
        count=[2, 3, 4],
        user_id=np.array([b"a85", b"b80"]),
        item_id=np.array([b"SOA", b"SOB", b"SOC"]),
    )
    data = load_dataset("msd")
    assert triples(data) == [("a85", "SOB", 3.0), ("b80", "SOA", 6.0)]  # plays add up
    assert data.n_items == 3


def test_unsorted_string_ids_are_refused(places: tuple[Path, Path]) -> None:
    save(places[0], "msd", user=[0], item=[0], user_id=np.array(["b", "a"]))
    with pytest.raises(FileFormatError, match="user_id of the data set 'msd' is not sorted"):
        load_dataset("msd")


def test_any_folder_in_the_layout_works(places: tuple[Path, Path]) -> None:
    save(places[0], "my-shop", user=[4, 4], item=[1, 1], value=[1.0, 2.0])
    assert load_arrays("my-shop")["user"].tolist() == [4, 4]
    with pytest.raises(InvalidDataError, match="say what a repeat means with duplicates="):
        load_dataset("my-shop")
    assert triples(load_dataset("my-shop", duplicates="sum")) == [(4, 1, 3.0)]
    shown = describe("my-shop")
    assert (shown.where, shown.title, shown.shape) == ("folder", "Your own", None)
    assert "my-shop" in [row.name for row in available()]


def test_own_folder_with_one_part_needs_no_name(places: tuple[Path, Path]) -> None:
    save(places[0], "own", web_user=[1], web_item=[2])
    assert triples(load_dataset("own")) == [(1, 2, None)]
    save(places[0], "own", web_user=[1], web_item=[2], app_user=[1], app_item=[3])
    with pytest.raises(InvalidArgumentError, match="part must be one of 'web', 'app', got None"):
        load_dataset("own")


def test_npz_of_something_else(places: tuple[Path, Path]) -> None:
    save(places[0], "own", weights=[1.0], superuser=[3], superitem=[1])
    with pytest.raises(FileFormatError, match=r"'own' has no arrays user and item.*it has weights"):
        load_dataset("own")


def test_alias_and_folder_under_either_name(places: tuple[Path, Path]) -> None:
    save(places[0], "movietweetings-100k", user=[1], item=[2], rating=[7.0])
    for name in ("movietweetings", "movietweetings-100k"):
        assert triples(load_dataset(name)) == [(1, 2, 7.0)]
        assert describe(name).where == "folder"
    assert "movietweetings-100k" not in [row.name for row in available()]
