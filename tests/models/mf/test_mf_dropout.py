"""Dropout of users' vectors: what is left out, and gradients through what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tests.models.mf.test_mf import QUICK, TRAIN
from tests.models.mf.test_mf_steps import (
    BATCH,
    KEY,
    PLANS,
    assert_same,
    chosen,
    factors,
    objective,
)

from truerank.errors import InvalidArgumentError
from truerank.losses import LOSSES
from truerank.models import MF
from truerank.models.mf.dropout import drop, units
from truerank.models.mf.steps import Steps
from truerank.numerics.threads import on_all_cores
from truerank.training.optimisers import Step, Table

SHARE = 0.375  # a whole number of units


def kept(rows: int, dim: int, key: int, share: float = SHARE) -> np.ndarray:
    """Which dimensions of each pair are kept, read off vectors of ones."""
    out = np.ones((rows, dim), np.float32)
    drop(out, np.uint64(key), 0, units(share))
    np.testing.assert_allclose(out[out > 0], 1 / (1 - share), rtol=2e-4)  # units
    return out > 0


@pytest.mark.parametrize("share", [0.1, SHARE, 0.9])
def test_as_many_are_left_out_as_was_asked_each_by_itself(share: float) -> None:
    """Shares within 4.5 standard errors, P < 1e-5: over all, in every dimension, in neighbours."""
    rows, dim = 40_000, 10
    z = ~kept(rows, dim, 3, share)
    error = np.sqrt(share * (1 - share) / rows)
    assert abs(z.mean() - share) < 4.5 * error / np.sqrt(dim)
    assert (np.abs(z.mean(axis=0) - share) < 4.5 * error).all()
    centred = z - share
    neighbours = [(centred[:, 1:], centred[:, :-1]), (centred[1:], centred[:-1])]
    neighbours += [(centred[k:, :-4], centred[:-k, 4:]) for k in (1, 4)]  # four share a word
    for a, b in neighbours:
        assert abs((a * b).mean()) < 4.5 * share * (1 - share) / np.sqrt(a.size)
    assert not np.array_equal(z, ~kept(rows, dim, 4, share))


def by_steps(o: Any, workers: int = 1) -> tuple[float, np.ndarray, np.ndarray, Any]:
    users, items = factors()
    tables = [Table.of(side.copy(), "sgd") for side in (users, items)]
    with on_all_cores(workers) as each:
        steps = Steps(o, *tables, batch_size=BATCH, each=each, parts=workers, dropout=SHARE)
        batch = steps.batch(chosen(), KEY, 5)
        loss = steps.gradients(batch)
        steps.move(batch, Step.number(1, optimiser="sgd", rate=1.0, l2=0.0, cosine=o.cosine))
    return (
        loss / len(batch.users), tables[0].factors - users, tables[1].factors - items, batch,
    )  # fmt: skip


def by_torch(loss: str, o: Any, batch: Any) -> tuple[float, np.ndarray, np.ndarray]:
    W, H = (torch.tensor(x.astype(np.float64), requires_grad=True) for x in factors())
    left = torch.from_numpy(kept(len(batch.users), W.shape[1], batch.drops))
    U, V = W, H
    if o.cosine:
        U, V = (X / X.norm(dim=1, keepdim=True) for X in (W, H))
    U = torch.where(left, U[batch.users] / (1 - SHARE), 0.0)
    own = torch.einsum("bd,bjd->bj", U, V[batch.own])
    neg = U @ V[batch.shared[0]].T if batch.shared.size else own[:, 1:]
    mean = LOSSES[loss](own[:, 0], neg).mean()
    mean.backward()
    return float(mean.detach()), W.grad.numpy(), H.grad.numpy()


@pytest.mark.parametrize("as_function", [False, True], ids=["kernel", "autograd"])
@pytest.mark.parametrize("cosine", [False, True], ids=["dot", "cosine"])
@pytest.mark.parametrize("plan", ["shared", "own"])
def test_a_step_goes_through_what_is_left(
    monkeypatch: pytest.MonkeyPatch, plan: str, cosine: bool, as_function: bool
) -> None:
    monkeypatch.setattr("truerank.models.mf.steps.TILE", 64)  # 150 pairs are three tiles
    o = objective(LOSSES["infonce"] if as_function else "infonce", PLANS[plan], cosine=cosine)
    loss, dW, dH, batch = by_steps(o)
    expected, W, H = by_torch("infonce", o, batch)
    assert loss == pytest.approx(expected, rel=1e-5)
    assert_same(-dW, W)
    assert_same(-dH, H)


def test_every_batch_of_every_epoch_draws_anew() -> None:
    o = objective("bpr", PLANS["shared"])
    tables = [Table.of(side, "sgd") for side in factors()]
    with on_all_cores(1) as each:
        steps = Steps(o, *tables, batch_size=BATCH, each=each, parts=1)
        keys = [steps.batch(chosen(), KEY + np.uint64(e), n).drops for e in (0, 1) for n in (0, 1)]
    assert len({*keys, int(KEY)}) == 5


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("truerank.models.mf.steps.TILE", 64)
    o = objective("infonce", PLANS["shared"], cosine=True)
    one, three = by_steps(o, 1), by_steps(o, 3)
    assert one[0] == three[0]
    np.testing.assert_array_equal(one[1], three[1])
    np.testing.assert_array_equal(one[2], three[2])


def test_training_with_dropout_repeats_itself_and_differs_from_training_without() -> None:
    first, again, none = (
        MF("bpr", **QUICK, dropout=p).fit(TRAIN).item_factors for p in (0.2, 0.2, 0.0)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, none)


@pytest.mark.parametrize("share", [1.0, -0.1, float("nan"), "0.1"])
def test_shares_that_make_no_sense_are_refused(share: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="dropout must be at least 0 and below 1"):
        MF("bpr", dropout=share)
