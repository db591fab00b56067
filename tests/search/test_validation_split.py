"""A search looks at the training part alone, and says what it cannot search."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.data import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError, MissingExtraError
from truerank.models import EASE, ItemKNN
from truerank.models.linear.lrr import LRR
from truerank.search.search_models import Between, search
from truerank.search.validation_split import validation_split
from truerank.split import Split

from .search_world import N_ITEMS, peaked, world

DATA, AFFINITY = world()
MODEL = peaked(AFFINITY)


def splits() -> dict[str, Split]:
    timed = Interactions.from_arrays(
        DATA.users, DATA.indices, timestamp=np.arange(len(DATA)) % 97, item_ids=np.arange(N_ITEMS)
    )
    part = tr.split.ratio(DATA, 0.25, seed=1)
    return {
        "loo": tr.split.leave_one_out(timed, by="latest"),
        "lko": tr.split.leave_k_out(DATA, 1),
        "ratio": part,
        "temporal": tr.split.temporal(timed, fraction=0.3),
        "strong": tr.split.strong_generalization(DATA, n_users=200, fold_in=0.5),
        "parts": tr.split.from_parts(part.train, part.held_out),
    }


@pytest.mark.parametrize("name", list(splits()))
def test_validation_is_made_of_the_training_part(name: str) -> None:
    test = splits()[name]
    made = validation_split(test, None, seed=0)
    usual = {"parts": "leave_one_out"}.get(name, test.description["name"])
    assert made.description["name"] == usual
    train = {(u, i) for u, i in zip(test.train.users, test.train.indices, strict=True)}
    for part in (made.train, made.held_out, made.fold_in):
        if part is not None:
            assert {(u, i) for u, i in zip(part.users, part.indices, strict=True)} <= train
    if name == "loo":
        assert made.description["by"] == "latest"


def test_parts_with_long_histories_hold_out_a_tenth() -> None:
    user, item = np.divmod(np.arange(600), 20)
    long = tr.split.ratio(Interactions.from_arrays(user, item), 0.25)
    made = validation_split(tr.split.from_parts(long.train, long.held_out), None, seed=0)
    assert made.description["name"] == "ratio"
    assert (made.held_out.user_counts == 2).all()  # of fifteen


def test_the_test_part_cannot_matter() -> None:
    test = splits()["ratio"]
    space = {"k": [3, 30]}
    found = search(ItemKNN, space, test, metric="recall@10")
    same = search(ItemKNN, space, test.train, metric="recall@10", validation=found.validation)
    assert found.trials == same.trials


def test_whole_new_users_are_folded_in() -> None:
    test = splits()["strong"]
    found = search(LRR, {"l2": [1.0, 10.0], "dim": [2, 8]}, test, metric="recall-capped@10")
    made = found.validation
    assert made.fold_in is not None
    table = tr.rank(found.fit(made.train), made, progress=False)
    direct = float(table.per_user("recall-capped@10")[1].mean())
    assert found.best.value == pytest.approx(direct, abs=1e-3)


def test_a_validation_split_that_holds_test_pairs_is_refused() -> None:
    test = tr.split.leave_one_out(DATA, seed=1)
    leaking = tr.split.leave_one_out(DATA, seed=2)
    with pytest.raises(InvalidDataError, match="pairs of the validation split are in the test"):
        search(ItemKNN, {"k": [3]}, test, validation=leaking, metric="recall@10")
    small = tr.split.leave_one_out(world(n_users=50)[0])
    with pytest.raises(InvalidDataError, match="over other users or items"):
        search(ItemKNN, {"k": [3]}, test, validation=small, metric="recall@10")


# -------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("model", "space", "more", "sentence"),
    [
        (EASE, {}, {}, r"space must be at least one parameter .* for instance \{'l2'"),
        (EASE, {"l2": []}, {}, r"space\['l2'\] must be at least one value"),
        (EASE, {"l_2": [1.0]}, {}, r"parameters of EASE, l2, dtype, got 'l_2'; did you mean 'l2'"),
        (MODEL, {"z": [1.0]}, {}, r"parameters of make, x, y, got 'z'"),
        (EASE, {"l2": [1.0, -1.0]}, {}, "l2 must be positive and finite, got -1.0"),
        (EASE, {"l2": [float("nan")]}, {}, r"space\['l2'\] must be finite"),
        (EASE, {"l2": [object()]}, {}, r"space\['l2'\] must be numbers, texts"),
        (EASE, {"l2": [1.0]}, {"metric": "ndgc@10"}, "did you mean ndcg@10"),
        (EASE, {"l2": [1.0]}, {"metric": "ndcg@99"}, "the 57 candid.* every .* ndcg@57 or"),
        (EASE, {"l2": [1.0]}, {"metric": "ndcg@58", "design": tr.Sampled(5)}, "the 57 candidates"),
        (LRR, {"l2": [[1.0, 2.0]], "dim": 2}, {}, r"vectors are learned.*'lrr', lambda_range="),
        (EASE, {"l2": [1.0]}, {"strategy": "bayes"}, "strategy must be one of grid, random"),
        (EASE, {"l2": [1.0]}, {"n_trials": 3}, "n_trials must be left out for a grid, which has 1"),
        (EASE, {"l2": Between(1, 9)}, {}, r"strategy must be random or optuna .* steps=5"),
        (EASE, {"l2": [1.0]}, {"strategy": "random", "n_trials": 0}, "n_trials must be a whole"),
        (EASE, {"l2": [1.0]}, {"prune": 1.5}, "prune must be a probability below 1"),
        (EASE, {"l2": [1.0]}, {"keep": 0}, "keep must be at least 1"),
        (EASE, {"l2": [1.0]}, {"level": 95}, "level must be between 0 and 1"),
        (EASE, {"l2": [1.0]}, {"candidates": "some"}, "candidates must be 'unseen' or 'all'"),
        (EASE, {"l2": [1.0]}, {"design": tr.FixedNegatives([[1]])}, "design must be Full, Sampled"),
        (EASE, {"l2": [1.0]}, {"design": tr.Users(5), "prune": 0.1}, "design must be Full, Samp"),
        (EASE, {"l2": [1.0]}, {"seed": -1}, "seed must be an integer"),
        (EASE(), {"l2": [1.0]}, {}, "give tr.models.EASE, not"),
        ("eas", {"l2": [1.0]}, {}, "did you mean 'ease'"),
        (dict, {"l2": [1.0]}, {}, "something with fit"),
    ],
)  # fmt: skip
def test_mistakes(model: Any, space: Any, more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        search(model, space, DATA, **{"metric": "ndcg@10", **more})


def test_data_must_be_data() -> None:
    with pytest.raises(InvalidArgumentError, match="data must be Interactions or a Split"):
        search(EASE, {"l2": [1.0]}, [[1, 2]], metric="ndcg@10")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        {"low": 2, "high": 1},
        {"low": 0, "high": 1, "log": True},
        {"low": 0.5, "high": 3, "whole": True},
        {"low": 0, "high": 1, "steps": 1},
        {"low": 0, "high": float("inf")},
    ],
)
def test_ranges_that_are_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        Between(**wrong)


def test_optuna_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"strategy='optuna' needs .*truerank\[tune\]"):
        search(EASE, {"l2": [1.0]}, DATA, metric="ndcg@10", strategy="optuna")
