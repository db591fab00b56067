"""Naive and exact: means, and one clear refusal."""

from __future__ import annotations

import numpy as np
import pytest

from truerank.errors import InvalidDataError
from truerank.estimators.cells import cells_of
from truerank.estimators.methods.simple import Exact, Naive
from truerank.estimators.problem import Problem
from truerank.metrics import parse


def rows(rank: list[int], n: list[int], n_items: list[int], weight: list[float]) -> Problem:
    cells, _ = cells_of(
        np.array(rank), np.array(n), np.array(n_items), np.array(weight), replacement=False
    )
    return Problem.of(cells, n_rows=len(rank))


def test_naive_is_the_mean_over_sampled_ranks() -> None:
    problem = rows([1, 3, 1, 20], [5, 5, 9, 30], [40, 40, 40, 40], [1.0, 1.0, 2.0, 1.0])
    metrics = [parse(text) for text in ("recall@2", "ndcg@3", "ap", "recall@50", "auc")]
    values = Naive().values(problem, metrics, problem.cells.shares)
    auc = (1 + 2 / 4 + 2 + 10 / 29) / 5
    expected = [3 / 5, (1 + 0.5 + 2) / 5, (1 + 1 / 3 + 2 + 1 / 20) / 5, 1.0, auc]
    np.testing.assert_allclose(values, expected, rtol=1e-14)


def test_naive_masses_stand_on_sampled_ranks() -> None:
    problem = rows([1, 3, 1], [5, 5, 9], [40, 40, 40], [1.0, 1.0, 2.0])
    masses = Naive().distribution(problem, problem.cells.shares)
    assert masses[:4].tolist() == [0.75, 0.0, 0.25, 0.0]
    assert masses.sum() == 1.0


def test_exact_is_the_mean_over_ranks_whatever_the_candidates() -> None:
    problem = rows([1, 7, 30], [20, 40, 40], [20, 40, 40], [1.0, 1.0, 2.0])
    metrics = [parse(text) for text in ("recall@7", "auc")]
    values = Exact().values(problem, metrics, problem.cells.shares)
    np.testing.assert_allclose(values, [0.5, (1 + 33 / 39 + 2 * 10 / 39) / 4], rtol=1e-14)
    masses = Exact().distribution(problem, problem.cells.shares)
    assert masses[[0, 6, 29]].tolist() == [0.25, 0.25, 0.5]


def test_exact_takes_resamples_as_columns() -> None:
    problem = rows([1, 7], [40, 40], [40, 40], [1.0, 1.0])
    shares = np.array([[0.5, 1.0], [0.5, 0.0]])
    values = Exact().values(problem, [parse("recall@1"), parse("recall@7")], shares)
    assert values.tolist() == [[0.5, 1.0], [1.0, 1.0]]
    assert Exact().distribution(problem, shares)[6].tolist() == [0.5, 0.0]


def test_exact_refuses_samples_and_names_the_way_out() -> None:
    problem = rows([1, 7], [40, 10], [40, 40], [1.0, 1.0])
    for call in (
        lambda: Exact().values(problem, [parse("recall@1")], problem.cells.shares),
        lambda: Exact().distribution(problem, problem.cells.shares),
    ):
        with pytest.raises(InvalidDataError, match=r"n_sampled = 10 of n_items = 40.*'auto'"):
            call()
