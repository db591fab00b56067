"""Algorithm 2: the grid's models are those that refitting gives; so is EASE's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.data import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.models import EASE
from truerank.models.linear.closed_form_mf import ClosedFormMF
from truerank.models.linear.ease_by_spectrum import ease_over, whole_spectrum
from truerank.models.linear.grid_of_spectrum import SpectrumGrid
from truerank.models.linear.lrr import LRR
from truerank.models.linear.pure_svd import PureSVD
from truerank.models.linear.spectrum import Spectrum, decompose

PENALTIES = (0.5, 2.0, 6.0)
RANKS = (1, 4, 15)


@pytest.fixture(scope="module")
def data() -> Interactions:
    rng = np.random.default_rng(3)
    seen = rng.random((90, 40)) < 0.05 + 0.4 * np.outer(rng.random(90), rng.random(40))
    user, item = np.nonzero(seen)
    return Interactions.from_arrays(user, item, user_ids=np.arange(90), item_ids=np.arange(40))


@pytest.fixture(scope="module")
def others() -> Interactions:
    rng = np.random.default_rng(4)
    user, item = np.nonzero(rng.random((25, 40)) < 0.2)
    return Interactions.from_arrays(user, item, user_ids=np.arange(25), item_ids=np.arange(40))


@pytest.mark.parametrize("kind", [LRR, ClosedFormMF])
def test_every_model_of_the_grid_equals_its_refit(
    kind: type[LRR] | type[ClosedFormMF], data: Interactions, others: Interactions
) -> None:
    grid = SpectrumGrid.of(data, kind.__name__, dim=max(RANKS), dtype="float64")
    users, met = np.arange(data.n_users), 0
    for parameters, model in grid.over(l2=PENALTIES, dim=RANKS):
        refitted = kind(**parameters, dtype="float64").fit(data)
        scores = refitted.score_all(users)
        np.testing.assert_allclose(model.score_all(users), scores, rtol=0, atol=1e-6)
        np.testing.assert_allclose(
            model.fold_in(others).score_all(np.arange(25)),
            refitted.fold_in(others).score_all(np.arange(25)),
            rtol=0,
            atol=1e-6,
        )
        assert model.trained_on.data == data.fingerprint()
        assert model.fold_in(others).folded_from is model.trained_on
        pairs = np.array([[3, 7], [0, 39]])
        few = np.array([5, 80])
        np.testing.assert_allclose(
            model.score_pairs(few, pairs), np.take_along_axis(scores[few], pairs, 1), atol=1e-6
        )
        met += 1
    assert met == len(PENALTIES) * len(RANKS)


@pytest.mark.parametrize(
    ("family", "shrunk"),
    [
        pytest.param("LRR", lambda s, l2: s * s**2 / (s**2 + l2), id="lrr"),
        pytest.param("ClosedFormMF", lambda s, l2: np.maximum(s - l2, 0), id="mf"),
        pytest.param("PureSVD", lambda s, l2: s, id="svd"),
    ],
)
def test_scores_are_those_of_shrunk_singular_values(
    family: str, shrunk: object, data: Interactions
) -> None:
    """U_k diag(shrunk sigma) V_k', read off numpy's own SVD."""
    U, sigma, Vt = np.linalg.svd(data.matrix(dtype=np.float64).toarray(), full_matrices=False)
    grid = SpectrumGrid.of(data, family, dim=9, dtype="float64")
    for l2, k in ((0.0, 9), (2.5, 3), (4.0, 9)):
        expected = (U[:, :k] * shrunk(sigma[:k], l2)) @ Vt[:k]  # type: ignore[operator]
        scores = grid.model(l2=l2, dim=k).score_all(np.arange(data.n_users))
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)


def test_pure_svd_is_the_grid_without_shrinkage(data: Interactions) -> None:
    model = SpectrumGrid.of(data, "PureSVD", dim=6, dtype="float64").model(dim=5)
    refitted = PureSVD(dim=5, dtype="float64").fit(data)
    users = np.arange(data.n_users)
    np.testing.assert_allclose(model.score_all(users), refitted.score_all(users), atol=1e-6)


def test_the_models_share_one_decomposition(
    data: Interactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    decomposed = []

    def counted(*given: object, **more: object) -> Spectrum:
        decomposed.append(given)
        return decompose(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("truerank.models.linear.grid_of_spectrum.decompose", counted)
    grid = SpectrumGrid.of(data, "LRR", dim=8)
    models = [model for _, model in grid.over(l2=PENALTIES, dim=(2, 8))]
    assert len(decomposed) == 1
    for model in models[1:]:
        assert np.shares_memory(model.user_factors, models[0].user_factors)


def test_fold_in_is_projected_once_for_all_models(data: Interactions, others: Interactions) -> None:
    grid = SpectrumGrid.of(data, "LRR", dim=8)
    first, second = (grid.model(l2=l2, dim=4).fold_in(others) for l2 in (1.0, 5.0))
    assert np.shares_memory(first.user_factors, second.user_factors)
    again = grid.model(l2=1.0, dim=4).fold_in(data)  # other histories, other users
    assert len(again.user_factors) == data.n_users


def test_clipped_components_are_left_out(data: Interactions) -> None:
    grid = SpectrumGrid.of(data, "ClosedFormMF", dim=15)
    sigma = grid.spectrum.sigma
    between = float(sigma[3] + sigma[4]) / 2
    assert grid.model(l2=between, dim=15).item_factors.shape[1] == 4


def test_ranks_of_a_grid_model_are_those_of_the_refit(data: Interactions) -> None:
    split = tr.split.leave_one_out(data, seed=1)
    grid = SpectrumGrid.of(split.train, "LRR", dim=10)
    model = grid.model(l2=3.0, dim=7)
    refitted = LRR(l2=3.0, dim=7, dtype="float64").fit(split.train)
    one, other = (tr.rank(m, split, progress=False).rank for m in (model, refitted))
    assert np.mean(one == other) > 0.97  # float32 against float64: near-ties may turn
    assert np.abs(one - other).max() <= 2


def test_ease_from_the_decomposition_equals_the_inverse(data: Interactions) -> None:
    for l2, scorer in ease_over(data, [0.5, 10.0, 300.0]):
        fitted = EASE(l2=l2, dtype="float64").fit(data)
        np.testing.assert_allclose(scorer.item_item, fitted.item_item, rtol=0, atol=1e-9)
        assert not np.diag(scorer.item_item).any()
        assert scorer.folded_from is not None
        assert scorer.folded_from.data == data.fingerprint()


@pytest.mark.parametrize("find", [whole_spectrum, decompose])
def test_ease_with_fewer_users_than_items(find: Any) -> None:
    """The Gram matrix is singular: the null space must not be forgotten."""
    rng = np.random.default_rng(0)
    user, item = np.nonzero(rng.random((12, 30)) < 0.3)
    few = Interactions.from_arrays(user, item, weight=1 + item % 3, item_ids=np.arange(30))
    whole = find(few)
    assert whole.rank <= 12
    np.testing.assert_allclose(whole.V.T @ whole.V, np.eye(whole.rank), atol=1e-10)
    for l2, scorer in ease_over(few, [0.1, 2.0], spectrum=whole):
        fitted = EASE(l2=l2, dtype="float64").fit(few)
        np.testing.assert_allclose(scorer.item_item, fitted.item_item, rtol=0, atol=1e-9)


def test_what_cannot_be(data: Interactions, others: Interactions) -> None:
    with pytest.raises(InvalidArgumentError, match="family must be one of LRR, ClosedFormMF"):
        SpectrumGrid.of(data, "EASE", dim=3)
    grid = SpectrumGrid.of(data, "ClosedFormMF", dim=5)
    with pytest.raises(InvalidDataError, match="dim 6 was asked of ClosedFormMF"):
        grid.model(l2=1.0, dim=6)
    with pytest.raises(InvalidArgumentError, match="l2 must be at least 0"):
        grid.model(l2=-1.0, dim=2)
    with pytest.raises(InvalidDataError, match="above the largest singular value"):
        grid.model(l2=1e6, dim=2)
    with pytest.raises(InvalidArgumentError, match="l2 must be positive"):
        next(ease_over(data, [0.0]))
    narrow = Interactions.from_arrays([0], [0])
    with pytest.raises(InvalidDataError, match="the history is over 1 items"):
        grid.model(l2=1.0, dim=2).fold_in(narrow)
