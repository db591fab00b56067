from __future__ import annotations

import datetime as dt
import gzip
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank.data.frames import columns_of, read_csv, read_parquet
from truerank.data.interactions import Interactions
from truerank.data.text.delimited import SingleByte, find_delimiter
from truerank.errors import (
    FileFormatError,
    InvalidArgumentError,
    InvalidDataError,
    MissingExtraError,
    StorageError,
    TruerankError,
)

COLUMNS: dict[str, list[Any]] = {
    "user_id": ["bo", "al", "al"],
    "item_id": [3, 1, 3],
    "rating": [4.0, 2.5, 5.0],
    "when": [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 3)],
}
NAMES = {"user": "user_id", "item": "item_id"}
every_library = pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])


def refused(
    message: str, action: Callable[[], object], kind: type[TruerankError] = InvalidDataError
) -> None:
    with pytest.raises(kind) as caught:
        action()
    assert str(caught.value) == message


# -------------------------------------------------------------------- frames


@every_library
def test_every_library_gives_the_same_arrays(make: Any) -> None:
    columns = columns_of(make(COLUMNS), **NAMES, weight="rating", timestamp="when")
    assert list(columns) == ["user", "item", "weight", "timestamp"]
    assert columns["user"].tolist() == COLUMNS["user_id"]
    assert columns["item"].tolist() == COLUMNS["item_id"]
    assert columns["weight"].tolist() == COLUMNS["rating"]
    assert columns["timestamp"].dtype.kind == "M"
    assert columns["timestamp"].astype("datetime64[s]").tolist() == COLUMNS["when"]


@every_library
def test_every_library_gives_the_same_interactions(make: Any) -> None:
    plain = Interactions.from_arrays(COLUMNS["user_id"], COLUMNS["item_id"])
    assert Interactions.from_frame(make(COLUMNS)).fingerprint() == plain.fingerprint()


@every_library
def test_missing_column(make: Any) -> None:
    frame = make({"userId": [1], "movieId": [2], "rating": [3.0]})
    refused(
        "there is no column 'user_id', the columns are 'userId', 'movieId', 'rating'; say which "
        "one it is with user='userId'",
        lambda: Interactions.from_frame(frame),
    )
    refused(
        "there is no column 'when', the columns are 'userId', 'movieId', 'rating'; say which one "
        "it is with timestamp='...'",
        lambda: Interactions.from_frame(frame, user="userId", item="movieId", timestamp="when"),
    )


def test_many_columns_are_not_all_listed() -> None:
    wide = pa.table({f"c{k}": [1] for k in range(100)})
    with pytest.raises(InvalidDataError, match=r"'c19' and 80 more; say"):
        columns_of(wide, **NAMES)


@every_library
def test_null_ids(make: Any) -> None:
    frame = make({"user_id": ["a", None, None], "item_id": [1, 2, 3]})
    refused(
        "2 of 3 rows have no user id (column 'user_id' is null); drop these rows first",
        lambda: columns_of(frame, **NAMES),
    )


@every_library
def test_null_weights_and_times_get_the_sentence_of_interactions(make: Any) -> None:
    frame = make({"user_id": [1, 2], "item_id": [1, 2], "w": [1.0, None], "t": [5, None]})
    with pytest.raises(InvalidDataError, match=r"weights must be finite .* got nan in row 1"):
        Interactions.from_frame(frame, weight="w")
    with pytest.raises(InvalidDataError, match=r"timestamps must lie .* got nan in row 1"):
        Interactions.from_frame(frame, timestamp="t")


def test_kinds_of_columns_only_pandas_has() -> None:
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(["x", "y", "x"]),
            "n": pd.array([1, 2, 3], dtype="Int64"),
            "t": pd.to_datetime(["2020-01-01"] * 3).tz_localize("Europe/Paris"),
            7: [4, 5, 6],
        }
    )
    columns = columns_of(frame, user="c", item="n", timestamp="t")
    assert columns["user"].tolist() == ["x", "y", "x"]
    assert columns["item"].tolist() == [1, 2, 3]
    assert columns["timestamp"][0] == np.datetime64("2019-12-31T23:00")  # UTC
    assert columns_of(frame, user="c", item="7")["item"].tolist() == [4, 5, 6]


def test_kinds_of_columns_only_polars_has() -> None:
    frame = pl.DataFrame(
        {
            "c": pl.Series(["x", "y"], dtype=pl.Categorical),
            "e": pl.Series(["p", "q"], dtype=pl.Enum(["p", "q"])),
            "d": [dt.date(2020, 1, 1)] * 2,
        }
    )
    data = Interactions.from_polars(frame, user="c", item="e", timestamp="d")
    assert data.to_arrow().to_pydict() == {
        "user_id": ["x", "y"],
        "item_id": ["p", "q"],
        "timestamp": [1_577_836_800] * 2,
    }


