from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.models.linear import spectrum

DATA = tr.load_dataset("demo", n_users=120, n_items=90, interactions_per_user=12, seed=4)
X = DATA.matrix(dtype=np.float64).toarray()


@pytest.mark.parametrize("by", ["lapack", "lanczos"])
def test_scores_are_the_best_approximation(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if by == "lanczos":
        monkeypatch.setattr(spectrum, "DENSE_ITEMS", 10)
        monkeypatch.setattr(spectrum, "DENSE_SHARE", 2.0)
    model = tr.models.PureSVD(6, dtype="float64").fit(DATA)
    U, sigma, Vt = np.linalg.svd(X, full_matrices=False)
    expected = (U[:, :6] * sigma[:6]) @ Vt[:6]
    np.testing.assert_allclose(model.score_all(np.arange(DATA.n_users)), expected, atol=1e-8)
    error = float(((X - expected) ** 2).sum())
    assert error == pytest.approx(float((sigma[6:] ** 2).sum()))
    again = tr.models.PureSVD(6, dtype="float64").fit(DATA)
    assert np.array_equal(again.user_factors, model.user_factors)


def test_float32_and_fold_in() -> None:
    model = tr.models.PureSVD(6).fit(DATA)
    assert model.user_factors.dtype == model.item_factors.dtype == np.float32
    users = np.arange(5)
    assert np.array_equal(model.fold_in(DATA).score_all(users), model.score_all(users))


def test_an_all_ones_column_an_untouched_item_and_an_empty_user() -> None:
    data = tr.Interactions.from_arrays(
        [0, 1, 2, 0, 1], [0, 0, 0, 1, 2], user_ids=np.arange(4), item_ids=np.arange(4)
    )
    model = tr.models.PureSVD(2).fit(data)
    scores = model.score_all(np.arange(4))
    assert np.isfinite(scores).all()
    assert np.all(scores[3] == 0)
    np.testing.assert_allclose(scores[:, 3], 0, atol=1e-6)


def test_histories_over_other_items() -> None:
    other = tr.Interactions.from_arrays([0, 1], [0, 1])
    with pytest.raises(InvalidDataError, match="the history is over 2 items and the model over 90"):
        tr.models.PureSVD(3).fit(DATA).fold_in(other)


def test_ranks_that_cannot_be() -> None:
    with pytest.raises(InvalidArgumentError, match="dim must be a whole number"):
        tr.models.PureSVD(-1)
    data = tr.Interactions.from_arrays([0, 0, 1], [0, 1, 2])
    with pytest.raises(InvalidDataError, match=r"dim 9 was asked of PureSVD, .* rank 2; take"):
        tr.models.PureSVD(9).fit(data)
