"""The table of losses: what is chosen, what sees the test, what is kept, and the recipe itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.experiments.claims import Question, answers
from truerank.experiments.loss_recipe import LossCurve, LossRecipe, LossRow, loss_recipe
from truerank.experiments.loss_table import LossTable, Trial, reached
from truerank.models import MF
from truerank.report.figures_losses import parameter_figure

RECIPE = LossRecipe(
    metrics=("recall@20", "ndcg@20"),
    select_by="ndcg@20",
    seeds=(0, 1),
    within=0.03,
    common={"dim": 8, "n_negatives": 16, "batch_size": 128, "epochs": 3, "rate": 0.02},
    rows=(
        LossRow(
            name="BPR",
            loss="bpr",
            tried={"demo": [{"rate": 1e-6}, {"rate": 0.02}]},
            published={"demo": [0.01, 0.01]},
        ),
        LossRow(
            name="InfoNCE",
            loss="infonce",
            fixed={"similarity": "cosine"},
            tried={"demo": [{"temperature": 0.2}]},
            published={"demo": [0.9, 0.9]},
        ),
    ),
    questions=(Question(claim="InfoNCE beats BPR", better="InfoNCE", worse="BPR"),),
    curves=(
        LossCurve(
            name="temperature", parameter="temperature", data="demo",
            values={"InfoNCE": [0.1, 0.2]}, around={"InfoNCE": {"rate": 0.01}},
        ),
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def split() -> tr.Split:
    data = tr.load_dataset("demo", n_users=300, n_items=120)
    return tr.split.ratio(data, 0.2, seed=1)


@pytest.fixture(scope="module")
def table(split: tr.Split, tmp_path_factory: pytest.TempPathFactory) -> LossTable:
    return LossTable("demo", recipe=RECIPE, split=split, cache=tmp_path_factory.mktemp("losses"))


def test_the_best_on_validation_users_is_ranked_with_every_seed(
    table: LossTable, split: tr.Split
) -> None:
    line = table.line(RECIPE.row("BPR"))
    assert [trial.setting for trial in line.tried] == RECIPE.row("BPR").tried["demo"]
    best = max(line.tried, key=lambda trial: trial.validation)
    assert best.setting == {"rate": 0.02}  # 1e-6 learns nothing in three epochs
    assert line.chosen == best
    assert best.seed == 0
    for seed, ranks in zip(RECIPE.seeds, line.tables, strict=True):
        settings = RECIPE.common | {"loss": "bpr", "seed": seed, "epochs": best.best_epoch}
        everything = MF(**settings, validation_share=0.0).fit(split.train)
        np.testing.assert_array_equal(ranks.rank, tr.rank(everything, split, tr.Full()).rank)
    # Only what was chosen has seen the test users.
    assert len(list(table.cache.glob("demo-bpr-*.parquet"))) == 2
    assert len(list(table.cache.glob("demo-bpr-*.json"))) == 2


def test_the_mean_over_seeds_counts(table: LossTable) -> None:
    line = table.line(RECIPE.row("BPR"))
    by_seed = [ranks.per_user("ndcg@20")[1] for ranks in line.tables]
    np.testing.assert_allclose(line.per_user("ndcg@20"), (by_seed[0] + by_seed[1]) / 2)
    assert line.values("ndcg@20") == tuple(float(values.mean()) for values in by_seed)
    assert by_seed[0].mean() != by_seed[1].mean()


def test_finished_trainings_are_not_made_again(
    table: LossTable, split: tr.Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = table.line(RECIPE.row("InfoNCE"))

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(MF, "fit", refuse)
    later = LossTable("demo", recipe=RECIPE, split=split, cache=table.cache)
    again = later.line(RECIPE.row("InfoNCE"))
    assert again.chosen == line.chosen
    assert again.values("recall@20") == line.values("recall@20")
    other = replace(RECIPE, common=RECIPE.common | {"dim": 4})
    with pytest.raises(AssertionError, match="trained again"):  # another setting is another file
        LossTable("demo", recipe=other, split=split, cache=table.cache).line(other.row("InfoNCE"))


def test_curves_go_through_their_settings(table: LossTable) -> None:
    found = table.curve(RECIPE.curve("temperature"))["InfoNCE"]
    assert [trial.setting for trial in found] == [
        {"rate": 0.01, "temperature": t} for t in (0.1, 0.2)
    ]
    assert found[0] == table.trial(RECIPE.row("InfoNCE"), found[0].setting, 0)
    fewer = replace(RECIPE.curve("temperature"), fixed={"n_negatives": 3})
    assert [trial.setting for trial in table.curve(fewer)["InfoNCE"]] == [
        trial.setting | {"n_negatives": 3} for trial in found
    ]
    points = [(trial.setting["temperature"], trial.validation) for trial in found]
    figure = parameter_figure({"InfoNCE": points}, parameter="temperature", metric="ndcg@20")
    drawn = figure.axes[0].lines[0].get_xydata()
    np.testing.assert_allclose(np.asarray(drawn), points)
    with pytest.raises(tr.TruerankError, match="no curve to draw"):
        parameter_figure({}, parameter="temperature", metric="ndcg@20")


def test_claims_are_judged_on_the_mean_over_seeds(table: LossTable) -> None:
    lines = [table.line(row) for row in RECIPE.rows]
    by_metric = {answer.metric: answer for answer in answers(RECIPE, lines)}
    difference = lines[1].per_user("ndcg@20") - lines[0].per_user("ndcg@20")
    assert by_metric["ndcg@20"].difference == pytest.approx(difference.mean())
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    assert by_metric["ndcg@20"].std_error == pytest.approx(error)
    assert by_metric["ndcg@20"].published == {"demo": pytest.approx(0.89)}


def test_reached_means_both_metrics(table: LossTable) -> None:
    bpr, infonce = (table.line(row) for row in RECIPE.rows)
    assert reached(bpr, "demo", RECIPE)
    assert not reached(infonce, "demo", RECIPE)
    recall, ndcg = (float(np.mean(bpr.values(metric))) for metric in RECIPE.metrics)
    for printed, right in (
        ([recall / 0.971, ndcg / 0.971], True),
        ([recall / 0.971, ndcg / 0.969], False),
        ([recall / 0.969, ndcg / 0.971], False),
    ):
        line = replace(bpr, row=replace(bpr.row, published={"demo": printed}))
        assert reached(line, "demo", RECIPE) is right
    assert not reached(bpr, "another", RECIPE)  # nothing was printed


def test_without_a_cache_nothing_stays(split: tr.Split) -> None:
    table = LossTable("demo", recipe=RECIPE, split=split)
    folder = Path(table.cache)
    assert isinstance(table.trial(RECIPE.rows[1], {"temperature": 0.2}, 0), Trial)
    assert any(folder.iterdir())
    del table
    assert not folder.exists()


def test_mistakes_have_a_sentence(table: LossTable, split: tr.Split) -> None:
    with pytest.raises(tr.TruerankError, match="one of BPR, InfoNCE"):
        RECIPE.row("bpr")
    with pytest.raises(tr.TruerankError, match="one of temperature"):
        RECIPE.curve("weights")
    with pytest.raises(tr.TruerankError, match="one of demo for BPR"):
        LossTable("other", recipe=RECIPE, split=split, cache=table.cache).line(RECIPE.rows[0])


def test_the_recipe_is_sound() -> None:
    recipe = loss_recipe()
    names = [row.name for row in recipe.rows]
    assert len(set(names)) == len(names)
    for row in recipe.rows:
        for data, settings in row.tried.items():
            assert len(row.published[data]) == len(recipe.metrics)
            assert len({str(setting) for setting in settings}) == len(settings)
            for setting in settings:
                MF(**recipe.settings(row, setting))  # refused if a word is wrong
    for question in recipe.questions:
        assert {question.better, question.worse} <= set(names)
    for curve in recipe.curves:
        for name, values in curve.values.items():
            row = recipe.row(name)
            for value in values:
                setting = row.tried[curve.data][0] | curve.fixed | {curve.parameter: value}
                assert MF(**recipe.settings(row, setting))
