"""Chapter 3: debiased iALS and EASE, and which iALS and EASE they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError
from truerank.models.als.debiased_ials import DebiasedIALS
from truerank.models.als.ials import IALS
from truerank.models.linear.debiased_ease import DebiasedEASE
from truerank.models.linear.ease import EASE

from .als_reference import debiased_objective, interactions, penalties, weights_of

EVERYBODY = np.arange(25)


def debiased(data: tr.Interactions, **more: Any) -> DebiasedIALS:
    setting = {
        "dim": 5,
        "l2": 0.02,
        "unobserved_weight": 0.3,
        "positive_ratio": 1.5,
        "dtype": "float64",
    }
    return DebiasedIALS(**{**setting, **more}).fit(data)


# ---------------------------------------------------------------- debiased iALS


@pytest.mark.parametrize("hidden", [0.0, 4.0])
def test_the_tracked_objective_is_the_printed_one_and_never_rises(hidden: float) -> None:
    data = interactions()
    model = debiased(data, n_hidden_positives=hidden, nu=0.7, epochs=10, track_objective=True)
    X = weights_of(data)
    rates = 1.5 + hidden / X.sum(axis=1)
    W, H = model.user_factors, model.item_factors
    want = debiased_objective(X, W, H, 0.02, 0.3, 0.7, rates)
    assert model.objectives[-1] == pytest.approx(want, rel=1e-12)
    assert np.all(np.diff(model.objectives) < 0)


def test_each_user_carries_c_on_the_right_and_not_its_root() -> None:
    data = interactions()
    model = debiased(data, n_hidden_positives=4.0, nu=1.0, epochs=3)
    X, H = weights_of(data), model.item_factors
    ridge, _ = penalties(X, 0.02, 0.3, 1.0)
    for u, seen in enumerate(X > 0):
        S, c = H[seen], 1.5 + 4.0 / seen.sum()
        A = c * (1 - 0.3) * S.T @ S + 0.3 * H.T @ H + ridge[u] * np.eye(5)
        want = np.linalg.solve(A, c * S.sum(axis=0))
        np.testing.assert_allclose(model.user_factors[u], want, atol=1e-11)


def same_scores(model: DebiasedIALS, plain: IALS, k: float) -> bool:
    a, b = (m.score_all(EVERYBODY) for m in (model, plain))
    return bool(np.allclose(a, k * b, rtol=1e-8, atol=1e-10))


@pytest.mark.parametrize("epochs", [1, 2, 7])
def test_without_frequency_scaling_it_is_an_ials_at_every_epoch(epochs: int) -> None:
    """nu = 0: alpha_0' = alpha_0 / ((1 - alpha_0) c), reg' = reg / c, scores by k."""
    data, k, c = interactions(), 1 / (1 - 0.3), 1.5
    model = debiased(data, nu=0.0, epochs=epochs, init_std=0.1 * np.sqrt(k))
    plain = IALS(dim=5, l2=0.02 / c, unobserved_weight=0.3 * k / c, nu=0.0, epochs=epochs,
                 init_std=0.1, dtype="float64").fit(data)  # fmt: skip
    assert same_scores(model, plain, k)


def test_the_printed_penalty_belongs_to_another_problem() -> None:
    data, k, c = interactions(), 1 / (1 - 0.3), 1.5
    model = debiased(data, nu=0.0, epochs=5, init_std=0.1 * np.sqrt(k))
    printed = IALS(dim=5, l2=0.02 * k / c, unobserved_weight=0.3 * k / c, nu=0.0, epochs=5,
                   dtype="float64").fit(data)  # fmt: skip
    assert not same_scores(model, printed, k)


def test_a_single_half_step_has_the_printed_form() -> None:
    """The same items given: lambda' = lambda / ((1 - alpha_0) c), users longer by k."""
    data, k, c = interactions(), 1 / (1 - 0.3), 1.5
    model = debiased(data, nu=0.0, epochs=3)
    plain = IALS(dim=5, l2=0.02 * k / c, unobserved_weight=0.3 * k / c, nu=0.0, dtype="float64")
    plain.item_factors = model.item_factors
    np.testing.assert_allclose(model.user_factors, k * plain.solve_users(data), rtol=1e-8)


@pytest.mark.parametrize("nu", [0.5, 1.0])
def test_where_c_undoes_the_unobserved_weight_any_nu_will_do(nu: float) -> None:
    """c = 1 / (1 - alpha_0): alpha_0' = alpha_0, so the penalties only need dividing by c."""
    data, c = interactions(), 1 / (1 - 0.3)
    model = debiased(data, positive_ratio=c, nu=nu, epochs=4, init_std=0.1 * np.sqrt(c))
    plain = IALS(dim=5, l2=0.02 / c, unobserved_weight=0.3, nu=nu, epochs=4,
                 dtype="float64").fit(data)  # fmt: skip
    assert same_scores(model, plain, c)


def test_with_frequency_scaling_and_another_c_no_such_reg_is_right() -> None:
    data, k, c = interactions(), 1 / (1 - 0.3), 1.5
    model = debiased(data, nu=1.0, epochs=4, init_std=0.1 * np.sqrt(k))
    plain = IALS(dim=5, l2=0.02 / c, unobserved_weight=0.3 * k / c, nu=1.0, epochs=4,
                 dtype="float64").fit(data)  # fmt: skip
    assert not same_scores(model, plain, k)


