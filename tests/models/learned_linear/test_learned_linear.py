from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.metrics import parse
from truerank.models import EASE, EDLAE, IALS, LRR, SLIM
from truerank.models.learned_linear import LearnedLinear
from truerank.models.learned_linear.bases import base_of, form_of, sparsified, words_of
from truerank.numerics.threads import on_all_cores
from truerank.training.optimisers import DenseOptimiser
from truerank.training.validation import ValidationUsers

QUICK: dict[str, Any] = {"epochs": 2, "batch_size": 64, "learning_rate": 0.05, "scale": 10.0}


def data(seed: int = 0, *, users: int = 60, items: int = 25) -> tr.Interactions:
    """Users of two tastes; some items are popular."""
    rng = np.random.default_rng(seed)
    taste = rng.integers(0, 2, users)[:, None] == (np.arange(items) % 2)[None, :]
    X = rng.random((users, items)) < np.where(taste, 0.5, 0.1) * rng.uniform(0.3, 1.0, items)
    user, item = np.nonzero(X)
    return tr.Interactions.from_arrays(
        user, item, user_ids=np.arange(users), item_ids=np.arange(items)
    )


TRAIN = data()
BASES: dict[str, Any] = {
    "dense": lambda: EASE(l2=20.0).fit(TRAIN),
    "sparse": lambda: SLIM(l1=0.5, l2=2.0).fit(TRAIN),
    "low-rank": lambda: LRR(l2=20.0, dim=5).fit(TRAIN),
    "low-rank-edlae": lambda: EDLAE(dropout=0.3, l2=5.0, dim=5).fit(TRAIN),
    "matrix": lambda: EASE(l2=20.0).fit(TRAIN).item_item.astype(np.float64),
}


def dense_matrix(model: Any, n: int = 25) -> np.ndarray:
    """W of any linear model: its scores for users with one item each."""
    if isinstance(model, np.ndarray):
        return model
    eye = tr.Interactions.from_arrays(np.arange(n), np.arange(n))
    return np.asarray(model.fold_in(eye).score_all(np.arange(n)), dtype=np.float64)


