"""MF and the learned linear models under the names of the last release: they work, and say so."""

from __future__ import annotations

import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.data.synthetic import generate
from truerank.models.names import model_class

DATA = generate(40, 24, seed=1, interactions_per_user=6.0)
QUICK: dict[str, Any] = {"dim": 4, "epochs": 2, "n_negatives": 4, "validation_metric": "ndcg@5"}

OLD: dict[str, tuple[Any, str, Any]] = {
    "rate": (0.02, "learning_rate", 0.02),
    "min_rate": (1e-5, "min_learning_rate", 1e-5),
    "hidden": (2.0, "n_hidden_positives", 2.0),
    "plateau": (3, "lr_patience", 3),
    "correct": (True, "correct_for_sampling", True),
    "n_positives": (5, "n_extra_positives", 5),
    "shared": (64, "negatives_per", 64),
}
"""Old name and value, new name and value."""


def with_header(source: Path, target: Path, change: Any) -> Path:
    """The model file with another header."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "header.json":
                header = json.loads(content)
                change(header)
                content = json.dumps(header).encode()
            new.writestr(name, content)
    return target


@pytest.mark.parametrize("old", OLD)
def test_old_parameters_of_mf(old: str) -> None:
    before, new, now = OLD[old]
    with pytest.warns(DeprecationWarning, match=f"parameter '{old}' of MF is called '{new}' now"):
        model = tr.models.MF(**{old: before})
    assert repr(model) == repr(tr.models.MF(**{new: now}))
    with pytest.warns(DeprecationWarning, match=f"attribute '{old}' of MF is called '{new}' now"):
        assert getattr(model, old) == now


@pytest.mark.parametrize(("shared", "per"), [(True, "batch"), (False, "pair"), (1, "pair")])
def test_shared_was_true_or_false(shared: Any, per: str) -> None:
    with pytest.warns(DeprecationWarning, match="negatives_per"):
        assert tr.models.MF(shared=shared).negatives_per == per  # type: ignore[call-arg]


def test_an_old_file_of_mf_loads_without_a_word(tmp_path: Path) -> None:
    model = tr.models.MF(**QUICK, negatives_per="pair", learning_rate=0.02).fit(DATA)
    model.save(tmp_path / "new")

    def as_it_was(header: dict[str, Any]) -> None:
        held = header["parameters"]
        for old, (_, new, _) in OLD.items():
            held[old] = held.pop(new)
        held["shared"] = False

    path = with_header(tmp_path / "new", tmp_path / "old", as_it_was)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = tr.models.load(path)
    assert again.parameters() == model.parameters()
    np.testing.assert_array_equal(again.user_factors, model.user_factors)


def test_an_old_checkpoint_goes_on(tmp_path: Path) -> None:
    settings = QUICK | {"learning_rate": 0.02, "negatives_per": 16}
    tr.models.MF(**settings).fit(DATA, checkpoint=tmp_path / "c")
    with np.load(tmp_path / "c") as held:
        arrays = dict(held)
    header = json.loads(arrays.pop("header").tobytes())
    for old, (_, new, _) in OLD.items():
        header["settings"][old] = header["settings"].pop(new)
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with (tmp_path / "c").open("wb") as file:
        np.savez(file, header=text, **arrays)
    longer = settings | {"epochs": 3}
    resumed = tr.models.MF(**longer).fit(DATA, checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(
        resumed.user_factors, tr.models.MF(**longer).fit(DATA).user_factors
    )


def test_nearby_is_learned_linear(tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match="'Nearby' is called 'LearnedLinear' now"):
        kind = tr.models.Nearby
    assert kind is tr.models.LearnedLinear
    with pytest.warns(DeprecationWarning, match="model 'nearby' is called 'learned-linear' now"):
        assert model_class("nearby") is kind
    with pytest.warns(DeprecationWarning, match="'rate' of LearnedLinear .* 'learning_rate'"):
        assert kind(rate=0.1).learning_rate == 0.1  # type: ignore[call-arg]
    with pytest.warns(DeprecationWarning, match="'c' of LearnedLinear is called 'lambda_range'"):
        assert kind(base="lrr", c=1.0).lambda_range == 1.0  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="no attribute 'Further'"):
        _ = tr.models.Further  # type: ignore[attr-defined]


def test_an_old_file_of_nearby_loads_without_a_word(tmp_path: Path) -> None:
    model = tr.models.LearnedLinear(base="ease l2=5", epochs=1).fit(DATA)
    model.save(tmp_path / "new")

    def as_it_was(header: dict[str, Any]) -> None:
        header["class"], held = "Nearby", header["parameters"]
        held["rate"], held["c"] = held.pop("learning_rate"), held.pop("lambda_range")

    path = with_header(tmp_path / "new", tmp_path / "old", as_it_was)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = tr.models.load(path)
    assert isinstance(again, tr.models.LearnedLinear)
    np.testing.assert_array_equal(again.score_all(np.arange(4)), model.score_all(np.arange(4)))
