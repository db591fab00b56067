"""``truerank reproduce losses`` on a small recipe and small data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import truerank as tr
from truerank.execution import Progress
from truerank.reproduce.claims import Question
from truerank.reproduce.loss_recipe import LossCurve, LossRecipe, LossRow
from truerank.reproduce.loss_table import LossTableRuns

from .conftest import Run

SMALL = LossRecipe(
    metrics=("recall@20", "ndcg@20"),
    select_by="ndcg@20",
    seeds=(0, 1),
    within=0.03,
    common={"dim": 4, "n_negatives": 8, "batch_size": 128, "epochs": 2, "learning_rate": 0.02},
    rows=(
        LossRow(name="BPR", loss="bpr", tried={"gowalla": [{"l2": 0.0}, {"l2": 1e-4}]},
                published={"gowalla": [0.0, 0.0]}),
        LossRow(name="MINE", loss="mine", fixed={"similarity": "cosine"},
                tried={"gowalla": [{"temperature": 0.2}]}, published={"gowalla": [1.0, 1.0]}),
    ),
    questions=(Question(claim="MINE is ahead of BPR", better="MINE", worse="BPR"),),
    curves=(LossCurve(name="temperature", parameter="temperature", data="gowalla",
                      values={"MINE": [0.1, 0.2]}),),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    split = tr.split.ratio(tr.load_dataset("demo", n_users=200, n_items=100), 0.2)
    monkeypatch.setattr("truerank.reproduce.loss_table.published", lambda _: split)
    for module in ("loss_table", "loss_recipe"):
        monkeypatch.setattr(f"truerank.reproduce.{module}.loss_recipe", lambda: SMALL)


def test_the_table_its_claims_and_the_report(run: Run, tmp_path: Path) -> None:
    done = run("reproduce", "losses", "--cache", "kept", "--out", "out")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    bpr, mine = (next(line for line in lines if line.startswith(name)) for name in ("BPR", "MINE "))
    assert " yes " in f"{bpr} "
    assert bpr.rstrip().endswith("2")  # settings tried
    assert " no " in f"{mine} "
    assert "MINE is ahead of BPR" in done.out
    assert "difference ± se, future users" in done.out
    assert "2 seeds ± half their range" in done.err
    assert len(list((tmp_path / "kept").glob("*.json"))) == 2 + 1
    assert len(list((tmp_path / "kept").glob("*.parquet"))) == 2 * len(SMALL.seeds)
    again = run("reproduce", "losses", "--cache", "kept", "--json")
    first, second = again.json["rows"]
    assert (first["name"], len(first["tried"]), second["published"]) == ("BPR", 2, [1.0, 1.0])
    assert {answer["population"] for answer in again.json["answers"]} == {"infinite"}
    assert {answer["metric"] for answer in again.json["answers"]} == {"recall@20", "ndcg@20"}
    assert "--force" in run("reproduce", "losses", "--cache", "kept", "--out", "out").sentence


def test_progress_ends_at_its_total(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    bars = []

    class Noted(Progress):
        def __exit__(self, *raised: Any) -> None:
            bars.append((self.total, self.done))
            super().__exit__(*raised)

    monkeypatch.setattr("truerank.execution.Progress", Noted)
    assert run("reproduce", "losses", "--cache", "kept").code == 0
    assert run("reproduce", "losses", "--curve", "temperature", "--cache", "kept").code == 0
    # One of the two points of the figure is a setting of the table, and in the cache.
    assert bars == [(3 + 2 * len(SMALL.seeds),) * 2, (1, 1)]


def test_the_record_is_believed_unless_a_search_is_asked_for(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = LossTableRuns("gowalla", recipe=SMALL)
    row = SMALL.row("MINE")
    known = {table.key(row, {"temperature": 0.2}, 0): replace(table.search(row)[0], validation=0.5)}
    monkeypatch.setattr("truerank.reproduce.loss_table.recorded_trials", lambda: known)

    def validation(*more: str) -> float:
        report = run("reproduce", "losses", "--row", "MINE", "--json", *more).json
        return float(report["rows"][0]["tried"][0]["validation"])

    assert validation() == 0.5
    assert validation("--search") != 0.5


def test_a_row_alone_has_no_claims(run: Run) -> None:
    done = run("reproduce", "losses", "--row", "MINE", "--json")
    assert [row["name"] for row in done.json["rows"]] == ["MINE"]
    assert done.json["answers"] == []


def test_a_curve_is_a_figure(run: Run, tmp_path: Path) -> None:
    done = run("reproduce", "losses", "--curve", "temperature", "--cache", "kept", "--out", "out")
    assert done.code == 0, done.err
    assert (tmp_path / "out" / "temperature.png").read_bytes().startswith(b"\x89PNG")
    assert [line.split()[1] for line in done.out.splitlines()[2:4]] == ["0.1", "0.2"]
    found = run("reproduce", "losses", "--curve", "temperature", "--cache", "kept", "--json").json
    assert [one["setting"]["temperature"] for one in found["temperature"]["MINE"]] == [0.1, 0.2]


def test_mistakes(run: Run, tmp_path: Path) -> None:
    assert "one of BPR, MINE" in run("reproduce", "losses", "--row", "mine").sentence
    assert "one of temperature" in run("reproduce", "losses", "--curve", "weights").sentence
    both = run("reproduce", "losses", "--curve", "temperature", "--row", "MINE")
    assert "--row must be left out with --curve" in both.sentence
    both = run("reproduce", "losses", "--curve", "temperature", "--data", "yelp2018")
    assert "--data must be left out with --curve" in both.sentence
    assert "one of gowalla for BPR" in run("reproduce", "losses", "--data", "yelp2018").sentence
    assert list(tmp_path.glob("*.json")) == []
