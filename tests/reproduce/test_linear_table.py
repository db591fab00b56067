from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.data.synthetic import generate
from truerank.errors import InvalidArgumentError
from truerank.models.names import MODELS, model_class, parameters_of
from truerank.reproduce.claims import Answer, answers
from truerank.reproduce.linear_recipe import Recipe, filtered, linear_recipe
from truerank.reproduce.linear_table import LinearTable

SMALL: dict[str, dict[str, Any]] = {
    "LRR": {"l2": [5.0, 50.0], "dim": [4, 8]},
    "EDLAE": {"dropout": [0.3], "l2": [10.0], "dim": [6], "epochs": [5]},
    "EDLAE full rank": {"dropout": [0.3], "l2": [10.0]},
    "EASE": {"l2": [10.0, 100.0]},
}


def small_recipe(*names: str) -> Recipe:
    """The dissertation's rows with grids for small data, learned for two epochs."""
    rows = []
    for row in linear_recipe().rows:
        if row.name in names:
            learn = row.learn | {"epochs": 2, "batch_size": 512} if row.base else {}
            if "threshold" in learn:
                learn["threshold"] = 0.001
            rows.append(replace(row, grid={"ml-20m": SMALL.get(row.name, {})}, learn=learn))
    return replace(linear_recipe(), rows=tuple(rows))


