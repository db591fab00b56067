"""What must hold for every model by name: awkward data, new users, files, repeated fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.data.synthetic import generate
from truerank.models.names import MODELS, model_class

SMALL: dict[str, dict[str, Any]] = {
    "item-knn": {"k": 5},
    "centred-item-knn": {"k": 5},
    "user-knn": {"k": 5},
    "slim": {"l1": 0.5, "l2": 2.0},
    "ease": {"l2": 5.0},
    "dlae": {"p": 0.3, "l2": 1.0},
    "edlae": {"p": 0.3, "l2": 1.0},
    "lrr": {"l2": 5.0, "rank": 4},
    "closed-form-mf": {"l2": 0.5, "rank": 4},
    "pure-svd": {"rank": 4},
    "debiased-ease": {"l2": 5.0},
    "wmf": {"dim": 4, "epochs": 3},
    "ials": {"dim": 4, "epochs": 3},
    "debiased-ials": {"dim": 4, "epochs": 3},
    "svdpp": {"dim": 4, "epochs": 2},
    "nearby": {"epochs": 1, "batch_size": 64},
    "mf": {
        "dim": 4,
        "epochs": 2,
        "batch_size": 64,
        "n_negatives": 4,
        "validation_metric": "ndcg@5",
    },
}

PENALTIES = {
    "slim": "l2",
    "ease": "l2",
    "dlae": "l2",
    "edlae": "l2",
    "lrr": "l2",
    "closed-form-mf": "l2",
    "debiased-ease": "l2",
    "wmf": "reg",
    "ials": "reg",
    "debiased-ials": "reg",
    "svdpp": "reg",
}

RANKS = {"lrr": "rank", "closed-form-mf": "rank", "pure-svd": "rank"}

NAMES = sorted(MODELS)

READ_WEIGHTS = sorted(set(MODELS) - {"popularity", "debiased-ease", "mf", "nearby"})
"""The others count interactions; Interactions themselves refuse such weights when they are made."""


@pytest.fixture(scope="module")
def awkward() -> tr.Interactions:
    """40 users and 24 items; the last user has nothing, item 22 everybody has, nobody has 23."""
    data = generate(40, 24, seed=2, interactions_per_user=6.0)
    keep = (data.users != 39) & (data.indices < 22)
    others = np.arange(39)
    return tr.Interactions.from_arrays(
        np.concatenate([data.users[keep], others]),
        np.concatenate([data.indices[keep], np.full(39, 22)]),
        user_ids=np.arange(40),
        item_ids=np.arange(24),
    )


def fitted(name: str, data: tr.Interactions) -> Any:
    model = model_class(name)(**SMALL.get(name, {}))
    if name == "nearby":
        return model.fit(data, base=tr.models.LRR(l2=5.0, rank=4).fit(data))
    return model.fit(data)


@pytest.mark.parametrize("name", NAMES)
def test_an_untouched_item_an_empty_user_and_one_that_everybody_has(
    name: str, awkward: tr.Interactions
) -> None:
    model = fitted(name, awkward)
    users = np.arange(40)
    scores = model.score_all(users)
    assert scores.shape == (40, 24)
    assert np.isfinite(scores).all()
    items = np.array([[23, 22, 0]] * 40)
    np.testing.assert_allclose(
        model.score_pairs(users, items), np.take_along_axis(scores, items, axis=1), atol=1e-5
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bits_again_for_new_users_too_and_from_a_file(
    name: str, awkward: tr.Interactions, tmp_path: Path
) -> None:
    model, users = fitted(name, awkward), np.arange(40)
    scores = model.score_all(users)
    assert np.array_equal(fitted(name, awkward).score_all(users), scores)
    folded = model.fold_in(awkward).score_all(users)
    assert folded.shape == scores.shape
    assert np.isfinite(folded).all()
    model.save(tmp_path / "model")
    assert np.array_equal(tr.models.load(tmp_path / "model").score_all(users), scores)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", READ_WEIGHTS)
def test_weights_that_are_not_finite(name: str, bad: float, awkward: tr.Interactions) -> None:
    weights = np.ones(len(awkward))
    weights[3] = bad
    with pytest.raises(tr.TruerankError, match=r"finite|NaN|not a number"):
        fitted(name, replace(awkward, weights=weights))


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize(("name", "penalty"), PENALTIES.items())
def test_a_penalty_that_cannot_be(name: str, penalty: str, value: float) -> None:
    with pytest.raises(tr.TruerankError, match=f"{penalty}.* must be"):
        model_class(name)(**SMALL[name] | {penalty: value})


@pytest.mark.parametrize(("name", "rank"), RANKS.items())
def test_more_ranks_than_the_data_have(name: str, rank: str, awkward: tr.Interactions) -> None:
    with pytest.raises(tr.TruerankError, match="rank"):
        model_class(name)(**SMALL[name] | {rank: 24}).fit(awkward)
