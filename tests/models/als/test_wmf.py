from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError
from truerank.models.als.ials import IALS
from truerank.models.als.wmf import WMF

from .als_reference import interactions, weights_of, wmf_objective


def fitted(data: tr.Interactions, **more: Any) -> WMF:
    return WMF(**{"dim": 5, "l2": 0.8, "alpha": 3.0, "dtype": "float64", **more}).fit(data)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_tracked_objective_is_the_printed_one_and_never_rises(weighted: bool) -> None:
    data = interactions(weighted=weighted)
    model = fitted(data, epochs=12, track_objective=True)
    want = wmf_objective(weights_of(data), model.user_factors, model.item_factors, 0.8, 3.0)
    assert model.objectives[-1] == pytest.approx(want, rel=1e-12)
    assert np.all(np.diff(model.objectives) < 0)


def test_each_user_is_the_papers_formula() -> None:
    data = interactions(weighted=True)
    model = fitted(data, epochs=3)
    X, H = weights_of(data), model.item_factors
    for u, counts in enumerate(X):
        C = np.diag(1 + 3.0 * counts)
        want = np.linalg.solve(H.T @ C @ H + 0.8 * np.eye(5), H.T @ C @ (counts > 0))
        np.testing.assert_allclose(model.user_factors[u], want, atol=1e-10)


def test_at_the_end_no_step_leads_down() -> None:
    data = interactions(weighted=True)
    model = fitted(data, epochs=200)
    X, W, H = weights_of(data), model.user_factors, model.item_factors
    best, rng = wmf_objective(X, W, H, 0.8, 3.0), np.random.default_rng(0)
    for _ in range(10):
        step_w, step_h = (1e-3 * rng.normal(size=x.shape) for x in (W, H))
        assert wmf_objective(X, W + step_w, H, 0.8, 3.0) > best
        assert wmf_objective(X, W, H + step_h, 0.8, 3.0) > best


def test_new_users_are_solved_like_known_ones() -> None:
    data = interactions(weighted=True)
    model = fitted(data, epochs=2, dtype="float32")
    np.testing.assert_array_equal(model.fold_in(data).user_factors, model.user_factors)


@pytest.mark.parametrize("epochs", [1, 4])
def test_without_weights_it_is_an_ials_at_every_epoch(epochs: int) -> None:
    data, alpha, users = interactions(), 3.0, np.arange(25)
    k = (1 + alpha) / alpha
    model = fitted(data, epochs=epochs, init_std=0.1 * np.sqrt(k))
    plain = IALS(
        dim=5, l2=0.8 / (1 + alpha), unobserved_weight=1 / alpha, nu=0.0, epochs=epochs,
        init_std=0.1, dtype="float64",
    ).fit(data)  # fmt: skip
    np.testing.assert_allclose(model.score_all(users), k * plain.score_all(users), atol=1e-10)


def test_heavier_interactions_pull_harder() -> None:
    light, heavy = (
        tr.Interactions.from_arrays([0, 0, 1, 1, 2], [0, 1, 1, 2, 0], weight=[1, w, 1, 1, 1])
        for w in (1.0, 50.0)
    )
    scores = [fitted(x, dim=2, epochs=20).score_all(np.array([0]))[0] for x in (light, heavy)]
    assert scores[1][1] > scores[0][1]


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"alpha": 0.0}, "alpha must be positive and finite, got 0.0"),
        ({"l2": 0.0}, "l2 must be positive and finite"),
        ({"solver": "qr"}, "solver must be one of"),
        ({"dim": -3}, "dim must be a whole number, at least 1, got -3"),
    ],
)
def test_settings_that_cannot_be(setting: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        WMF(**setting)