NEARBY = (
    "LRR",
    "LRR + lambda_i",
    "LRR + lambda_i + HT",
    "LRR + lambda_i + HT + RMD",
    "EDLAE",
    "EDLAE + HT",
    "EDLAE full rank",
    "EDLAE full rank + HT",
    "EDLAE full rank + sparsification",
    "EASE",
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> LinearTable:
    data = generate(300, 200, seed=1, interactions_per_user=15.0)
    return LinearTable(
        "ml-20m",
        recipe=small_recipe(*NEARBY),
        interactions=data,
        cache=tmp_path_factory.mktemp("cache"),
    )


def test_recipe_of_data_that_cannot_be_fetched_runs_on_generated_ones(table: LinearTable) -> None:
    lines = list(table.lines())
    assert [line.row.name for line in lines] == list(NEARBY)
    assert table.test.report.users_evaluated == table.validation.report.users_evaluated == 30
    for line in lines:
        assert line.table.is_exact.all()
        assert line.table.n_users == 30
        assert 0 < line.value("recall-capped@20")[0] < 1
        assert (line.epochs is None) == (not line.row.base)
    by_name = {line.row.name: line for line in lines}
    assert by_name["LRR"].tried == 4
    assert by_name["EDLAE full rank + sparsification"].tried == 2
    np.testing.assert_array_equal(
        by_name["LRR + lambda_i + HT"].table.rank, by_name["LRR + lambda_i + HT + RMD"].table.rank
    )


def test_the_chosen_setting_is_the_best_on_validation_users(table: LinearTable) -> None:
    line = table.line(table.recipe.row("EASE"))
    values = {}
    for l2 in (10.0, 100.0):
        model = tr.models.EASE(l2=l2).fit(table.test.train)
        ranks = tr.rank(model, table.validation, tr.Full())
        values[l2] = float(ranks.per_user("ndcg@100")[1].mean())
    assert line.validation == max(values.values())
    assert values[line.setting["l2"]] == line.validation
    model = tr.models.EASE(**line.setting).fit(table.test.train)
    np.testing.assert_array_equal(tr.rank(model, table.test, tr.Full()).rank, line.table.rank)


def test_finished_rows_are_read_and_others_made(table: LinearTable) -> None:
    again = LinearTable(
        "ml-20m",
        recipe=table.recipe,
        interactions=generate(300, 200, seed=1, interactions_per_user=15.0),
        cache=table.cache,
    )
    row = table.recipe.row("EASE")
    first, second = table.line(row), again.line(row)
    assert second.seconds == first.seconds  # not made again
    assert second.setting == first.setting
    np.testing.assert_array_equal(first.table.rank, second.table.rank)
    other = LinearTable(
        "ml-20m", recipe=table.recipe, interactions=generate(300, 200, seed=2), cache=table.cache
    )
    assert other.line(row).seconds != first.seconds


def test_answers_are_paired_tests_of_the_lines(table: LinearTable) -> None:
    lines = list(table.lines())
    found = answers(table.recipe, lines)
    asked = {a.question.claim for a in found}
    assert "HT helps EDLAE of full rank" in asked
    assert "EASE is ahead of SLIM" not in asked  # there is no SLIM here
    one = next(a for a in found if a.question.better == "EDLAE + HT" and a.metric == "ndcg@100")
    by_name = {line.row.name: line for line in lines}
    a, b = (by_name[name].table.per_user("ndcg@100")[1] for name in ("EDLAE + HT", "EDLAE"))
    assert one.difference == pytest.approx((a - b).mean())
    assert one.std_error == pytest.approx((a - b).std(ddof=1) / np.sqrt(30))
    assert one.lead == one.difference
    assert one.published == {"ml-20m": pytest.approx(0.002), "netflix": pytest.approx(0.0)}
    assert answers(table.recipe, []) == []


@pytest.mark.parametrize(
    ("difference", "error", "p", "words"),
    [
        (0.1, 0.01, 1e-4, "confirmed"),
        (-0.1, 0.01, 1e-4, "refuted"),
        (0.1, 0.2, 0.6, "not shown"),
        (0.0, 0.0, 1.0, "equal"),
    ],
)
def test_answers_in_words(difference: float, error: float, p: float, words: str) -> None:
    answer = Answer(
        question=linear_recipe().questions[0], metric="ndcg@100", difference=difference,
        std_error=error, lead=difference, p_adjusted=p, published={},
    )  # fmt: skip
    assert answer.words == words


def test_every_row_of_the_recipe_can_be_made() -> None:
    recipe = linear_recipe()
    names = [row.name for row in recipe.rows]
    assert len(set(names)) == len(names)
    for row in recipe.rows:
        if row.base:
            assert recipe.row(row.base).model
            assert names.index(row.base) < names.index(row.name)
        else:
            assert row.model in MODELS
            for data in recipe.data:
                assert set(row.grid[data]) <= set(parameters_of(model_class(row.model)))
    for question in recipe.questions:
        assert {question.better, question.worse} <= set(names)


def test_ratings_become_ones_of_active_users() -> None:
    data = tr.Interactions.from_arrays([1, 1, 1, 2, 2], [1, 2, 3, 1, 2], weight=[5, 4, 3, 5, 1])
    left = filtered(data, {"at_least": 4.0, "user_items": 2})
    assert left.weights is None
    assert left.user_counts.tolist() == [2, 0]


def test_mistakes_are_one_sentence(table: LinearTable) -> None:
    with pytest.raises(InvalidArgumentError, match="one of ml-1m, ml-20m, netflix, msd"):
        LinearTable("ml-2m")
    with pytest.raises(InvalidArgumentError, match="row must be one of LRR"):
        table.recipe.row("LLR")
    without = replace(table.recipe.row("EASE"), grid={}, name="EASE without a grid")
    with pytest.raises(InvalidArgumentError, match="one with a grid for ml-20m"):
        table.line(without)


def test_generated_data_have_the_shape_of_the_set() -> None:
    recipe, data = linear_recipe().generated("msd", 0.005)
    assert (data.n_users, data.n_items) == (2857, 206)
    assert recipe.row("LRR").grid == {"msd": {"l2": [1000.0], "dim": [10]}}
    with pytest.raises(InvalidArgumentError, match="ml-20m, netflix, msd to be generated"):
        linear_recipe().generated("ml-1m")
    with pytest.raises(InvalidArgumentError, match="share must be above 0"):
        linear_recipe().generated("msd", 2.0)


def test_a_share_with_too_few_items_is_refused_before_anything_is_fitted() -> None:
    sentence = r"share must be at least 0\.0033 of msd, got 0\.003; 123 items, .* for ndcg@100$"
    with pytest.raises(InvalidArgumentError, match=sentence):
        linear_recipe().generated("msd", 0.003)


@pytest.mark.parametrize("data", ["ml-20m", "netflix", "msd"])
def test_the_least_share_leaves_every_user_enough_to_rank(data: str) -> None:
    items = linear_recipe().data[data]["shape"]["items"]
    recipe, made = linear_recipe().generated(data, 134 / items)
    assert made.n_items == 134
    for split in recipe.splits(data, made):
        model = tr.models.Popularity().fit(split.train)
        tr.rank(model, split, progress=False).per_user("ndcg@100")  # refuses a K that is too large
    with pytest.raises(InvalidArgumentError, match="share must be at least"):
        linear_recipe().generated(data, 133 / items)
