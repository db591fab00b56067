"""A search finds the best setting, and says how sure it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.data import Interactions
from truerank.errors import InvalidDataError
from truerank.models import EASE, ItemKNN
from truerank.models.linear.closed_form_mf import ClosedFormMF
from truerank.models.linear.lrr import LRR
from truerank.models.linear.pure_svd import PureSVD
from truerank.search.search_models import Between, search

from .search_world import N_ITEMS, PEAK, peaked, world

DATA, AFFINITY = world()
MODEL = peaked(AFFINITY)


# -------------------------------------------------------------------- finding


def test_a_grid_finds_the_peak() -> None:
    found = search(MODEL, {"x": [0.0, 1.5, 3.0, 4.5], "y": 1.0}, DATA, metric="ndcg@10")
    assert found.best_parameters == {"x": PEAK, "y": 1.0}
    assert [trial.parameters["x"] for trial in found.trials] == [0.0, 1.5, 3.0, 4.5]
    assert found.level_with_best == ()  # the others are far away
    assert "is ahead of all that finished" in found.sentence


@pytest.mark.parametrize("strategy", ["random", "optuna"])
def test_draws_come_near_the_peak(strategy: Any) -> None:
    if strategy == "optuna":
        pytest.importorskip("optuna")
    space = {"x": Between(0.0, 10.0)}
    found = search(MODEL, space, DATA, metric="ndcg@10", strategy=strategy, n_trials=25)
    assert abs(found.best.parameters["x"] - PEAK) < 1.0  # 25 blind draws miss it with 5e-3
    again = search(MODEL, space, DATA, metric="ndcg@10", strategy=strategy, n_trials=12)
    assert again.trials == found.trials[:12]
    other = search(MODEL, space, DATA, metric="ndcg@10", strategy=strategy, n_trials=2, seed=1)
    assert other.trials[:2] != found.trials[:2]


def test_optuna_learns() -> None:
    pytest.importorskip("optuna")
    found = search(
        MODEL, {"x": Between(0.0, 10.0)}, DATA, metric="ndcg@10", strategy="optuna", n_trials=30
    )
    away = [abs(trial.parameters["x"] - PEAK) for trial in found.trials]
    assert np.mean(away[15:]) < np.mean(away[:10]) - 0.5


def test_random_does_not_repeat_itself_and_stops_when_all_is_tried() -> None:
    found = search(
        ItemKNN, {"k": [1, 2, 3], "shrink": [0.0, 5.0]}, DATA,
        metric="recall@10", strategy="random", n_trials=50,
    )  # fmt: skip
    assert len(found.trials) == 6
    assert len({trial.key for trial in found.trials}) == 6


def test_a_setting_that_comes_again_is_not_fitted_again() -> None:
    pytest.importorskip("optuna")
    found = search(
        MODEL, {"x": [2.0, 3.0]}, DATA, metric="ndcg@10", strategy="optuna", n_trials=8
    )  # fmt: skip
    assert sum(trial.status == "finished" for trial in found.trials) <= 2
    repeated = [trial for trial in found.trials if trial.status == "repeated"]
    assert repeated
    assert all(trial.n_scored == 0 for trial in repeated)


# -------------------------------------------------------------------- value and error


def test_values_are_those_of_rank_and_estimate() -> None:
    split = tr.split.leave_one_out(DATA, seed=4)
    found = search(EASE, {"l2": [5.0, 50.0]}, DATA, metric="ndcg@10", validation=split)
    for trial in found.trials:
        table = tr.rank(EASE(**trial.parameters).fit(split.train), split, progress=False)
        values = table.per_user("ndcg@10")[1]
        assert trial.value == pytest.approx(values.mean(), abs=1e-12)
        assert trial.std_error == pytest.approx(values.std(ddof=1) / np.sqrt(len(values)))
        assert trial.n_scored == table.n_scored.sum()


def test_sampled_ranks_are_corrected_and_their_price_is_stated() -> None:
    space = {"x": [2.0, 2.9, 3.0]}
    full = search(MODEL, space, DATA, metric="recall@5")
    sampled = search(MODEL, space, DATA, metric="recall@5", design=tr.Sampled(6))
    for exact, guess in zip(full.trials, sampled.trials, strict=True):
        assert guess.std_error > 1.2 * exact.std_error
        assert abs(guess.value - exact.value) < 4 * guess.std_error
    assert sampled.certainty is not None
    assert sampled.certainty.exact_error == pytest.approx(full.best.std_error, rel=0.1)
    assert sampled.certainty.std_error == pytest.approx(sampled.best.std_error)
    assert full.certainty is None
    assert sampled.share_scored == pytest.approx(6 / N_ITEMS, rel=1e-6)
    assert "exact ranks of the same users would have left" in sampled.sentence
    assert "pairs were scored" not in full.sentence


def test_some_users_have_the_error_for_future_users() -> None:
    found = search(MODEL, {"x": [3.0]}, DATA, metric="recall@5", design=tr.Users(300))
    p = found.best.value
    expected = np.sqrt(p * (1 - p) / 299)
    assert found.best.std_error == pytest.approx(expected)
    assert found.best.n_users == 300


@pytest.mark.parametrize("inner", [tr.Full(), tr.Sampled(6)])
def test_some_users_say_what_all_of_them_would_have_left(inner: Any) -> None:
    full = search(MODEL, {"x": [3.0]}, DATA, metric="recall@5")
    some = search(MODEL, {"x": [3.0]}, DATA, metric="recall@5", design=tr.Users(300, inner))
    price = some.certainty
    assert price is not None
    assert (price.n_ranked, price.n_users) == (300, 1200)
    # A standard deviation of 300 values is known to about 1 / sqrt(2 * 299), 4 %.
    assert price.exact_error == pytest.approx(full.best.std_error, rel=0.16)
    if inner == tr.Full():
        assert price.std_error == pytest.approx(price.exact_error * 2)  # sqrt(1200 / 300)
        assert "so sampling made it 100% larger." in some.sentence
    else:
        assert price.std_error > 2.2 * price.exact_error
    assert price.std_error == pytest.approx(some.best.std_error)  # both are for future users
    assert "for future users" in some.sentence
    assert "exact ranks of all 1,200 validation users would have left" in some.sentence


def test_some_users_with_several_items_each_are_compared_as_well() -> None:
    split = tr.split.ratio(DATA, 0.5, seed=0)
    space: dict[str, Any] = {"x": [3.0]}
    full = search(MODEL, space, DATA, metric="ndcg@5", validation=split)
    some = search(MODEL, space, DATA, metric="ndcg@5", validation=split, design=tr.Users(300))
    assert some.certainty is not None
    assert some.certainty.exact_error == pytest.approx(full.best.std_error, rel=0.16)
    assert "so sampling made it 100% larger." in some.sentence


@pytest.mark.parametrize("design", [tr.Sampled(6), tr.Users(300, tr.Sampled(6))])
def test_several_sampled_items_per_user_own_up_that_the_price_is_not_known(design: Any) -> None:
    split = tr.split.ratio(DATA, 0.5, seed=0)
    found = search(MODEL, {"x": [3.0]}, DATA, metric="ndcg@5", validation=split, design=design)
    assert (
        "pairs were scored; what sampling cost in certainty cannot be told for several held-out "
        "items per user." in found.sentence
    )
    assert found.to_dict()["certainty"]["exact_error"] is None


@pytest.mark.parametrize(
    ("metric", "method", "words"),
    [
        ("mrr", "auto", "exact ranks of the same users would have left"),
        ("auc", "auto", "cannot be told for auc, which counts each user's own number of items."),
        ("recall@5", "naive", "cannot be told for the naive method, which estimates another"),
    ],
)
def test_every_sampled_search_says_something_of_its_price(
    metric: str, method: str, words: str
) -> None:
    found = search(
        MODEL, {"x": [3.0]}, DATA, metric=metric, method=method, design=tr.Sampled(6)
    )  # fmt: skip
    assert words in found.sentence
    if metric == "mrr":
        full = search(MODEL, {"x": [3.0]}, DATA, metric=metric)
        assert found.certainty is not None
        assert found.certainty.exact_error == pytest.approx(full.best.std_error, rel=0.1)


def test_values_that_are_all_equal_have_no_price() -> None:
    def perfect(x: float) -> Any:
        model = peaked(np.zeros_like(AFFINITY))(x)
        held = tr.split.leave_one_out(DATA, seed=0).held_out
        model.affinity[held.users, held.indices] = 100.0
        return model

    found = search(perfect, {"x": [3.0]}, DATA, metric="recall@5", design=tr.Users(300))
    assert found.best.value == 1.0
    assert "cannot be told for users whose values do not differ." in found.sentence


def test_neighbours_cannot_be_told_apart_and_strangers_can() -> None:
    found = search(MODEL, {"x": [0.0, 2.99, 3.0, 3.01]}, DATA, metric="ndcg@10")
    near = {trial.parameters["x"] for trial in (found.best, *found.level_with_best)}
    assert near == {2.99, 3.0, 3.01}
    assert "cannot be told apart from" in found.sentence
    assert found.verdict is not None
    assert found.verdict.correction == "bonferroni"


def test_tables_that_were_not_kept_are_owned_up_to() -> None:
    found = search(MODEL, {"x": [0.0, 1.0, 2.0, 3.0]}, DATA, metric="ndcg@10", keep=2)
    assert [trial.parameters["x"] for trial in found.not_compared] == [1.0, 0.0]
    assert "2 were not compared with it" in found.sentence


def test_a_winner_at_the_edge_says_so() -> None:
    found = search(MODEL, {"x": Between(0.0, 3.0, steps=3)}, DATA, metric="ndcg@10")
    assert "Its x is the largest tried: search further that way." in found.sentence
    inside = search(MODEL, {"x": [2.0, 3.0, 4.0]}, DATA, metric="ndcg@10")
    assert "tried: search further" not in inside.sentence


def test_ways_out() -> None:
    found = search(ItemKNN, {"k": [1, 20, 50]}, DATA, metric="ndcg@10")
    text = str(found)
    assert text.splitlines()[0].split() == [
        "trial",
        "k",
        "ndcg@10",
        "±",
        "s.e.,",
        "future",
        "users",
        "users",
        "seconds",
    ]
    assert found.sentence in text
    frame = found.to_frame()
    assert frame["k"].tolist() == [1, 20, 50]
    assert frame.loc[found.best.number, "level_with_best"]
    assert found.to_dict()["population"] == "infinite"
    assert found.to_dict()["best"]["parameters"] == found.best_parameters
    model = found.fit(DATA)
    assert isinstance(model, ItemKNN)
    assert model.k == found.best_parameters["k"]
    assert model.n_items == DATA.n_items


def test_the_usual_metric_is_ndcg_at_100_or_what_every_user_has() -> None:
    assert search(MODEL, {"x": [3.0]}, DATA).metric == "ndcg@57"  # of 60, three are seen
    assert search(MODEL, {"x": [3.0]}, DATA, candidates="all").metric == "ndcg@60"
    uneven = Interactions.from_arrays(
        [0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 2, 3], item_ids=np.arange(12)
    )
    assert search(ItemKNN, {"k": [2]}, uneven).metric == "ndcg@9"
    large = tr.load_dataset("demo", n_users=60, n_items=200, interactions_per_user=8)
    assert search(ItemKNN, {"k": [20]}, large).metric == "ndcg@100"


# -------------------------------------------------------------------- one decomposition


@pytest.mark.parametrize(
    ("kind", "space"),
    [
        (LRR, {"l2": [1.0, 20.0], "dim": [3, 10]}),
        (ClosedFormMF, {"l2": [1.0, 5.0], "dim": [3, 10], "dtype": "float64"}),
        (PureSVD, {"dim": [2, 5, 10]}),
    ],
)
def test_spectral_models_are_decomposed_once(
    kind: Any, space: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = search(lambda **p: kind(**p), space, DATA, metric="ndcg@10")  # refits each
    calls = []
    from truerank.models.linear import grid_of_spectrum, spectrum

    def counted(*given: Any, **more: Any) -> Any:
        calls.append(given)
        return spectrum.decompose(*given, **more)

    monkeypatch.setattr(grid_of_spectrum, "decompose", counted)
    found = search(kind, space, DATA, metric="ndcg@10")
    assert len(calls) == 1
    for ours, theirs in zip(found.trials, plain.trials, strict=True):
        assert ours.value == pytest.approx(theirs.value, abs=2e-4)  # near-ties in float32


def test_a_failed_trial_does_not_end_the_search() -> None:
    found = search(LRR, {"l2": 1.0, "dim": [5, 5000]}, DATA, metric="ndcg@10")
    assert [trial.status for trial in found.trials] == ["finished", "failed"]
    assert "dim 5,000 was asked of LRR" in found.trials[1].note
    assert "dim 5,000 was asked of LRR" in str(found)
    assert "best of 2 trials" in found.sentence
    assert "; 1 failed (dim 5,000 was asked of LRR" in found.sentence
    more = search(LRR, {"l2": 1.0, "dim": [5, 4000, 5000]}, DATA, metric="ndcg@10")
    assert "; 2 failed (the first: dim 4,000 was asked of LRR" in more.sentence
    fine = search(LRR, {"l2": 1.0, "dim": [5]}, DATA, metric="ndcg@10")
    assert "failed" not in fine.sentence
    with pytest.raises(InvalidDataError, match=r"none of the 2 trials finished; .*dim 4,000"):
        search(LRR, {"l2": 1.0, "dim": [4000, 5000]}, DATA, metric="ndcg@10")
