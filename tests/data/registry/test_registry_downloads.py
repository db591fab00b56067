"""Data sets by name: raw files, the network and the cache."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from tests.data.conftest import Site

from truerank.data.registry import parsers
from truerank.data.registry.dataset import RawFile
from truerank.data.registry.load import DATASETS, describe, load_arrays, load_dataset
from truerank.errors import (
    DatasetNotFoundError,
    FileFormatError,
)

from .registry_world import RATINGS, entry, triples, zipped


def test_downloaded_parsed_cached_and_then_offline(
    places: tuple[Path, Path],
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    body = zipped()
    url = site.put("tiny.zip", body)
    source = RawFile(
        file="tiny.zip",
        urls=(f"{site.url}/gone.zip", url),
        sha256=hashlib.sha256(body).hexdigest(),
        size=len(body),
    )
    monkeypatch.setitem(DATASETS, "tiny", entry(raw_files=(source,)))
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
    raw_files = tuple(RawFile(file=name, urls=(f"{site.url}/{name}",)) for name in files)
    monkeypatch.setitem(
        DATASETS, "tiny", entry(raw_files=raw_files, parser=parsers.adjacency, fixed_split=True)
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
    source = RawFile(file="tiny.zip", urls=("https://example.org/tiny.zip",), md5="0" * 32)
    monkeypatch.setitem(DATASETS, "tiny", entry(raw_files=(source,)))
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
    source = RawFile(file="tiny.zip", urls=(site.put("tiny.zip", b"<html>"),))
    monkeypatch.setitem(DATASETS, "tiny", entry(raw_files=(source,)))
    with pytest.raises(FileFormatError, match=r"tiny.zip is damaged"):
        load_dataset("tiny")
    assert list((places[1] / "tiny").iterdir()) == []
    site.put("tiny.zip", zipped())
    assert load_dataset("tiny").n_interactions == 3
