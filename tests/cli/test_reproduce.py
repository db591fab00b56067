from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import truerank as tr
from truerank.cli import main
from truerank.cli.app import app
from truerank.errors import TruerankError


@pytest.fixture(autouse=True)
def _nothing_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No data sets of this machine, and a cache of our own."""
    monkeypatch.delenv("TRUERANK_DATA", raising=False)
    monkeypatch.setenv("TRUERANK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TRUERANK_OFFLINE", "1")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["reproduce", *arguments])


def test_accuracy_prints_the_table_the_mean_and_the_ratio(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(
        "accuracy", "--data", "demo", "--model", "item-knn-20", "--model", "popularity",
        "--design", "reference", "--design", "adaptive", "--repeats", "2", "--out", str(out),
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "demo, item-knn-20" in done.stdout
    assert "mean over pairs" in done.stdout
    assert "parts of the reference" in done.stdout
    report = json.loads((out / "accuracy.json").read_text())
    assert len(report["rows"]) == 2 * 2 * 2
    assert [(one["design"], one["method"]) for one in report["ratios"]][-1] == ("adaptive", "auto")
    assert set(report["ratios"][0]["error"]) == {"recall", "ndcg", "ap"}
    # Exact ranks are kept, whole files only.
    kept = sorted(path.name for path in (tmp_path / "cache" / "exact-ranks").iterdir())
    assert [name.split("-all-")[0] for name in kept] == ["demo-item-knn-20", "demo-popularity"]


def test_accuracy_as_json_with_one_repeat_has_no_nan() -> None:
    done = run(
        "accuracy", "--data", "demo", "--model", "popularity", "--design", "adaptive",
        "--method", "auto", "--repeats", "1", "--json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)["rows"]
    assert row["spread"]["recall"] is None
    assert row["scored"] <= 25 + 600 * 1.1


def test_coverage_prints_both_truths() -> None:
    done = run(
        "coverage", "--data", "demo", "--model", "popularity", "--design", "sampled n=100",
        "--method", "naive", "--repeats", "2", "--n-boot", "100",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "fresh users" in done.stdout
    assert "same users" in done.stdout
    assert "standard error" in done.stderr


def test_cost_curve_from_data_and_from_a_file(tmp_path: Path) -> None:
    figure = tmp_path / "cost.png"
    done = run("cost-curve", "--data", "demo", "--model", "popularity", "--out", str(figure))
    assert done.exit_code == 0, done.output
    assert "Adaptive() needs no n_max" in done.stdout
    assert figure.stat().st_size > 1_000
    ranks = tmp_path / "ranks.parquet"
    tr.RankTable.from_arrays(rank=[1, 5, 40, 90], n_sampled=100, n_items=100).to_parquet(ranks)
    done = run("cost-curve", "--ranks", str(ranks), "--n0", "10", "--json")
    assert done.exit_code == 0, done.output
    curve = json.loads(done.stdout)
    assert curve["sizes"] == [10, 20, 40, 80]
    assert curve["first_before"][0] == 1.0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["accuracy", "--data", "gowala"], "gowalla"),
        (["accuracy", "--data", "demo", "--model", "eas"], "did you mean 'ease'"),
        (["accuracy", "--design", "sampled n=0"], "at least 2"),
        (["accuracy", "--method", "mel"], "did you mean 'mle'"),
        (["accuracy", "--data", "demo", "--candidates", "some"], "'all' or 'unseen'"),
        (["coverage", "--design", "sometimes"], "full, sampled, adaptive"),
        (["cost-curve", "--ranks", "missing.parquet"], "missing.parquet"),
        (["cost-curve", "--out", "figure.doc"], ".png"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence_and_exit_code_2(
    arguments: list[str], says: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    done = run(*arguments)
    assert isinstance(done.exception, TruerankError)
    assert says in str(done.exception)
    monkeypatch.setattr("sys.argv", ["truerank", "reproduce", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    said = capsys.readouterr().err.strip()
    assert says in said
    assert "\n" not in said.splitlines()[-1]
    assert "Traceback" not in said


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("truerank.reproduce.fitted.find_spec", lambda _: None)
    done = run("accuracy", "--data", "demo", "--model", "als")
    assert isinstance(done.exception, TruerankError)
    assert "truerank[bench]" in str(done.exception)


def test_linear_says_whose_errors_it_prints() -> None:
    arguments = ("linear", "--data", "ml-20m", "--generated", "0.01",
                 "--row", "LRR", "--row", "MF (closed form)")  # fmt: skip
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    assert "difference ± se, future users" in done.output
    assert "± standard errors for future users" in " ".join(done.output.split())
    report = json.loads(run(*arguments, "--json").stdout)
    assert report["population"] == "infinite"
    assert {answer["population"] for answer in report["answers"]} == {"infinite"}