@pytest.fixture
def last_epoch_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every epoch is better than the one before: what was learned is kept."""
    seen = iter(range(10_000))
    monkeypatch.setattr(ValidationUsers, "evaluate", lambda *_: float(next(seen)))


@pytest.mark.usefixtures("last_epoch_wins")
@pytest.mark.parametrize("name", BASES)
def test_head_and_tail_scale_rows_and_columns_of_the_base(name: str) -> None:
    base = BASES[name]()
    model = LearnedLinear(**QUICK).fit(TRAIN, base=base)
    expected = model.head[:, None] * dense_matrix(base) * model.tail[None, :]
    np.testing.assert_allclose(dense_matrix(model), expected, rtol=1e-4, atol=1e-6)
    users = np.arange(TRAIN.n_users)
    known = TRAIN.matrix() @ expected
    np.testing.assert_allclose(model.score_all(users), known, rtol=1e-4, atol=1e-5)
    items = np.array([[3, 1]] * len(users))
    np.testing.assert_allclose(
        model.score_pairs(users, items), known[:, [3, 1]], rtol=1e-4, atol=1e-5
    )
    assert ((model.head > 0) & (model.head < 1)).all()
    assert np.ptp(model.head) > 0.01
    assert np.ptp(model.tail) > 0.01


@pytest.mark.usefixtures("last_epoch_wins")
def test_lambdas_shrink_the_singular_values_within_their_range() -> None:
    base = LRR(l2=30.0, dim=6).fit(TRAIN)
    model = LearnedLinear(lambda_range=20.0, head_tail=False, **QUICK).fit(TRAIN, base=base)
    assert model.best_epoch > 0
    assert (np.abs(model.lambdas - 30.0) < 20.0).all()
    assert np.ptp(model.lambdas) > 1.0
    sigma, V = np.linalg.svd(TRAIN.matrix().toarray())[1:]
    np.testing.assert_allclose(model.sigma, sigma[:6], rtol=1e-5)
    gain = sigma[:6] ** 2 / (sigma[:6] ** 2 + model.lambdas)
    expected = (V[:6].T * gain) @ V[:6]
    np.testing.assert_allclose(dense_matrix(model), expected, rtol=1e-3, atol=1e-5)
    same = LearnedLinear(base="lrr l2=30 dim=6", lambda_range=20.0, head_tail=False, **QUICK).fit(
        TRAIN
    )
    np.testing.assert_array_equal(same.lambdas, model.lambdas)


@pytest.mark.usefixtures("last_epoch_wins")
def test_sparsified_keeps_what_is_above_the_threshold_and_rescales_it() -> None:
    W = dense_matrix(BASES["dense"]())
    for negative, kept in ((False, W >= 0.05), (True, np.abs(W) >= 0.05)):
        model = LearnedLinear(threshold=0.05, negative=negative, head_tail=False, **QUICK)
        model.fit(TRAIN, base=W)
        assert sparse.issparse(model.item_item)
        ratio = model.item_item.toarray()[kept] / W[kept]
        assert (model.item_item.toarray() != 0).sum() == kept.sum()
        assert ((ratio > 0) & (ratio < 1)).all()
        assert np.ptp(ratio) > 0.01


@pytest.mark.parametrize("name", ["low-rank", "low-rank-edlae"])
def test_sparsified_factors_are_those_of_their_product(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("truerank.models.learned_linear.bases.CELLS", 100)  # four rows at a time
    base = BASES[name]()
    W = dense_matrix(base)
    thin = sparsified(form_of(base, 25), 0.02, negative=False).W.toarray()
    np.testing.assert_allclose(thin, np.where(W >= 0.02, W, 0.0), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(("threshold", "share"), [(None, 1 / 4), (0.0, 1 / 8)])
def test_without_learning_it_is_a_fixed_share_of_the_base(
    threshold: float | None, share: float
) -> None:
    base = BASES["dense"]()
    model = LearnedLinear(epochs=1, learning_rate=1e-12, threshold=threshold, negative=True).fit(
        TRAIN, base=base
    )
    np.testing.assert_allclose(
        dense_matrix(model), dense_matrix(base) * share, rtol=1e-5, atol=1e-7
    )


@pytest.mark.usefixtures("last_epoch_wins")
@pytest.mark.parametrize("name", ["dense", "low-rank", "sparse"])
def test_zero_diagonal_changes_no_rank_of_an_unseen_item(name: str) -> None:
    split = tr.split.leave_one_out(TRAIN, seed=1)
    base = type(BASES[name]())(**BASES[name]().parameters()).fit(split.train)
    plain = LearnedLinear(**QUICK).fit(split.train, base=base)
    removed = LearnedLinear(zero_diagonal=True, **QUICK).fit(split.train, base=base)
    np.testing.assert_array_equal(removed.head, plain.head)
    np.testing.assert_allclose(np.diag(dense_matrix(removed)), 0.0, atol=1e-7)
    ranks = [tr.rank(model, split, tr.Full()).rank for model in (plain, removed)]
    np.testing.assert_array_equal(*ranks)


def test_zero_diagonal_matters_where_the_positive_stays_in_its_row() -> None:
    base = BASES["low-rank"]()
    kept, removed = (
        LearnedLinear(zero_diagonal=zero, remove_positive=False, **QUICK).fit(TRAIN, base=base)
        for zero in (False, True)
    )
    assert removed.losses[0] > kept.losses[0]  # the diagonal gives the positive away


def test_learning_lowers_the_loss_and_helps_where_the_base_is_wrong() -> None:
    rng = np.random.default_rng(3)
    W = dense_matrix(BASES["dense"]()) * rng.uniform(0.3, 1.0, (25, 1)) * rng.uniform(0.1, 1.0, 25)
    model = LearnedLinear(
        epochs=30, patience=30, learning_rate=0.03, scale=20.0, batch_size=64
    ).fit(TRAIN, base=W)
    assert model.losses[-1] < 0.9 * model.losses[0]
    assert model.values[model.best_epoch] > model.values[0] + 0.01
    best = dense_matrix(model)
    again = LearnedLinear(
        epochs=model.best_epoch, learning_rate=0.03, scale=20.0, batch_size=64, patience=30
    )
    np.testing.assert_array_equal(dense_matrix(again.fit(TRAIN, base=W)), best)


def test_patience_ends_learning() -> None:
    model = LearnedLinear(epochs=40, patience=2, learning_rate=1.0, scale=100.0, batch_size=64)
    model.fit(TRAIN, base=BASES["dense"]())
    assert len(model.losses) == len(model.values) - 1
    assert len(model.losses) == model.best_epoch + 2 < 40


@pytest.mark.usefixtures("last_epoch_wins")
@pytest.mark.parametrize("name", ["dense", "low-rank", "sparse"])
def test_threads_change_no_bit_and_seeds_do(name: str) -> None:
    base = BASES[name]()
    one, three = (LearnedLinear(**QUICK).fit(TRAIN, base=base, workers=w) for w in (1, 3))
    np.testing.assert_array_equal(one.head, three.head)
    np.testing.assert_array_equal(one.losses, three.losses)
    other = LearnedLinear(seed=5, **QUICK).fit(TRAIN, base=base)
    assert not np.array_equal(one.losses, other.losses)


def test_validation_users_may_come_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    split = tr.split.strong_generalization(TRAIN, n_users=15, seed=0)
    assert split.fold_in is not None
    given = (split.fold_in, split.held_out)
    base = EASE(l2=20.0).fit(split.train)
    model = LearnedLinear(**QUICK).fit(split.train, base=base, validation=given)
    table = tr.rank(base, split, tr.Full())
    by_rank = float(table.per_user("ndcg@10")[1].mean())
    users = ValidationUsers.of_histories(*given, metric=parse("ndcg@10"))
    monkeypatch.setattr("truerank.training.validation.CELLS", 100)  # four users at a time
    history = split.fold_in.matrix()
    with on_all_cores() as each:
        found = users.evaluate(lambda who: history[who] @ base.item_item, each)
    assert found == pytest.approx(by_rank, rel=1e-6)
    assert len(model.values) > 1


@pytest.mark.usefixtures("last_epoch_wins")
def test_users_set_aside_are_not_learned_from() -> None:
    base = BASES["dense"]()
    few = LearnedLinear(validation_share=0.95, **QUICK).fit(TRAIN, base=base)
    many = LearnedLinear(validation_share=0.05, **QUICK).fit(TRAIN, base=base)
    moved = [(m.head != 0.5).sum() for m in (few, many)]
    assert 0 < moved[0] < moved[1]


@pytest.mark.parametrize(
    "settings",
    [
        {"base": "ease l2=20"},
        {"base": "lrr l2=20 dim=4", "lambda_range": 5.0},
        {"base": "edlae dim=4 l2=5"},
        {"base": "ease l2=20", "threshold": 0.01, "head_tail": False},
    ],
    ids=["matrix", "lambdas", "no-diagonal", "sparse"],
)
def test_a_file_gives_the_same_model_back(settings: dict[str, Any], tmp_path: Path) -> None:
    model = LearnedLinear(**QUICK, **settings).fit(TRAIN)
    model.save(tmp_path / "m.model")
    again = tr.models.load(tmp_path / "m.model")
    assert again.parameters() == model.parameters()
    users = np.arange(TRAIN.n_users)
    np.testing.assert_array_equal(again.score_all(users), model.score_all(users))
    np.testing.assert_array_equal(dense_matrix(again), dense_matrix(model))
    np.testing.assert_array_equal(again.values, model.values)


@pytest.mark.usefixtures("last_epoch_wins")
def test_fitting_again_forgets_the_other_form() -> None:
    model = LearnedLinear(**QUICK).fit(TRAIN, base=BASES["dense"]())
    model.fit(TRAIN, base=BASES["low-rank"]())
    assert not hasattr(model, "item_item")
    assert model.base.startswith("lrr l2=20")
    fresh = LearnedLinear(**QUICK).fit(TRAIN, base=BASES["low-rank"]())
    np.testing.assert_array_equal(dense_matrix(model), dense_matrix(fresh))


def test_words_of_a_base_make_it_again() -> None:
    base = EDLAE(dropout=0.25, l2=3.0, dim=4)
    again = base_of(words_of(base))
    assert again.parameters() == base.parameters()
    assert words_of(np.eye(3)) == "matrix"
    general = LRR(l2=5.0, dim=2).fit(TRAIN, penalty=np.ones(25))
    assert base_of(words_of(general)).parameters() == general.parameters()


def test_adam_takes_the_steps_of_its_formula() -> None:
    rng = np.random.default_rng(8)
    adam, theta = DenseOptimiser(rate=0.01), {"x": np.array([1.0, -2.0])}
    adam.start(theta)
    m, v, expected = 0.0, 0.0, theta["x"].copy()
    for step in range(1, 8):
        g = rng.normal(size=2)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        ahead = (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        expected = expected - 0.01 * ahead
        adam.move(theta, {"x": g})
    np.testing.assert_allclose(theta["x"], expected, rtol=1e-12)


def test_nobody_has_everything_and_cold_items_do_no_harm() -> None:
    user = [0] * 5 + [1, 1, 2, 2, 3, 3, 3, 4]
    item = [0, 1, 2, 3, 4, 0, 1, 1, 2, 0, 2, 4, 3]
    train = tr.Interactions.from_arrays(
        user, item, item_ids=np.arange(7), user_ids=np.arange(7)
    ).select(np.ones(13, dtype=bool))
    model = LearnedLinear(base="ease l2=1", validation_share=0.3, **QUICK).fit(train)
    assert np.isfinite(model.score_all(np.arange(7))).all()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"lambda_range": -1.0}, "lambda_range must be at least 0"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0; try 0.33"),
        ({"scale": 0.0}, "scale must be positive"),
        ({"n_negatives": 0}, "n_negatives must be a whole number"),
        ({"threshold": -0.1}, "threshold must be at least 0"),
        ({"threshold": 0.1, "lambda_range": 1.0}, "None where lambda_i is learned"),
        ({"head_tail": False}, "True where nothing else is learned"),
        ({"validation_share": 1.0}, "between 0 and 1"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        LearnedLinear(**settings)


@pytest.mark.parametrize(
    ("settings", "base", "said"),
    [
        ({}, lambda: IALS(dim=2, epochs=1).fit(TRAIN), "IALS.*EASE, EDLAE"),
        ({}, lambda: EASE(l2=1.0), "got 'EASE'"),
        ({}, lambda: np.eye(3), r"shape \(3, 3\) where these data need \(25, 25\)"),
        ({}, lambda: np.full((25, 25), np.nan), "not finite"),
        ({"lambda_range": 1.0}, lambda: EASE(l2=1.0).fit(TRAIN), "0 unless the base is LRR"),
        ({"lambda_range": 1.0}, lambda: LRR(l2=[1.0, 2.0], dim=2).fit(TRAIN), "LRR with one l2"),
        (
            {"lambda_range": 1.0},
            lambda: LRR(l2=5.0, dim=2).fit(TRAIN, penalty=np.ones(25)),
            "LRR with one l2",
        ),
        ({"lambda_range": 9.0}, lambda: LRR(l2=5.0, dim=2).fit(TRAIN), "at most l2 = 5"),
        ({"threshold": 9.0}, lambda: np.eye(25), "nothing would be left"),
    ],
)
def test_bases_that_cannot_be(settings: dict[str, Any], base: Any, said: str) -> None:
    with pytest.raises((InvalidArgumentError, InvalidDataError), match=said):
        LearnedLinear(**settings).fit(TRAIN, base=base())


def test_words_that_cannot_be() -> None:
    with pytest.raises(InvalidArgumentError, match=r"base must be .*; did you mean 'ease'"):
        LearnedLinear(base="eaze").fit(TRAIN)
    with pytest.raises(InvalidArgumentError, match=r"ease with l2=\.\.\., .* got 'ease 500'"):
        LearnedLinear(base="ease 500").fit(TRAIN)
    with pytest.raises(InvalidArgumentError, match=r"base must be ease with l2=\.\.\., "):
        LearnedLinear(base="ease lambda=500").fit(TRAIN)


def test_data_that_cannot_be_learned_from() -> None:
    lonely = tr.Interactions.from_arrays([0, 1, 2], [0, 1, 2])
    with pytest.raises(InvalidDataError, match="no user has two items"):
        LearnedLinear(base="ease l2=1").fit(lonely)
    two = tr.Interactions.from_arrays([0, 0, 1], [0, 1, 2])
    with pytest.raises(InvalidDataError, match="no user is left to learn from"):
        LearnedLinear(base="ease l2=1").fit(two)
    with pytest.raises(InvalidDataError, match="both a history and held-out"):
        LearnedLinear(base="ease l2=1").fit(
            TRAIN, validation=(TRAIN, TRAIN.select(TRAIN.users < 0))
        )
    with pytest.raises(InvalidDataError, match="25"):
        LearnedLinear(**QUICK).fit(TRAIN, base=BASES["dense"]()).fold_in(two)
    with pytest.raises(InvalidArgumentError, match="fit\\(train\\) first"):
        LearnedLinear().save("never.model")


def test_room_is_asked_for_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("truerank.numerics.memory.free_bytes", lambda: 1000)
    with pytest.raises(InvalidDataError, match="learning on 25 items needs"):
        LearnedLinear(**QUICK).fit(TRAIN, base=np.eye(25))
