"""Data sets by name: places, the catalogue, and the real sets where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from truerank.data.registry.load import DATASETS, available, describe, load_arrays, load_dataset
from truerank.data.registry.locations import cache_folder, offline_requested


def test_cache_folder_by_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("TRUERANK_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == tmp_path / ".cache" / "truerank"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "truerank"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder() == tmp_path / "Library" / "Caches" / "truerank"
    monkeypatch.setenv("TRUERANK_CACHE", "~/mine")
    assert cache_folder() == tmp_path / "mine"


@pytest.mark.parametrize(("value", "offline"), [("1", True), ("0", False), ("", False)])
def test_offline_switch(value: str, offline: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUERANK_OFFLINE", value)
    assert offline_requested() is offline


def test_table_names_every_set_of_the_issue(places: tuple[Path, Path]) -> None:
    rows = {row.name: row for row in available()}
    assert next(iter(rows)) == "demo"
    assert rows["demo"].where == "built in"
    wanted = "ml-100k ml-1m ml-20m netflix msd gowalla yelp2018 amazon-book pinterest-20 yelp"
    assert {*wanted.split(), "movietweetings"} <= set(rows)
    assert all(row.licence and row.title for row in rows.values())
    assert rows["ml-20m"].n_bytes == 198_702_078


def test_catalogue_is_consistent() -> None:
    names = [name for dataset in DATASETS.values() for name in dataset.names]
    assert len(names) == len(set(names))
    for name, dataset in DATASETS.items():
        assert dataset.name == name
        assert (dataset.parser is None) == (not dataset.raw_files)
        for source in dataset.raw_files:
            assert all(url.startswith(("https://", "http://")) for url in source.urls)
            assert source.md5 is None or len(source.md5) == 32
            assert source.sha256 is None or len(source.sha256) == 64


@pytest.fixture
def real_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    beside = Path(__file__).parents[4] / "shared" / "data"
    folder = Path(os.environ.get("TRUERANK_DATA") or beside)
    if not folder.is_dir():
        pytest.skip(f"no real data: TRUERANK_DATA is not set and there is no {beside}")
    monkeypatch.setenv("TRUERANK_DATA", str(folder))
    monkeypatch.setenv("TRUERANK_CACHE", str(tmp_path))
    monkeypatch.setenv("TRUERANK_OFFLINE", "1")


def need(name: str) -> None:
    if describe(name).where != "folder":
        pytest.skip(f"{name} is not in the folder of real data")


@pytest.mark.parametrize("name", sorted(DATASETS))
@pytest.mark.usefixtures("real_data")
def test_real_set_has_its_published_size(name: str) -> None:
    need(name)
    data = load_dataset(name)
    users, items = (int(np.count_nonzero(c)) for c in (data.user_counts, data.item_counts))
    assert (users, items, len(data)) == DATASETS[name].shape
    fixed = any(key.endswith("train_user") for key in load_arrays(name))
    assert fixed == DATASETS[name].fixed_split


@pytest.mark.parametrize(
    ("name", "n_train", "n_test"),
    [
        ("gowalla", 810_128, 217_242),
        ("yelp2018", 1_237_259, 324_147),
        ("ml-1m-ncf", 994_169, 6_040),
        ("yelp-social", 360_707, 90_177),
    ],
)
@pytest.mark.usefixtures("real_data")
def test_real_split_has_its_published_halves(name: str, n_train: int, n_test: int) -> None:
    need(name)
    arrays = load_arrays(name)
    assert (len(arrays["train_user"]), len(arrays["test_user"])) == (n_train, n_test)


@pytest.mark.usefixtures("real_data")
def test_real_traits() -> None:
    for name in ("yelp-social", "movietweetings", "steam-caserec", "pinterest-37501", "ml-1m-ncf"):
        need(name)
    yelp = load_dataset("yelp-social")
    assert (yelp.n_users, yelp.n_items) == (34_504, 22_611)  # ids with gaps keep their place
    assert load_dataset("movietweetings-100k").timestamps is not None
    play = load_dataset("steam-caserec", part="play")
    assert (play.n_users, play.n_items, len(play)) == (11_350, 3_600, 70_489 - 12)
    leaky = load_dataset("pinterest-37501", part="split")
    assert len(leaky) == 1_000_154
    ncf = load_arrays("ml-1m-ncf")
    assert ncf["test_negative"].shape == (6_040, 99)
    assert int((ncf["test_negative"] == ncf["test_item"][:, None]).sum()) == 156
