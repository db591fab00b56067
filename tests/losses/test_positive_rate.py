"""The two rules for the share of positives."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError


def test_both_rules() -> None:
    counts = np.array([0, 3, 10])
    known = tr.losses.positive_rate(counts, 200)
    assert known.tolist() == [0 / 200, 3 / 200, 10 / 200]
    top_k = tr.losses.positive_rate(counts, 200, n_hidden_positives=20)
    assert top_k.tolist() == [(c + 20) / 200 for c in (0, 3, 10)]
    in_proportion = tr.losses.positive_rate(counts, 200, alpha=0.5)
    assert in_proportion == pytest.approx([1.5 * c / 200 for c in (0, 3, 10)], rel=1e-15)
    both = tr.losses.positive_rate(counts, 200, n_hidden_positives=20, alpha=0.5)
    assert both == pytest.approx([(1.5 * c + 20) / 200 for c in (0, 3, 10)], rel=1e-15)
    assert top_k.dtype == np.float64


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n_items": 0}, "n_items must be at least 1, got 0"),
        (
            {"n_hidden_positives": -1},
            "n_hidden_positives must be a finite number, at least 0, got -1",
        ),
        ({"alpha": float("nan")}, "alpha must be a finite number, at least 0, got nan"),
        ({"n_positives": np.array([2, -3])}, "n_positives must be counts, at least 0, got -3"),
        (
            {"n_hidden_positives": 2_000},
            r"below 1 for the user with 50 of 1,000 items, got 2.05; choose a smaller n_hidden_",
        ),
    ],
)
def test_bad_input(arguments: dict[str, object], sentence: str) -> None:
    usual: dict[str, object] = {"n_positives": np.array([2, 50]), "n_items": 1_000}
    with pytest.raises(InvalidArgumentError, match=sentence):
        tr.losses.positive_rate(**{**usual, **arguments})  # type: ignore[arg-type]


def test_no_users_have_no_rates() -> None:
    assert tr.losses.positive_rate(np.array([], dtype=np.int64), 10).shape == (0,)
