"""Mistakes of the first ten minutes: each has one sentence that says what to do."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import truerank as tr

from .conftest import Run, log, write_csv

# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rnk"], "there is no command 'rnk', did you mean rank?; see truerank --help"),
        (
            ["rank", "--modl", "ease"],
            "there is no option --modl for truerank rank, did you mean --model?",
        ),
        (["reproduce", "acuracy"], "did you mean accuracy?"),
        (["fit", "--data", "demo", "--model", "eas"], "got 'eas'; did you mean 'ease'?"),
        (
            ["fit", "--data", "demo", "--set", "l3=1"],
            "model must be ease with l2=..., dtype=..., got 'ease l3=1'",
        ),
        (["fit", "--data", "demo", "--set", "l2"], "got 'ease l2'; write l2=..."),
        (["fit", "--data", "demo", "--set", "l2=much"], "a number after l2=, got 'ease l2=much'"),
        (
            ["fit", "--data", "demo", "--model", "mf loss=infonce temperature=0"],
            "temperature must be a positive number, got 0.0",
        ),
        (
            ["fit", "--data", "demo", "--model", "mf loss=ccl margin=1.5"],
            "margin must be in [0, 1), got 1.5",
        ),
        (["fit", "--data", "demo", "--model", "mf negatives_per=0"], "at least 1, got 0; try 64"),
        (
            ["fit", "--data", "demo", "--model", "mf negatives_per=some"],
            "negatives_per must be 'batch', 'pair' or a number of pairs, at least 1, got 'some'",
        ),
        (
            ["fit", "--data", "demo", "--model", "slim nonnegative=2"],
            "true or false after nonnegative=",
        ),
        (
            ["fit", "--data", "demo", "--model", "mf loss_params=0.1"],
            "got 'mf loss_params=0.1'",
        ),
        (
            ["fit", "--data", "demo", "--model", "item-knn", "--set", "k=0.5"],
            "a whole number after k=",
        ),
        (["fit", "--data", "ml-1mm"], "ml-1m"),
        (["fit"], "--data must be the name of a data set or a file, got None; try --data demo"),
        (["fit", "--data", "demo", "--split", "leave-one"], "did you mean 'leave-one-out'?"),
        (["fit", "--data", "demo", "--split", "ratio part=0.1"], "ratio with fraction=..."),
        (["fit", "--data", "demo", "--split", "ratio fraction=some"], "a number after fraction="),
        (["fit", "--data", "demo", "--split", "strong"], "for instance 'strong n_users=100'"),
        (["fit", "--data", "demo", "--split", "temporal at=soon"], "a date such as 2000-12-31"),
        (
            ["rank", "--data", "demo", "--model", "ease", "--design", "adaptiv"],
            "did you mean 'adaptive'?",
        ),
        (
            ["rank", "--data", "demo", "--model", "ease", "--design", "sampled m=3"],
            "sampled with n=...",
        ),
        (["rank", "--data", "demo", "--model", "ease", "--design", "users"], "users with m=..."),
        (["rank", "--data", "demo", "--model", "ease", "--ties", "hafl"], "did you mean 'half'?"),
        (
            ["rank", "--data", "demo", "--model", "ease", "--candidates", "unsee"],
            "did you mean 'unseen'?",
        ),
        (["rank", "--data", "demo"], "--model must be a model file or name"),
        (["rank", "--data", "demo", "--model", "ease", "--seed", "-1"], "--seed: "),
        (["rank", "--data", "demo", "--model", "ease", "--seed", "x"], "--seed: "),
        (["rank", "--data", "demo", "--model", "ease", "--model", "ease"], "named once"),
        (
            [
                "rank",
                "--data",
                "demo",
                "--model",
                "ease",
                "--model",
                "popularity",
                "--out",
                "a.parquet",
            ],
            "a folder for 2 models",
        ),
        (["estimate"], "missing 'RANKS...'"),
        (
            ["plan", "--n-items", "10", "--n-users", "10", "--expected", "0.1"],
            "one of --rel-error, --abs-error and --detect",
        ),
        (
            ["plan", "--n-items", "10", "--n-users", "10", "--rel-error", "0.1"],
            "--expected must be given where there is no --pilot",
        ),
        (["plan", "--expected", "0.1", "--rel-error", "0.1"], "--n-items must be given"),
        (["data", "show", "gowala"], "gowalla"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_names_and_numbers(arguments: list[str], says: str, run: Run) -> None:
    assert says in run(*arguments).sentence


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-m", "recal@10"], "did you mean recall@10?"),
        (["-m", "recall"], "recall"),
        (["-m", "recall@0"], "at least 1"),
        (["-m", "recall@5000"], "K at most the 1,000 candidates"),
        (["--method", "mel"], "did you mean 'mle'?"),
        (["--method", "exact"], "sampled"),
        (["--confidence", "95"], "confidence must be between 0 and 1, got 95.0; for 95 % say 0.95"),
        (["--n-items", "9"], "records how it was made; leave out --n-items"),
        (["--no-header"], "leave out --no-header"),
        (["--seed", "-3"], "--seed: "),
    ],
)
def test_estimates(arguments: list[str], says: str, run: Run, sampled: Path) -> None:
    assert says in run("estimate", sampled, *arguments).sentence


# ---------------------------------------------------------------- files


def test_a_missing_file_names_its_neighbours(run: Run, sampled: Path) -> None:
    assert "did you mean sampled.parquet?" in run("estimate", "sample.parquet").sentence
    assert "there is no folder nowhere" in run("estimate", "nowhere/a.parquet").sentence
    assert "is a folder; name a file" in run("estimate", sampled.parent).sentence
    assert "there is no file ease.model" in run("rank", "--model", "ease.model").sentence
    assert "there is no file log.csv" in run("fit", "--data", "log.csv").sentence


def test_swapped_files(run: Run, ratings: Path, sampled: Path, exact: Path, model: Path) -> None:
    pairs = [
        (("estimate", model), "knn.model is a model file, not ranks; rank it first: truerank rank"),
        (("compare", exact, model), "is a model file, not ranks"),
        (("fit", "--data", sampled), "is a table of ranks, not interactions"),
        (("fit", "--data", model), "is a model file, not interactions"),
        (("rank", "--model", sampled), "it is ranked already: use truerank estimate"),
        (("rank", "--model", ratings), "is a text file, not a model of truerank fit"),
        (("plan", "--pilot", model, "--detect", 0.01), "is a model file, not ranks"),
        (("plan", "--pilot", ratings, "--detect", 0.01), "table of truerank rank"),
    ]
    for arguments, says in pairs:
        assert says in run(*arguments).sentence


def test_interactions_are_no_ranks(run: Run, ratings: Path) -> None:
    said = run("estimate", ratings, "--n-items", 60, "--n-sampled", 60).sentence
    assert "has no column that is surely the rank" in said
    assert "userId, movieId, timestamp" in said
    assert "--rank-column" in said


def test_text_with_a_parquet_name(run: Run, ratings: Path) -> None:
    wrong = ratings.rename(ratings.with_suffix(".parquet"))
    for arguments in (("estimate", wrong), ("fit", "--data", wrong)):
        said = run(*arguments).sentence
        assert "is a text file, not a Parquet file, whatever its name says; call it .csv" in said


def test_a_cut_parquet_file(run: Run, sampled: Path) -> None:
    sampled.write_bytes(sampled.read_bytes()[:-100])
    assert "damaged or was cut short" in run("estimate", sampled).sentence


def test_a_damaged_model(run: Run, model: Path) -> None:
    content = bytearray(model.read_bytes())
    content[-1500] ^= 0xFF
    model.write_bytes(content)
    assert "damaged" in run("rank", "--model", model, "--data", "demo").sentence


def test_an_output_that_exists(run: Run, ratings: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "ranks").mkdir()
    (tmp_path / "ranks" / "popularity.parquet").write_text("precious")
    fit = ("fit", "--data", ratings, "--model", "popularity")
    rank = ("rank", "--data", ratings, "--model", "popularity")
    assert (
        "mine exists already; choose another name or pass --force"
        in run(*fit, "--out", "mine").sentence
    )
    assert "exists already" in run(*rank).sentence
    assert "is a folder; name a file" in run(*fit, "--out", "ranks").sentence
    assert "lies inside a file" in run(*rank, "--out", "mine").sentence
    assert (tmp_path / "mine").read_text() == "precious"
    assert run(*fit, "--out", "mine", "--force").code == 0
    assert run(*rank, "--force").code == 0
    assert len(tr.RankTable.from_parquet(tmp_path / "ranks" / "popularity.parquet")) == 80


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(run: Run, ratings: Path, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    said = run("fit", "--data", ratings, "--out", "closed/m.model").sentence
    assert "no permission for closed" in said


def test_a_folder_without_permission_is_seen_before_the_work(
    run: Run, ratings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("truerank.cli.output.os.access", lambda *_: False)
    said = run("rank", "--data", ratings, "--model", "ease", "--out", "closed").sentence
    assert "no permission for closed; choose another folder" in said


# ---------------------------------------------------------------- columns and sizes


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--user-column", "userid"],
            "its columns are userId, movieId, timestamp: did you mean --user-column userId?",
        ),
        (["--item-column", "film"], "no column 'film'"),
        (["--time-column", "timestmp"], "did you mean --time-column timestamp?"),
        (["--weight-column", "rating"], "no column 'rating'"),
        (["--split", "published"], "left for data sets by name"),
    ],
)
def test_columns(arguments: list[str], says: str, run: Run, ratings: Path) -> None:
    assert says in run("fit", "--data", ratings, *arguments).sentence


def test_a_file_whose_columns_say_nothing(run: Run, tmp_path: Path) -> None:
    write_csv(tmp_path / "x.csv", {"foo": [1, 2], "bar": [1, 2]})
    said = run("fit", "--data", "x.csv").sentence
    assert "no column that is surely the user; its columns are foo, bar: say which" in said
    assert "--user-column" in said


def test_repeated_pairs(run: Run, tmp_path: Path) -> None:
    write_csv(tmp_path / "x.csv", {"user": [1, 1, 1, 2, 2], "item": [1, 1, 2, 1, 2]})
    said = run("fit", "--data", "x.csv", "--model", "popularity").sentence
    assert "--duplicates first, last, sum or max" in said
    done = run("fit", "--data", "x.csv", "--model", "popularity", "--duplicates", "first")
    assert done.code == 0


def test_a_temporal_split_without_times(run: Run, tmp_path: Path) -> None:
    write_csv(tmp_path / "x.csv", {"user": [1, 1, 2, 2], "item": [1, 2, 1, 2]})
    said = run("fit", "--data", "x.csv", "--split", "temporal").sentence
    assert "name their column with --time-column" in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "holds ranks without their sizes; say --n-items and --n-sampled"),
        (["--n-items", "1000"], "say --n-sampled"),
        (["--n-items", "50", "--n-sampled", "100"], "50"),
        (["--n-items", "1000", "--n-sampled", "20"], "20"),
        (["--n-items", "0", "--n-sampled", "20"], "--n-items: "),
        (
            ["--n-items", "9", "--n-sampled", "9", "--rank-column", "rnk"],
            "did you mean --rank-column rank?",
        ),
    ],
)
def test_sizes(arguments: list[str], says: str, run: Run, tmp_path: Path) -> None:
    write_csv(tmp_path / "r.csv", {"rank": [1, 30, 77], "n": [1, 2, 3]})
    assert says in run("estimate", "r.csv", *arguments).sentence


def test_ranks_from_zero(run: Run, tmp_path: Path) -> None:
    write_csv(tmp_path / "r.csv", {"rank": [0, 30, 77]})
    said = run("estimate", "r.csv", "--n-items", 500, "--n-sampled", 100).sentence
    assert "pass --zero-based" in said


# ---------------------------------------------------------------- models and comparisons


def test_a_model_of_other_data_or_split(run: Run, ratings: Path, model: Path) -> None:
    said = run("rank", "--model", model, "--data", ratings).sentence
    assert "was fitted on other data, or on another split" in said
    run("fit", "--data", ratings, "--model", "popularity", "--out", "p.model")
    said = run("rank", "--model", "p.model", "--split", "leave-one-out seed=2").sentence
    assert "give both commands the same --data and --split" in said


def test_a_model_that_has_seen_everything(run: Run, ratings: Path) -> None:
    run("fit", "--data", ratings, "--model", "popularity", "--split", "none", "--out", "p.model")
    assert "fit it again with --split leave-one-out" in run("rank", "--model", "p.model").sentence
    said = run("rank", "--model", "p.model", "--split", "leave-one-out").sentence
    assert "held-out items included, so its ranks would be too good" in said


def test_one_model_only(run: Run, sampled: Path) -> None:
    said = run("compare", sampled).sentence
    assert "two tables or more, got 1; for one model: truerank estimate" in said
    assert "'sampled' is taken" in run("compare", sampled, sampled).sentence


def test_tables_of_different_splits(run: Run, ratings: Path, tmp_path: Path) -> None:
    for seed in (1, 2):
        done = run(
            "rank", "--data", ratings, "--model", "popularity", "--out", f"{seed}.parquet",
            "--split", f"leave-one-out seed={seed}",
        )  # fmt: skip
        assert done.code == 0
    said = run("compare", "1.parquet", "2.parquet").sentence
    assert "do not come from the same" in said
    assert "--align common" in said


def test_tables_of_different_tie_rules(run: Run, ratings: Path) -> None:
    """Nothing is written either: ties for one model and against the other decide nothing."""
    for model, rule in (("popularity", "optimistic"), ("ease", "random")):
        words = ("--model", model, "--ties", rule, "--out", f"{model}.parquet")
        assert run("rank", "--data", ratings, *words).code == 0
    done = run("compare", "popularity.parquet", "ease.parquet", "--html", "report.html")
    assert "equal scores count for one and not for the other" in done.sentence
    assert done.sentence.endswith("rank both with the same --ties")
    assert not Path("report.html").exists()


@pytest.mark.parametrize(("field", "value"), [("replacement", "no"), ("n_population", -5)])
def test_a_table_with_a_damaged_header(field: str, value: object, run: Run, exact: Path) -> None:
    content = pq.read_table(exact)
    header = json.loads(content.schema.metadata[b"truerank.ranktable"])
    header = json.dumps({**header, field: value})
    pq.write_table(content.replace_schema_metadata({b"truerank.ranktable": header}), exact)
    assert f"the header is damaged: {field} must be" in run("estimate", exact).sentence


def test_comparisons(run: Run, sampled: Path, exact: Path) -> None:
    for arguments, says in [
        (["--baseline", "them"], "baseline must be one of"),
        (["--align", "both"], "'refuse' or 'common'"),
        (["--correction", "holms"], "holm"),
        (["--method", "mel"], "did you mean 'mle'"),
        (["--latex", "--json"], "one of --latex, --markdown and --json"),
        (["-m", "ncdg@10"], "did you mean ndcg@10"),
        (["-m", "ndcg@1001"], "at most"),
        (["--confidence", "0"], "between 0 and 1"),
    ]:
        assert says in run("compare", sampled, exact, *arguments).sentence


def test_an_unknown_test(run: Run, exact: Path, tmp_path: Path) -> None:
    (tmp_path / "b.parquet").write_bytes(exact.read_bytes())
    assert "mcnemar" in run("compare", exact, "b.parquet", "--test", "mcnemr").sentence


def test_no_mistake_leaves_a_file(run: Run, ratings: Path, tmp_path: Path) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    run("fit", "--data", ratings, "--user-column", "nobody", "--out", "m.model")
    run(
        "rank",
        "--data",
        ratings,
        "--model",
        "ease",
        "--design",
        "sampled n=5000",
        "--out",
        "a.parquet",
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_sample_larger_than_the_catalogue(run: Run, ratings: Path) -> None:
    said = run("rank", "--data", ratings, "--model", "ease", "--design", "sampled n=5000").sentence
    assert "take a smaller sample" in said


def test_columns_are_found_by_their_usual_names() -> None:
    from truerank.cli.columns import Columns

    columns = Columns(Path("x"), ["ITEM", "User_ID", "ts"], from_first_line=True)
    assert columns.required("user", None) == "User_ID"
    assert columns.required("item", None) == "ITEM"
    assert columns.optional("time", None) == "ts"
    assert columns.optional("weight", None) is None


def test_the_log_is_what_the_tests_think() -> None:
    columns = log()
    assert len(columns["userId"]) == 960
    assert len(np.unique(columns["timestamp"])) == 960
