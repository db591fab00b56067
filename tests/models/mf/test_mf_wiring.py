"""That every setting of MF arrives where it is used, and that losses of one's own are called so."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.losses import LOSSES, resolve
from truerank.metrics import parse
from truerank.models import MF
from truerank.numerics.threads import on_all_cores
from truerank.training.validation import ValidationUsers, train_validation_split

from .test_mf import QUICK, TRAIN, data


def validated(chosen: ValidationUsers, users: Any, items: Any) -> float:
    with on_all_cores(1) as each:
        return chosen.evaluate_factors(users, items, each)


def test_draws_and_shares_are_those_of_the_settings() -> None:
    model = MF(
        "infonce_debiased", n_hidden_positives=2.0, alpha=0.5, n_extra_positives=3,
        negatives="popularity", popularity_power=0.5, correct_for_sampling=True,
        loss_params={"temperature": 0.2}, n_negatives=7,
        negatives_per="pair",
    )  # fmt: skip
    o = model._objective(TRAIN, TRAIN.item_counts, model._plan(TRAIN.n_items))
    tau = [((1 + 0.5) * n + 2) / 40 for n in TRAIN.user_counts]
    np.testing.assert_allclose(o.tau, tau, rtol=1e-6)
    q = np.sqrt(TRAIN.item_counts) / np.sqrt(TRAIN.item_counts).sum()
    np.testing.assert_allclose(o.sampler.share, q, rtol=1e-12)
    np.testing.assert_allclose(o.shift, 0.2 * np.log(40 * q), rtol=1e-5, atol=1e-7)
    assert (o.plan.n_extra, o.plan.n_own, o.plan.n_shared) == (3, 7, 0)
    shared = MF("mine", n_negatives=9, negatives_per=16, exclude_positives=True)._plan(
        TRAIN.n_items
    )
    assert (shared.n_extra, shared.n_own, shared.n_shared, shared.sharing) == (0, 0, 9, 16)
    assert shared.exclude


@pytest.mark.parametrize("n", [None, 5])
def test_validation_users_rank_among_as_many_as_the_settings_say(n: int | None) -> None:
    settings = QUICK | {"epochs": 1, "validation_metric": "mrr", "seed": 2}
    model = MF("bpr", validation_negatives=n, **settings).fit(TRAIN)
    learned, held = train_validation_split(TRAIN, share=0.1, seed=2)
    chosen = ValidationUsers.of(learned, held, metric=parse("mrr"), n_sampled=n, seed=2)
    assert model.validations[0] == validated(chosen, model.user_factors, model.item_factors)


@pytest.mark.parametrize("n", [10, 1000])
def test_the_best_item_stays_the_best_among_any_sample(n: int) -> None:
    """An item that was drawn is not its own rival."""
    users, items = np.ones((3, 1), np.float32), np.arange(6, 0, -1, dtype=np.float32)[:, None]
    ids = {"user_ids": np.arange(3), "item_ids": np.arange(6)}
    train = tr.Interactions.from_arrays([0, 1, 2], [5, 5, 5], **ids)
    held = tr.Interactions.from_arrays([0, 1, 2], [0, 0, 0], **ids)
    chosen = ValidationUsers.of(train, held, metric=parse("recall@1"), n_sampled=n, seed=0)
    assert validated(chosen, users, items) == 1.0


def test_sampled_ranks_are_those_of_all_candidates_in_the_mean() -> None:
    """4 rivals, 2 of them ahead: rank 3, by 16,000 draws of rivals to 4 * .5 / sqrt(16,000)."""
    users, items = np.ones((1, 1), np.float32), np.array([[5], [4], [3], [2], [1], [9]], np.float32)
    ids = {"user_ids": [0], "item_ids": np.arange(6)}
    train, held = (tr.Interactions.from_arrays([0], [i], **ids) for i in (5, 2))
    rank = tr.metrics.Metric("rank", function=lambda rank: np.asarray(rank, dtype=float))
    chosen = ValidationUsers.of(train, held, metric=rank, n_sampled=20_000, seed=0)
    assert validated(chosen, users, items) == pytest.approx(3.0, abs=0.07)


def test_validation_users_without_enough_candidates_are_left_out() -> None:
    """User 0 has all but two items, and cannot say anything about the first five."""
    X = np.zeros((30, 12), bool)
    X[0, :11], X[1:, :4] = True, True
    user, item = np.nonzero(X)
    heavy = tr.Interactions.from_arrays(user, item, item_ids=np.arange(12))
    some = QUICK | {"epochs": 1, "validation_share": 1.0, "validation_metric": "recall@5"}
    assert np.isfinite(MF("bpr", **some).fit(heavy).validations).all()
    for metric in ("recall@11", "ndcg@20"):
        with pytest.raises(
            InvalidDataError, match=f"to evaluate {metric}: at most 9 items are not"
        ):
            MF("bpr", **some | {"validation_metric": metric}).fit(heavy)


def test_what_is_bound_to_a_loss_is_not_overridden() -> None:
    seen = []

    def own(pos: Any, neg: Any, tau_pos: Any, log_q: Any) -> Any:
        seen.append((tau_pos, log_q.shape))
        return LOSSES["bpr"](pos, neg)

    MF(partial(own, tau_pos=0.125), **QUICK | {"epochs": 1}).fit(TRAIN)
    MF(own, loss_params={"tau_pos": 0.125}, **QUICK | {"epochs": 1}).fit(TRAIN)
    assert {tau for tau, _ in seen} == {0.125}
    assert seen[0][1] == (128, 10)


def test_a_correction_knows_the_temperature_that_is_bound_to_a_loss() -> None:
    kind = QUICK | {"similarity": "cosine", "negatives": "popularity", "correct_for_sampling": True}
    named = MF("infonce", loss_params={"temperature": 0.1}, **kind).fit(TRAIN)
    bound = MF(resolve("infonce", temperature=0.1), **kind).fit(TRAIN)
    np.testing.assert_allclose(bound.losses, named.losses, rtol=1e-4)


def test_a_checkpoint_knows_what_was_bound_to_its_loss(tmp_path: Path) -> None:
    some = QUICK | {"similarity": "cosine", "epochs": 1}
    path = tmp_path / "mf.npz"
    MF(partial(LOSSES["infonce"], temperature=0.1), **some).fit(TRAIN, checkpoint=path)
    for other in (partial(LOSSES["infonce"], temperature=1.0), partial(LOSSES["bpr"])):
        with pytest.raises(InvalidDataError, match=r"made with loss='infonce\(temperature=0.1\)'"):
            MF(other, **some).fit(TRAIN, checkpoint=path)
    again = some | {"epochs": 2}
    MF(partial(LOSSES["infonce"], temperature=0.1), **again).fit(TRAIN, checkpoint=path)


@pytest.mark.parametrize("negatives", ["popularity", "in-batch"])
def test_debiased_losses_want_uniform_negatives(negatives: Any) -> None:
    for loss in ("mse_debiased", "ccl_debiased", "infonce_debiased"):
        with pytest.raises(
            InvalidArgumentError, match=f"negatives must be 'uniform' .*{negatives}"
        ):
            MF(loss, negatives=negatives)
    MF("infonce_debiased", negatives=negatives, correct_for_sampling=True)
    MF("ccl_debiased", negatives="popularity", popularity_power=0.0)


def test_in_batch_negatives_need_another_item() -> None:
    some = QUICK | {"negatives": "in-batch", "validation_share": 0.0}
    with pytest.raises(InvalidArgumentError, match="batch_size must be at least 2 for in-batch"):
        MF("bpr", **some | {"batch_size": 1}).fit(TRAIN)
    one = tr.Interactions.from_arrays([0, 1, 2], [0, 0, 0])
    with pytest.raises(InvalidDataError, match="all interactions are with one item"):
        MF("bpr", **some | {"n_negatives": 1}).fit(one)


@pytest.mark.parametrize("optimiser", ["adam", "dense-adam"])
def test_a_pair_that_is_left_over_does_not_meet_itself(optimiser: Any) -> None:
    """Its only negative would be its own positive; it is drawn again in another epoch."""
    n = len(TRAIN) - 1
    sizes = []

    def own(pos: torch.Tensor, neg: torch.Tensor) -> torch.Tensor:
        sizes.append(len(pos))
        return LOSSES["bpr"](pos, neg)

    some = QUICK | {"negatives": "in-batch", "validation_share": 0.0, "epochs": 2}
    MF(own, optimiser=optimiser, **some | {"batch_size": n}).fit(TRAIN)
    assert sizes == [n, n]


@pytest.mark.parametrize("loss", ["infonce", "infonce_debiased", "ccl_debiased", "mse_debiased"])
def test_a_user_is_folded_in_alike_in_any_company(loss: str) -> None:
    kind: dict[str, Any] = {"similarity": "cosine"} | QUICK
    if loss == "infonce":
        kind["exclude_positives"] = True
    model = MF(loss, **kind).fit(TRAIN)
    new = data(5, idle=False)
    everybody = model.solve_users(new)
    some = np.flatnonzero(np.arange(120) % 7 == 0)
    alone = model.solve_users(new.select(np.isin(new.users, some)))
    np.testing.assert_allclose(alone[some], everybody[some], atol=2e-5)
