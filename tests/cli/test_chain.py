"""The whole chain on somebody's own file: what the commands say is what the library says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from truerank.models.saving import read_header

from .conftest import Run, log, write_csv


def own_split() -> tr.split.Split:
    columns = log()
    data = tr.Interactions.from_arrays(
        columns["userId"],
        [str(item) for item in columns["movieId"]],  # a text file has text for ids
        timestamp=columns["timestamp"],
    )
    return tr.split.leave_one_out(data, by="latest")


def test_fit_rank_estimate_compare(run: Run, ratings: Path, tmp_path: Path) -> None:
    latest = "leave-one-out by=latest"
    fitted = run("fit", "--data", ratings, "--split", latest, "--model", "ease", "--set", "l2=20")
    assert fitted.code == 0, fitted
    assert "columns: user = 'userId', item = 'movieId', timestamp = 'timestamp'" in fitted.err
    assert "; not read: " not in fitted.err
    assert "ease (l2 = 20" in fitted.out
    assert "80 interactions of 80 users" in fitted.out
    path = tmp_path / "ratings-ease-l2-20.model"
    split = own_split()
    model = tr.models.EASE(l2=20.0).fit(split.train)
    np.testing.assert_array_equal(tr.models.load(path).item_item, model.item_item)
    assert read_header(path)["made_by"]["split"] == latest

    # The model file knows its data and its split.
    ranked = run("rank", "--model", path.name, "--design", "sampled n=20", "--seed", 5)
    assert ranked.code == 0, ranked
    assert "next: truerank estimate ranks/ratings-ease-l2-20.parquet" in ranked.err
    table = tr.RankTable.from_parquet(tmp_path / "ranks" / "ratings-ease-l2-20.parquet")
    ours = tr.rank(model, split, tr.Sampled(20), seed=5)
    np.testing.assert_array_equal(table.rank, ours.rank)
    np.testing.assert_array_equal(table.user, ours.user)
    assert table.header.split == ours.header.split
    assert table.header.model == "ratings-ease-l2-20"

    # Models by name are fitted now, on the same split.
    more = run(
        "rank", "--data", ratings, "--split", latest, "--model", "item-knn k=5",
        "--model", "popularity", "--design", "full", "--json",
    )  # fmt: skip
    assert [row["file"] for row in more.json["tables"]] == [
        "ranks/item-knn-k-5.parquet", "ranks/popularity.parquet",
    ]  # fmt: skip
    assert [row["exact"] for row in more.json["tables"]] == [1.0, 1.0]

    said = run(
        "estimate", "ranks/ratings-ease-l2-20.parquet", "-m", "recall@5,ndcg@5", "-m", "mrr",
        "--confidence", "0.9", "--json",
    )  # fmt: skip
    (document,) = said.json
    expected = tr.estimate(table, ["recall@5", "ndcg@5", "mrr"], confidence=0.9)
    for row, own in zip(document["estimates"], expected, strict=True):
        assert row["metric"] == own.metric
        assert row["value"] == own.value
        assert (row["low"], row["high"]) == own.interval(0.9)

    verdict = run("compare", "knn=ranks/item-knn-k-5.parquet", "ranks/popularity.parquet", "--json")
    assert verdict.code == 0, verdict
    assert set(verdict.json["models"]) == {"knn", "popularity"}
    tables = {
        name: tr.RankTable.from_parquet(tmp_path / "ranks" / f"{file}.parquet")
        for name, file in (("knn", "item-knn-k-5"), ("popularity", "popularity"))
    }
    values = [tables[name].per_user("recall@10")[1].mean() for name in ("knn", "popularity")]
    difference = verdict.json["comparisons"][0]["difference"]
    assert abs(difference) == pytest.approx(abs(values[0] - values[1]), abs=1e-12)


def test_estimate_prints_value_error_interval_bounds_and_notes(run: Run, sampled: Path) -> None:
    done = run("estimate", sampled, "-m", "recall@10")
    (own,) = tr.estimate(tr.RankTable.from_parquet(sampled), "recall@10")
    low, high = own.interval()
    assert own.diagnostics.bounds is not None
    least, most = own.diagnostics.bounds
    for text in (
        f"{own.value:.4f}", f"{own.std_error:.4f}", f"{low:.4f} .. {high:.4f}",
        f"{least:.4f} .. {most:.4f}", "300 ranks of 300 users, among 100 of 1,000 items",
    ):  # fmt: skip
        assert text in done.out
    assert "95% interval, future users" in done.out
    without = run("estimate", sampled, "-m", "recall@10", "--no-bounds", "--n-boot", 0)
    assert "not examined (--no-bounds)" in without.err
    assert "samples alone" not in without.out
    assert "nan" not in without.out


def test_somebodys_ranks_need_only_two_sizes(run: Run, tmp_path: Path) -> None:
    rank = np.random.default_rng(2).integers(1, 101, 200)
    sizes = ("--n-items", 5000, "--n-sampled", 100)
    quick = ("--no-bounds", "--n-boot", 0, "-m", "ndcg@10", "--json")
    write_csv(tmp_path / "theirs.csv", {"rank": rank.tolist()})
    (said,) = run("estimate", "theirs.csv", *sizes, *quick).json
    table = tr.RankTable.from_arrays(rank, 100, 5000)
    (own,) = tr.estimate(table, "ndcg@10", n_boot=0, bounds=False)
    assert said["estimates"][0]["value"] == own.value
    # Another name for the column, ranks from 0, users with two rows.
    users = (np.arange(200) // 2).tolist()
    write_csv(tmp_path / "b.csv", {"user": users, "pos": (rank - 1).tolist()})
    (said,) = run("estimate", "b.csv", *sizes, *quick, "--rank-column", "pos", "--zero-based").json
    assert said["n_users"] == 100
    table = tr.RankTable.from_arrays(rank, 100, 5000, user=users, item=np.arange(200))
    (own,) = tr.estimate(table, "ndcg@10", n_boot=0, bounds=False)
    assert said["estimates"][0]["value"] == pytest.approx(own.value, rel=1e-12)


def test_compare_prints_the_sentence_tables_and_report(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    for name, p in (("good", 0.05), ("bad", 0.01)):
        tr.RankTable.from_arrays(rng.geometric(p, 400).clip(1, 500), 500, 500).to_parquet(
            tmp_path / f"{name}.parquet"
        )
    done = run("compare", "bad.parquet", "good.parquet", "-m", "recall@10", "--html", "out/r.html")
    assert done.code == 0, done
    assert done.out.startswith("good is better than bad on recall@10")
    assert "good - bad" in done.out
    assert (tmp_path / "out" / "r.html").stat().st_size > 1000
    assert "report: out/r.html" in done.err
    again = run("compare", "bad.parquet", "good.parquet", "--html", "out/r.html")
    assert "out/r.html exists already" in again.sentence
    assert (
        run("compare", "bad.parquet", "good.parquet", "--html", "out/r.html", "--force").code == 0
    )
    against = run("compare", "bad.parquet", "good.parquet", "--baseline", "bad", "--json")
    assert against.json["baseline"] == "bad"


def test_what_is_blind_comes_behind_what_is_known(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    for name in "ab":
        R = np.exp(rng.uniform(0, np.log(50_000), 3_000)).astype(int)
        drawn = 1 + rng.hypergeometric(R - 1, 50_000 - R, 49)
        tr.RankTable.from_arrays(drawn, 50, 50_000).to_parquet(tmp_path / f"{name}.parquet")
    metrics = ("-m", "recall@5,recall@5000")
    done = run("estimate", "a.parquet", *metrics, "--n-boot", 100)
    table = tr.RankTable.from_parquet(tmp_path / "a.parquet")
    blind, seen = tr.estimate(table, ["recall@5", "recall@5000"], n_boot=100)
    assert (blind.diagnostics.blind, seen.diagnostics.blind) == (True, False)
    heads, _, first, second = done.out.splitlines()[1:5]
    assert heads.index("samples alone") < heads.index("value") < heads.index("95% interval")
    known = "{:.4f} .. {:.4f}".format(*blind.diagnostics.bounds or (0, 0))
    assert first.index(known) < first.index(f"{blind.value:.4f}†")
    assert f"{seen.value:.4f}" in second
    assert "†" not in second
    assert "† extrapolated: " in done.out
    (document,) = run("estimate", "a.parquet", *metrics, "--json", "--n-boot", 100).json
    assert [row["blind"] for row in document["estimates"]] == [True, False]
    assert document["estimates"][0]["bounds"] == list(blind.diagnostics.bounds or ())

    both = run("compare", "a.parquet", "b.parquet", "-m", "recall@5", "--n-boot", 100)
    assert "by extrapolation: the samples alone allow a difference of " in both.out
    lines = both.out.splitlines()
    assert sum("samples alone  " in line and "95% interval" in line for line in lines) == 2
    assert sum("† " in line and " .. " in line for line in lines) == 3  # two models, one pair
    assert "adaptive" not in both.err + both.out


def test_population_is_said_and_asked_for(run: Run, ratings: Path) -> None:
    """All 80 users, in full and as users m=80: one verdict; about these 80, none is needed."""
    for design, out in (("full", "full"), ("users m=80", "users")):
        models = ("--model", "item-knn k=5", "--model", "popularity")
        assert run("rank", "--data", ratings, *models, "--design", design, "--out", out).code == 0
    full, users = (
        run("compare", f"a={d}/item-knn-k-5.parquet", f"b={d}/popularity.parquet")
        for d in ("full", "users")
    )
    assert full.out == users.out
    assert "for future users" in full.out
    assert full.out.count("95% interval, future users") == 4  # two metrics: models and pairs
    known = run(
        "compare", "a=users/item-knn-k-5.parquet", "b=users/popularity.parquet",
        "--population", "finite",
    )  # fmt: skip
    assert "known exactly for these 80 users" in known.out
    assert "95% interval, these 80 users" in known.out
    assert "p <" not in known.out + known.err
    assert "future users" not in known.out
    one = run("estimate", "users/popularity.parquet", "--population", "finite")
    assert one.out.count("known exactly") == 2
    assert "known, not estimated" in one.err
    wrong = run("estimate", "users/popularity.parquet", "--population", "mine")
    assert "population must be 'infinite' or 'finite', got 'mine'" in wrong.sentence
    wrong = run("compare", "full/popularity.parquet", "a=full/item-knn-k-5.parquet",
                "--population", "mine")  # fmt: skip
    assert "population must be 'infinite' or 'finite'" in wrong.sentence


def test_markdown_and_latex(run: Run, exact: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    table = tr.RankTable.from_parquet(exact)
    tr.RankTable.from_arrays(np.minimum(table.rank + 3, 1000), 1000, 1000).to_parquet(other)
    assert "| " in run("compare", exact, other, "--markdown").out
    assert "\\begin{tabular}" in run("compare", exact, other, "--latex").out


def test_plan_prints_a_table_and_a_command(run: Run) -> None:
    done = run(
        "plan", "--n-items", 250, "--n-users", 2_000, "--expected", 0.2, "--rel-error", 0.1,
        "--pairs-per-second", 1_000,
    )  # fmt: skip
    assert done.code == 0, done
    assert "<- recommended" in done.out
    assert "truerank rank ... --design " in done.out
    assert "wanted: an error of 0.1 of the value, for future users" in done.out
    few = ("plan", "--n-items", 250, "--n-users", 100, "--expected", 0.2, "--rel-error", 0.1)
    assert "--population finite" in run(*few).sentence
    assert "for these 100 users" in run(*few, "--population", "finite").out


def test_a_flag_may_be_a_number(run: Run, ratings: Path, tmp_path: Path) -> None:
    words = "mf negatives_per=16 epochs=1 dim=4 n_negatives=8"
    assert run("fit", "--data", str(ratings), "--model", words, "--out", "m.npz").code == 0
    assert tr.models.load(tmp_path / "m.npz").negatives_per == 16


@pytest.mark.parametrize("name", ["popularity", "item-knn", "ease"])
def test_every_model_can_be_fitted_and_ranked(name: str, run: Run, ratings: Path) -> None:
    fitted = run("fit", "--data", ratings, "--model", name, "--out", "m.model", "--json")
    assert fitted.json["model"] == name
    done = run("rank", "--model", "m.model", "--design", "users m=30 sampled n=10", "--json")
    assert done.json["tables"][0]["n_users"] == 30
    assert done.json["tables"][0]["scored_per_row"] == 10


@pytest.mark.parametrize(
    ("words", "n_rows"),
    [
        ("leave-one-out", 80),
        ("leave-k-out k=2", 160),
        ("ratio fraction=0.25", 240),
        ("temporal fraction=0.25", 240),
        ("temporal at=1000720", 240),
        ("temporal at=1970-01-12T13:58:40", 240),
        ("strong n_users=20 fold_in=0.5", 120),
    ],
)
def test_every_split_in_words(words: str, n_rows: int, run: Run, ratings: Path) -> None:
    done = run("rank", "--data", ratings, "--model", "popularity", "--split", words, "--json")
    assert done.json["tables"][0]["n_rows"] == n_rows


def test_workers_do_not_change_a_rank(run: Run, ratings: Path, tmp_path: Path) -> None:
    for workers in (1, 3):
        done = run(
            "rank", "--data", ratings, "--model", "item-knn", "--workers", workers,
            "--out", f"w{workers}.parquet", "--design", "sampled n=10",
        )  # fmt: skip
        assert done.code == 0, done
    one, three = (tr.RankTable.from_parquet(tmp_path / f"w{w}.parquet") for w in (1, 3))
    np.testing.assert_array_equal(one.rank, three.rank)


def test_a_file_without_header_and_with_weights(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("a,1,2.5\na,2,1\nb,1,4\nb,3,1\n")
    done = run(
        "fit", "--data", "r.csv", "--no-header", "--user-column", "0", "--item-column", "1",
        "--weight-column", "2", "--split", "none", "--model", "item-knn", "--out", "m.model",
    )  # fmt: skip
    assert done.code == 0, done
    assert "nothing was held out" in done.out
    assert tr.models.load(tmp_path / "m.model").history.data.tolist() == [2.5, 1, 4, 1]


def test_a_default_adapts_to_a_small_catalogue_and_says_so(run: Run, tmp_path: Path) -> None:
    pairs = [(f"u{u}", i) for u in range(30) for i in range(12) if (u + i) % 3]
    columns = {"user": [u for u, _ in pairs], "item": [i for _, i in pairs]}
    write_csv(tmp_path / "small.csv", columns)
    words = ("rank", "--data", "small.csv", "--model", "item-knn", "--out", "knn.parquet")
    said = run(*words, "--design", "adaptive")
    assert said.code == 0
    sentence = "30 of 30 rows have less than 25 candidates, so their ranks are exact"
    assert f"item-knn: {sentence}" in said.out + said.err
    told = run(*words, "--design", "adaptive", "--force", "--json").json
    assert told["tables"][0]["adapted"] == sentence
    assert told["tables"][0]["exact"] == 1.0
    asked = run(*words, "--design", "adaptive n0=25", "--force").sentence
    assert "n0 must be at most 5, the candidates of user u" in asked
    assert tr.RankTable.from_parquet("knn.parquet").header.ties == "random"


def test_usual_metrics_fit_the_list_and_what_was_asked_for_is_refused(
    run: Run, tmp_path: Path
) -> None:
    """Rows of seven candidates: nobody asked for a recall@10."""
    table = tr.RankTable.from_arrays([1, 3, 7, 2] * 10, 7, 7)
    paths = [tmp_path / f"{name}.parquet" for name in ("a", "b")]
    for path in paths:
        table.to_parquet(path)
    for verb in ("estimate", "compare"):
        done = run(verb, *paths)
        assert done.code == 0, done
        assert "recall@7, ndcg@7, because there are rows with 7 candidates only" in done.err
        asked = run(verb, *paths, "--metric", "recall@10")
        assert asked.code == 2
        assert "K at most the 7 candidates" in asked.err
