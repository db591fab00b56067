from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import truerank as tr


def truerank(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "truerank", *arguments],
        capture_output=True, text=True, cwd=cwd, check=False, timeout=300,
    )  # fmt: skip


def test_demo_shows_the_truth_and_what_cheaper_evaluations_make_of_it(tmp_path: Path) -> None:
    done = truerank("demo", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    ways = found["evaluations"]
    full, naive, corrected = ways["full"], ways["naive, n = 100"], ways["corrected, n = 100"]
    assert len(full["estimates"]) == 5
    assert corrected["scored_per_user"] == naive["scored_per_user"] == 100
    assert ways["screened"]["scored_per_user"] < full["scored_per_user"]
    for metric in ("recall@10", "ndcg@10"):
        assert naive["error"][metric] > 1.0  # why this exists
        assert corrected["error"][metric] < 0.2
        assert ways["screened"]["error"][metric] < 0.005
    for model, truth in full["estimates"].items():
        guess = ways["some users"]["estimates"][model]["recall@10"]
        assert abs(guess["value"] - truth["recall@10"]["value"]) < 4 * guess["std_error"]
    populations = {
        e["population"] for way in ways.values() for row in way["estimates"].values()
        for e in row.values()
    }  # fmt: skip
    assert populations == {found["verdict"]["population"]} == {"infinite"}
    blind = [e["recall@10"]["blind"] for e in corrected["estimates"].values()]
    assert any(blind)  # 100 of 2,000 items hardly see the top ten
    best = full["winner"]["recall@10"]
    assert found["verdict"]["models"][0] == best
    slug = "-".join("".join(c if c.isalnum() else " " for c in best.lower()).split())
    table = tr.RankTable.from_parquet(tmp_path / "demo-output" / f"{slug}-full.parquet")
    value = full["estimates"][best]["recall@10"]["value"]
    assert table.per_user("recall@10")[1].mean() == pytest.approx(value)
    page = (tmp_path / "demo-output" / "report.html").read_text()
    assert best in page
    assert found["report"] == str(Path("demo-output") / "report.html")
    _the_large_catalogue(found["large"])


def _the_large_catalogue(found: dict[str, Any]) -> None:
    """A screen certifies the truth for a part of its price; 100 samples name another winner."""
    ways = found["evaluations"]
    full, naive, screened = ways["full"], ways["naive, n = 100"], ways["screened"]
    assert full["scored_per_user"] == 200_000
    assert screened["scored_per_user"] < full["scored_per_user"] / 4
    for metric in ("recall@20", "ndcg@20"):
        assert naive["winner"][metric] != full["winner"][metric] == screened["winner"][metric]
        for model, truth in full["estimates"].items():
            low, high = screened["estimates"][model][metric]["bounds"]
            assert low - 1e-9 <= truth[metric]["value"] <= high + 1e-9
            assert high < low * 1.005
            wide = ways["corrected, n = 100"]["estimates"][model][metric]["bounds"]
            assert wide[1] - wide[0] > 2 * truth[metric]["value"]


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
