"""Metrics of one held-out item, by hand and by property."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.metrics import ap, auc, mrr, ndcg, precision, recall


@pytest.mark.parametrize(
    ("metric", "rank", "k", "expected"),
    [
        pytest.param(recall, 1, 1, 1.0, id="recall-top"),
        pytest.param(recall, 10, 10, 1.0, id="recall-last-inside"),
        pytest.param(recall, 11, 10, 0.0, id="recall-first-outside"),
        pytest.param(precision, 10, 10, 1 / 10, id="precision-inside"),
        pytest.param(precision, 11, 10, 0.0, id="precision-outside"),
        pytest.param(ndcg, 1, 1, 1.0, id="ndcg-top"),
        pytest.param(ndcg, 3, 10, 0.5, id="ndcg-log2(4)=2"),
        pytest.param(ndcg, 10, 10, 1 / np.log2(11), id="ndcg-last-inside"),
        pytest.param(ndcg, 11, 10, 0.0, id="ndcg-first-outside"),
        pytest.param(ap, 4, 10, 1 / 4, id="ap-inside"),
        pytest.param(ap, 11, 10, 0.0, id="ap-outside"),
        pytest.param(ap, 11, None, 1 / 11, id="ap-without-cutoff"),
        pytest.param(mrr, 4, 10, 1 / 4, id="mrr-inside"),
        pytest.param(mrr, 11, 10, 0.0, id="mrr-outside"),
        pytest.param(mrr, 11, None, 1 / 11, id="mrr-without-cutoff"),
    ],
)
def test_by_hand(
    metric: Callable[..., np.ndarray], rank: int, k: int | None, expected: float
) -> None:
    assert metric([rank], k)[0] == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("rank", "n_items", "expected"),
    [
        pytest.param(1, 11, 1.0, id="above-all"),
        pytest.param(11, 11, 0.0, id="below-all"),
        pytest.param(6, 11, 0.5, id="in-the-middle"),
        pytest.param(2, 2, 0.0, id="two-items"),
    ],
)
def test_auc_by_hand(rank: int, n_items: int, expected: float) -> None:
    assert auc([rank], n_items)[0] == pytest.approx(expected, rel=1e-15)


def test_n_items_can_differ_by_row() -> None:
    np.testing.assert_allclose(auc([2, 2], [3, 5]), [1 / 2, 3 / 4])


@given(st.lists(st.integers(1, 60), min_size=1), st.integers(1, 60))
def test_values_are_in_the_unit_interval_and_never_grow_with_the_rank(
    ranks: list[int], k: int
) -> None:
    R = np.sort(ranks)
    for values in (recall(R, k), precision(R, k), ndcg(R, k), ap(R, k), mrr(R), auc(R, 60)):
        assert np.all((values >= 0) & (values <= 1))
        assert np.all(np.diff(values) <= 0)
        assert values.shape == R.shape


@given(st.integers(1, 500), st.integers(1, 500))
def test_recall_bounds_the_others(rank: int, k: int) -> None:
    R = [rank]
    assert precision(R, k)[0] == recall(R, k)[0] / k
    assert ap(R, k)[0] <= ndcg(R, k)[0] <= recall(R, k)[0]


def test_a_cutoff_beyond_every_rank_makes_recall_one() -> None:
    np.testing.assert_array_equal(recall([1, 7, 9], 1000), 1.0)


def test_ranks_between_whole_numbers_are_fine() -> None:
    np.testing.assert_allclose(ap([1.5, 2.5], 2), [1 / 1.5, 0.0])


@pytest.mark.parametrize("k", [0, -1, 1.5, "10", True, None])
def test_cutoffs_must_be_whole_and_positive(k: object) -> None:
    with pytest.raises(InvalidArgumentError, match="k must be a whole number, at least 1"):
        recall([1], k)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ranks", "sentence"),
    [
        pytest.param([1, 0], "ranks must be at least 1, got 0 in row 1", id="zero-based"),
        pytest.param([-3], "got -3 in row 0", id="negative"),
        pytest.param([2, np.nan, 1], "got nan in row 1", id="nan"),
    ],
)
def test_ranks_start_at_one(ranks: list[float], sentence: str) -> None:
    for metric in (recall, ndcg, precision, ap, mrr):
        with pytest.raises(InvalidDataError, match=sentence):
            metric(ranks, 5)


def test_auc_refuses_what_it_cannot_use() -> None:
    with pytest.raises(InvalidDataError, match="auc needs at least 2 candidates"):
        auc([1], 1)
    with pytest.raises(InvalidDataError, match="got rank 5 with n_items = 4 in row 1"):
        auc([1, 5], 4)
    with pytest.raises(InvalidArgumentError, match=r"n_items must be one number, or of shape \(2"):
        auc([1, 2], [4, 4, 4])