def test_arrow_in_chunks_dictionaries_and_batches() -> None:
    words = pa.array(["x", "y"]).dictionary_encode()
    table = pa.table({"user_id": pa.chunked_array([words, words]), "item_id": [1, 2, 3, 4]})
    assert columns_of(table, **NAMES)["user"].tolist() == ["x", "y", "x", "y"]
    batch = pa.RecordBatch.from_pydict({"user_id": [1], "item_id": [2]})
    assert columns_of(batch, **NAMES)["item"].tolist() == [2]


def test_mixed_column() -> None:
    frame = pd.DataFrame({"user_id": [1, "a"], "item_id": [1, 2]})
    with pytest.raises(InvalidDataError, match=r"column 'user_id' mixes types .* one type"):
        columns_of(frame, **NAMES)


def test_columns_of_the_same_name() -> None:
    twice = pd.DataFrame([[1, 2, 3]], columns=["user_id", "item_id", "item_id"])
    with pytest.raises(InvalidDataError, match=r"'item_id' 2 times; rename all"):
        columns_of(twice, **NAMES)
    refused(
        "the table has 2 columns called 'item_id'; rename all but one",
        lambda: columns_of(pa.table([[1], [2], [3]], names=list(twice.columns)), **NAMES),
    )


def test_things_that_are_no_frame() -> None:
    refused(
        "frame must be a pandas, polars or pyarrow table, got 'dict'; Interactions.from_arrays "
        "takes plain arrays and lists",
        lambda: columns_of(COLUMNS, **NAMES),
        InvalidArgumentError,
    )
    refused(
        "frame must be a pandas, polars or pyarrow table in memory, got 'LazyFrame'; collect or "
        "convert it first",
        lambda: columns_of(pl.LazyFrame(COLUMNS), **NAMES),
        InvalidArgumentError,
    )


def test_without_narwhals_only_arrow_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "narwhals.stable.v1", None)
    refused(
        "reading pandas and polars frames needs the package 'narwhals', which is not installed; "
        "run: pip install 'truerank[frames]'",
        lambda: columns_of(pd.DataFrame(COLUMNS), **NAMES),
        MissingExtraError,
    )
    assert columns_of(pa.table(COLUMNS), **NAMES)["item"].tolist() == [3, 1, 3]


# -------------------------------------------------------------------- Parquet


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path / "log.parquet"
    columns = {"user_id": np.arange(2000), "item_id": rng.integers(0, 10**9, 2000)}
    pq.write_table(pa.table({**columns, "text": ["x"] * 2000}), path)
    return path


def test_parquet_reads_what_is_asked_for(parquet: Path) -> None:
    assert read_parquet(parquet).column_names == ["user_id", "item_id", "text"]
    assert read_parquet(parquet, item="item_id").column_names == ["item_id"]
    assert Interactions.from_parquet(parquet).n_users == 2000
    assert Interactions.from_parquet(str(parquet), item="text").n_items == 1


def test_parquet_round_trip(tmp_path: Path) -> None:
    data = Interactions.from_arrays(["b", "a"], [1, 2], weight=[2, 3], timestamp=[7, 8])
    pq.write_table(data.to_arrow(), tmp_path / "x.parquet")
    again = Interactions.from_parquet(
        tmp_path / "x.parquet", weight="weight", timestamp="timestamp"
    )
    assert again.fingerprint() == data.fingerprint()


def test_parquet_without_the_column(parquet: Path) -> None:
    refused(
        "there is no column 'uid', the columns are 'user_id', 'item_id', 'text'; say which one it "
        "is with user='user_id'",
        lambda: Interactions.from_parquet(parquet, user="uid"),
    )


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda b: b"", id="empty"),
        pytest.param(lambda b: b"user_id,item_id\n1,2\n", id="text"),
        pytest.param(lambda b: b[: len(b) // 2], id="truncated"),
        pytest.param(lambda b: b[:500] + b"\xff" * 500 + b[1000:], id="pages"),
        pytest.param(lambda b: b[:-60] + b"\xff" * 40 + b[-20:], id="footer"),
    ],
)
def test_damaged_parquet(parquet: Path, damage: Callable[[bytes], bytes]) -> None:
    parquet.write_bytes(damage(parquet.read_bytes()))
    expected = f"^{re.escape(str(parquet))} is damaged or not a Parquet file .*; fetch or export"
    with pytest.raises(FileFormatError, match=expected) as caught:
        read_parquet(parquet)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("read", [read_parquet, read_csv])
def test_files_that_cannot_be_opened(tmp_path: Path, read: Any) -> None:
    gone = tmp_path / "gone"
    refused(
        f"cannot read {gone}: no such file or directory; check the path",
        lambda: read(gone),
        StorageError,
    )
    refused(
        f"cannot read {tmp_path}: is a directory; check the path",
        lambda: read(tmp_path),
        StorageError,
    )


