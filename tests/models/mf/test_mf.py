from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError, MissingExtraError
from truerank.losses import LOSSES
from truerank.metrics import parse
from truerank.models import MF
from truerank.numerics.threads import on_all_cores
from truerank.training.validation import ValidationUsers, train_validation_split

QUICK: dict[str, Any] = {
    "dim": 8, "epochs": 4, "batch_size": 128, "learning_rate": 0.02, "n_negatives": 10,
    "validation_metric": "ndcg@5",
}  # fmt: skip
TO_THE_END: dict[str, Any] = {"epochs": 30, "validation_share": 0.0}
COSINE: dict[str, Any] = {"similarity": "cosine", "loss_params": {"temperature": 0.2}}


def data(seed: int = 0, *, users: int = 120, items: int = 40, idle: bool = True) -> tr.Interactions:
    """Users of four tastes; user 3 has nothing, unless told otherwise."""
    rng = np.random.default_rng(seed)
    taste = rng.integers(0, 4, users)[:, None] == (np.arange(items) % 4)[None, :]
    X = rng.random((users, items)) < np.where(taste, 0.6, 0.03)
    X[0, 0] = True
    if idle:
        X[3] = False
    user, item = np.nonzero(X)
    return tr.Interactions.from_arrays(
        user, item, user_ids=np.arange(users), item_ids=np.arange(items)
    )


TRAIN = data()


def hit_rate(model: Any, split: Any) -> float:
    """Recall@5 of one item among some 34: by chance .15, by the user's taste about .8.

    Its standard error with 120 users is at most .046.
    """
    return tr.estimate(tr.rank(model, split, tr.Full()), ["recall@5"], method="exact")[0].value


@pytest.mark.parametrize(
    ("negatives", "per"),
    [
        ("uniform", "batch"), ("uniform", "pair"), ("popularity", "batch"), ("popularity", "pair"),
        ("in-batch", "batch"), ("uniform", 16), ("popularity", 1),
    ],
)  # fmt: skip
def test_it_learns_tastes(negatives: Any, per: str | int) -> None:
    split = tr.split.leave_one_out(data(idle=False), seed=1)
    model = MF(
        "infonce", negatives=negatives, negatives_per=per, correct_for_sampling=True,
        **QUICK | COSINE | TO_THE_END,
    ).fit(split.train)  # fmt: skip
    assert model.losses[-1] < model.losses[0]
    assert hit_rate(model, split) > 0.5


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_of_the_table_trains_and_ranks(loss: str) -> None:
    split = tr.split.leave_one_out(data(idle=False), seed=1)
    more = {"loss_params": {"weight": 0.5}} if loss.startswith(("mse_", "ccl_")) else {}
    model = MF(loss, similarity="cosine", **QUICK | more | TO_THE_END).fit(split.train)
    assert hit_rate(model, split) > 0.55


@pytest.mark.parametrize("optimiser", ["adam", "dense-adam"])
def test_with_a_cosine_only_the_rate_for_each_length_matters(optimiser: Any) -> None:
    """Vectors c times as long have gradients 1/c as long; Adam at c times the rate turns them so.

    A power of four rounds nothing, so the bits are the same once epsilon follows the gradients.
    """
    kind = {"optimiser": optimiser, "init_std": 0.01, "epsilon": 4e-8} | COSINE
    once = MF("infonce", **QUICK | kind).fit(TRAIN)
    longer = kind | {"init_std": 0.04, "epsilon": 1e-8, "learning_rate": 4 * QUICK["learning_rate"]}
    np.testing.assert_array_equal(
        once.user_factors, MF("infonce", **QUICK | longer).fit(TRAIN).user_factors
    )
    other = MF("infonce", **QUICK | kind | {"init_std": 0.04}).fit(TRAIN)
    assert not np.allclose(once.user_factors, other.user_factors, atol=1e-3)


