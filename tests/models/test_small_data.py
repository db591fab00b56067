"""Small worlds: a default adapts and says so; only what somebody asked for is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.adaptive_defaults import adaptive, is_adaptive
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.models import MF, ClosedFormMF, PureSVD
from truerank.models.names import MODELS, model_class

IN_THE_DATA = {
    (
        "no user is left to learn from: each has too few items, or all of them, or is set aside "
        "for validation; give more data"
    ),
    (
        "no user has two items, so none can say when to stop learning; give longer histories, or "
        "validation users"
    ),
}
"""What LearnedLinear may say: it learns from some items of a user and is validated with others."""


def world(n_users: int, n_items: int, density: float, seed: int) -> tr.Interactions | None:
    rng = np.random.default_rng([n_users, n_items, seed])
    users, items = np.nonzero(rng.random((n_users, n_items)) < density)
    if not len(users):
        return None
    return tr.Interactions.from_arrays(users, items)


WORLDS = [
    data
    for n_users, n_items in ((1, 2), (2, 2), (1, 30), (20, 2), (3, 3), (5, 10), (20, 7), (20, 30))
    for seed, density in enumerate((0.05, 0.3, 0.9, 1.0))
    if (data := world(n_users, n_items, density, seed)) is not None
]


def some_scores(model: Any, data: tr.Interactions) -> Any:
    return model.score_all(np.arange(data.n_users))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_fits_small_worlds_by_its_defaults(name: str) -> None:
    refused = set()
    for data in WORLDS:
        try:
            model = model_class(name)().fit(data)
        except InvalidDataError as error:
            refused.add(str(error))
            continue
        assert np.isfinite(some_scores(model, data)).all()
        assert isinstance(model.adapted, tuple)
    assert refused <= (IN_THE_DATA if name == "learned-linear" else set())


@pytest.mark.parametrize("name", MODELS)
def test_what_fits_small_worlds_can_be_ranked(name: str) -> None:
    """Also where the scores are zero but for rounding, and fast and plain paths round alike not."""
    n_ranked = 0
    for data in WORLDS:
        try:
            split = tr.split.leave_one_out(data, seed=1)
            model = model_class(name)().fit(split.train)
        except InvalidDataError:
            continue
        if len(split.held_out):
            ranks = tr.rank(model, split, tr.Full()).rank
            assert ranks.min() >= 1
            assert ranks.max() <= data.n_items
            n_ranked += 1
    assert n_ranked > 5


# --------------------------------------------------------------------------- PureSVD


@pytest.mark.parametrize("n", range(2, 11))
@pytest.mark.parametrize("kind", ["identity", "blocks", "all", "random"])
def test_pure_svd_on_tiny_catalogues(n: int, kind: str) -> None:
    """Repeated singular values too; the whole rank gives X back, whatever its basis."""
    rng = np.random.default_rng(n)
    X = {
        "identity": np.eye(n),
        "blocks": np.kron(np.eye(n // 2 + 1), np.ones((2, 2)))[:, :n],
        "all": np.ones((3, n)),
        "random": rng.random((2 * n, n)) < 0.5,
    }[kind]
    users, items = np.nonzero(X)
    data = tr.Interactions.from_arrays(users, items)
    X = data.matrix(dtype=np.float64).toarray()
    rank = int(np.linalg.matrix_rank(X))
    model = PureSVD().fit(data)
    assert model.item_factors.shape[1] == rank
    assert np.abs(some_scores(model, data) - X).max() < 1e-5
    assert model.adapted == (
        f"dim is {rank} instead of the usual 50: the rank of the data is no higher",
    )
    everywhere = np.indices(X.shape).reshape(2, -1)
    assert tr.rank_pairs(model, *everywhere, tr.Full()).rank.max() <= n
    assert PureSVD(dim=rank).fit(data).adapted == ()
    with pytest.raises(InvalidDataError, match=f"dim {rank + 1} was asked of PureSVD, and these"):
        PureSVD(dim=rank + 1).fit(data)
    with pytest.raises(InvalidDataError, match="dim 50 was asked of PureSVD"):
        PureSVD(dim=50).fit(data)


def test_scores_that_are_zero_but_for_rounding_keep_the_promise() -> None:
    """A rank-one world whose held-out pairs all score zero: only rounding is left to compare."""
    rng = np.random.default_rng(4)
    users, items = rng.standard_normal((2, 40, 64)).astype(np.float32)
    items -= (items @ users.T) @ np.linalg.pinv(users.T.astype(np.float64)).astype(np.float32)
    scores = np.abs(users.astype(np.float64) @ items.T.astype(np.float64))
    assert scores.max() < 1e-4

    class Backwards(tr.FactorScorer):
        """Sums the other way round, in single precision."""

        def score_pairs(self, u: Any, i: Any) -> Any:
            x, y = np.asarray(self.user_factors)[u], np.asarray(self.item_factors)[i]
            return np.cumsum((x[:, None] * y)[..., ::-1], axis=-1, dtype=np.float32)[..., -1]

    tr.rank_pairs(Backwards(users, items), np.arange(40), np.arange(40), tr.Full())

    class Biased(Backwards):
        def score_pairs(self, u: Any, i: Any) -> Any:
            return super().score_pairs(u, i) + np.float32(0.01)

    with pytest.raises(InvalidDataError, match="do not give the scores of its score_pairs"):
        tr.rank_pairs(Biased(users, items), np.arange(40), np.arange(40), tr.Full())


# ------------------------------------------------------------------- what gives way, and what not


def pairs(n_users: int, n_items: int, each: int) -> tr.Interactions:
    users = np.repeat(np.arange(n_users), each)
    return tr.Interactions.from_arrays(users, (users + np.tile(range(each), n_users)) % n_items)


def test_negatives_and_cutoff_of_mf_give_way_to_a_small_catalogue() -> None:
    data = pairs(12, 12, 4)
    model = MF(dim=4, epochs=2).fit(data)
    assert model.adapted == (
        (
            "validation_metric is ndcg@9 instead of the usual ndcg@20: some validation users have "
            "9 candidates, and nobody more than 9"
        ),
        "n_negatives is 12 instead of the usual 64: there are no more items",
    )
    assert model.n_negatives == 64
    said = MF(dim=4, epochs=2, n_negatives=12, validation_metric="ndcg@9").fit(data)
    assert said.adapted == ()
    assert np.array_equal(model.item_factors, said.item_factors)
    with pytest.raises(InvalidArgumentError, match="n_negatives must be at most the number of"):
        MF(dim=4, epochs=2, n_negatives=64, validation_metric="ndcg@5").fit(data)
    with pytest.raises(InvalidDataError, match="no user has enough candidates to evaluate"):
        MF(dim=4, epochs=2, n_negatives=4, validation_metric="ndcg@20").fit(data)


def test_validation_users_give_way_where_nobody_can_validate() -> None:
    single = pairs(5, 5, 1)
    model = MF(dim=4, epochs=2, n_negatives=2).fit(single)
    assert model.adapted == (
        (
            "validation_share is 0 instead of the usual 0.1: no user has two items, one to learn "
            "from and one to validate with"
        ),
    )
    plain = MF(dim=4, epochs=2, n_negatives=2, validation_share=0).fit(single)
    assert plain.adapted == ()
    assert np.array_equal(model.item_factors, plain.item_factors)
    with pytest.raises(InvalidDataError, match="no user has two items, so none can say"):
        MF(dim=4, epochs=2, n_negatives=2, validation_share=0.1).fit(single)
    everything = pairs(2, 2, 2)
    model = MF(dim=4, epochs=2, n_negatives=2).fit(everything)
    assert "who would validate has learned, or has held out, every item" in model.adapted[0]
    with pytest.raises(InvalidDataError, match="no user has enough candidates"):
        MF(dim=4, epochs=2, n_negatives=2, validation_share=0.1).fit(everything)


def test_a_large_catalogue_takes_the_usual_values() -> None:
    data = pairs(100, 100, 5)
    model = MF(dim=2, epochs=1).fit(data)
    assert model.adapted == ()
    asked = MF(
        dim=2, epochs=1, n_negatives=64, validation_share=0.1, validation_metric="ndcg@20"
    ).fit(data)
    assert np.array_equal(model.item_factors, asked.item_factors)


def test_the_penalty_of_a_closed_form_gives_way() -> None:
    data = pairs(6, 6, 2)
    largest = float(np.linalg.norm(data.matrix(dtype=np.float64).toarray(), 2))
    model = ClosedFormMF().fit(data)
    assert model.adapted == (
        (
            f"l2 is {largest / 2:.4g} instead of the usual 10: the largest singular value of the "
            f"data is {largest:.4g}"
        ),
    )
    same = ClosedFormMF(l2=largest / 2).fit(data)
    assert np.allclose(model.item_item_matrix(), same.item_item_matrix(), atol=1e-6)
    with pytest.raises(InvalidDataError, match="l2 10 is above the largest singular value"):
        ClosedFormMF(l2=10.0).fit(data)


def test_what_gave_way_is_kept_in_the_file(tmp_path: Path) -> None:
    model = PureSVD().fit(pairs(6, 6, 2))
    model.save(tmp_path / "a")
    assert tr.models.load(tmp_path / "a").adapted == model.adapted != ()
    assert type(tr.models.load(tmp_path / "a").dim) is int


def test_marked_values_are_what_they_mark() -> None:
    for value in (64, 0.1, "ndcg@20"):
        assert adaptive(value) == value
        assert str(adaptive(value)) == str(value)
        assert is_adaptive(adaptive(value))
        assert not is_adaptive(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda huge: tr.models.IALS(unobserved_weight=huge),
        lambda huge: tr.models.SVDpp(unobserved_weight=huge),
        lambda huge: tr.models.UserKNN(shrink=huge),
        lambda huge: tr.models.EASE(l2=huge),
    ],
)
def test_whole_numbers_that_no_compiled_code_takes_are_refused(make: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="finite, got 1000000"):
        make(10**30).fit(tr.Interactions.from_arrays([0, 0, 1, 1, 2], [0, 1, 1, 2, 0]))
