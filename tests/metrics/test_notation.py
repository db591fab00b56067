"""The notation and what a Metric refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.metrics import Metric, as_metric, parse
from truerank.metrics.definitions import ALIASES, DEFINITIONS

EVERY = [
    parse(name if definition.cutoff == "none" else f"{name}@7")
    for name, definition in DEFINITIONS.items()
]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        pytest.param("ndcg@10", "ndcg@10", id="canonical"),
        pytest.param("nDCG@10", "ndcg@10", id="case"),
        pytest.param(" NDCG @ 10 ", "ndcg@10", id="spaces"),
        pytest.param("HR@10", "hit@10", id="hr"),
        pytest.param("Hit_Rate@10", "hit@10", id="underscore"),
        pytest.param("hit@1", "hit@1", id="hit"),
        pytest.param("MAP@10", "ap@10", id="map"),
        pytest.param("MAP", "ap", id="map-without-cutoff"),
        pytest.param("MRR", "mrr", id="mrr"),
        pytest.param("RR@5", "mrr@5", id="rr"),
        pytest.param("P@5", "precision@5", id="p"),
        pytest.param("R@20", "recall@20", id="r"),
        pytest.param("recall_capped@20", "recall-capped@20", id="capped"),
        pytest.param("ndcg-full@20", "ndcg-uncapped@20", id="full"),
        pytest.param("AUC", "auc", id="auc"),
        pytest.param("recall@010", "recall@10", id="leading-zero"),
    ],
)
def test_notation(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical
    assert parse(canonical) == parse(text)


@pytest.mark.parametrize("metric", EVERY, ids=str)
def test_canonical_names_come_back(metric: Metric) -> None:
    assert parse(str(metric)) == metric
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert hash(metric) == hash(parse(str(metric)))
    assert as_metric(metric) is metric


def test_aliases_lead_to_metrics_and_shadow_none() -> None:
    assert set(ALIASES.values()) <= set(DEFINITIONS)
    assert not set(ALIASES) & set(DEFINITIONS)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("ndgc@10", "did you mean ndcg@10?", id="typo"),
        pytest.param("recal@5", "did you mean recall@10?", id="typo-2"),
        pytest.param("hitrat@5", "did you mean hit@10?", id="typo-of-an-alias"),
        pytest.param("coverage@5", "metric must be one of recall@K, ", id="unknown"),
        pytest.param("", "metric must be one of recall@K, ", id="empty"),
        pytest.param(
            "recall", "metric must be written with a cutoff, got 'recall'; for", id="no-cutoff"
        ),
        pytest.param("ndcg", "for instance ndcg@10", id="ndcg-no-cutoff"),
        pytest.param("auc@10", "metric must be written without a cutoff", id="auc-cutoff"),
        pytest.param("recall@0", "the cutoff of 'recall@0' must be a whole number", id="zero"),
        pytest.param("recall@-5", "at least 1, got '-5'; say recall@10", id="negative"),
        pytest.param("recall@2.5", "at least 1, got '2.5'", id="fraction"),
        pytest.param("recall@ten", "at least 1, got 'ten'", id="word"),
        pytest.param("recall@", "at least 1, got ''", id="nothing"),
        pytest.param("recall@10@20", "at least 1, got '10@20'", id="two"),
    ],
)
def test_wrong_notation(text: str, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        parse(text)
    assert sentence in str(error.value)


def test_wrong_metrics_made_by_hand() -> None:
    with pytest.raises(InvalidArgumentError, match="did you mean ndcg"):
        Metric("nDCG", 10)
    with pytest.raises(InvalidArgumentError, match="k must be a whole number"):
        Metric("ndcg", 0)
    with pytest.raises(InvalidArgumentError, match="a Metric, or a function of ranks"):
        as_metric(10)  # type: ignore[arg-type]


# ------------------------------------------------------------------ functions of one's own


def half_life(ranks: np.ndarray) -> np.ndarray:
    return 0.5 ** ((ranks - 1) / 4)


def test_any_function_of_the_rank() -> None:
    metric = as_metric(half_life)
    assert str(metric) == "half_life"
    assert metric.linear
    np.testing.assert_allclose(metric.row_values([1, 5]), [1.0, 0.5])
    users, values = metric.per_user([2, 1, 2], [1, 5, 5])
    assert users.tolist() == [1, 2]
    np.testing.assert_allclose(values, [0.5, 0.75])  # the mean over a user's held-out items
    assert pickle.loads(pickle.dumps(Metric("x", None, np.log))) == Metric("x", None, np.log)


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        pytest.param(lambda r: 1.0, "must give one value per rank, got shape ()", id="scalar"),
        pytest.param(lambda r: r[:1], "got shape (1,) for ranks of shape (2,)", id="short"),
        pytest.param(lambda r: r * np.inf, "finite values, it does not for rank 1", id="inf"),
    ],
)
def test_functions_must_give_a_value_per_rank(function: object, sentence: str) -> None:
    with pytest.raises(InvalidDataError) as error:
        as_metric(function, name="mine").row_values([1, 2])  # type: ignore[arg-type]
    assert sentence in str(error.value)


# ------------------------------------------------------------------ sizes


def test_a_cutoff_larger_than_the_catalogue_is_refused() -> None:
    metric = parse("recall@10")
    sentence = "the cutoff of recall@10 must be at most the number of candidate items, 7, got 10"
    for call in (
        lambda: metric.row_values([1, 2], n_items=[20, 7]),
        lambda: metric.per_user([1, 1], [1, 2], n_items=7),
    ):
        with pytest.raises(InvalidArgumentError) as error:
            call()
        assert str(error.value) == sentence + "; choose a smaller K"
    assert metric.row_values([1, 2], n_items=10).tolist() == [1.0, 1.0]


def test_a_rank_larger_than_the_catalogue_is_refused() -> None:
    with pytest.raises(InvalidDataError, match="got rank 12 with n_items = 11 in row 0"):
        parse("recall@10").row_values([12], n_items=11)


def test_auc_needs_the_catalogue() -> None:
    for call in (lambda: parse("auc").row_values([1]), lambda: parse("auc").per_user([1], [1])):
        with pytest.raises(InvalidArgumentError, match="n_items must be given"):
            call()
