"""Every public format, in tiny files made on the spot."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from truerank.data.registry import archives, parsers
from truerank.errors import FileFormatError, StorageError


def text_file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def zip_file(folder: Path, name: str, **members: str) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, text in members.items():
            archive.writestr(member, text)
    return path


def tar_bytes(members: dict[str, bytes], mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def as_lists(arrays: archives.Arrays) -> dict[str, list[object]]:
    return {name: column.tolist() for name, column in arrays.items()}


# ------------------------------------------------------------------ rating files

FOUR = {
    "user": [196, 186],
    "item": [242, 302],
    "rating": [3.0, 3.5],
    "timestamp": [881250949, 891717742],
}


@pytest.mark.parametrize(
    ("member", "delimiter", "header", "text"),
    [
        pytest.param(
            "u.data", "\t", False, "196\t242\t3\t881250949\n186\t302\t3.5\t891717742\n", id="u.data"
        ),
        pytest.param(
            "ratings.dat",
            "::",
            False,
            "196::242::3::881250949\n186::302::3.5::891717742\n",
            id="ratings.dat",
        ),
        pytest.param(
            "ratings.csv",
            ",",
            True,
            "userId,movieId,rating,timestamp\r\n196,242,3,881250949\r\n186,302,3.5,891717742\r\n",
            id="ratings.csv",
        ),
    ],
)
def test_movielens_zipped_and_plain(
    tmp_path: Path, member: str, delimiter: str, header: bool, text: str
) -> None:
    zipped = zip_file(
        tmp_path,
        "ml.zip",
        **{f"ml/{member}": text, "ml/README": "x", f"__MACOSX/ml/._{member}": ""},
    )
    plain = text_file(tmp_path, member, text)
    for path in (zipped, plain):
        rows = parsers.ratings([path], member=member, delimiter=delimiter, header=header)
        assert as_lists(rows) == FOUR
        assert {n: c.dtype for n, c in rows.items()} == {
            "user": np.int32,
            "item": np.int32,
            "rating": np.float32,
            "timestamp": np.int32,
        }


def test_double_colons_split_across_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(u, i, (u * i) % 5, 10**9 + u) for u in range(1, 60) for i in range(1, 7)]
    text = "".join("::".join(map(str, row)) + "\n" for row in rows)
    path = text_file(tmp_path, "ratings.dat", text)
    for block in range(40, 60):  # every phase of a read ending in, before or after a pair of colons
        monkeypatch.setattr(archives, "BLOCK", block)
        got = parsers.ratings([path], member="ratings.dat", delimiter="::")
        assert list(zip(*as_lists(got).values(), strict=True)) == rows


def test_two_and_five_columns(tmp_path: Path) -> None:
    two = text_file(tmp_path, "two", "0\t1\n0\t2\n")
    assert as_lists(parsers.ratings([two], member="two", delimiter="\t")) == {
        "user": [0, 0],
        "item": [1, 2],
    }
    five = text_file(tmp_path, "five", "0\t1\t4\t9\textra\n")
    assert as_lists(parsers.ratings([five], member="five", delimiter="\t")) == {
        "user": [0],
        "item": [1],
        "rating": [4.0],
        "timestamp": [9],
    }


def test_play_counts_under_their_own_name(tmp_path: Path) -> None:
    path = zip_file(
        tmp_path, "hetrec.zip", **{"user_artists.dat": "userID\tartistID\tweight\n2\t51\t13883\n"}
    )
    got = parsers.ratings(
        [path], member="user_artists.dat", delimiter="\t", header=True, value="count"
    )
    assert as_lists(got) == {"user": [2], "item": [51], "count": [13883]}
    assert got["count"].dtype == np.int32


def test_times_in_milliseconds_keep_their_width(tmp_path: Path) -> None:
    path = text_file(tmp_path, "yelp.rating", "0\t1\t4\t1420070400000\n")
    got = parsers.ratings([path], member="yelp.rating", delimiter="\t")
    assert got["timestamp"].dtype == np.int64
    assert got["timestamp"].tolist() == [1420070400000]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("", "no '\\\\t' in its first line", id="empty"),
        pytest.param("1\t2\t3\t4\n1\t2\t3\n", "Expected 4 columns, got 3", id="cut-off"),
        pytest.param("1\t2\t3\t4\n1\tx\t3\t4\n", "invalid value 'x'", id="letter"),
        pytest.param("1\t2\t3\t4\n1\t\t3\t4\n", "invalid value ''", id="missing"),
        pytest.param("1\t3000000000\t3\t4\n", "invalid value '3000000000'", id="too-large"),
        pytest.param("<html>not found</html>\n", "no '\\\\t' in its first line", id="web-page"),
    ],
)
def test_foreign_text_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = text_file(tmp_path, "u.data", text)
    with pytest.raises(FileFormatError, match=f"u.data does not have the format .*{why}.*; remove"):
        parsers.ratings([path], member="u.data", delimiter="\t")


def test_header_without_rows_is_refused(tmp_path: Path) -> None:
    path = text_file(tmp_path, "ratings.csv", "userId,movieId,rating,timestamp\n")
    with pytest.raises(FileFormatError, match=r"ratings.csv does not have the format"):
        parsers.ratings([path], member="ratings.csv", delimiter=",", header=True)


def test_damaged_and_foreign_archives(tmp_path: Path) -> None:
    whole = zip_file(tmp_path, "ml.zip", **{"u.data": "1\t2\t3\t4\n" * 10_000}).read_bytes()
    truncated = tmp_path / "truncated.zip"
    truncated.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileFormatError, match=r"truncated.zip is damaged .*; remove it and get it"):
        parsers.ratings([truncated], member="u.data", delimiter="\t")
    flipped = tmp_path / "flipped.zip"
    flipped.write_bytes(whole[:60] + bytes([whole[60] ^ 0xFF]) + whole[61:])
    with pytest.raises(FileFormatError, match=r"flipped.zip is damaged"):
        parsers.ratings([flipped], member="u.data", delimiter="\t")
    other = zip_file(tmp_path, "other.zip", **{"notes.txt": "hello"})
    with pytest.raises(FileFormatError, match=r"other.zip holds no u.data; remove it and get the"):
        parsers.ratings([other], member="u.data", delimiter="\t")
    with pytest.raises(StorageError, match=r"cannot read .*none.zip: No such file"):
        parsers.ratings([tmp_path / "none.zip"], member="u.data", delimiter="\t")


# ------------------------------------------------------------------ splits


def test_adjacency_lists(tmp_path: Path) -> None:
    train = text_file(tmp_path, "train.txt", "0 5 3\n1 3\n2 \n\n")
    test = text_file(tmp_path, "test.txt", "0 4\n3 1 2")
    assert as_lists(parsers.adjacency([train, test])) == {
        "train_user": [0, 0, 1],
        "train_item": [5, 3, 3],
        "test_user": [0, 3, 3],
        "test_item": [4, 1, 2],
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("0 5 x\n", "does not have the format", id="letter"),
        pytest.param("0 99999999999\n", "does not have the format", id="too-large"),
        pytest.param("0\n1\n", "holds no rows", id="users-only"),
        pytest.param("", "holds no rows", id="empty"),
    ],
)
def test_broken_adjacency_lists(tmp_path: Path, text: str, why: str) -> None:
    train = text_file(tmp_path, "train.txt", text)
    with pytest.raises(FileFormatError, match=f"train.txt {why}"):
        parsers.adjacency([train, train])


def ncf_files(folder: Path, negative: str = "(0,25)\t7\t8\n(1,133)\t9\t7\n") -> list[Path]:
    return [
        text_file(folder, "x.train.rating", "0\t0\t5\t978824268\n1\t1\t3\t978302174\n"),
        text_file(folder, "x.test.rating", "0\t25\t5\t978824351\n1\t133\t3\t978300174\n"),
        text_file(folder, "x.test.negative", negative),
    ]


def test_ncf_files(tmp_path: Path) -> None:
    got = parsers.ncf(ncf_files(tmp_path))
    assert as_lists(got) == {
        "train_user": [0, 1],
        "train_item": [0, 1],
        "train_rating": [5.0, 3.0],
        "train_timestamp": [978824268, 978302174],
        "test_user": [0, 1],
        "test_item": [25, 133],
        "test_rating": [5.0, 3.0],
        "test_timestamp": [978824351, 978300174],
        "test_negative": [[7, 8], [9, 7]],
    }


@pytest.mark.parametrize(
    ("negative", "why"),
    [
        pytest.param("(0,25)\t7\t8\n(1,134)\t9\t7\n", "does not name the same pairs", id="other"),
        pytest.param("(0,25)\t7\t8\n", "does not name the same pairs", id="short"),
        pytest.param("(0,25)\t7\t8\n(1,133)\t9\n", "does not have the format", id="ragged"),
        pytest.param("0,25,1\t7\t8\n(1,133)\t9\t7\n", "does not have the format", id="triple"),
    ],
)
def test_negatives_that_do_not_belong(tmp_path: Path, negative: str, why: str) -> None:
    with pytest.raises(FileFormatError, match=f"x.test.negative {why}"):
        parsers.ncf(ncf_files(tmp_path, negative))


# ------------------------------------------------------------------ Netflix and the songs

MOVIES = {
    1: [(1488844, 3, "2005-09-06"), (822109, 5, "2005-05-13")],
    3: [(885013, 4, "1999-10-19")],
    4: [],
}
NETFLIX = {
    "user": [1488844, 822109, 885013],
    "item": [1, 1, 3],
    "rating": [3.0, 5.0, 4.0],
    "timestamp": [1125964800, 1115942400, 940291200],
}


def movie_text(movie: int, newline: str = "\n") -> bytes:
    lines = [f"{movie}:", *(",".join(map(str, row)) for row in MOVIES[movie])]
    return newline.join([*lines, ""]).encode()


def netflix_files(folder: Path, form: str) -> list[Path]:
    per_movie = {f"training_set/mv_{movie:07}.txt": movie_text(movie) for movie in MOVIES}
    combined = b"".join(map(movie_text, MOVIES))
    path = folder / form
    if form == "nf_prize_dataset.tar.gz":
        outer = {
            "download/qualifying.txt": b"1:\n5,2005-01-01\n",
            "download/training_set.tar": tar_bytes(per_movie),
            "download/probe.txt": b"1:\n822109\n",
        }
        path.write_bytes(tar_bytes(outer, "w:gz"))
    elif form == "training_set.tar":
        path.write_bytes(tar_bytes(per_movie))
    elif form == "archive.zip":
        zip_file(folder, form, **{"combined_data_1.txt": combined.decode(), "probe.txt": "1:\n2\n"})
    elif form == "combined_data_1.txt":
        path.write_bytes(movie_text(1, "\r\n"))
        second = folder / "combined_data_2.txt"
        second.write_bytes((movie_text(3) + movie_text(4)).rstrip(b"\n"))
        return [path, second]
    return [path]


@pytest.mark.parametrize(
    "form", ["nf_prize_dataset.tar.gz", "training_set.tar", "archive.zip", "combined_data_1.txt"]
)
@pytest.mark.parametrize("block", [1 << 26, 30, 1])
def test_netflix_in_every_form_and_cut_anywhere(
    tmp_path: Path, form: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsers, "NETFLIX_BLOCK", block)
    got = parsers.netflix(netflix_files(tmp_path, form))
    assert as_lists(got) == NETFLIX
    assert {column.dtype for column in got.values()} == {np.dtype("int32"), np.dtype("float32")}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("5,3,2005-09-06\n", "ratings before the first movie", id="no-movie"),
        pytest.param("1:\n5,3,2005-09-06\n\n6,3,2005-09-06\n", "an empty line", id="empty-line"),
        pytest.param("1:\n5,3\n", "Expected 3 columns", id="no-date"),
        pytest.param("1:\n5,3,yesterday\n", "invalid value 'yesterday'", id="no-such-date"),
        pytest.param("film:\n5,3,2005-09-06\n", "invalid literal", id="no-number"),
        pytest.param("", "holds no rows", id="empty"),
    ],
)
def test_broken_netflix_files(tmp_path: Path, text: str, why: str) -> None:
    path = text_file(tmp_path, "combined_data_1.txt", text)
    with pytest.raises(FileFormatError, match=f"combined_data_1.txt does not have .*{why}"):
        parsers.netflix([path])


def test_truncated_tar(tmp_path: Path) -> None:
    (path,) = netflix_files(tmp_path, "nf_prize_dataset.tar.gz")
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(FileFormatError, match=r"nf_prize_dataset.tar.gz is damaged"):
        parsers.netflix([path])


@pytest.mark.parametrize("zipped", [True, False])
def test_taste_profile_numbers_strings_in_sorted_order(
    tmp_path: Path, zipped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "BLOCK", 64)  # so that ids meet again in later blocks
    monkeypatch.setattr(parsers, "MERGED_AT", 3)
    triplets = [("b80", "SOB", 1), ("b80", "SOA", 5), ("a85", "SOC", 2), ("c00", "SOB", 7)]
    triplets += [(f"d{k:02}", "SOA", k + 1) for k in range(40)]
    text = "".join(f"{user}\t{song}\t{count}\n" for user, song, count in triplets)
    if zipped:
        path = zip_file(tmp_path, "train_triplets.txt.zip", **{"train_triplets.txt": text})
    else:
        path = text_file(tmp_path, "train_triplets.txt", text)
    got = parsers.taste_profile([path])
    users, songs = got["user_id"].astype(str), got["item_id"].astype(str)
    assert users.tolist() == sorted({user for user, _, _ in triplets})
    assert songs.tolist() == ["SOA", "SOB", "SOC"]
    rows = zip(users[got["user"]], songs[got["item"]], got["count"], strict=True)
    assert list(rows) == triplets
    assert got["user"].dtype == got["item"].dtype == got["count"].dtype == np.int32
