"""Files that are odd in ways that would change the numbers in silence: each has one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import truerank as tr
from truerank.data.frames import read_csv
from truerank.errors import InvalidArgumentError, InvalidDataError, StorageError

from .conftest import Run, write_csv

SIZES = ("--n-items", 5000, "--n-sampled", 100, "--n-boot", 0)


# ---------------------------------------------------------------- quotes


def test_a_quote_that_is_not_closed(run: Run, tmp_path: Path) -> None:
    text = 'user,item\nu0,1\n"u1,2\nu2,3\n"u3",4\nu4,5\n'
    (tmp_path / "log.csv").write_text(text.replace('"u3",4', 'u3",4'))
    said = run("data", "show", "log.csv").sentence
    assert "the id 'u1,2' in column 'user' goes on in the next line (line 3 of log.csv)" in said
    assert "a quote was opened there and not closed" in said


def test_a_line_break_at_the_end_of_an_id(run: Run, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text('user,item\nu0,1\n"u1\n",2\n')
    assert "line 3 of log.csv" in run("data", "show", "log.csv").sentence
    with pytest.raises(InvalidDataError, match="the id 'u1' in column 'user' goes on"):
        read_csv(tmp_path / "log.csv", user="user", item="item")


def test_line_breaks_in_columns_that_are_no_ids_are_nobodys_business(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "log.csv").write_text('user,item,review\nu0,1,"two\nlines"\nu1,2,none\n')
    assert run("data", "show", "log.csv", "--json").json["n_users"] == 2


# ---------------------------------------------------------------- ranks in one column


@pytest.mark.parametrize("first", ["7", "12", "3.0"])
def test_a_first_rank_is_no_name(first: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(f"{first}\n5\n80\n")
    said = run("estimate", "r.csv", *SIZES).sentence
    assert f"no header line, since it starts with {first}; if so, say --no-header" in said
    done = run("estimate", "r.csv", *SIZES, "--no-header", "--json")
    assert done.json[0]["n_rows"] == 3
    done = run("estimate", "r.csv", *SIZES, "--rank-column", first, "--json")
    assert done.json[0]["n_rows"] == 2


@pytest.mark.parametrize(
    ("text", "options", "line"),
    [("rank\n3\n\n5\n", (), 3), ("3\n4\n  \n\n5\n", ("--no-header",), 3), ("\nrank\n\n5\n", (), 3)],
)
def test_a_rank_that_is_missing_in_one_column(
    text: str, options: tuple[str, ...], line: int, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "r.csv").write_text(text)
    said = run("estimate", "r.csv", *SIZES, *options).sentence
    assert f"line {line} of r.csv is empty, where a value should be" in said


def test_blank_lines_around_a_column_are_none_of_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("\n\nrank\n3\n5\n\n\n")
    assert run("estimate", "r.csv", *SIZES, "--json").json[0]["n_rows"] == 2


def test_a_rank_that_is_missing_beside_others(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("user,rank\na,3\nb,\nc,5\n")
    said = run("estimate", "r.csv", *SIZES).sentence
    assert "1 of 3 rows of r.csv have no rank (column 'rank' is null), the first is row 2" in said
    assert "--rating-column" not in said


def test_no_header_is_no_advice_where_it_was_given(run: Run, tmp_path: Path) -> None:
    rows = [",".join(map(str, range(k, k + 12))) for k in (10, 20)]
    (tmp_path / "wide.csv").write_text("\n".join(rows) + "\n")
    assert "say --no-header" in run("data", "show", "wide.csv").sentence
    said = run("data", "show", "wide.csv", "--no-header").sentence
    assert "say which with --user-column" in said
    assert "--no-header" not in said
    pq.write_table(pa.table({"10": [1], "20": [2]}), tmp_path / "x.parquet")
    assert "--no-header" not in run("data", "show", "x.parquet").sentence


# ---------------------------------------------------------------- more than memory holds


def test_a_table_with_a_column_twice(run: Run, exact: Path) -> None:
    table = pq.read_table(exact)
    pq.write_table(table.append_column("rank", table.column("rank")), exact)
    assert "has 2 columns called 'rank'; write it again" in run("estimate", exact).sentence


@pytest.mark.parametrize("nested", ["a = " + "[" * 5000 + "]" * 5000, "a = " + "{a=" * 5000])
def test_settings_that_are_nested_too_deeply(nested: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "deep.toml").write_text(nested)
    assert "deep.toml is nested too deeply" in run("--config", "deep.toml", "doctor").sentence


@pytest.mark.parametrize("n_boot", [1_000_001, 10**12])
def test_more_resamples_than_memory_holds(
    n_boot: int, run: Run, exact: Path, sampled: Path
) -> None:
    for command in (["estimate", exact], ["estimate", sampled], ["compare", exact, sampled]):
        said = run(*command, "--n-boot", n_boot).sentence
        assert f"at most 1,000,000, got {n_boot}; try 1000" in said
    with pytest.raises(InvalidArgumentError, match="at most 1,000,000"):
        tr.estimate(tr.RankTable.from_parquet(sampled), "mrr", n_boot=n_boot)


# ---------------------------------------------------------------- what is said about a file


def test_a_column_for_two_roles(run: Run, ratings: Path, tmp_path: Path) -> None:
    both = ("--user-column", "movieId", "--item-column", "movieId")
    for command in ("data", "show", ratings), ("fit", "--data", ratings):
        said = run(*command, *both).sentence
        assert "column 'movieId' is named for both the user and the item" in said
    pq.write_table(pa.table({"a": [1, 2], "b": [3, 4]}), tmp_path / "x.parquet")
    said = run("data", "show", "x.parquet", "--user-column", "a", "--item-column", "a").sentence
    assert "column 'a' is named for both the user and the item" in said
    path = write_csv(tmp_path / "r.csv", {"user": [1, 2], "rank": [3, 4]})
    said = run("estimate", path, *SIZES, "--user-column", "rank").sentence
    assert "column 'rank' is named for both the rank and the user" in said


def test_sizes_may_share_a_column() -> None:
    frame = pa.table({"rank": [1, 2], "n": [10, 10]})
    assert tr.read_ranks(frame, n_items="n", n_sampled="n").is_exact.all()


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_an_encoding_that_is_another(encoding: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_bytes("user,item\nJosé,1\nZoë,2\n".encode("latin-1"))
    said = run("data", "show", "log.csv", "--encoding", encoding).sentence
    assert f"log.csv is not written in {encoding}; leave out the encoding to have it found" in said
    assert run("data", "show", "log.csv").code == 0


def test_python_is_told_in_python(run: Run, tmp_path: Path, exact: Path) -> None:
    table = tr.RankTable.from_arrays(rank=np.array([1]), n_sampled=9, n_items=9)
    with pytest.raises(StorageError, match=r"choose another name or pass force=True$"):
        table.to_parquet(exact, force=False)
    said = run("fit", "--data", "demo", "--out", exact).sentence
    assert said.endswith("choose another name or pass --force")
