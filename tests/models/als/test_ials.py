from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.models.als import solvers as als_solvers
from truerank.models.als.ials import IALS
from truerank.models.factor_model import start_factors

from .als_reference import dense_als, ials_objective, interactions, weights_of

SETTING: dict[str, Any] = {"dim": 6, "l2": 0.02, "unobserved_weight": 0.3, "nu": 0.7, "seed": 3}
SOLVERS = ["cholesky", "cg", "block"]


def fitted(data: tr.Interactions, **more: Any) -> IALS:
    return IALS(**{**SETTING, "dtype": "float64", **more}).fit(data)


def read_aloud(data: tr.Interactions, W: np.ndarray, H: np.ndarray) -> float:
    return ials_objective(weights_of(data), W, H, 0.02, 0.3, 0.7)


# ---------------------------------------------------------------- the objective


@pytest.mark.parametrize("weighted", [False, True])
def test_exact_alternation_is_that_of_dense_numpy(weighted: bool) -> None:
    data = interactions(weighted=weighted)
    model = fitted(data, epochs=4)
    start = start_factors(data.n_users, 6, 0.1, 3, "float64")
    W, H = dense_als(weights_of(data), start, 4, 0.02, 0.3, 0.7)
    # The axes are turned on the way, so factors differ and scores do not.
    np.testing.assert_allclose(model.score_all(np.arange(25)), W @ H.T, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_tracked_objective_is_the_printed_one_and_never_rises(solver: str) -> None:
    data = interactions(weighted=True)
    model = fitted(data, solver=solver, block_size=4, epochs=25, track_objective=True)
    last = read_aloud(data, model.user_factors, model.item_factors)
    assert model.objectives[-1] == pytest.approx(last, rel=1e-12)
    assert len(model.objectives) == 25
    assert np.all(np.diff(model.objectives) <= 1e-12 * last)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_ends_where_no_step_leads_down(solver: str) -> None:
    data = interactions()
    model = fitted(data, solver=solver, block_size=2, epochs=200)
    W, H = model.user_factors, model.item_factors
    best, rng = read_aloud(data, W, H), np.random.default_rng(1)
    for _ in range(8):
        step_w, step_h = rng.normal(size=W.shape), rng.normal(size=H.shape)
        for size in (1e-2, 1e-3):
            assert read_aloud(data, W + size * step_w, H) > best
            assert read_aloud(data, W, H + size * step_h) > best
    assert best == pytest.approx(read_aloud(data, *dense_end(data)), rel=1e-4)


def dense_end(data: tr.Interactions) -> tuple[np.ndarray, np.ndarray]:
    start = start_factors(data.n_users, 6, 0.1, 3, "float64")
    return dense_als(weights_of(data), start, 200, 0.02, 0.3, 0.7)


def test_without_unobserved_weight_only_observed_pairs_count() -> None:
    data = interactions()
    model = fitted(data, unobserved_weight=0.0, epochs=3, track_objective=True)
    X = weights_of(data)
    want = ials_objective(X, model.user_factors, model.item_factors, 0.02, 0.0, 0.7)
    assert model.objectives[-1] == pytest.approx(want, rel=1e-12)


def test_one_epoch_of_few_cg_steps_is_not_yet_exact_and_of_many_is() -> None:
    data = interactions()
    exact = fitted(data, epochs=1).score_all(np.arange(25))
    few, many = (
        fitted(data, solver="cg", cg_steps=steps, epochs=1).score_all(np.arange(25))
        for steps in (1, 12)
    )
    assert abs(few - exact).max() > 1e-3
    np.testing.assert_allclose(many, exact, atol=1e-10)


def test_one_block_of_all_dimensions_is_the_exact_solver() -> None:
    data = interactions()
    exact, block = (fitted(data, solver=s, block_size=50, epochs=3) for s in ("cholesky", "block"))
    np.testing.assert_allclose(block.score_all(np.arange(25)), exact.score_all(np.arange(25)))


def test_rows_with_more_entries_than_a_chunk() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((2500, 3)) < [0.9, 0.5, 0.01]  # the first item has more than two chunks
    X[np.arange(2500), rng.integers(0, 3, 2500)] = True
    data = tr.Interactions.from_arrays(*np.nonzero(X))
    start = start_factors(data.n_users, 2, 0.1, 3, "float64")
    W, H = dense_als(weights_of(data), start, 2, 0.02, 0.3, 0.7)
    for solver, block in (("cholesky", 2), ("block", 1)):
        model = fitted(data, dim=2, epochs=2, solver=solver, block_size=block, track_objective=True)
        if solver == "cholesky":
            np.testing.assert_allclose(model.score_all(np.arange(2500)), W @ H.T, atol=1e-10)
        assert model.objectives[1] < model.objectives[0]


# ---------------------------------------------------------------- the rest of a model


@pytest.mark.parametrize("solver", SOLVERS)
def test_known_users_and_folded_in_ones_are_the_same_to_the_bit(solver: str) -> None:
    data = interactions(weighted=True)
    model = fitted(data, solver=solver, dtype="float32", epochs=3)
    folded = model.fold_in(data)
    assert folded.user_factors.dtype == np.float32
    np.testing.assert_array_equal(folded.user_factors, model.user_factors)
    np.testing.assert_array_equal(folded.score_all(np.arange(3)), model.score_all(np.arange(3)))


def test_folded_in_users_are_at_the_minimum_of_their_part() -> None:
    model = fitted(interactions(), epochs=5)
    new = interactions(seed=9)
    X, W, H = weights_of(new), model.fold_in(new).user_factors, model.item_factors
    ridge = 0.02 * (np.count_nonzero(X, axis=1) + 0.3 * 18) ** 0.7
    gradient = (X * (W @ H.T - 1)) @ H + 0.3 * W @ H.T @ H + ridge[:, None] * W
    assert abs(gradient).max() < 1e-12


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_bits_for_any_number_of_threads(
    solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(als_solvers, "BLOCK_ROWS", 7)  # several blocks in the shared sums
    rng = np.random.default_rng(2)
    pairs = np.unique(rng.integers(0, [400, 300], (6000, 2)), axis=0)
    data = tr.Interactions.from_arrays(*pairs.T)
    first, *others = (
        IALS(dim=40, solver=solver, block_size=16, epochs=3).fit(data, workers=workers)
        for workers in (1, 2, 5)
    )
    for other in others:
        np.testing.assert_array_equal(first.user_factors, other.user_factors)
        np.testing.assert_array_equal(first.item_factors, other.item_factors)


def test_float32_is_near_float64_and_seeds_differ() -> None:
    data = interactions()
    double, single, other = (
        fitted(data, **more).score_all(np.arange(25))
        for more in ({}, {"dtype": "float32"}, {"seed": 4, "epochs": 1})
    )
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, atol=2e-4)
    assert abs(other - fitted(data, epochs=1).score_all(np.arange(25))).max() > 1e-3


def test_scores_of_pairs_are_those_of_all() -> None:
    model = fitted(interactions(), epochs=2)
    users, items = np.array([4, 0]), np.array([[1, 17, 3], [0, 2, 2]])
    want = np.take_along_axis(model.score_all(users), items, axis=1)
    np.testing.assert_allclose(model.score_pairs(users, items), want, rtol=1e-12)
    assert model.n_items == 18


def test_a_table_of_ranks_from_it_beats_chance() -> None:
    split = tr.split.leave_one_out(tr.load_dataset("demo", n_users=300, n_items=200), seed=0)
    table = tr.rank(IALS(dim=16, epochs=5).fit(split.train), split)
    hits = table.per_user("recall@20")[1].mean()
    assert hits > 0.1 + 4 * np.sqrt(0.1 * 0.9 / 300)  # chance: 20 of 200


# ---------------------------------------------------------------- odd data and mistakes


@pytest.mark.parametrize("solver", SOLVERS)
def test_who_did_nothing_and_what_nobody_touched_get_zeros(solver: str) -> None:
    data = tr.Interactions.from_arrays(
        [0, 0, 1, 3], [0, 1, 1, 3], user_ids=[0, 1, 2, 3], item_ids=[0, 1, 2, 3]
    )
    model = IALS(dim=3, solver=solver, block_size=2, epochs=2).fit(data)
    np.testing.assert_array_equal(model.user_factors[2], 0)
    np.testing.assert_array_equal(model.score_all(np.arange(4))[:, 2], 0)
    assert model.user_factors[1].any()


def test_an_item_of_everybody_and_more_dimensions_than_items() -> None:
    data = tr.Interactions.from_arrays([0, 1, 2, 2], [0, 0, 0, 1])
    model = fitted(data, dim=9, epochs=40)
    scores = model.score_all(np.arange(3))
    assert np.isfinite(scores).all()
    assert scores[2, 1] > scores[0, 1]


def test_weight_zero_is_no_interaction() -> None:
    zero = tr.Interactions.from_arrays([0, 0, 1], [0, 1, 1], weight=[2.0, 0.0, 1.0], min_rating=0.0)
    without = tr.Interactions.from_arrays([0, 1], [0, 1], weight=[2.0, 1.0])
    a, b = (fitted(x, epochs=2).score_all(np.arange(2)) for x in (zero, without))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"l2": 0.0}, "l2 must be positive and finite, got 0.0"),
        ({"l2": -1.0}, "l2 must be positive and finite, got -1.0"),
        ({"l2": float("nan")}, "l2 must be positive"),
        ({"unobserved_weight": -0.1}, "unobserved_weight must be at least 0"),
        ({"nu": float("inf")}, "nu must be at least 0 and finite"),
        ({"dim": 0}, "dim must be a whole number, at least 1, got 0"),
        ({"dim": 2.5}, "dim must be a whole number"),
        ({"epochs": 0}, "epochs must be a whole number"),
        ({"cg_steps": 0}, "cg_steps must be"),
        ({"block_size": True}, "block_size must be"),
        ({"init_std": 0.0}, "init_std must be positive"),
        ({"solver": "lu"}, "solver must be one of cholesky, cg, block, got 'lu'"),
        ({"dtype": "float16"}, "dtype must be 'float32' or 'float64'"),
        ({"seed": -1}, "seed must be an integer from 0"),
    ],
)
def test_settings_that_cannot_be(setting: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        IALS(**setting)


def test_negative_weights_are_refused() -> None:
    data = tr.Interactions.from_arrays([0, 1], [0, 1], weight=[1.0, -2.0], min_rating=-2.0)
    with pytest.raises(InvalidDataError, match="must not be negative, got -2"):
        IALS().fit(data)


def test_weights_that_are_not_finite_are_refused() -> None:
    from dataclasses import replace

    data = tr.Interactions.from_arrays([0, 1], [0, 1], weight=[1.0, 2.0])
    broken = replace(data, weights=np.array([np.nan, 1], np.float32))
    with pytest.raises(InvalidDataError, match="not finite"):
        IALS().fit(broken)


def test_a_history_over_other_items_is_refused() -> None:
    model = fitted(interactions(), epochs=1)
    other = tr.Interactions.from_arrays([0], [0])
    with pytest.raises(InvalidDataError, match="over 1 items and the model over 18"):
        model.fold_in(other)


def test_what_does_not_fit_is_said_before_it_is_allocated() -> None:
    with pytest.raises(InvalidDataError, match=r"IALS with dim=.* GB of memory .* ItemKNN"):
        IALS(dim=10**12).fit(interactions())


def test_a_penalty_too_small_for_float32_is_said() -> None:
    rng = np.random.default_rng(0)
    user, item = np.nonzero(rng.random((60, 50)) < 0.9)
    data = tr.Interactions.from_arrays(user, item, weight=rng.uniform(1e18, 1e19, len(user)))
    with pytest.raises(InvalidDataError, match=r"badly conditioned for float32.*float64"):
        IALS(dim=45, l2=1e-30, unobserved_weight=0.0, nu=0.0, epochs=3).fit(data)
