"""Data sets by name: folder, cache, raw files, network, and the sentences when all fail."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import io
import os
import socket
import sys
import zipfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from truerank.data import layout, parsers
from truerank.data.dataset import Dataset, Source
from truerank.data.places import cache_folder, offline_asked
from truerank.data.registry import DATASETS, available, describe, load_arrays, load_dataset
from truerank.errors import (
    DatasetNotFoundError,
    FileFormatError,
    InvalidArgumentError,
    InvalidDataError,
    StorageError,
)

from .conftest import Site

RATINGS = "1::10::4::100\n1::20::5::200\n2::10::3::300\n"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """An empty folder for TRUERANK_DATA and one for the cache."""
    data, cache = tmp_path / "data", tmp_path / "cache"
    data.mkdir()
    monkeypatch.setenv("TRUERANK_DATA", str(data))
    monkeypatch.setenv("TRUERANK_CACHE", str(cache))
    monkeypatch.delenv("TRUERANK_OFFLINE", raising=False)
    return data, cache


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", forbidden)


def save(folder: Path, name: str, **arrays: Any) -> Path:
    path = folder / name / f"{name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **{n: np.asarray(a) for n, a in arrays.items()})
    return path


def entry(name: str = "tiny", **changes: Any) -> Dataset:
    base = Dataset(
        name=name,
        title="Tiny ratings",
        licence="For tests only.",
        citation="Nobody (2024)",
        origin="https://example.org/tiny",
        sources=(Source(file="tiny.zip", urls=("http://127.0.0.1:9/tiny.zip",)),),
        parser=partial(parsers.ratings, member="ratings.dat", delimiter="::"),
        by_hand=(("ratings.dat",),),
        shape=(2, 2, 3),
    )
    return dataclasses.replace(base, **changes)


def zipped(text: str = RATINGS) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("tiny/ratings.dat", text)
    return buffer.getvalue()


def triples(data: Any) -> list[tuple[Any, ...]]:
    weights = data.weights if data.weights is not None else [None] * len(data)
    return list(
        zip(
            data.user_ids[data.users].tolist(),
            data.item_ids[data.items].tolist(),
            [None if w is None else float(w) for w in weights],
            strict=True,
        )
    )


# ------------------------------------------------------------------ layouts


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
    assert layout.parts_of(load_arrays("pinterest-37501")) == ("loo", "split")


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


# ------------------------------------------------------------------ raw files and the network


def test_downloaded_parsed_cached_and_then_offline(
    places: tuple[Path, Path],
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    body = zipped()
    url = site.put("tiny.zip", body)
    source = Source(
        file="tiny.zip",
        urls=(f"{site.url}/gone.zip", url),
        sha256=hashlib.sha256(body).hexdigest(),
        size=len(body),
    )
    monkeypatch.setitem(DATASETS, "tiny", entry(sources=(source,)))
    assert describe("tiny").where == "not here"
    assert describe("tiny").n_bytes == len(body)

    first = load_dataset("tiny")
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "Tiny ratings. For tests only. Cite: Nobody (2024).\n"
    assert triples(first) == [(1, 10, 4.0), (1, 20, 5.0), (2, 10, 3.0)]
    assert [path.name for path in (places[1] / "tiny").iterdir()] == ["tiny.npz"]
    assert describe("tiny").where == "cache"

    monkeypatch.setenv("TRUERANK_OFFLINE", "1")
    again = load_dataset("tiny", offline=True)
    assert again.fingerprint() == first.fingerprint()
    assert len(site.requests) == 2
    assert capsys.readouterr().err == ""  # the terms are shown once


def test_split_of_several_files_is_resumed_file_by_file(
    places: tuple[Path, Path], site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"train.txt": b"0 1 2\n1 0\n", "test.txt": b"0 3\n"}
    sources = tuple(Source(file=name, urls=(f"{site.url}/{name}",)) for name in files)
    monkeypatch.setitem(
        DATASETS, "tiny", entry(sources=sources, parser=parsers.adjacency, fixed_split=True)
    )
    site.put("train.txt", files["train.txt"])
    with pytest.raises(DatasetNotFoundError, match=r"could not be fetched \(cannot fetch .* 404"):
        load_arrays("tiny")
    site.put("test.txt", files["test.txt"])
    arrays = load_arrays("tiny")
    assert {n: a.tolist() for n, a in arrays.items()} == {
        "train_user": [0, 0, 1],
        "train_item": [1, 2, 0],
        "test_user": [0],
        "test_item": [3],
        "n_users": 2,
        "n_items": 4,
    }
    assert [path for path, _ in site.requests] == ["/train.txt", "/test.txt", "/test.txt"]


@pytest.mark.parametrize("file", ["tiny.zip", "ratings.dat"])
@pytest.mark.parametrize("place", [0, 1], ids=["data", "cache"])
@pytest.mark.usefixtures("no_network")
def test_raw_file_put_by_hand(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, file: str, place: int
) -> None:
    monkeypatch.setitem(DATASETS, "tiny", entry())
    folder = places[place] / "tiny"
    folder.mkdir(parents=True)
    raw = folder / file
    raw.write_bytes(zipped() if file.endswith("zip") else RATINGS.encode())
    assert describe("tiny").where == "raw files"
    assert describe("tiny").path == folder
    assert load_dataset("tiny", offline=True).n_interactions == 3
    assert raw.exists()  # it is not ours to remove
    assert (places[1] / "tiny" / "tiny.npz").exists()
    assert not (places[0] / "tiny" / "tiny.npz").exists()  # the user's folder is only read
    raw.unlink()
    assert load_dataset("tiny", offline=True).n_interactions == 3


def test_raw_file_by_hand_must_be_the_published_one(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(file="tiny.zip", urls=("https://example.org/tiny.zip",), md5="0" * 32)
    monkeypatch.setitem(DATASETS, "tiny", entry(sources=(source,)))
    (places[0] / "tiny").mkdir()
    (places[0] / "tiny" / "tiny.zip").write_bytes(zipped())
    with pytest.raises(
        FileFormatError,
        match=r"tiny.zip is not the tiny.zip that was published: its md5 is .* instead of 0000",
    ):
        load_dataset("tiny")


def test_foreign_download_does_not_stay(
    places: tuple[Path, Path], site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source(file="tiny.zip", urls=(site.put("tiny.zip", b"<html>"),))
    monkeypatch.setitem(DATASETS, "tiny", entry(sources=(source,)))
    with pytest.raises(FileFormatError, match=r"tiny.zip is damaged"):
        load_dataset("tiny")
    assert list((places[1] / "tiny").iterdir()) == []
    site.put("tiny.zip", zipped())
    assert load_dataset("tiny").n_interactions == 3


# ------------------------------------------------------------------ sentences


@pytest.mark.usefixtures("no_network")
def test_offline_says_which_file_from_where_into_which_folder(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    want = (
        f"the data set 'ml-1m' is not here and may not be fetched while offline: get ml-1m.zip "
        f"from https://files.grouplens.org/datasets/movielens/ml-1m.zip (see "
        f"https://grouplens.org/datasets/movielens/1m/) and put it into {places[0] / 'ml-1m'}"
    )
    with pytest.raises(DatasetNotFoundError) as caught:
        load_dataset("ml-1m", offline=True)
    assert str(caught.value) == want
    monkeypatch.setenv("TRUERANK_OFFLINE", "1")
    with pytest.raises(DatasetNotFoundError) as caught:
        load_arrays("ml-1m")
    assert str(caught.value) == want
    monkeypatch.delenv("TRUERANK_DATA")
    with pytest.raises(DatasetNotFoundError, match=r"train.txt from .* and test.txt from .* them"):
        load_arrays("gowalla")
    with pytest.raises(DatasetNotFoundError) as caught:
        load_arrays("gowalla")
    assert str(caught.value).endswith(f"put them into {places[1] / 'gowalla'}")


def test_unreachable_server_says_the_same(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/tiny.zip"
    monkeypatch.setitem(DATASETS, "tiny", entry(sources=(Source(file="tiny.zip", urls=(url,)),)))
    with pytest.raises(
        DatasetNotFoundError,
        match=rf"could not be fetched \(cannot reach {url} .*refused.*\): get tiny.zip from {url}",
    ):
        load_dataset("tiny")
    assert list((places[1] / "tiny").iterdir()) == []


@pytest.mark.usefixtures("no_network")
def test_set_that_exists_as_npz_only(places: tuple[Path, Path]) -> None:
    with pytest.raises(
        DatasetNotFoundError,
        match=r"'msweb' is not here and has no download that we know of: put msweb.npz into",
    ):
        load_dataset("msweb")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ml1m", "did you mean 'ml-1m'"),
        ("Gowala", "did you mean 'gowalla'"),
        ("my-shp", "did you mean 'my-shop'"),
        ("zzzz", "known: demo, ml-100k, ml-1m"),
        ("../secret", "there is no data set called '../secret'"),
        ("", "there is no data set called ''"),
    ],
)
@pytest.mark.usefixtures("no_network")
def test_unknown_name(places: tuple[Path, Path], name: str, hint: str) -> None:
    save(places[0], "my-shop", user=[0], item=[0])
    save(places[0].parent, "secret", user=[0], item=[0])
    for ask in (load_dataset, load_arrays, describe):
        with pytest.raises(DatasetNotFoundError, match=f"there is no data set called {name!r}"):
            ask(name)
    with pytest.raises(DatasetNotFoundError, match=hint):
        load_dataset(name)


def test_demo_is_generated_with_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, object]] = []
    generator = SimpleNamespace(generate=lambda **options: asked.append(options))
    monkeypatch.setitem(sys.modules, "truerank.data.synthetic", generator)
    load_dataset()
    load_dataset("demo", n_users=10, seed=3)
    assert asked == [{}, {"n_users": 10, "seed": 3}]


def test_options_belong_to_the_demo(places: tuple[Path, Path]) -> None:
    with pytest.raises(InvalidArgumentError, match=r"only the demo data take any, got \['seed'\]"):
        load_dataset("ml-1m", seed=3)


def damaged(path: Path, how: str) -> None:
    whole = path.read_bytes()
    if how == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "text":
        path.write_text("not here")
    elif how == "npy":
        with path.open("wb") as file:
            np.save(file, np.arange(3))
    else:
        np.savez(path, user=np.array([{}], dtype=object), item=np.arange(1))


@pytest.mark.parametrize("how", ["truncated", "empty", "text", "npy", "pickle"])
def test_damaged_npz(places: tuple[Path, Path], how: str) -> None:
    path = save(places[0], "msweb", user=np.arange(500), item=np.arange(500))
    damaged(path, how)
    with pytest.raises(
        FileFormatError, match=r"msweb.npz is damaged, or no npz file .*; remove it"
    ):
        load_dataset("msweb")


def test_folder_without_permission(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(self: Path) -> bool:  # root may look anywhere, so the system's answer is played
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "is_file", denied)
    with pytest.raises(StorageError, match=r"cannot read .*ml-1m.npz: permission denied; change"):
        load_dataset("ml-1m")


def test_cache_that_cannot_be_written(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DATASETS, "tiny", entry())
    (places[0] / "tiny").mkdir()
    (places[0] / "tiny" / "ratings.dat").write_text(RATINGS)

    def denied(self: Path, *args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "mkdir", denied)
    with pytest.raises(StorageError, match=r"tiny.npz: permission denied; .* TRUERANK_CACHE"):
        load_dataset("tiny")


def test_full_disk_leaves_no_half_cache(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DATASETS, "tiny", entry())
    (places[0] / "tiny").mkdir()
    (places[0] / "tiny" / "ratings.dat").write_text(RATINGS)

    def full(file: Any, **arrays: object) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(layout.np, "savez_compressed", full)
    with pytest.raises(StorageError, match=r"no space left .* \(TRUERANK_CACHE names the cache"):
        load_dataset("tiny")
    assert list((places[1] / "tiny").iterdir()) == []


def test_truerank_data_that_is_no_folder(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUERANK_DATA", str(places[0] / "typo"))
    with pytest.raises(InvalidArgumentError, match="TRUERANK_DATA must be a folder that exists"):
        load_dataset("ml-1m")


# ------------------------------------------------------------------ places and the table


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
    assert offline_asked() is offline


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
        assert (dataset.parser is None) == (not dataset.sources)
        for source in dataset.sources:
            assert all(url.startswith(("https://", "http://")) for url in source.urls)
            assert source.md5 is None or len(source.md5) == 32
            assert source.sha256 is None or len(source.sha256) == 64


# ------------------------------------------------------------------ the real folder


@pytest.fixture
def real_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    beside = Path(__file__).parents[3] / "shared" / "data"
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