def test_with_c_one_and_weights_ignored() -> None:
    light, heavy = interactions(), interactions(weighted=True)
    a, b = (debiased(x, epochs=2).score_all(EVERYBODY) for x in (light, heavy))
    np.testing.assert_array_equal(a, b)


# ---------------------------------------------------------------- debiased EASE


def ease_objective(X: np.ndarray, W: np.ndarray, l2: float, c: np.ndarray) -> float:
    """The docstring's objective, user by user."""
    total = l2 * float((W**2).sum())
    for x, rate in zip(X, c, strict=True):
        total += rate * float(((x - x @ W) ** 2).sum()) - (rate - 1) * float(((x @ W) ** 2).sum())
    return total


def chapter_loss(X: np.ndarray, W: np.ndarray, c: np.ndarray) -> float:
    """The debiased squared loss as the chapter starts from it, with lambda = 1."""
    total = 0.0
    for x, rate in zip(X, c, strict=True):
        score = x @ W
        total += rate * float(((score - 1) ** 2 - score**2)[x > 0].sum()) + float((score**2).sum())
    return total


def test_the_objective_is_the_chapters_loss_with_weight_one() -> None:
    X, rng = weights_of(interactions()), np.random.default_rng(0)
    rates = rng.uniform(1, 3, len(X))
    W, V = rng.normal(size=(2, 18, 18))
    ours = ease_objective(X, W, 0.0, rates) - ease_objective(X, V, 0.0, rates)
    theirs = chapter_loss(X, W, rates) - chapter_loss(X, V, rates)
    assert ours == pytest.approx(theirs, rel=1e-10)


@pytest.mark.parametrize("hidden", [0.0, 3.0])
def test_ease_minimises_the_printed_objective(hidden: float) -> None:
    data = interactions()
    X = weights_of(data)
    model = DebiasedEASE(
        l2=2.0, positive_ratio=1.4, n_hidden_positives=hidden, dtype="float64"
    ).fit(data)
    rates, W = 1.4 + hidden / X.sum(axis=1), model.item_item
    assert not np.diag(W).any()
    best, rng = ease_objective(X, W, 2.0, rates), np.random.default_rng(4)
    for _ in range(100):
        step = 1e-3 * rng.normal(size=W.shape)
        np.fill_diagonal(step, 0.0)
        assert ease_objective(X, W + step, 2.0, rates) > best


def test_with_one_c_it_is_c_times_ease_with_the_same_l2() -> None:
    data = interactions()
    ours = DebiasedEASE(l2=2.0, positive_ratio=1.4, dtype="float64").fit(data).item_item
    plain = EASE(l2=2.0, dtype="float64").fit(data).item_item
    np.testing.assert_allclose(ours, 1.4 * plain, rtol=1e-12, atol=1e-15)


def test_the_closed_form_of_the_chapter_with_alpha_corrected() -> None:
    """alpha = (c - 1) / c and the penalty divided by c, as the whole objective is."""
    data, c, l2 = interactions(), 1.4, 2.0
    X, alpha = weights_of(data), (1.4 - 1) / 1.4
    P = np.linalg.inv(X.T @ X + l2 / c / (1 - alpha) * np.eye(18))
    want = (np.eye(18) - P / np.diag(P)) / (1 - alpha)
    ours = DebiasedEASE(l2=l2, positive_ratio=c, dtype="float64").fit(data).item_item
    np.testing.assert_allclose(ours, want, atol=1e-12)


def test_hidden_positives_change_the_ranking_and_weights_do_not() -> None:
    plain, other, weighted = (
        DebiasedEASE(2.0, 1.0, n_hidden_positives=hidden, dtype="float64").fit(data).item_item
        for hidden, data in (
            (0.0, interactions()), (5.0, interactions()), (5.0, interactions(weighted=True)),
        )
    )  # fmt: skip
    assert abs(other / other.max() - plain / plain.max()).max() > 1e-3
    np.testing.assert_array_equal(other, weighted)


@pytest.mark.parametrize("kind", [DebiasedEASE, DebiasedIALS])
@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"positive_ratio": 0.9}, "positive_ratio must be at least 1 and finite, got 0.9"),
        ({"positive_ratio": float("nan")}, "positive_ratio must be at least 1"),
        ({"n_hidden_positives": -1.0}, "n_hidden_positives must be at least 0"),
    ],
)
def test_rates_that_cannot_be(kind: Any, setting: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        kind(**setting)


def test_an_unobserved_weight_of_one_has_no_minimum() -> None:
    with pytest.raises(InvalidArgumentError, match=r"below 1, got 1\.0; .* no minimum"):
        DebiasedIALS(unobserved_weight=1.0)


def test_ease_checks_its_penalty() -> None:
    with pytest.raises(InvalidArgumentError, match="l2 must be positive and finite, got 0"):
        DebiasedEASE(l2=0)


@pytest.mark.parametrize("hidden", [0.0, 3.0])
def test_weights_of_new_users_are_not_used_either(hidden: float) -> None:
    data, users = interactions(weighted=True), np.arange(25)
    model = DebiasedEASE(l2=2.0, n_hidden_positives=hidden).fit(data)
    np.testing.assert_array_equal(model.fold_in(data).score_all(users), model.score_all(users))
