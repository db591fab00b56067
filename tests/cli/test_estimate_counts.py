"""``truerank estimate`` takes counts of ranks as it takes tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import truerank as tr
from truerank.cli import main
from truerank.cli.inputs import RankOptions
from truerank.errors import InvalidDataError


def test_counts_give_what_their_table_gives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    table = tr.RankTable.from_arrays(rng.integers(1, 101, 500), 100, 2000)
    table.to_parquet(tmp_path / "table.parquet")
    table.counts().to_parquet(tmp_path / "counts.parquet")
    answers = []
    for name in ("table", "counts"):
        with pytest.raises(SystemExit) as end:
            main(["estimate", str(tmp_path / f"{name}.parquet"), "--n-boot", "50", "--json"])
        assert end.value.code in (0, None)
        answers.append(json.loads(capsys.readouterr().out)[0])
    assert answers[0]["n_rows"] == answers[1]["n_rows"] == 500
    assert answers[0]["estimates"] == answers[1]["estimates"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(list(words))
    said = capsys.readouterr()
    return int(end.value.code or 0), said.out, said.err


def world(tmp_path: Path) -> tr.RankTable:
    """Counts as a database writes them: Parquet and CSV, without a word about where from."""
    rng = np.random.default_rng(0)
    rank = 1 + rng.binomial(99, np.minimum(rng.pareto(0.5, 500) * 0.01, 1.0))
    table = tr.RankTable.from_arrays(rank, 100, 2000)
    answer = table.counts().to_arrow().replace_schema_metadata(None)
    pq.write_table(answer, tmp_path / "sql.parquet")
    csv.write_csv(answer, tmp_path / "sql.csv")
    csv.write_csv(answer.select(["rank", "n_rows"]), tmp_path / "short.csv")
    table.counts().to_parquet(tmp_path / "ours.parquet")
    return table


@pytest.mark.parametrize(
    "words",
    [
        ["sql.parquet"],
        ["sql.csv"],
        ["ours.parquet"],
        ["short.csv", "--n-items", "2000", "--n-sampled", "100"],
    ],
)
def test_what_a_database_counted_is_read_as_counts(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = world(tmp_path)
    path = str(tmp_path / words[0])
    code, out, err = run(capsys, "estimate", path, *words[1:], "--n-boot", "50", "--json")
    assert code == 0, err
    answer = json.loads(out)[0]
    assert (answer["n_rows"], answer["n_users"]) == (500, 500)
    told = tr.estimate(table, [row["metric"] for row in answer["estimates"]], n_boot=50)
    for row, one in zip(answer["estimates"], told, strict=True):
        assert (row["value"], row["std_error"]) == (one.value, one.std_error)


@pytest.mark.parametrize("name", ["sql.parquet", "sql.csv", "ours.parquet", "short.csv"])
def test_counts_are_refused_where_rows_are_needed(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world(tmp_path)
    path = str(tmp_path / name)
    for words in (
        ["compare", f"a={path}", f"b={path}"],
        ["plan", "--pilot", path, "--rel-error", "0.02"],
    ):
        code, _, err = run(capsys, *words)
        assert code != 0
        assert "holds counts" in err
        assert "need tables" in " ".join(err.split())
    with pytest.raises(InvalidDataError, match="holds counts"):
        tr.read_ranks(path, n_items=2000, n_sampled=100)


def test_counts_say_what_they_lack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world(tmp_path)
    code, _, err = run(capsys, "estimate", str(tmp_path / "short.csv"), "--n-sampled", "100")
    assert code != 0
    assert "holds counts without a column 'n_items'; say --n-items" in " ".join(err.split())
    code, _, err = run(capsys, "estimate", str(tmp_path / "sql.csv"), "--zero-based")
    assert code != 0
    assert "leave out --zero-based" in " ".join(err.split())


def test_rows_of_users_with_a_column_n_rows_are_rows(tmp_path: Path) -> None:
    rows = pa.table({"customer_id": [1, 2], "user_id": [1, 2], "rank": [1, 2], "n_rows": [5, 5]})
    assert len(tr.read_ranks(rows, n_items=10, n_sampled=5)) == 2
    csv.write_csv(rows.drop_columns(["user_id"]), tmp_path / "rows.csv")
    read = RankOptions(n_items=10, n_sampled=5).read_any(tmp_path / "rows.csv")
    assert isinstance(read, tr.RankTable)
