"""Data sets by name: what is said when they cannot be had."""

from __future__ import annotations

import errno
import os
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from truerank.data.registry import npz_layout
from truerank.data.registry.dataset import RawFile
from truerank.data.registry.load import DATASETS, describe, load_arrays, load_dataset
from truerank.errors import (
    DatasetNotFoundError,
    FileFormatError,
    InvalidArgumentError,
    StorageError,
)

from .registry_world import RATINGS, entry, save


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
    monkeypatch.setitem(DATASETS, "tiny", entry(raw_files=(RawFile(file="tiny.zip", urls=(url,)),)))
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
        ("Gowala", r"did you mean 'gowalla'\?$"),
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

    monkeypatch.setattr(npz_layout.np, "savez_compressed", full)
    with pytest.raises(StorageError, match=r"no space left .* \(TRUERANK_CACHE names the cache"):
        load_dataset("tiny")
    assert list((places[1] / "tiny").iterdir()) == []


def test_truerank_data_that_is_no_folder(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUERANK_DATA", str(places[0] / "typo"))
    with pytest.raises(InvalidArgumentError, match="TRUERANK_DATA must be a folder that exists"):
        load_dataset("ml-1m")
