"""Rates epoch by epoch, and training again on everything when the validation users have chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.mf.test_mf import QUICK, TRAIN

from truerank.errors import InvalidArgumentError, NotFittedError
from truerank.models import MF, load
from truerank.training.optimisers import Step
from truerank.training.validation import ValidationUsers

VALUES = [0.1, 0.3, 0.2, 0.3, 0.4, 0.1, 0.2, 0.3]
RATES = [0.02, 0.02, 0.02, 0.01, 0.005, 0.005, 0.0025, 0.00125]  # plateau 1
JUDGED: dict[str, Any] = QUICK | {"epochs": 8, "lr_patience": 1, "patience": 8}


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The rates that training really used, without repetitions in a row."""
    rates: list[float] = []
    number = Step.number.__func__  # type: ignore[attr-defined]

    def noting(cls: Any, s: int, *, rate: float, **more: Any) -> Step:
        rates.append(rate)
        return number(cls, s, rate=rate, **more)  # type: ignore[no-any-return]

    monkeypatch.setattr(Step, "number", classmethod(noting))
    return rates


def by_epoch(used: list[float], epochs: int) -> list[float]:
    """One of each epoch, all of which have as many steps."""
    rates = np.array(used).reshape(epochs, -1)
    assert (rates == rates[:, :1]).all()
    return rates[:, 0].tolist()


def validated_by(monkeypatch: pytest.MonkeyPatch, values: list[float], **settings: Any) -> MF:
    rest = iter(values)
    monkeypatch.setattr(ValidationUsers, "evaluate_factors", lambda *_: next(rest))
    return MF("bpr", **JUDGED | settings).fit(TRAIN)


@pytest.mark.parametrize(
    ("settings", "values", "expected"),
    [
        ({}, VALUES, RATES),
        ({"lr_patience": 2}, VALUES, [0.02] * 4 + [0.01] * 3 + [0.005]),
        # Asked after epochs 2, 4, 6 and 8, the second time worse than the first.
        ({"validation_every": 2}, [0.3, 0.2, 0.4, 0.1], [0.02] * 4 + [0.01] * 4),
        ({"learning_rate": [0.01, 0.03, 0.02]}, VALUES, [0.01, 0.03, *RATES[2:]]),
        ({"min_learning_rate": 0.005}, VALUES, [0.02, 0.02, 0.02, 0.01] + [0.005] * 4),
    ],
)  # fmt: skip
def test_rates_are_those_that_were_used(
    monkeypatch: pytest.MonkeyPatch,
    used: list[float],
    settings: dict[str, Any],
    values: list[float],
    expected: list[float],
) -> None:
    model = validated_by(monkeypatch, values, **settings)
    assert by_epoch(used, 8) == expected
    assert model.rates.tolist() == expected


def test_without_validation_users_the_loss_decides_on_the_rates(used: list[float]) -> None:
    settings = JUDGED | {"validation_share": 0.0, "epochs": 40, "learning_rate": 0.3}
    model = MF("bpr", **settings).fit(TRAIN)
    assert len(set(used)) > 2
    assert by_epoch(used, 40) == model.rates.tolist()


@pytest.mark.parametrize("seed", [None, 5])
def test_a_refitted_model_has_the_epochs_and_rates_of_the_best_and_all_pairs(
    monkeypatch: pytest.MonkeyPatch, used: list[float], seed: int | None
) -> None:
    validated = validated_by(monkeypatch, VALUES)
    used.clear()
    again = validated.refit(TRAIN, seed=seed)
    assert by_epoch(used, 5) == RATES[:5]
    explicit = QUICK | {
        "epochs": 5, "validation_share": 0.0, "learning_rate": RATES[:5], "seed": seed or 0,
        "lr_patience": 1, "patience": 8,
    }  # fmt: skip
    expected = MF("bpr", **explicit).fit(TRAIN)
    assert again.parameters() == expected.parameters()
    np.testing.assert_array_equal(again.user_factors, expected.user_factors)
    np.testing.assert_array_equal(again.item_factors, expected.item_factors)


def test_the_validated_model_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    validated = validated_by(monkeypatch, VALUES)
    factors, settings = validated.item_factors.copy(), validated.parameters()
    assert not np.array_equal(validated.refit(TRAIN).item_factors, factors)
    np.testing.assert_array_equal(validated.item_factors, factors)
    assert validated.parameters() == settings


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda x: list(np.float32(x))])
def test_a_list_of_rates_survives_files(tmp_path: Path, kind: Any) -> None:
    settings = QUICK | {"validation_share": 0.0, "learning_rate": kind([0.03, 0.02, 0.01, 0.01])}
    whole = MF("bpr", **settings).fit(TRAIN)
    MF("bpr", **settings | {"epochs": 2}).fit(TRAIN, checkpoint=tmp_path / "c")
    resumed = MF("bpr", **settings).fit(TRAIN, checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(resumed.item_factors, whole.item_factors)
    resumed.save(tmp_path / "mf.model")
    rates = load(tmp_path / "mf.model").refit(TRAIN).rates
    np.testing.assert_allclose(rates, [0.03, 0.02, 0.01, 0.01], rtol=1e-6)


def test_only_a_fitted_model_is_refitted() -> None:
    with pytest.raises(NotFittedError):
        MF("bpr").refit(TRAIN)


@pytest.mark.parametrize(
    ("rate", "sentence"),
    [
        ([], r"learning_rate must be a number, or a list of some, got \[\]"),
        ([0.1, -1.0], "learning_rate must be positive and finite, got -1.0"),
        ("0.1", "learning_rate must be positive and finite, got '0.1'"),
        (float("nan"), "learning_rate must be positive and finite, got nan"),
    ],
)
def test_rates_that_make_no_sense_are_said_in_one_sentence(rate: Any, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        MF("bpr", learning_rate=rate)
