"""Names out of files that somebody else made: they are shown, and never obeyed."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.cli.output import print_table, working
from truerank.report.text import for_terminal

from .conftest import Run, write_csv

ESCAPE = "evil\x1b[2J\x9b31m\u202egood\u2066\rname\udcff"
"""Clears the screen, colours, turns the writing around, goes back to the start, is no text."""
OBEYED = set("\udcff\x1b\x9b\u202e\u2066\r\x07\x00")


def tables(folder: Path, *names: str) -> list[str]:
    rng = np.random.default_rng(3)
    said = []
    for k, name in enumerate(names):
        rank = rng.geometric(0.02 * (k + 1), 300).clip(1, 1000)
        path = folder / f"{k}.parquet"
        tr.RankTable.from_arrays(rank=rank, n_sampled=1000, n_items=1000).to_parquet(path)
        said.append(f"{name}={path}")
    return said


@pytest.mark.parametrize("how", [[], ["--markdown"], ["--latex"], ["--json"]])
def test_names_of_models(how: list[str], run: Run, tmp_path: Path) -> None:
    done = run("compare", *tables(tmp_path, ESCAPE, "plain"), "--n-boot", 100, *how)
    assert done.code == 0
    assert "evil" in done.out
    assert not OBEYED & set(done.out + done.err)


def test_json_says_the_name_itself(run: Run, tmp_path: Path) -> None:
    done = run("compare", *tables(tmp_path, ESCAPE, "plain"), "--n-boot", 100, "--json")
    assert set(done.json["models"]) == {ESCAPE, "plain"}


def test_names_of_columns(run: Run, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "log.csv", {"evil\x1b[31m": [1, 2], "other\u202e": [3, 4]})
    assert not OBEYED & set(run("data", "show", path).sentence)
    path = write_csv(tmp_path / "ids.csv", {"user": [1, 2], "item": [3, 4], "x\x1b[2J": [5, 6]})
    done = run("data", "show", path)
    assert "x\ufffd[2J" in done.err or r"x\x1b[2J" in done.err  # as one that nobody reads
    assert not OBEYED & set(done.out + done.err)


def test_names_of_files(run: Run, tmp_path: Path) -> None:
    assert "no file" in (said := run("estimate", f"{ESCAPE}.parquet").sentence)
    assert not OBEYED & set(said)
    assert not OBEYED & set(run("estimate", "--n-boot", ESCAPE, "x").sentence)
    path = tmp_path / "a\x1b[2J.parquet"
    rank = np.arange(1, 301)
    tr.RankTable.from_arrays(rank=rank, n_sampled=1000, n_items=1000).to_parquet(path)
    done = run("estimate", path, "--n-boot", 0)
    assert done.code == 0
    assert "\ufffd[2J.parquet" in done.out
    assert "\x1b" not in done.out


def test_ids(run: Run, tmp_path: Path) -> None:
    users = ["u\x1b[2J", "u\x1b[2J", "v"]
    path = write_csv(tmp_path / "log.csv", {"user": users, "item": [3, 3, 4]})
    said = run("data", "show", path).sentence
    assert "u" in said
    assert not OBEYED & set(said)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_neither_control_characters_nor_markup(monkeypatch: Any) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    print_table(("[red]metric[/red]", "value"), [("two\nlines\x1b]0;title\x07", "0.1")])
    text = shown.getvalue()
    assert "[red]metric[/red]" in text
    assert "two lines\ufffd]0;title\ufffd" in text


def test_the_sign_of_work(monkeypatch: Any) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("COLUMNS", "120")
    with working("reading [/nothing] a\x1b]0;title\x07.csv"):
        pass
    assert "reading [/nothing] a\ufffd]0;title\ufffd.csv" in shown.getvalue()


def test_lines_stay_and_writing_from_right_to_left_too() -> None:
    assert for_terminal("one\ntwo\tשלום עולم é 山") == "one\ntwo\tשלום עולم é 山"


def test_markdown_shows_names_as_they_are(run: Run, tmp_path: Path) -> None:
    name = "[x](http://a) <b>*k*_j_|`"
    safe = r"\[x\](http://a) &lt;b&gt;\*k\*\_j\_\|\`"
    done = run("compare", *tables(tmp_path, name, "# plain"), "--n-boot", 100, "--markdown")
    sentence, table = done.out.split("\n\n", 1)
    assert safe in table
    assert safe in sentence
    assert name not in done.out
    assert sentence.startswith(r"\# plain is ")
