from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError
from truerank.models.als.svdpp import SVDpp
from truerank.models.factor_model import start_factors

from .als_reference import interactions, penalties, weights_of


def fitted(data: tr.Interactions, **more: Any) -> SVDpp:
    setting = {"dim": 4, "l2": 0.02, "unobserved_weight": 0.3, "nu": 0.7, "dtype": "float64"}
    return SVDpp(**{**setting, **more}).fit(data)


def from_items(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """|I_u|^-1/2 times the sum of a user's implicit vectors, one user after the other."""
    return np.array([Y[x > 0].sum(axis=0) / np.sqrt(max((x > 0).sum(), 1)) for x in X])


def read_aloud(X: np.ndarray, P: np.ndarray, H: np.ndarray, Y: np.ndarray) -> float:
    by_user, by_item = penalties(X, 0.02, 0.3, 0.7)
    Z, total = P + from_items(X, Y), 0.0
    for u in range(len(X)):
        for i in range(len(H)):
            score = float(H[i] @ Z[u])
            total += X[u, i] * (score - 1) ** 2 + 0.3 * score**2
        total += by_user[u] * float(P[u] @ P[u])
    for i in range(len(H)):
        total += by_item[i] * float(H[i] @ H[i] + Y[i] @ Y[i])
    return total


def parts(model: SVDpp, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    own = model.user_factors - from_items(X, model.implicit_factors)
    return own, model.item_factors, model.implicit_factors


@pytest.mark.parametrize("weighted", [False, True])
def test_the_tracked_objective_is_the_printed_one_and_never_rises(weighted: bool) -> None:
    data = interactions(weighted=weighted)
    model = fitted(data, epochs=20, track_objective=True)
    X = weights_of(data)
    assert model.objectives[-1] == pytest.approx(read_aloud(X, *parts(model, X)), rel=1e-12)
    assert np.all(np.diff(model.objectives) < 0)


def test_at_the_end_no_step_leads_down() -> None:
    data = interactions(weighted=True)
    model = fitted(data, epochs=200)
    X = weights_of(data)
    found = parts(model, X)
    best, rng = read_aloud(X, *found), np.random.default_rng(0)
    for _ in range(8):
        for k in range(3):
            moved = list(found)
            moved[k] = moved[k] + 1e-2 * rng.normal(size=moved[k].shape)
            assert read_aloud(X, *moved) > best


def test_each_user_is_exact_with_the_items_fixed() -> None:
    data = interactions(weighted=True)
    model = fitted(data, epochs=2)
    X = weights_of(data)
    P, H, _ = parts(model, X)
    Z, (by_user, _) = model.user_factors, penalties(X, 0.02, 0.3, 0.7)
    gradient = (X * (Z @ H.T - 1)) @ H + 0.3 * Z @ H.T @ H + by_user[:, None] * P
    assert abs(gradient).max() < 1e-12


def test_many_gradients_solve_for_the_implicit_vectors_exactly() -> None:
    """One epoch with enough steps: the derivative by Y, taken numerically, is zero."""
    data = interactions()
    X = weights_of(data)
    few, many = (fitted(data, epochs=1, cg_steps=steps) for steps in (1, 80))
    slopes = []
    for model in (few, many):
        _, H, Y = parts(model, X)
        start = start_factors(25, 4, 0.1, 0, "float64")
        slope = np.zeros_like(Y)
        for place in np.ndindex(Y.shape):
            step = np.zeros_like(Y)
            step[place] = 1e-4
            up, down = (read_aloud(X, start, H, Y + sign * step) for sign in (1, -1))
            slope[place] = (up - down) / 2e-4
        slopes.append(abs(slope).max())
    assert slopes[0] > 1e-3
    assert slopes[1] < 1e-7


def test_new_users_are_solved_like_known_ones_and_implicit_vectors_matter() -> None:
    data = interactions(weighted=True)
    model = fitted(data, epochs=2, dtype="float32")
    assert model.user_factors.dtype == np.float32
    np.testing.assert_array_equal(model.fold_in(data).user_factors, model.user_factors)
    assert abs(model.implicit_factors).max() > 1e-3


def test_the_same_bits_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(2)
    pairs = np.unique(rng.integers(0, [300, 200], (3000, 2)), axis=0)
    data = tr.Interactions.from_arrays(*pairs.T)
    one, three = (SVDpp(dim=8, epochs=2).fit(data, workers=n) for n in (1, 3))
    np.testing.assert_array_equal(one.user_factors, three.user_factors)
    np.testing.assert_array_equal(one.item_factors, three.item_factors)


def test_who_did_nothing_gets_zeros() -> None:
    data = tr.Interactions.from_arrays([0, 0, 2], [0, 1, 1], user_ids=[0, 1, 2], item_ids=[0, 1, 2])
    model = SVDpp(dim=3, epochs=2).fit(data)
    np.testing.assert_array_equal(model.user_factors[1], 0)
    np.testing.assert_array_equal(model.item_factors[2], 0)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"l2": 0.0}, "l2 must be positive and finite, got 0.0"),
        ({"unobserved_weight": -1.0}, "unobserved_weight must be at least 0"),
        ({"cg_steps": 0}, "cg_steps must be a whole number"),
        ({"dtype": "int8"}, "dtype must be"),
    ],
)
def test_settings_that_cannot_be(setting: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        SVDpp(**setting)
