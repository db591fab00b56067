"""Several held-out items per user: the printed formulas, read aloud with loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.metrics import Metric, parse
from truerank.metrics.definitions import DEFINITIONS

N_ITEMS = 30
NAMES = [*DEFINITIONS]


def by_the_formula(metric: Metric, ranks: list[int], n_items: int) -> float:
    """A user's value from the table in definitions.py, item by item of one list."""
    k = n_items if metric.k is None else metric.k
    relevant = [place in ranks for place in range(1, n_items + 1)]
    m, top = len(ranks), relevant[:k]
    dcg = sum(1 / math.log2(1 + place) for place, r in enumerate(top, 1) if r)
    precisions = sum(sum(relevant[:place]) / place for place, r in enumerate(top, 1) if r)

    def ideal(places: int) -> float:
        return sum(1 / math.log2(1 + place) for place in range(1, places + 1))

    if metric.name == "mrr":
        return 1 / (top.index(True) + 1) if any(top) else 0.0
    if metric.name == "auc":
        others = [place for place in range(1, n_items + 1) if place not in ranks]
        return sum(r < other for r in ranks for other in others) / (m * len(others))
    return {
        "recall": sum(top) / m,
        "recall-capped": sum(top) / min(k, m),
        "precision": sum(top) / k,
        "ndcg": dcg / ideal(min(k, m)),
        "ndcg-uncapped": dcg / ideal(m),
        "hit": float(any(top)),
        "ap": precisions / m,
        "ap-capped": precisions / min(k, m),
    }[metric.name]


def metric_of(name: str, k: int) -> Metric:
    return Metric(name, None if DEFINITIONS[name].cutoff == "none" else k)


user_ranks = st.lists(
    st.sets(st.integers(1, N_ITEMS), min_size=1, max_size=N_ITEMS - 1), min_size=1, max_size=6
)


@settings(deadline=None)
@given(user_ranks, st.integers(1, N_ITEMS), st.randoms(use_true_random=False))
def test_against_loops(ranks: list[set[int]], k: int, random: object) -> None:
    rows = [(u * 3, r) for u, of_user in enumerate(ranks) for r in of_user]
    random.shuffle(rows)  # type: ignore[attr-defined]
    user, rank = np.array(rows).T
    for name in NAMES:
        metric = metric_of(name, k)
        users, values = metric.per_user(user, rank, N_ITEMS)
        assert users.tolist() == [u * 3 for u in range(len(ranks))]
        expected = [by_the_formula(metric, sorted(of_user), N_ITEMS) for of_user in ranks]
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12, err_msg=str(metric))


@pytest.mark.parametrize("name", ["mrr", "ap"])
def test_without_a_cutoff_the_whole_list_counts(name: str) -> None:
    ranks = [4, 17, 29]
    _, values = parse(name).per_user([1, 1, 1], ranks, N_ITEMS)
    assert values[0] == pytest.approx(by_the_formula(parse(name), ranks, N_ITEMS), rel=1e-12)


@settings(deadline=None)
@given(user_ranks, st.integers(1, N_ITEMS))
def test_linear_metrics_are_the_weighted_sum_of_their_rows(ranks: list[set[int]], k: int) -> None:
    user = np.repeat(np.arange(len(ranks)), [len(r) for r in ranks])
    rank = np.array([r for of_user in ranks for r in sorted(of_user)])
    n_targets = np.bincount(user)[user]
    for name in NAMES:
        metric = metric_of(name, k)
        if not metric.linear:
            continue
        rows = metric.row_weight(n_targets) * metric.row_values(rank, N_ITEMS)
        sums = np.bincount(user, weights=rows)
        np.testing.assert_allclose(metric.per_user(user, rank, N_ITEMS)[1], sums, rtol=1e-12)


def test_which_metrics_are_linear() -> None:
    linear = {name for name in NAMES if metric_of(name, 5).linear}
    assert linear == {"recall", "recall-capped", "precision", "ndcg", "ndcg-uncapped"}


@pytest.mark.parametrize("name", NAMES)
def test_one_held_out_item_gives_the_row_value(name: str) -> None:
    metric = metric_of(name, 5)
    rank = np.arange(1, N_ITEMS + 1)
    values = metric.per_user(rank, rank, N_ITEMS)[1]
    np.testing.assert_allclose(values, metric.row_values(rank, N_ITEMS), rtol=1e-12)
    np.testing.assert_array_equal(metric.row_weight(np.ones(3, dtype=int)), 1.0)


