"""The table of losses: what is chosen, what sees the test, what is kept, and the recipe itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.errors import FileFormatError
from truerank.models import MF
from truerank.report.figures_losses import parameter_figure
from truerank.reproduce.claims import Question, answers
from truerank.reproduce.loss_recipe import LossCurve, LossRecipe, LossRow, loss_recipe
from truerank.reproduce.loss_table import LossTableRuns, reached
from truerank.reproduce.loss_trials import LossTrial, recorded_trials, write_record

RECIPE = LossRecipe(
    metrics=("recall@20", "ndcg@20"),
    select_by="ndcg@20",
    seeds=(0, 1),
    within=0.03,
    common={"dim": 8, "n_negatives": 16, "batch_size": 128, "epochs": 3, "learning_rate": 0.02},
    rows=(
        LossRow(
            name="BPR",
            loss="bpr",
            tried={"demo": [{"learning_rate": 1e-6}, {"learning_rate": 0.02}]},
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
            values={"InfoNCE": [0.1, 0.2]}, around={"InfoNCE": {"learning_rate": 0.01}},
        ),
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def split() -> tr.Split:
    data = tr.load_dataset("demo", n_users=300, n_items=120)
    return tr.split.ratio(data, 0.2, seed=1)


@pytest.fixture(scope="module")
def table(split: tr.Split, tmp_path_factory: pytest.TempPathFactory) -> LossTableRuns:
    return LossTableRuns(
        "demo", recipe=RECIPE, split=split, cache=tmp_path_factory.mktemp("losses")
    )


def test_the_best_on_validation_users_is_ranked_with_every_seed(
    table: LossTableRuns, split: tr.Split
) -> None:
    line = table.line(RECIPE.row("BPR"))
    assert [trial.setting for trial in line.tried] == RECIPE.row("BPR").tried["demo"]
    best = max(line.tried, key=lambda trial: trial.validation)
    assert best.setting == {"learning_rate": 0.02}  # 1e-6 learns nothing in three epochs
    assert line.chosen == best
    assert best.seed == 0
    for seed, ranks in zip(RECIPE.seeds, line.tables, strict=True):
        settings = RECIPE.common | {"loss": "bpr", "seed": seed, "epochs": best.best_epoch}
        everything = MF(**settings, validation_share=0.0).fit(split.train)
        np.testing.assert_array_equal(ranks.rank, tr.rank(everything, split, tr.Full()).rank)
    # Only what was chosen has seen the test users.
    assert len(list(table.cache.glob("demo-bpr-*.parquet"))) == 2
    assert len(list(table.cache.glob("demo-bpr-*.json"))) == 2


def test_the_mean_over_seeds_counts(table: LossTableRuns) -> None:
    line = table.line(RECIPE.row("BPR"))
    by_seed = [ranks.per_user("ndcg@20")[1] for ranks in line.tables]
    np.testing.assert_allclose(line.per_user("ndcg@20"), (by_seed[0] + by_seed[1]) / 2)
    assert line.values("ndcg@20") == tuple(float(values.mean()) for values in by_seed)
    assert by_seed[0].mean() != by_seed[1].mean()


def test_finished_trainings_are_not_made_again(
    table: LossTableRuns, split: tr.Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = table.line(RECIPE.row("InfoNCE"))

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(MF, "fit", refuse)
    later = LossTableRuns("demo", recipe=RECIPE, split=split, cache=table.cache)
    again = later.line(RECIPE.row("InfoNCE"))
    assert again.chosen == line.chosen
    assert again.values("recall@20") == line.values("recall@20")
    other = replace(RECIPE, common=RECIPE.common | {"dim": 4})
    with pytest.raises(AssertionError, match="trained again"):  # another setting is another file
        LossTableRuns("demo", recipe=other, split=split, cache=table.cache).line(
            other.row("InfoNCE")
        )


@pytest.mark.parametrize("text", ['{"setting": ', '{"setting": {}, "seed": 0}', "[]"])
def test_a_damaged_file_of_the_cache_gets_a_sentence(
    split: tr.Split, tmp_path: Path, text: str
) -> None:
    table, row = (
        LossTableRuns("demo", recipe=RECIPE, split=split, cache=tmp_path),
        RECIPE.row("BPR"),
    )
    table._path(row, {"learning_rate": 0.02}, 0).write_text(text)
    with pytest.raises(FileFormatError, match="does not hold a finished training; remove it"):
        table.trial(row, {"learning_rate": 0.02}, 0)


def test_what_is_known_is_not_found_out_again(
    table: LossTableRuns, split: tr.Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = RECIPE.row("BPR")
    found = table.search(row)
    write_record(tmp_path / "record.json", [(table.key(row, t.setting, t.seed), t) for t in found])
    lines = (tmp_path / "record.json").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(found) + 1  # braces
    known = {
        key: LossTrial.of(trial)
        for key, trial in json.loads((tmp_path / "record.json").read_text("utf-8")).items()
    }
    assert tuple(known.values()) == found
    later = LossTableRuns("demo", recipe=RECIPE, split=split, known=known)
    assert table.trainings(row) == later.trainings(row) == len(RECIPE.seeds)
    assert LossTableRuns("demo", recipe=RECIPE, split=split, known={}).trainings(row) == 2 + 2
    again = later.line(row)  # what is ranked is trained, by the epochs and rates that are known
    assert again.chosen == table.line(row).chosen
    for mine, theirs in zip(again.tables, table.line(row).tables, strict=True):
        np.testing.assert_array_equal(mine.rank, theirs.rank)

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("trained")

    monkeypatch.setattr(MF, "fit", refuse)
    LossTableRuns("demo", recipe=RECIPE, split=split, known=known).search(row)
    other = tr.split.ratio(tr.load_dataset("demo", n_users=200, n_items=120), 0.2, seed=1)
    with pytest.raises(AssertionError, match="trained"):  # the same settings on other data
        LossTableRuns("demo", recipe=RECIPE, split=other, known=known).search(row)


def test_what_is_chosen_from_an_old_record_is_trained_for_its_rates(
    table: LossTableRuns, split: tr.Split
) -> None:
    row = RECIPE.row("BPR")
    known = {table.key(row, t.setting, t.seed): replace(t, rates=()) for t in table.search(row)}
    line = LossTableRuns("demo", recipe=RECIPE, split=split, known=known).line(row)
    assert line.chosen.rates == table.line(row).chosen.rates
    assert line.values("ndcg@20") == table.line(row).values("ndcg@20")


def test_a_training_known_by_other_words_answers_in_those_of_the_question(
    table: LossTableRuns,
) -> None:
    row, n = RECIPE.row("BPR"), RECIPE.common["n_negatives"]
    said = table.trial(row, {"learning_rate": 0.02}, 0)
    more = table.trial(row, {"learning_rate": 0.02, "n_negatives": n}, 0)
    assert more.setting == {"learning_rate": 0.02, "n_negatives": n}
    assert replace(more, setting=said.setting) == said


def test_ranks_are_those_of_the_epochs_and_rates_of_the_trial(table: LossTableRuns) -> None:
    row = RECIPE.row("BPR")
    best = table.line(row).chosen
    shorter = replace(best, best_epoch=1, rates=best.rates[:1])
    assert (table.ranks(row, shorter, 0).rank != table.ranks(row, best, 0).rank).any()
    falling = replace(best, best_epoch=2, rates=(0.02, 0.001))
    settings = table.recipe.settings(row, best.setting) | {
        "learning_rate": [0.02, 0.001],
        "epochs": 2,
    }
    model = MF(**settings | {"validation_share": 0.0}, seed=1).fit(table.split.train)
    ranked = tr.rank(model, table.split, tr.Full()).rank
    np.testing.assert_array_equal(table.ranks(row, falling, 1).rank, ranked)


def test_a_trial_has_the_rates_up_to_its_best_epoch(table: LossTableRuns) -> None:
    for trial in table.search(RECIPE.row("BPR")):
        assert len(trial.rates) == trial.best_epoch <= trial.epochs
        assert trial.rates[0] == trial.setting["learning_rate"]


def test_curves_go_through_their_settings(table: LossTableRuns) -> None:
    found = table.curve(RECIPE.curve("temperature"))["InfoNCE"]
    assert [trial.setting for trial in found] == [
        {"learning_rate": 0.01, "temperature": t} for t in (0.1, 0.2)
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


def test_claims_are_judged_on_the_mean_over_seeds(table: LossTableRuns) -> None:
    lines = [table.line(row) for row in RECIPE.rows]
    by_metric = {answer.metric: answer for answer in answers(RECIPE, lines)}
    difference = lines[1].per_user("ndcg@20") - lines[0].per_user("ndcg@20")
    assert by_metric["ndcg@20"].difference == pytest.approx(difference.mean())
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    assert by_metric["ndcg@20"].std_error == pytest.approx(error)
    assert by_metric["ndcg@20"].published == {"demo": pytest.approx(0.89)}


def test_reached_means_both_metrics(table: LossTableRuns) -> None:
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
    table = LossTableRuns("demo", recipe=RECIPE, split=split)
    folder = Path(table.cache)
    assert isinstance(table.trial(RECIPE.rows[1], {"temperature": 0.2}, 0), LossTrial)
    assert any(folder.iterdir())
    del table
    assert not folder.exists()


def test_mistakes_have_a_sentence(table: LossTableRuns, split: tr.Split) -> None:
    with pytest.raises(tr.TruerankError, match="one of BPR, InfoNCE"):
        RECIPE.row("bpr")
    with pytest.raises(tr.TruerankError, match="one of temperature"):
        RECIPE.curve("weights")
    with pytest.raises(tr.TruerankError, match="one of demo for BPR"):
        LossTableRuns("other", recipe=RECIPE, split=split, cache=table.cache).line(RECIPE.rows[0])


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


def test_the_record_is_that_of_the_recipe() -> None:
    """Every recorded trial is one of the recipe's, and chooses as it should."""
    recipe = loss_recipe()
    tried = [setting for row in recipe.rows for some in row.tried.values() for setting in some]
    for trial in recorded_trials().values():
        assert trial.setting in tried or trial.setting in curve_settings(recipe)
        assert trial.seed == recipe.seeds[0]
        assert 0 < trial.validation < 1
        assert len(trial.rates) in (0, trial.best_epoch)
        assert trial.best_epoch <= trial.epochs


@pytest.mark.parametrize("data", ["gowalla", "yelp2018"])
def test_the_record_has_the_keys_of_these_data(data: str) -> None:
    """So that nothing in it is out of reach: every setting of the recipe is known."""
    try:
        table = LossTableRuns(data)
    except tr.TruerankError as error:
        pytest.skip(f"needs the real data: {error}")
    for row in table.recipe.rows:
        for setting in row.tried[data]:
            assert table.key(row, setting, 0) in recorded_trials(), (row.name, setting)


def curve_settings(recipe: LossRecipe) -> list[dict[str, Any]]:
    return [
        curve.around.get(name, {}) | curve.fixed | {curve.parameter: value}
        for curve in recipe.curves
        for name, values in curve.values.items()
        for value in values
    ]
