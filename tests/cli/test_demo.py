from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import truerank as tr


def truerank(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "truerank", *arguments],
        capture_output=True, text=True, cwd=cwd, check=False, timeout=300,
    )  # fmt: skip


def test_demo_prints_a_table_and_writes_a_report(tmp_path: Path) -> None:
    done = truerank("demo", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert {row["model"] for row in rows} == {"Popularity", "ItemKNN", "EASE"}
    by_design = {row["design"]: row for row in rows if row["model"] == "ItemKNN"}
    assert by_design["full"]["exact_ranks"] == 1.0
    truth = by_design["full"]["naive"]["recall@10"]
    assert by_design["full"]["estimates"]["recall@10"]["value"] == pytest.approx(truth)
    assert by_design["sampled, n = 100"]["naive"]["recall@10"] > 2 * truth  # why this exists
    adaptive = by_design["adaptive"]["estimates"]["recall@10"]
    assert abs(adaptive["value"] - truth) < 4 * adaptive["std_error"]
    table = tr.RankTable.from_parquet(tmp_path / "demo-output" / "itemknn-full.parquet")
    assert table.per_user("recall@10")[1].mean() == pytest.approx(truth)
    assert "| ItemKNN | full |" in (tmp_path / "demo-output" / "report.md").read_text()


def test_a_mistake_is_one_sentence_and_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = truerank("demo", "--out", "file/inside", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip().count("\n") <= 12  # the data summary, then the sentence
    assert "Traceback" not in done.stderr


def test_unknown_data_set_names_the_nearest(tmp_path: Path) -> None:
    done = truerank("data", "show", "gowala", cwd=tmp_path)
    assert done.returncode == 2
    assert "gowalla" in done.stderr
    assert "Traceback" not in done.stderr


def test_data_list_and_show(tmp_path: Path) -> None:
    listed = truerank("data", "list", "--json", cwd=tmp_path)
    assert {"demo", "ml-1m", "gowalla"} <= {row["name"] for row in json.loads(listed.stdout)}
    shown = truerank("data", "show", "demo", "--json", cwd=tmp_path)
    assert json.loads(shown.stdout)["n_users"] == tr.load_dataset("demo").n_users


def test_version_and_help(tmp_path: Path) -> None:
    assert truerank("--version", cwd=tmp_path).stdout == f"truerank {tr.__version__}\n"
    assert "demo" in truerank("--help", cwd=tmp_path).stdout