@pytest.mark.parametrize("name", ["hit", "mrr", "ap", "ap-capped", "auc"])
def test_weights_are_refused_where_no_weights_can_do(name: str) -> None:
    metric = metric_of(name, 10)
    with pytest.raises(InvalidArgumentError, match="a weighted sum over held-out items"):
        metric.row_weight([1, 2])


@pytest.mark.parametrize(
    ("name", "m", "expected"),
    [
        pytest.param("recall", 20, 1 / 20, id="recall"),
        pytest.param("recall-capped", 20, 1 / 10, id="recall-capped"),
        pytest.param("recall-capped", 4, 1 / 4, id="recall-capped-short"),
        pytest.param("precision", 20, 1.0, id="precision"),
        pytest.param("ndcg", 2, 1 / (1 + 1 / math.log2(3)), id="ndcg-short"),
        pytest.param("ndcg", 20, 1 / sum(1 / math.log2(1 + j) for j in range(1, 11)), id="ndcg"),
        pytest.param(
            "ndcg-uncapped",
            20,
            1 / sum(1 / math.log2(1 + j) for j in range(1, 21)),
            id="ndcg-uncapped",
        ),
    ],
)
def test_weights_by_hand(name: str, m: int, expected: float) -> None:
    assert Metric(name, 10).row_weight([m])[0] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("name", "ranks", "expected"),
    [
        pytest.param("recall@2", [1, 5], 1 / 2, id="recall"),
        pytest.param("hit@2", [2, 5], 1.0, id="hit-any"),
        pytest.param("mrr", [3, 5], 1 / 3, id="mrr-first"),
        pytest.param("ap@5", [2, 5, 9], (1 / 2 + 2 / 5) / 3, id="ap"),
        pytest.param("ap-capped@2", [1, 2, 9], 1.0, id="ap-capped-perfect"),
        pytest.param("ap@2", [1, 2, 9], 2 / 3, id="ap-cannot-be-perfect"),
        pytest.param("precision@5", [1, 2, 9], 2 / 5, id="precision"),
        pytest.param("auc", [1, 2, 3], 1.0, id="auc-held-out-items-are-no-rivals"),
        pytest.param("auc", [8, 9, 10], 0.0, id="auc-all-below"),
    ],
)
def test_by_hand(name: str, ranks: list[int], expected: float) -> None:
    values = parse(name).per_user([0] * len(ranks), ranks, 10)[1]
    assert values[0] == pytest.approx(expected, rel=1e-14)


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 9))
def test_equal_ranks_never_leave_the_unit_interval(ranks: list[int], k: int) -> None:
    for name in DEFINITIONS:
        value = metric_of(name, k).per_user([0] * len(ranks), ranks, 9)[1][0]
        assert 0.0 <= value <= 1.0


def test_users_may_have_any_name_and_order() -> None:
    users, values = parse("recall@1").per_user(["zoe", "al", "zoe"], [1, 2, 3])
    assert users.tolist() == ["al", "zoe"]
    assert values.tolist() == [0.0, 0.5]


@pytest.mark.parametrize(
    ("user", "rank", "n_items", "sentence"),
    [
        pytest.param([], [], None, "there are no rows", id="empty"),
        pytest.param([1], [1, 2], None, "user must be of shape (2,) like rank", id="lengths"),
        pytest.param([1, 1], [1, 2], [10, 11], "the rows of user 1 differ in n_items", id="uneven"),
        pytest.param([4, 4], [1, 2], 2, "user 4 has no candidate that is not held out", id="full"),
        pytest.param([1], [0], 5, "ranks must be at least 1", id="zero"),
    ],
)
def test_rows_that_cannot_be(
    user: list[int], rank: list[int], n_items: object, sentence: str
) -> None:
    with pytest.raises((InvalidDataError, InvalidArgumentError)) as error:
        parse("auc").per_user(user, rank, n_items)  # type: ignore[arg-type]
    assert sentence in str(error.value)


@pytest.mark.parametrize("n_targets", [[0], [1.5], [-1]])
def test_numbers_of_held_out_items_are_whole_and_positive(n_targets: list[float]) -> None:
    with pytest.raises(InvalidArgumentError, match="n_targets must be whole numbers, at least 1"):
        parse("recall@5").row_weight(n_targets)
