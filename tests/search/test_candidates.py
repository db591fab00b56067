"""EASE by one decomposition where that pays, refitted elsewhere, and the same either way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.data import Interactions
from truerank.data.synthetic import generate
from truerank.errors import InvalidDataError
from truerank.models import EASE
from truerank.models.linear import ease_by_spectrum
from truerank.models.linear.ease_by_spectrum import pays
from truerank.search import candidates as search_models
from truerank.search.candidates import Maker, SharedFits
from truerank.search.search_models import Between, search
from truerank.search.space import Space

FEW = generate(60, 400, interactions_per_user=30)
MANY = generate(300, 80, interactions_per_user=15)
L2 = [1.0, 30.0, 1000.0]


class Counted:
    """How often EASE is inverted, and data are decomposed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.inverted = self.decomposed = 0
        fit, whole = EASE.fit, ease_by_spectrum.whole_spectrum

        def counted_fit(model: EASE, interactions: Interactions) -> EASE:
            self.inverted += 1
            return fit(model, interactions)

        def counted_whole(interactions: Interactions) -> Any:
            self.decomposed += 1
            return whole(interactions)

        monkeypatch.setattr(EASE, "fit", counted_fit)
        monkeypatch.setattr(ease_by_spectrum, "whole_spectrum", counted_whole)

    def __call__(self) -> tuple[int, int]:
        return self.inverted, self.decomposed


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ease_of_few_users_is_decomposed_once(dtype: str, counted: Counted) -> None:
    space = {"l2": L2, "dtype": dtype}
    found = search(EASE, space, FEW, metric="ndcg@20")
    assert counted() == (0, 1)
    plain = search(lambda **p: EASE(**p), space, FEW, metric="ndcg@20")
    assert counted() == (3, 1)
    for ours, theirs in zip(found.trials, plain.trials, strict=True):
        # In float32 a near-tie of 60 users may turn, in float64 none.
        near = 1e-3 if dtype == "float32" else 1e-12
        assert ours.value == pytest.approx(theirs.value, abs=near)
    assert len({trial.value for trial in found.trials}) == 3  # penalties do differ


@pytest.mark.parametrize(("dtype", "near"), [("float32", 1e-4), ("float64", 1e-11)])
@pytest.mark.parametrize("l2", L2)
def test_its_weights_are_those_of_the_refit(dtype: Any, near: float, l2: float) -> None:
    space = Space.of({"l2": L2, "dtype": dtype})
    model = SharedFits(Maker.of("ease"), space, FEW).fit({"l2": l2, "dtype": dtype})
    refit = EASE(l2=l2, dtype=dtype).fit(FEW)
    assert model.parameters() == refit.parameters()
    assert model.item_item.dtype == refit.item_item.dtype
    # float32 works with 6e-8, times a condition of about 500 for the smallest penalty
    np.testing.assert_allclose(model.item_item, refit.item_item, rtol=0, atol=near)
    assert (model.history != refit.history).nnz == 0


def test_its_models_and_the_chosen_one_can_be_saved(tmp_path: Path, counted: Counted) -> None:
    model = SharedFits(Maker.of("ease"), Space.of({"l2": L2}), FEW).fit({"l2": 30.0})
    assert counted() == (0, 1)
    assert type(model) is EASE
    split = tr.split.leave_one_out(FEW, seed=0)
    chosen = search("ease", {"l2": L2}, split, metric="ndcg@20").fit(split.train)
    assert type(chosen) is EASE
    for name, fitted, data in (("one", model, FEW), ("two", chosen, split.train)):
        fitted.save(tmp_path / name)
        again = tr.models.load(tmp_path / name)
        assert again.parameters() == fitted.parameters()
        assert again.trained_on.data == data.fingerprint()
        users = np.arange(60)
        np.testing.assert_array_equal(again.score_all(users), fitted.score_all(users))


def test_new_users_are_folded_in(counted: Counted) -> None:
    split = tr.split.strong_generalization(FEW, n_users=20, n_validation_users=0, fold_in=0.5)
    found = search(EASE, {"l2": [30.0], "dtype": "float64"}, split, metric="ndcg@20")
    assert counted() == (0, 1)
    table = tr.rank(found.fit(found.validation.train), found.validation, progress=False)
    direct = float(table.per_user("ndcg@20")[1].mean())
    assert found.best.value == pytest.approx(direct, abs=1e-12)


def test_where_it_does_not_pay_ease_is_refitted(counted: Counted) -> None:
    search(EASE, {"l2": L2}, MANY, metric="ndcg@10")
    assert counted() == (3, 0)
    search(EASE, {"l2": L2, "dtype": ["float32", "float64"]}, FEW, metric="ndcg@10")
    assert counted() == (9, 0)  # one decomposition has one precision


def test_a_long_grid_pays_for_many_users_and_random_draws_keep_their_bits(
    counted: Counted,
) -> None:
    space = {"l2": Between(1.0, 1000.0, log=True, steps=14), "dtype": "float64"}
    found = search(EASE, space, MANY, metric="ndcg@10")
    assert counted() == (0, 1)
    drawn = search(EASE, space, MANY, metric="ndcg@10", strategy="random", n_trials=3)
    assert counted() == (3, 1)
    more = search(EASE, space, MANY, metric="ndcg@10", strategy="random", n_trials=14)
    assert more.trials[:3] == drawn.trials
    assert len(found.trials) == 14


@pytest.mark.parametrize("place", ["whole_spectrum", "_weights"])
def test_without_room_for_a_decomposition_ease_is_refitted(
    place: str, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*given: Any, **more: Any) -> Any:
        raise InvalidDataError("no room")

    monkeypatch.setattr(ease_by_spectrum, place, no_room)
    found = search(EASE, {"l2": L2}, FEW, metric="ndcg@20")
    assert {trial.status for trial in found.trials} == {"finished"}
    assert counted.inverted == 3


def test_too_many_users_for_lapack_are_refitted(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ease_by_spectrum, "LAPACK_ITEMS", 59)
    search(EASE, {"l2": L2}, FEW, metric="ndcg@20")
    assert counted() == (3, 1)
    with pytest.raises(InvalidDataError, match="60 users is beyond LAPACK's safe size of 59"):
        ease_by_spectrum.whole_spectrum(FEW)


@pytest.mark.parametrize(
    ("users", "values"), [(500, 1), (1_200, 1), (2_000, 3), (2_800, 8), (6_040, 11)]
)
def test_it_pays_from_about_where_it_was_measured_to(users: int, values: int) -> None:
    """The last column of the table in docs/search.md, and twice that in float32."""
    assert pays(users, 3_706, values, "float64")
    assert not pays(users, 3_706, (values - 1) // 2, "float64")
    assert pays(users, 3_706, 2 * values, "float32")
    assert not pays(users, 3_706, values - 1, "float32")


def test_other_models_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: Any, **more: Any) -> Any:
        raise AssertionError("EASE was not asked for")

    monkeypatch.setattr(search_models, "EaseGrid", never)
    found = search("dlae", {"l2": [10.0], "dropout": [0.3]}, FEW, metric="ndcg@20")
    assert found.best.status == "finished"