@pytest.mark.parametrize("read", [read_parquet, read_csv])
def test_no_permission(parquet: Path, read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", closed)  # file modes do not stop a test run by root
    refused(
        f"cannot read {parquet}: permission denied; check the path",
        lambda: read(parquet),
        StorageError,
    )


# -------------------------------------------------------------------- delimited text


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|", "::", " "])
@pytest.mark.parametrize("header", [True, False])
def test_csv_finds_the_delimiter(tmp_path: Path, delimiter: str, header: bool) -> None:
    lines = [["user_id", "item_id", "when"]] if header else []
    lines += [["1", "10", "5"], ["1", "20", "6"], ["2", "10", "7"]]
    path = tmp_path / "log.txt"
    path.write_text("".join(delimiter.join(line) + "\n" for line in lines))
    names = {} if header else {"user": "0", "item": "1"}
    data = Interactions.from_csv(path, header=header, timestamp="when" if header else "2", **names)
    assert data.to_arrow().to_pydict() == {
        "user_id": ["1", "1", "2"],
        "item_id": ["10", "20", "10"],
        "timestamp": [5, 6, 7],
    }
    named = read_csv(path, delimiter=delimiter, header=header)
    assert named.equals(read_csv(path, header=header))


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        pytest.param(b'a,b\n1,"x|y, z"\n2,"p; q"\n', ",", id="quoted"),
        pytest.param(b"1\tx, y\tz\n2\tx\tz\n", "\t", id="only-even-counts"),
        pytest.param(b"1,2,a|b\n3,4,c|d\n", ",", id="more-fields"),
        pytest.param(b"1::2::10:30\n1::3::11:45\n", "::", id="colons"),
        pytest.param(b"1,2\n3,4\n5;", ",", id="cut-off-line"),
        pytest.param(b"a,b,c\n1,2,x,y\n", ",", id="uneven"),
        pytest.param(b"\n1;2\r\n3;4\r\n", ";", id="blank-line-and-crlf"),
    ],
)
def test_find_delimiter(start: bytes, expected: str) -> None:
    assert find_delimiter(start.decode(), "x") == expected


def test_csv_without_any_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("hello\nworld\n")
    refused(
        f"{path} has no comma, tab, semicolon, pipe, '::' or space in every one of its first "
        "lines; name what divides its columns with delimiter=",
        lambda: read_csv(path),
        FileFormatError,
    )
    path.write_text("\n")
    refused(
        f"{path} is empty; there is nothing to read in it", lambda: read_csv(path), FileFormatError
    )


def test_csv_that_is_uneven(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n1,2,3\n")
    with pytest.raises(FileFormatError, match=r"Expected 2 columns, got 3.*; fetch or export"):
        read_csv(path)


def test_csv_whose_first_line_is_data(tmp_path: Path) -> None:
    path = tmp_path / "u.data"
    path.write_text("196\t242\n186\t302\n")
    refused(
        "there is no column 'user_id', the columns are '196', '242'; say which one it is with "
        "user='...', or header=False if the first line is data",
        lambda: Interactions.from_csv(path),
    )


def test_csv_with_missing_ids(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('user_id,item_id\na,1\n,2\n"NA",3\nNA,4\n')
    refused(
        "2 of 4 rows have no user id (column 'user_id' is null); drop these rows first",
        lambda: Interactions.from_csv(path),
    )


def test_csv_compressed_and_with_dates(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"user_id,item_id,when\na,1,2020-01-01 00:00:10\n")
    data = Interactions.from_csv(path, timestamp="when")
    assert data.timestamps is not None
    assert data.timestamps.tolist() == [1_577_836_810]
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(FileFormatError, match="is damaged or not a delimited text file"):
        read_csv(path)


@pytest.mark.parametrize("bad", ["", '"', "\n"])
def test_delimiter_that_cannot_be(tmp_path: Path, bad: str) -> None:
    (tmp_path / "x").write_text("a,b\n")
    with pytest.raises(InvalidArgumentError, match="delimiter must be at least one character"):
        read_csv(tmp_path / "x", delimiter=bad)


def test_long_delimiters_take_quotes_as_text(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    path.write_text('1::"Great" Performances::a:b\n2::6" under::c\n')
    assert read_csv(path, header=False).to_pydict() == {
        "0": [1, 2],
        "1": ['"Great" Performances', '6" under'],
        "2": ["a:b", "c"],
    }
    path.write_text("1::\x1f\n")
    with pytest.raises(FileFormatError, match="control character 0x1F"):
        read_csv(path, header=False)


@given(
    text=st.text("a:b", max_size=60),
    delimiter=st.sampled_from(["::", ":::", "a:", "ab"]),
    block=st.integers(1, 7),
    size=st.integers(1, 9),
)
def test_blocks_do_not_change_what_is_replaced(
    text: str, delimiter: str, block: int, size: int
) -> None:
    stream = SingleByte(io.BytesIO(text.encode()), delimiter.encode(), block=block)
    pieces = iter(lambda: stream.read(size), b"")
    assert b"".join(pieces).decode() == text.replace(delimiter, "\x1f")
