"""Screens on the command line: designs in words, the certificate in text and JSON, mistakes."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

import truerank as tr

from .conftest import Run, write_csv


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """300 users with 8 of 600 items each."""
    rng = np.random.default_rng(3)
    popularity = 1.0 / np.arange(1, 601) ** 0.7
    rows = [
        (f"u{user:03d}", f"i{item}")
        for user in range(300)
        for item in rng.choice(600, 8, replace=False, p=popularity / popularity.sum())
    ]
    columns = {"user": [user for user, _ in rows], "item": [item for _, item in rows]}
    return write_csv(tmp_path / "shop.csv", columns)


@pytest.mark.parametrize(
    ("words", "design"),
    [
        ("screened", tr.Screened()),
        ("screened k=10 miss=0.0001", tr.Screened(k=10, miss=0.0001)),
        ("screened budget=200", tr.Screened(budget=200)),
        ("sampled n=100 shared=64", tr.Sampled(100, shared=64)),
        ("users m=100 screened k=5", tr.Users(100, tr.Screened(k=5))),
    ],
)
def test_screens_are_ranked_as_the_library_does(
    words: str, design: tr.Screened, run: Run, shop: Path
) -> None:
    done = run("rank", "--data", shop, "--model", "popularity", "--design", words, "--seed", 3)
    assert done.code == 0, done
    table = tr.RankTable.from_parquet("ranks/popularity.parquet")
    data = tr.Interactions.from_csv(shop, user="user", item="item")
    split = tr.split.leave_one_out(data, seed=0)
    ours = tr.rank(tr.models.Popularity().fit(split.train), split, design, seed=3)
    np.testing.assert_array_equal(table.rank, ours.rank)
    np.testing.assert_array_equal(table.n_scored, ours.n_scored)
    assert table.header.design.describe() == ours.header.design.describe()
    assert table.header.stages is not None
    assert table.header.stages.n_blocks is not None


def test_seconds_rank_what_can_be_ranked_in_them(run: Run, shop: Path) -> None:
    done = run(
        "rank", "--data", shop, "--model", "popularity", "--design", "screened seconds=2", "--json"
    )
    (told,) = done.json["tables"]
    assert told["n_rows"] == 300
    assert told["scored_per_row"] > 1


def test_the_certificate_is_said(run: Run, shop: Path) -> None:
    models = ("--model", "popularity", "--model", "item-knn k=20")
    assert run("rank", "--data", shop, *models, "--design", "screened k=10").code == 0
    tables = ("ranks/popularity.parquet", "ranks/item-knn-k-20.parquet")
    said = run("estimate", tables[0], "-m", "recall@10,ndcg@5")
    sentence = "certified by the screen: for these users {} is at least"
    for metric in ("recall@10", "ndcg@5"):
        assert sentence.format(metric) in said.err
    assert "samples alone" in said.out
    (told,) = run("estimate", tables[0], "-m", "recall@10", "--json").json
    (row,) = told["estimates"]
    low, high = row["bounds"]
    assert low <= row["value"] <= high
    assert any(note.startswith(sentence.format("recall@10")) for note in row["notes"])
    own = tr.estimate(tr.RankTable.from_parquet(tables[0]), "recall@10")[0]
    assert (low, high) == own.diagnostics.bounds

    compared = run("compare", *tables, "-m", "recall@10")
    for model in ("popularity", "item-knn-k-20"):
        assert f"{model}: {sentence.format('recall@10')}" in compared.err
    told = run("compare", *tables, "-m", "recall@10", "--json").json
    assert told["estimates"]["popularity"]["recall@10"]["bounds"] == [low, high]
    beyond = run("estimate", tables[0], "-m", "recall@200", "--n-boot", 0)
    assert "certified" not in beyond.out + beyond.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("screened budget=500 seconds=2", "seconds must be left out where budget is given"),
        ("screened miss=0.01 budget=500", "budget must be left out where miss is given"),
        ("screened k=0", "k must be a whole number, at least 1, got 0"),
        ("screened miss=1.5", "miss must be between 0 and 1, got 1.5"),
        ("screened budget=0", "budget must be a positive number, got 0.0"),
        ("screened seconds=nan", "seconds must be a positive number, got nan"),
        ("sampled n=50 shared=8 replacement", "replacement must be False where rivals are shared"),
        ("screend", "did you mean 'screened'?"),
        ("screened dots=500", "screened with k=..., miss=..., budget=..., seconds=..., shared=..."),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(
    words: str, says: str, run: Run, tmp_path: Path
) -> None:
    """Said before anything is read: there is no such data."""
    line = ("rank", "--data", "no.csv", "--model", "popularity", "--design", words)
    assert says in run(*line).sentence
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", ["screened", "users m=10 screened k=5"])
def test_half_ranks_cannot_be_certified(words: str, run: Run, tmp_path: Path) -> None:
    line = ("rank", "--data", "no.csv", "--model", "popularity", "--ties", "half")
    said = run(*line, "--design", words).sentence
    assert "ties must be one of optimistic, pessimistic, random where a screen is certified" in said
    assert list(tmp_path.iterdir()) == []


def test_a_plan_prices_screens_and_its_words_can_be_ranked(run: Run, shop: Path) -> None:
    asked = (
        "plan", "--n-items", 600, "--n-users", 300, "--expected", 0.2, "--rel-error", 0.13,
        "--try", "screened k=10", "--try", "screened budget=100",
    )  # fmt: skip
    done = run(*asked, "--pairs-per-second", "1e4,1e2,1e4")
    assert done.code == 0, done
    assert "10 thousand a second in full, 100 sampled, 10 thousand in a screen" in done.out
    words = [line.split("  ")[0] for line in done.out.splitlines()]
    assert {"full", "screened k=10", "screened budget=100"} <= set(words)
    told = run(*asked, "--pairs-per-second", "1e4,1e2,1e4", "--json").json
    assert told["rates"] == {"full": 1e4, "sampled": 100, "shared": 1e4, "measured": False}
    for option in told["options"]:
        truerank, verb, dots, *rest = shlex.split(option["command"])
        assert (truerank, verb, dots) == ("truerank", "rank", "...")
        if "users" not in option["words"]:
            line = (verb, "--data", shop, "--model", "popularity", *rest, "--force")
            assert run(*line).code == 0


def test_a_plan_answers_at_once_where_full_ranking_is_quick(run: Run) -> None:
    asked = ("plan", "--n-items", 5_000, "--n-users", 3_000, "--expected", 0.1)
    done = run(*asked, "--rel-error", 0.1, "--pairs-per-second", "1e8")
    assert "100 million a second\n" in done.out
    assert "were not tried" in done.out
    assert "--try SPEC tries one" in done.out
    assert "screened" not in done.out


@pytest.mark.parametrize(
    ("rate", "says"),
    [
        ("fast", "--pairs-per-second must be a number, or two or three with commas"),
        ("1,2,3,4", "must be a positive number, or (full, sampled)"),
        ("0", "must be a positive number"),
        ("1e8,-1", "must be a positive number"),
    ],
)
def test_rates_that_are_none(rate: str, says: str, run: Run) -> None:
    asked = ("plan", "--n-items", 5_000, "--n-users", 3_000, "--expected", 0.1)
    assert says in run(*asked, "--rel-error", 0.1, "--pairs-per-second", rate).sentence