def test_a_function_trains_as_the_loss_of_its_name_does() -> None:
    def own_bpr(pos: torch.Tensor, neg: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.softplus(neg - pos[:, None]).sum(dim=1)

    named, function = (MF(loss, **QUICK).fit(TRAIN) for loss in ("bpr", own_bpr))
    np.testing.assert_allclose(function.losses, named.losses, rtol=1e-3)
    users = np.arange(9)
    np.testing.assert_allclose(function.score_all(users), named.score_all(users), atol=0.05)


def test_the_same_seed_gives_the_same_bits_whatever_the_threads() -> None:
    runs = [MF("bpr", **QUICK).fit(TRAIN, workers=workers) for workers in (1, 2, 5)]
    other = MF("bpr", **QUICK | {"seed": 1}).fit(TRAIN)
    for run in runs[1:]:
        np.testing.assert_array_equal(run.user_factors, runs[0].user_factors)
        np.testing.assert_array_equal(run.item_factors, runs[0].item_factors)
        np.testing.assert_array_equal(run.losses, runs[0].losses)
    assert (other.item_factors != runs[0].item_factors).any()


def test_cosines_are_dot_products_of_what_is_kept() -> None:
    model = MF("infonce", **QUICK | COSINE).fit(TRAIN)
    norms = np.linalg.norm(model.item_factors, axis=1)
    np.testing.assert_allclose(norms, 1.0, rtol=1e-5)
    scores = model.score_all(np.arange(TRAIN.n_users))
    assert np.abs(scores).max() <= 1 + 1e-5
    pairs = model.score_pairs(np.array([0, 1]), np.array([[5, 2], [7, 1]]))
    np.testing.assert_allclose(pairs, [scores[0, [5, 2]], scores[1, [7, 1]]], rtol=1e-5)


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_a_user_without_positives_gets_the_zero_vector(similarity: Any) -> None:
    model = MF("bpr", similarity=similarity, **QUICK).fit(TRAIN)
    assert TRAIN.user_counts[3] == 0
    np.testing.assert_array_equal(model.user_factors[3], 0.0)
    assert (np.abs(model.user_factors[TRAIN.user_counts > 0]).max(axis=1) > 0).all()


@pytest.mark.parametrize(
    ("negatives", "met"), [("uniform", True), ("popularity", False), ("in-batch", False)]
)
def test_an_item_that_is_never_met_gets_the_zero_vector(negatives: Any, met: bool) -> None:
    known = data()
    wider = tr.Interactions.from_arrays(
        known.users, known.indices, user_ids=np.arange(120), item_ids=np.arange(41)
    )
    model = MF("bpr", negatives=negatives, **QUICK).fit(wider)
    assert bool(model.item_factors[40].any()) == met
    assert model.item_factors[:40].any(axis=1).all()


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_folded_in_users_rank_like_trained_ones(similarity: Any) -> None:
    split = tr.split.leave_one_out(data(idle=False), seed=1)
    model = MF(
        "infonce", similarity=similarity, loss_params={"temperature": 0.3},
        **QUICK | {"epochs": 25},
    ).fit(split.train)  # fmt: skip
    trained = hit_rate(model, split)
    folded = model.fold_in(split.train)
    # Three standard errors.
    assert hit_rate(folded, split) > trained - 0.14
    few = split.train.select(split.train.users < 2)
    alone = model.fold_in(few)
    close = 0.02 * np.abs(folded.user_factors).max()
    np.testing.assert_allclose(alone.user_factors[:2], folded.user_factors[:2], atol=close)
    np.testing.assert_array_equal(alone.user_factors[2:], 0.0)


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_fold_in_goes_down_the_loss_from_the_mean_of_the_history(similarity: Any) -> None:
    t = 0.3
    settings = QUICK | {"similarity": similarity, "loss_params": {"temperature": t}}
    model = MF("infonce", **settings | {"epochs": 15, "n_negatives": 40}).fit(TRAIN)
    known = TRAIN.user_counts > 0
    start = TRAIN.matrix() @ model.item_factors
    usual = np.median(np.linalg.norm(model.user_factors[known], axis=1))
    start[known] *= usual / np.linalg.norm(start[known], axis=1, keepdims=True)

    def loss(users: np.ndarray) -> float:
        scores = torch.from_numpy(users[TRAIN.users] @ model.item_factors.T)
        pos = scores[torch.arange(len(TRAIN)), torch.from_numpy(TRAIN.indices.copy()).long()]
        return float(LOSSES["infonce"](pos, scores, temperature=t).mean())

    users = model.fold_in(TRAIN).user_factors
    if similarity == "cosine":
        np.testing.assert_allclose(np.linalg.norm(users[known], axis=1), 1.0, rtol=1e-5)
    assert loss(users) < loss(start) - 0.02


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    model = MF("infonce", **QUICK | COSINE).fit(TRAIN)
    model.save(tmp_path / "mf.model")
    same = tr.models.load(tmp_path / "mf.model")
    assert same.parameters() == model.parameters()
    np.testing.assert_array_equal(same.user_factors, model.user_factors)
    np.testing.assert_array_equal(same.losses, model.losses)
    folded = [each.fold_in(TRAIN).user_factors for each in (same, model)]
    np.testing.assert_array_equal(*folded)


def test_a_function_is_not_saved(tmp_path: Path) -> None:
    def hinge(pos: torch.Tensor, neg: torch.Tensor) -> torch.Tensor:
        return (1 + neg - pos[:, None]).relu().mean(dim=1)

    model = MF(hinge, **QUICK).fit(TRAIN)
    sentence = r"loss must be a name .* got 'hinge'; a function cannot be kept in a file"
    with pytest.raises(InvalidArgumentError, match=sentence):
        model.save(tmp_path / "mf.model")


def test_the_best_epoch_is_kept_and_the_rate_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    values = iter([0.1, 0.3, 0.2, 0.2, 0.25, 0.1, 0.1, 0.1])
    monkeypatch.setattr(ValidationUsers, "evaluate_factors", lambda *_: next(values))
    settings = QUICK | {"epochs": 50, "patience": 4, "lr_patience": 2}
    model = MF("bpr", **settings).fit(TRAIN)
    assert model.validations.tolist() == [0.1, 0.3, 0.2, 0.2, 0.25, 0.1]
    assert model.best_epoch == 2
    values = iter([0.1, 0.3])
    two = MF("bpr", **settings | {"epochs": 2}).fit(TRAIN)
    np.testing.assert_array_equal(two.item_factors, model.item_factors)


def test_without_validation_users_everything_is_trained_on_to_the_end() -> None:
    model = MF("bpr", **QUICK | {"validation_share": 0.0}).fit(TRAIN)
    assert np.isnan(model.validations).all()
    assert model.best_epoch == len(model.losses) == 4


def test_given_validation_items_judge() -> None:
    split = tr.split.leave_one_out(data(idle=False), seed=1)
    model = MF("bpr", **QUICK).fit(split.train, validation=split.held_out)
    ranks = tr.rank(model, split, tr.Full())
    ndcg = tr.estimate(ranks, ["ndcg@5"], method="exact")[0].value
    assert model.validations.max() == pytest.approx(ndcg, abs=1e-6)


def test_more_workers_and_larger_batches_than_there_is_to_do() -> None:
    settings = QUICK | {"epochs": 2, "batch_size": len(TRAIN)}
    plain = MF("bpr", **settings).fit(TRAIN)
    huge = MF("bpr", **settings | {"batch_size": 10**8, "negatives_per": 16}).fit(
        TRAIN, workers=1000
    )
    same = MF("bpr", **settings | {"negatives_per": 16}).fit(TRAIN, workers=1)
    np.testing.assert_array_equal(huge.user_factors, same.user_factors)
    assert (huge.user_factors != plain.user_factors).any()


def test_a_set_of_one_is_no_sharing_and_a_huge_one_is_the_batch() -> None:
    settings = QUICK | {"epochs": 2}
    for one, other in ((1, "pair"), (2**70, "batch")):
        models = [MF("bpr", **settings | {"negatives_per": per}).fit(TRAIN) for per in (one, other)]
        np.testing.assert_array_equal(models[0].item_factors, models[1].item_factors)
    assert MF(negatives_per=1).negatives_per == "pair"


@pytest.mark.parametrize("metric", ["ndcg@5", "recall@3", "auc", "mrr"])
def test_validation_users_give_the_metric_of_exact_ranks(metric: str) -> None:
    split = tr.split.ratio(data(idle=False), 0.3, seed=2)
    rng = np.random.default_rng(0)
    users, items = (rng.normal(size=(n, 3)).astype(np.float32) for n in (120, 40))
    items[7] = items[8]  # a tie
    chosen = ValidationUsers.of(
        split.train, split.held_out, metric=parse(metric), n_sampled=None, seed=0
    )
    ranks = tr.rank(tr.FactorScorer(users, items), split, tr.Full())
    truth = parse(metric).per_user(ranks.user, ranks.rank, ranks.n_items)[1].mean()
    with on_all_cores() as each:
        assert chosen.evaluate_factors(users, items, each) == pytest.approx(truth, abs=0.002)


def test_sampled_validation_users_are_near_the_full_ones_and_repeat_themselves() -> None:
    split = tr.split.ratio(data(idle=False), 0.3, seed=2)
    rng = np.random.default_rng(0)
    users, items = (rng.normal(size=(n, 3)).astype(np.float32) for n in (120, 40))
    with on_all_cores() as each:
        full, sampled, again = (
            ValidationUsers.of(
                split.train, split.held_out, metric=parse("auc"), n_sampled=n, seed=0
            ).evaluate_factors(users, items, each)
            for n in (None, 400, 400)
        )
    assert sampled == again
    # auc is linear in the rank, so the sampled one is unbiased: 120 users, spread below 0.5/20.
    assert sampled == pytest.approx(full, abs=4 * 0.5 / np.sqrt(400 * 120) * 3)


def test_the_held_out_part_is_a_fifth_of_some_users() -> None:
    train, held = train_validation_split(TRAIN, share=0.25, seed=0)
    chosen = np.flatnonzero(held.user_counts)
    long = np.flatnonzero(TRAIN.user_counts >= 2)
    assert len(chosen) == round(0.25 * len(long))
    assert len(train) + len(held) == len(TRAIN)
    for user in chosen:
        n = TRAIN.user_counts[user]
        assert held.user_counts[user] == max(1, int(np.floor(0.2 * n + 0.5)))
        assert not np.isin(held.items_of(user), train.items_of(user)).any()
    single = tr.Interactions.from_arrays([0, 1], [0, 1])
    with pytest.raises(InvalidDataError, match="no user has two items"):
        train_validation_split(single, share=0.5, seed=0)


def test_named_losses_need_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert np.isfinite(MF("ccl_debiased", similarity="cosine", **QUICK).fit(TRAIN).losses).all()
    with pytest.raises(MissingExtraError, match=r"pip install 'truerank\[torch\]'"):
        MF(lambda pos, neg: neg.sum(dim=1) - pos, **QUICK).fit(TRAIN)


def test_importing_the_models_loads_no_torch() -> None:
    code = "import sys, truerank.models.mf; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
