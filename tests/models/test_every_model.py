"""What must hold for every model by name: awkward data, new users, files, repeated fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.data.synthetic import generate
from truerank.models.als.solvers import SOLVERS
from truerank.models.names import MODELS, model_class, parameters_of

SMALL: dict[str, dict[str, Any]] = {
    "item-knn": {"k": 5},
    "centred-item-knn": {"k": 5},
    "user-knn": {"k": 5},
    "slim": {"l1": 0.5, "l2": 2.0},
    "ease": {"l2": 5.0},
    "dlae": {"dropout": 0.3, "l2": 1.0},
    "edlae": {"dropout": 0.3, "l2": 1.0},
    "lrr": {"l2": 5.0, "dim": 4},
    "closed-form-mf": {"l2": 0.5, "dim": 4},
    "pure-svd": {"dim": 4},
    "debiased-ease": {"l2": 5.0},
    "wmf": {"dim": 4, "epochs": 3},
    "ials": {"dim": 4, "epochs": 3},
    "debiased-ials": {"dim": 4, "epochs": 3},
    "svdpp": {"dim": 4, "epochs": 2},
    "learned-linear": {"epochs": 1, "batch_size": 64},
    "mf": {
        "dim": 4,
        "epochs": 2,
        "batch_size": 64,
        "n_negatives": 4,
        "validation_metric": "ndcg@5",
    },
}

PENALISED = [name for name in MODELS if "l2" in parameters_of(model_class(name))]

LOW_RANK = ("edlae", "lrr", "closed-form-mf", "pure-svd")
"""Models whose dim is a rank, and the data must have it."""

NAMES = sorted(MODELS)
ALL = np.arange(40)

READ_WEIGHTS = sorted(set(MODELS) - {"popularity", "debiased-ease", "mf", "learned-linear"})
"""The others count interactions; Interactions themselves refuse such weights when they are made."""

WITHOUT_UNOBSERVED: list[tuple[str, dict[str, Any]]] = [
    *(("ials", {"solver": solver, "block_size": 2}) for solver in SOLVERS),
    ("debiased-ials", {}),
    ("svdpp", {}),
]
NUMBERS = [
    (name, parameter)
    for name in sorted(set(MODELS) - {"mf"})
    for parameter, usual in parameters_of(model_class(name)).items()
    if isinstance(usual, int | float) and not isinstance(usual, bool) and parameter != "seed"
]


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
    if name == "learned-linear":
        return model.fit(data, base=tr.models.LRR(l2=5.0, dim=4).fit(data))
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
@pytest.mark.parametrize("name", PENALISED)
def test_a_penalty_that_cannot_be(name: str, value: float) -> None:
    with pytest.raises(tr.TruerankError, match=r"l2.* must be"):
        model_class(name)(**SMALL[name] | {"l2": value})


@pytest.mark.parametrize("name", LOW_RANK)
def test_more_ranks_than_the_data_have(name: str, awkward: tr.Interactions) -> None:
    with pytest.raises(tr.TruerankError, match=r"dim 24 was asked of .* these data have rank"):
        model_class(name)(**SMALL[name] | {"dim": 24}).fit(awkward)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", sorted(set(MODELS) - {"mf"}))  # whose new users are approximate
def test_known_users_and_the_same_folded_in_score_alike(
    name: str, weighted: bool, awkward: tr.Interactions
) -> None:
    weights = 1.0 + np.arange(len(awkward)) % 4
    data = replace(awkward, weights=weights.astype(np.float32)) if weighted else awkward
    model, users = fitted(name, data), np.arange(40)
    scores = model.score_all(users)
    folded = model.fold_in(data).score_all(users)
    np.testing.assert_allclose(folded, scores, atol=1e-5 * np.abs(scores).max())


@pytest.mark.parametrize(("name", "more"), [*((name, {}) for name in NAMES), ("edlae", {"dim": 3})])
def test_what_is_folded_in_says_what_the_model_was_fitted_on(
    name: str, more: dict[str, Any], awkward: tr.Interactions
) -> None:
    model = model_class(name)(**SMALL[name] | more).fit(awkward) if more else fitted(name, awkward)
    others = tr.Interactions.from_csr(awkward.matrix()[:5])
    folded = model.fold_in(others)
    assert not hasattr(folded, "trained_on")
    assert folded.folded_from is model.trained_on
    assert folded.folded_from.data == awkward.fingerprint() != others.fingerprint()


@pytest.mark.parametrize(("name", "more"), [*((name, {}) for name in NAMES), ("edlae", {"dim": 3})])
def test_a_history_over_other_items_is_refused(
    name: str, more: dict[str, Any], awkward: tr.Interactions
) -> None:
    model = model_class(name)(**SMALL[name] | more).fit(awkward) if more else fitted(name, awkward)
    other = tr.Interactions.from_arrays([0, 0], [0, 1])
    with pytest.raises(tr.TruerankError, match="over 2 items and the model over 24; give both the"):
        model.fold_in(other)
    with pytest.raises(tr.TruerankError, match="history must be Interactions, got 'ndarray'; make"):
        model.fold_in(np.eye(24))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_interactions_is_refused(name: str) -> None:
    with pytest.raises(tr.TruerankError, match=r"must be Interactions, got 'ndarray'; .*from_csr"):
        model_class(name)().fit(np.eye(3))


@pytest.mark.parametrize("name", NAMES)
def test_every_fit_records_what_it_was_given(name: str, awkward: tr.Interactions) -> None:
    """``fit`` is the function that stands in the class, and its last line is about the data."""
    model, fewer = fitted(name, awkward), replace(awkward, user_ids=np.arange(100, 140))
    assert not hasattr(type(model).fit, "__wrapped__")
    assert isinstance(model.adapted, tuple)
    assert model.trained_on.data == awkward.fingerprint() != fewer.fingerprint()
    assert model.trained_on.item_ids is awkward.item_ids
    again = model.fit(fewer)
    assert again is model
    assert again.trained_on.data == fewer.fingerprint()


@pytest.mark.parametrize("name", NAMES)
def test_an_unfitted_model_says_what_to_do(name: str, awkward: tr.Interactions) -> None:
    model, users = model_class(name)(), np.array([0])
    for ask in (
        lambda: model.score_all(users),
        lambda: model.score_pairs(users, users[:, None]),
        lambda: model.fold_in(awkward),
        lambda: model.n_items,
    ):
        with pytest.raises(tr.TruerankError, match=r"unfitted .*; call fit\(train\) first"):
            ask()
    with pytest.raises(AttributeError, match="has no 'nonsense'"):
        model.nonsense  # noqa: B018
    assert not hasattr(model, "trained_on")


@pytest.mark.parametrize("name", NAMES)
def test_a_model_shows_its_parameters_and_no_arrays(name: str, awkward: tr.Interactions) -> None:
    settings = SMALL.get(name, {})
    fresh = repr(model_class(name)(**settings))
    assert fresh.startswith(f"{model_class(name).__name__}(")
    assert all(f"{parameter}={value!r}" in fresh for parameter, value in settings.items())
    if name != "learned-linear":  # which then says what its base was
        assert repr(fitted(name, awkward)) == fresh
    assert "array" not in repr(fitted(name, awkward))


@pytest.mark.parametrize("name", NAMES)
def test_every_model_states_its_memory_and_its_precision(name: str) -> None:
    kind = model_class(name)
    assert "Memory" in str(kind.__doc__)
    assert "dtype" in parameters_of(kind) or "float32" in str(kind.__doc__)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("mf", "learned-linear")])
def test_both_precisions(name: str, awkward: tr.Interactions) -> None:
    """LearnedLinear has that of its base; MF, whose steps are noise anyway, float32."""
    single, double = (
        model_class(name)(**SMALL.get(name, {}) | {"dtype": dtype}).fit(awkward).score_all(ALL)
        for dtype in ("float32", "float64")
    )
    assert double.dtype == np.float64
    np.testing.assert_allclose(single, double, atol=2e-3 * np.abs(double).max())
    with pytest.raises(tr.TruerankError, match="dtype must be 'float32' or 'float64'"):
        model_class(name)(**SMALL.get(name, {}) | {"dtype": "float16"})


@pytest.mark.parametrize("bad", ["x", True, 1j])
@pytest.mark.parametrize(("name", "parameter"), NUMBERS)
def test_numbers_that_are_none(name: str, parameter: str, bad: object) -> None:
    with pytest.raises(tr.TruerankError, match=f"{parameter} must be"):
        model_class(name)(**{parameter: bad})


@pytest.mark.parametrize(("name", "more"), WITHOUT_UNOBSERVED)
def test_without_unobserved_weight_who_has_nothing_gets_zeros(
    name: str, more: dict[str, Any], awkward: tr.Interactions
) -> None:
    settings = SMALL[name] | more | {"unobserved_weight": 0.0, "l2": 0.01}
    model = model_class(name)(**settings).fit(awkward)
    scores = model.score_all(np.arange(40))
    assert np.isfinite(scores).all()
    assert scores[:39, :23].all()
    assert not scores[39].any()
    assert not scores[:, 23].any()
    assert not model.fold_in(awkward).score_all(np.array([39])).any()
