from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.models.neighbours.user_knn import UserKNN

from .similarity_formula import SIMILARITIES, similarity


def by_the_formula(
    new: np.ndarray, known: np.ndarray, k: int, name: str, shrink: float, *, same: bool
) -> np.ndarray:
    """S[u, v], the k largest positive entries of each row kept, with loops."""
    S = np.zeros((len(new), len(known)))
    for u in range(len(new)):
        for v in range(len(known)):
            if not (same and u == v):
                S[u, v] = max(similarity(new[u], known[v], name, shrink), 0.0)
        for v in sorted(range(len(known)), key=lambda v: (-S[u, v], v))[k:]:
            S[u, v] = 0.0
    return S


def random_matrix(seed: int, users: int = 15) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return ((rng.random((users, 20)) < 0.3) * rng.integers(1, 4, (users, 20))).astype(float)


def as_data(X: np.ndarray, *, first_id: int = 0) -> tr.Interactions:
    users, items = np.nonzero(X)
    return tr.Interactions.from_arrays(
        users + first_id, items, weight=X[users, items],
        user_ids=first_id + np.arange(len(X)), item_ids=np.arange(X.shape[1]),
    )  # fmt: skip


@pytest.mark.parametrize("name", SIMILARITIES)
@pytest.mark.parametrize("shrink", [0.0, 2.5])
@pytest.mark.parametrize("k", [1, 3, 100])
def test_scores_follow_the_formula(name: str, shrink: float, k: int) -> None:
    X = random_matrix(1)
    model = UserKNN(k=k, similarity=name, shrink=shrink).fit(as_data(X))
    S = by_the_formula(X, X, k, name, shrink, same=True)
    assert model.neighbours.toarray() == pytest.approx(S, rel=1e-6)
    assert model.score_all(np.arange(15)) == pytest.approx(S @ X, rel=1e-5)


@pytest.mark.parametrize("name", SIMILARITIES)
def test_new_users_are_compared_with_the_known_ones(name: str) -> None:
    X, new = random_matrix(1), random_matrix(2, users=6)
    new[2] = X[4]  # one who happens to have what a known user has
    model = UserKNN(k=4, similarity=name).fit(as_data(X))
    folded = model.fold_in(as_data(new, first_id=100))
    S = by_the_formula(new, X, 4, name, 0.0, same=False)
    assert S[2].argmax() == 4
    assert folded.score_all(np.arange(6)) == pytest.approx(S @ X, rel=1e-5, abs=1e-6)
    assert folded.n_items == model.n_items == 20


def test_a_user_folded_in_under_the_same_id_is_not_their_own_neighbour() -> None:
    X = random_matrix(3)
    model = UserKNN(k=4).fit(as_data(X))
    users = np.arange(5)
    same = model.fold_in(as_data(X[:5]))
    np.testing.assert_array_equal(same.score_all(users), model.score_all(users))
    other = model.fold_in(as_data(X[:5], first_id=100))
    assert (other.score_all(users) != model.score_all(users)).any()
    words = tr.Interactions.from_arrays(["a", "b"], [1, 3], item_ids=np.arange(20))
    assert np.isfinite(model.fold_in(words).score_all(np.arange(2))).all()


def test_pairs_are_scored_as_whole_rows_are(monkeypatch: pytest.MonkeyPatch) -> None:
    model = UserKNN(k=4).fit(as_data(random_matrix(4)))
    users = np.arange(15)
    items = np.random.default_rng(0).integers(0, 20, (15, 6))
    expected = np.take_along_axis(model.score_all(users), items, axis=1)
    monkeypatch.setattr(
        "truerank.models.scores_of_pairs.BLOCK_BYTES", 4 * 20 * 8
    )  # four users at a time
    np.testing.assert_array_equal(model.score_pairs(users, items), expected)


def test_the_same_bits_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    data = tr.load_dataset("demo", n_users=150, n_items=200, seed=2)
    whole = UserKNN(k=10).fit(data, workers=1).neighbours
    monkeypatch.setattr("truerank.models.neighbours.search.BLOCKS", 7)
    other = UserKNN(k=10).fit(data, workers=3).neighbours
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(whole, part), getattr(other, part))


def test_a_loaded_model_folds_in_as_the_saved_one(tmp_path: Path) -> None:
    model = UserKNN(k=4, similarity="jaccard").fit(as_data(random_matrix(5)))
    model.save(tmp_path / "m")
    again = tr.models.load(tmp_path / "m")
    new = as_data(random_matrix(6), first_id=7)
    users = np.arange(15)
    np.testing.assert_array_equal(
        again.fold_in(new).score_all(users), model.fold_in(new).score_all(users)
    )


def test_untouched_items_and_empty_users() -> None:
    X = random_matrix(7)
    X[3], X[:, 2], X[5] = 0.0, 0.0, 1.0
    for name in SIMILARITIES:
        scores = UserKNN(similarity=name).fit(as_data(X)).score_all(np.arange(15))
        assert np.isfinite(scores).all()
        assert not scores[3].any()


def test_a_history_over_other_items_is_refused() -> None:
    model = UserKNN().fit(as_data(random_matrix(8)))
    with pytest.raises(InvalidDataError, match="over 3 items and the model over 20; give both"):
        model.fold_in(tr.Interactions.from_arrays([0, 0, 1], [0, 1, 2]))


@pytest.mark.parametrize(
    ("argument", "value", "sentence"),
    [
        ("k", True, "k must be a whole number, at least 1, got True"),
        (
            "similarity",
            "euclid",
            "similarity must be one of cosine, jaccard, dice, pearson, got 'euclid'",
        ),
        ("shrink", math.inf, "shrink must be at least 0 and finite, got inf"),
    ],
)
def test_bad_parameters(argument: str, value: object, sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        UserKNN(**{argument: value})


def test_beats_popularity_on_the_demo() -> None:
    split = tr.split.leave_one_out(tr.load_dataset("demo", seed=0), seed=0)
    d = (
        tr.rank(UserKNN(k=100).fit(split.train), split).per_user("ndcg@10")[1]
        - tr.rank(tr.models.Popularity().fit(split.train), split).per_user("ndcg@10")[1]
    )
    assert d.mean() > 4 * d.std(ddof=1) / math.sqrt(len(d))
