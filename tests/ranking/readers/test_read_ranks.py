"""Ranks made elsewhere: every kind of table, and the sentence for every mistake."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from truerank.errors import FileFormatError, InvalidArgumentError, InvalidDataError, StorageError
from truerank.estimators import estimate
from truerank.ranking import RankTable
from truerank.ranking.readers import read_ranks, read_table

COLUMNS = {"user_id": ["a", "b", "b"], "item_id": [5, 6, 7], "rank": [1, 40, 100]}


def written(kind: str, folder: Path) -> Any:
    frame = pd.DataFrame(COLUMNS)
    path = folder / f"ranks.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "tsv":
        frame.to_csv(path, index=False, sep="\t")
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    elif kind == "parquet":
        pq.write_table(pa.table(COLUMNS), path)
    else:
        return {"pandas": frame, "polars": pl.DataFrame(COLUMNS), "arrow": pa.table(COLUMNS)}[kind]
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "parquet", "pandas", "polars", "arrow"])
def test_every_kind_of_table(kind: str, tmp_path: Path) -> None:
    table = read_ranks(written(kind, tmp_path), n_items=9_836, n_sampled=100, model="NeuMF")
    assert table.rank.tolist() == [1, 40, 100]
    assert table.user.tolist() == ["a", "b", "b"]
    text = kind in ("csv", "tsv", "csv.gz")  # ids of text files are text, others as typed
    assert table.item.tolist() == (["5", "6", "7"] if text else [5, 6, 7])
    assert table.n_sampled.tolist() == [100] * 3
    assert table.n_items.tolist() == [9_836] * 3
    header = table.header
    assert header.design.describe() == {"kind": "foreign", "source": "ranks"}
    assert (header.ties, header.candidates, header.model) == ("unknown", "unknown", "NeuMF")
    assert header.version


def test_a_column_of_ranks_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "ranks.txt"
    path.write_text("rank\n3\n1\n")
    assert read_table(path, n_items=50, n_sampled=10).rank.tolist() == [3, 1]
    path.write_text("3\n1\n2\n")
    table = read_ranks(path, n_items=50, n_sampled=10, header=False)
    assert table.rank.tolist() == [3, 1, 2]
    assert table.n_users == 3  # each row a user of its own


def test_sizes_weights_and_costs_from_columns() -> None:
    frame = pd.DataFrame(
        {"r": [1, 2], "n": [10, 20], "N": [100, 90], "weight": [1.0, 0.5], "n_scored": [10, 40]}
    )
    table = read_ranks(frame, rank="r", n_sampled="n", n_items="N")
    assert table.n_sampled.tolist() == [10, 20]
    assert table.n_items.tolist() == [100, 90]
    assert table.weight.tolist() == [1.0, 0.5]
    assert table.n_scored.tolist() == [10, 40]
    plain = read_ranks(frame, rank="r", n_sampled="n", n_items="N", weight=None)
    assert plain.weight.tolist() == [1.0, 1.0]


def test_exact_ranks_are_estimated_as_such() -> None:
    table = read_ranks(pa.table({"rank": [1, 3, 40]}), n_items=50, n_sampled=50)
    assert estimate(table, "recall@10", method="exact")[0].value == pytest.approx(2 / 3)


def test_zero_based_ranks() -> None:
    frame = pa.table({"rank": [4, 0, 99]})
    with pytest.raises(InvalidDataError, match=r"row 1 has rank 0.*pass zero_based=True"):
        read_ranks(frame, n_items=500, n_sampled=100)
    table = read_ranks(frame, n_items=500, n_sampled=100, zero_based=True)
    assert table.rank.tolist() == [5, 1, 100]


SIZES = {"n_items": 500, "n_sampled": 100}


@pytest.mark.parametrize(
    ("frame", "options", "sentence"),
    [
        pytest.param({"rank": [1]}, {"n_sampled": 9}, "n_items must be given: sampled ranks say "
                     "nothing about a catalogue of unknown size", id="no-n-items"),
        pytest.param({"rank": [1]}, {"n_items": 9}, r"n_sampled must be given.*n_sampled=100 for "
                     "'99 negatives'", id="no-n-sampled"),
        pytest.param({"Ranks": [1]}, SIZES, "no column 'rank', the columns are 'Ranks'; say "
                     "which one it is with rank='Ranks'", id="wrong-column"),
        pytest.param({"rank": [1], "userId": [4]}, SIZES, r"no column 'user_id'.*user='userId'",
                     id="user-by-another-name"),
        pytest.param({"rank": [1], "item": [4]}, SIZES, r"no column 'item_id'.*item='item'",
                     id="item-by-another-name"),
        pytest.param({"rank": [1, 101]}, SIZES, r"row 1: rank 101 is larger than n_sampled 100.*99 "
                     "negatives make 100", id="rank-beyond-the-sample"),
        pytest.param({"rank": [1]}, {"n_items": 50, "n_sampled": 100}, "n_sampled 100 is larger "
                     "than n_items 50", id="sample-beyond-the-catalogue"),
        pytest.param({"rank": [1, None]}, SIZES, "1 of 2 rows of the table have no rank",
                     id="null-rank"),
        pytest.param({"rank": [1.5]}, SIZES, "rank must be whole numbers, got 1.5", id="half-rank"),
        pytest.param({"rank": ["x"]}, SIZES, "rank must be whole numbers, got 'x'", id="words"),
        pytest.param({"rank": [1, 2], "user_id": [7, 7], "item_id": [8, 8]}, SIZES, "1 of 2 rows "
                     "of the table repeat a .user, item. pair, the first is user 7, item 8",
                     id="repeated-pair"),
        pytest.param({"rank": pa.array([], pa.int64())}, SIZES, "the table has no rows",
                     id="empty"),
    ],
)  # fmt: skip
def test_sentences(frame: dict[str, Any], options: dict[str, Any], sentence: str) -> None:
    with pytest.raises((InvalidArgumentError, InvalidDataError), match=sentence):
        read_ranks(pa.table(frame), **options)


def test_no_user_column_may_be_said() -> None:
    frame = pa.table({"rank": [1, 2], "userId": [4, 4]})
    assert read_ranks(frame, user=None, **SIZES).n_users == 2
    assert read_ranks(frame, user="userId", **SIZES).n_users == 1


def test_a_table_of_ours_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "anything.bin"
    RankTable.from_arrays([1, 2], 10, 50).to_parquet(path)
    assert read_table(path, n_items=None).rank.tolist() == [1, 2]
    with pytest.raises(InvalidArgumentError, match=r"n_items must be left out: .* records how"):
        read_table(path, n_items=60)
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FileFormatError, match="damaged or was cut short"):
        read_table(cut)
    plain = tmp_path / "plain.parquet"
    pq.write_table(pa.table({"rank": [5]}), plain)
    assert read_table(plain, **SIZES).rank.tolist() == [5]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("", "is empty; there is nothing to read", id="empty"),
        pytest.param("rank,user_id\n", "has no rows", id="header-only"),
        pytest.param("(0,25)\t1064\t174\n", r"negatives as NCF.*tr\.read_ncf_negatives", id="ncf"),
        pytest.param("q1 Q0 d3 1 0.7 bm25\n", r"is a TREC run.*tr\.read_trec", id="trec"),
        pytest.param("7\n9\n", "no column 'rank'.*header=False if the first line is data",
                     id="no-header"),
    ],
)  # fmt: skip
def test_sentences_about_files(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_text(text)
    with pytest.raises((FileFormatError, InvalidDataError), match=sentence):
        read_table(path, **SIZES)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no such file"):
        read_table(tmp_path / "ranks.csv", **SIZES)


def test_many_rows_take_no_loop() -> None:
    rng = np.random.default_rng(3)
    n = 200_000
    frame = pa.table({"user_id": rng.permutation(n), "item_id": rng.integers(0, 99, n),
                      "rank": rng.integers(1, 101, n)})  # fmt: skip
    table = read_ranks(frame, **SIZES)
    assert np.array_equal(table.rank, frame["rank"].to_numpy())
    assert np.array_equal(table.user, frame["user_id"].to_numpy())
