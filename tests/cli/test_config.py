"""Settings from a TOML file: the command line wins, and unknown keys are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import truerank as tr

from .conftest import Run


def test_shared_keys_verb_tables_and_the_command_line(
    run: Run, ratings: Path, tmp_path: Path
) -> None:
    (tmp_path / "truerank.toml").write_text(
        f'data = "{ratings.name}"\nseed = 3\n'
        '[fit]\nmodel = "item-knn"\nset = ["k=7", "shrink=2"]\nout = "m.model"\n'
        '[rank]\ndesign = "sampled n=10"\nout = "r.parquet"\nseed = 4\njson = true\n'
        '[estimate]\nmetric = "recall@5"\nbounds = false\nn-boot = 0\n'
    )
    assert run("fit").code == 0
    kept = tr.models.load(tmp_path / "m.model")
    assert (kept.k, kept.shrink) == (7, 2.0)
    done = run("rank", "--model", "m.model")
    assert done.json["design"] == "sampled n=10"
    assert "settings: truerank.toml" in done.err
    header = tr.RankTable.from_parquet(tmp_path / "r.parquet").header
    assert header.seed == 4  # the verb's table wins over the shared key
    done = run("rank", "--model", "m.model", "--design", "sampled n=12", "--seed", 5, "--force")
    assert done.json["design"] == "sampled n=12"  # and the command line over both
    assert tr.RankTable.from_parquet(tmp_path / "r.parquet").header.seed == 5
    (said,) = run("estimate", "r.parquet", "--json").json
    assert [row["metric"] for row in said["estimates"]] == ["recall@5"]
    assert said["estimates"][0]["std_error"] is None


@pytest.mark.parametrize("before", [True, False], ids=["global", "of the verb"])
def test_a_named_file(before: bool, run: Run, sampled: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[estimate]\nmetric = ["ap@3", "mrr"]\njson = true\n')
    given = ["--config", "mine.toml"]
    done = run(*given, "estimate", sampled) if before else run("estimate", sampled, *given)
    assert done.code == 0, done
    assert [row["metric"] for row in done.json[0]["estimates"]] == ["ap@3", "mrr"]


def test_a_verb_of_a_verb(run: Run, tmp_path: Path) -> None:
    (tmp_path / "truerank.toml").write_text('[reproduce.accuracy]\ndesign = ["sometimes"]\n')
    assert "sometimes" in run("reproduce", "accuracy", "--data", "demo").err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            "[rank]\ndesgin = 'full'\n",
            "no option 'desgin' in [rank] of truerank.toml; did you mean 'design'?",
        ),
        ("sed = 1\n", "there is no option 'sed' in truerank.toml; did you mean 'seed'?"),
        ("[rnak]\n", "no command 'rnak', whose table is in truerank.toml; did you mean 'rank'?"),
        ("[reproduce.acuracy]\n", "there is no command 'reproduce acuracy'"),
        ("[plan]\ndesign = 'full'\n", "there is no option 'design' in [plan]"),
        ("seed = \n", "truerank.toml is not valid TOML"),
        ("[estimate]\nseed = 'seven'\n", "--seed: "),
    ],
)
def test_a_wrong_file(content: str, says: str, run: Run, sampled: Path, tmp_path: Path) -> None:
    (tmp_path / "truerank.toml").write_text(content)
    done = run("estimate", sampled)
    assert done.code == 2
    assert says in done.err.strip().splitlines()[-1]


def test_a_missing_file(run: Run, sampled: Path) -> None:
    assert "there is no file no.toml" in run("estimate", sampled, "--config", "no.toml").sentence


def test_the_old_name_of_the_confidence_is_taken_with_a_remark(
    run: Run, sampled: Path, tmp_path: Path
) -> None:
    quick = ("-m", "recall@10", "--no-bounds", "--n-boot", 20, "--json")
    new = run("estimate", sampled, "--confidence", 0.8, *quick)
    old = run("estimate", sampled, "--level", 0.8, *quick)
    assert new.json == old.json
    assert "--level is called --confidence now" in old.err
    assert "--level" not in new.err
    assert "--level" not in run("estimate", "--help").out
    (tmp_path / "truerank.toml").write_text("[estimate]\nlevel = 0.8\n")
    filed = run("estimate", sampled, *quick)
    assert filed.json == new.json
    assert "--level is called --confidence now" in filed.err
    (tmp_path / "truerank.toml").write_text("confidence = 0.8\n")
    assert run("estimate", sampled, *quick).json == new.json
