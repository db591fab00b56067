from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import truerank as tr
from truerank.losses import LOSSES, inputs_of
from truerank.models.mf.rows import BLOCK
from truerank.models.mf.settings import NO_LOGITS
from truerank.models.mf.steps import Steps
from truerank.numerics.threads import on_all_cores
from truerank.training.batches import WHOLE_BATCH, Batch, BatchPlan
from truerank.training.negative_sampling import NegativeSampler, Pairs, negative_sampler
from truerank.training.objective import Objective, objective_of
from truerank.training.optimisers import Step, Table

N_USERS, N_ITEMS, DIM, BATCH = 30, 25, 7, 150
KEY = np.uint64(7)
PLANS = {
    "shared": BatchPlan(0, 0, 11, False, False),
    "shared-excluding": BatchPlan(0, 0, 11, False, True),
    "sets": BatchPlan(0, 0, 11, False, False, sharing=40),
    "sets-excluding": BatchPlan(0, 0, 11, False, True, sharing=100),
    "own": BatchPlan(0, 6, 0, False, False),
    "own-excluding": BatchPlan(0, 6, 0, False, True),
    "in-batch": BatchPlan(0, 0, 0, True, False),
    "in-batch-excluding": BatchPlan(0, 0, 0, True, True),
}


def data() -> tr.Interactions:
    X = np.random.default_rng(0).random((N_USERS, N_ITEMS)) < 0.35
    user, item = np.nonzero(X)
    return tr.Interactions.from_arrays(
        user, item, user_ids=np.arange(N_USERS), item_ids=np.arange(N_ITEMS)
    )


DATA = data()


def objective(
    loss: Any,
    plan: BatchPlan,
    *,
    cosine: bool = False,
    sampler: NegativeSampler | None = None,
    **more: Any,
) -> Objective:
    settings: dict[str, Any] = {"parameters": {}, "correct": False, "hidden": 2.0, "alpha": 0.1}
    return objective_of(
        loss=loss,
        pairs=Pairs.of(DATA),
        user_of_pair=DATA.users,
        sampler=sampler or NegativeSampler.uniform(),
        plan=plan,
        cosine=cosine,
        **(settings | more),
    )


def factors(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = ((N_USERS, DIM), (N_ITEMS, DIM))
    return tuple(rng.normal(scale=0.6, size=size).astype(np.float32) for size in sizes)  # type: ignore[return-value]


def chosen(size: int = BATCH) -> np.ndarray:
    return np.random.default_rng(2).permutation(len(DATA))[:size]


def by_our_steps(
    o: Objective, *, workers: int = 1, optimiser: str = "sgd", rate: float = 1.0, l2: float = 0.0,
    n_steps: int = 1,
) -> tuple[float, np.ndarray, np.ndarray, Batch]:  # fmt: skip
    """Mean loss and what the steps have added to the factors of users and of items."""
    users, items = factors()
    tables = [Table.of(side.copy(), optimiser) for side in (users, items)]
    with on_all_cores(workers) as each:
        steps = Steps(o, *tables, batch_size=BATCH, each=each, parts=workers)
        for s in range(n_steps):
            batch = steps.batch(chosen(BATCH - 13 * s), KEY, s)
            loss = steps.gradients(batch)
            steps.move(
                batch, Step.number(s + 1, optimiser=optimiser, rate=rate, l2=l2, cosine=o.cosine)
            )
    return (
        loss / len(batch.users),
        tables[0].factors - users,
        tables[1].factors - items,
        batch,
    )


def negatives_met(batch: Batch, sharing: int) -> np.ndarray:
    """The shared negatives of each pair, with their stand-ins."""
    met = batch.shared[np.arange(len(batch.users)) // sharing]
    own_set = met.copy()
    for b in range(len(met)):
        for s in range(batch.swaps.starts[b], batch.swaps.starts[b + 1]):
            met[b, batch.swaps.column[s]] = own_set[b, batch.swaps.instead[s]]
    return met


def scores_by_torch(
    W: Any, H: Any, batch: Batch, *, cosine: bool, sharing: int = WHOLE_BATCH
) -> tuple[Any, Any]:
    """Scores of own and of shared items, with loops where they help to see what is meant."""
    if cosine:
        W = W / W.norm(dim=1, keepdim=True)
        H = H / H.norm(dim=1, keepdim=True)
    own = torch.einsum("bd,bjd->bj", W[batch.users], H[batch.own])
    shared = torch.einsum("bd,bjd->bj", W[batch.users], H[negatives_met(batch, sharing)])
    return own, shared


def by_torch(
    name: str, o: Objective, batch: Batch, parameters: dict[str, Any], **inputs: Any
) -> tuple[float, np.ndarray, np.ndarray]:
    """Mean loss and its gradients in double precision, by autograd through everything."""
    W, H = (torch.tensor(x.astype(np.float64), requires_grad=True) for x in factors())
    own, shared = scores_by_torch(W, H, batch, cosine=o.cosine, sharing=o.plan.sharing)
    m = o.plan.n_extra
    neg = shared if shared.shape[1] else own[:, 1 + m :]
    if m:
        inputs["extra_pos"] = own[:, 1 : 1 + m]
    loss = LOSSES[name](own[:, 0], neg, **parameters, **inputs).mean()
    loss.backward()
    return float(loss.detach()), W.grad.numpy(), H.grad.numpy()


def assert_same(mine: np.ndarray, truth: np.ndarray) -> None:
    """Sums of a hundred float32 terms, read off factors of about 1: units in their last places."""
    atol = 3e-6 * np.abs(truth).max() + 2 * np.finfo(np.float32).eps
    np.testing.assert_allclose(mine, truth, rtol=2e-4, atol=atol)


@pytest.mark.parametrize("cosine", [False, True], ids=["dot", "cosine"])
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("name", ["bpr", "infonce"])
def test_a_step_is_the_gradient_of_the_mean_loss(name: str, plan: BatchPlan, cosine: bool) -> None:
    o = objective(name, plan, cosine=cosine)
    loss, dW, dH, batch = by_our_steps(o)
    expected, W, H = by_torch(name, o, batch, {})
    assert loss == pytest.approx(expected, rel=1e-5)
    assert_same(-dW, W)
    assert_same(-dH, H)


@pytest.mark.parametrize("as_function", [False, True], ids=["kernel", "autograd"])
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_batch_of_several_tiles_is_one_batch(
    monkeypatch: pytest.MonkeyPatch, plan: BatchPlan, as_function: bool
) -> None:
    monkeypatch.setattr("truerank.models.mf.steps.TILE", 64)  # 150 pairs are three
    o = objective(LOSSES["infonce"] if as_function else "infonce", plan, cosine=True)
    loss, dW, dH, batch = by_our_steps(o, workers=2)
    expected, W, H = by_torch("infonce", o, batch, {})
    assert loss == pytest.approx(expected, rel=1e-5)
    assert_same(-dW, W)
    assert_same(-dH, H)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_rows_of_several_blocks_are_all_moved(
    monkeypatch: pytest.MonkeyPatch, plan: BatchPlan
) -> None:
    monkeypatch.setattr("truerank.models.mf.steps._PIECES", 1)  # 30 users and 25 items in a part
    o = objective("infonce", plan, cosine=True)
    _, dW, dH, batch = by_our_steps(o)
    assert min(len(batch.by_user.rows), len(batch.by_item.rows)) > BLOCK
    _, W, H = by_torch("infonce", o, batch, {})
    assert_same(-dW, W)
    assert_same(-dH, H)


@pytest.mark.parametrize("n_own", [0, 6], ids=["shared", "own"])
@pytest.mark.parametrize("name", [name for name in LOSSES if "tau_pos" in inputs_of(name)])
def test_a_step_on_a_debiased_loss_knows_further_positives_and_their_share(
    name: str, n_own: int
) -> None:
    o = objective(name, BatchPlan(4, n_own, 0 if n_own else 11, False, False), cosine=True)
    loss, dW, dH, batch = by_our_steps(o)
    tau = (1.1 * DATA.user_counts + 2.0) / N_ITEMS
    expected, W, H = by_torch(name, o, batch, {}, tau_pos=torch.tensor(tau[batch.users]))
    assert loss == pytest.approx(expected, rel=1e-5)
    assert_same(-dW, W)
    assert_same(-dH, H)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_sampled_softmax_divides_by_the_expected_number_of_draws(plan: BatchPlan) -> None:
    sampler = negative_sampler(
        "in-batch" if plan.in_batch else "popularity", DATA.item_counts, 0.75
    )
    o = objective("sampled_softmax", plan, sampler=sampler)
    loss, dW, dH, batch = by_our_steps(o)
    q = np.tile(sampler.share, (len(batch.users), 1))
    for b, user in enumerate(batch.users):
        if plan.exclude:
            q[b, DATA.items_of(user)] = 0.0
        elif plan.in_batch:
            q[b, batch.own[b, 0]] = 0.0
    q /= q.sum(axis=1, keepdims=True)
    met = batch.own[:, 1:] if plan.n_own else negatives_met(batch, plan.sharing)
    log_q = np.log(met.shape[1] * np.take_along_axis(q, met.astype(np.int64), axis=1))
    expected, W, H = by_torch("sampled_softmax", o, batch, {}, log_q=torch.tensor(log_q))
    assert loss == pytest.approx(expected, rel=1e-5)
    assert_same(-dW, W)
    assert_same(-dH, H)


def test_correction_gives_exponentials_the_expectation_of_uniform_negatives() -> None:
    sampler, t = negative_sampler("popularity", DATA.item_counts, 0.75), 0.5
    o = objective(
        "mine", PLANS["shared"], sampler=sampler, correct=True, parameters={"temperature": t}
    )
    s = np.random.default_rng(0).normal(size=N_ITEMS)
    corrected = sampler.share @ np.exp((s - o.shift) / t)
    assert corrected == pytest.approx(np.exp(s / t).mean(), rel=1e-6)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("name", LOSSES)
def test_autograd_makes_the_same_step(name: str, plan: BatchPlan) -> None:
    if "tau_pos" in inputs_of(name):
        plan = plan._replace(n_extra=3, exclude=False)
    sampler = negative_sampler(
        "in-batch" if plan.in_batch else "popularity", DATA.item_counts, 0.75
    )
    kind: dict[str, Any] = {"cosine": True, "sampler": sampler, "correct": name not in NO_LOGITS}
    ours = by_our_steps(objective(name, plan, **kind))
    theirs = by_our_steps(objective(name, plan, autograd=True, **kind))
    assert ours[0] == pytest.approx(theirs[0], rel=1e-5)
    assert_same(ours[1], theirs[1])
    assert_same(ours[2], theirs[2])


@pytest.mark.parametrize("optimiser", ["adam", "adagrad", "sgd"])
@pytest.mark.parametrize("plan", ["shared-excluding", "sets-excluding", "own"])
@pytest.mark.parametrize("autograd", [False, True], ids=["fused", "autograd"])
def test_the_number_of_threads_changes_no_bit(optimiser: str, plan: str, autograd: bool) -> None:
    o = objective("infonce", PLANS[plan], cosine=True, autograd=autograd)
    one, three = (
        by_our_steps(o, workers=n, optimiser=optimiser, rate=0.1, l2=0.01, n_steps=3)
        for n in (1, 3)
    )
    assert one[0] == three[0]
    np.testing.assert_array_equal(one[1], three[1])
    np.testing.assert_array_equal(one[2], three[2])


def test_fixed_items_stay() -> None:
    users, items = factors()
    tables = [Table.of(users.copy(), "sgd"), Table.of(items.copy(), "sgd")]
    with on_all_cores(1) as each:
        steps = Steps(
            objective("bpr", PLANS["shared"]), *tables, batch_size=BATCH, each=each, parts=1,
            fixed_items=True,
        )  # fmt: skip
        batch = steps.batch(chosen(), KEY, 0)
        steps.gradients(batch)
        steps.move(batch, Step.number(1, optimiser="sgd", rate=1.0, l2=0.1, cosine=False))
    np.testing.assert_array_equal(tables[1].factors, items)
    assert (tables[0].factors != users).any()


@pytest.mark.parametrize("optimiser", ["adam", "adagrad", "sgd"])
@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_optimisers_are_those_of_torch_on_the_rows_touched(optimiser: str, l2: float) -> None:
    """Three steps on the same gradients; rows that a step does not touch keep their states.

    Positives are no negatives: their gradients would cancel, and Adagrad blow up what rounding
    leaves of them.
    """
    o, n_steps, rate = objective("bpr", BatchPlan(0, 1, 0, False, True)), 3, 0.05
    W, H = (torch.tensor(x, requires_grad=True) for x in factors())
    kinds: dict[str, Any] = {
        "adam": lambda p: torch.optim.SparseAdam(p, lr=rate),
        "adagrad": lambda p: torch.optim.Adagrad(p, lr=rate, eps=1e-8),
        "sgd": lambda p: torch.optim.SGD(p, lr=rate),
    }
    torchs = kinds[optimiser]([W, H])
    tables = [Table.of(side.copy(), optimiser) for side in factors()]
    with on_all_cores(1) as each:
        steps = Steps(o, *tables, batch_size=BATCH, each=each, parts=1)
        for s in range(1, n_steps + 1):
            batch = steps.batch(chosen()[5 * s : 5 * s + 5], KEY, s)
            steps.gradients(batch)
            steps.move(batch, Step.number(s, optimiser=optimiser, rate=rate, l2=l2, cosine=False))
            torchs.zero_grad()
            own, _ = scores_by_torch(W, H, batch, cosine=False)
            touched = [torch.from_numpy(np.unique(x)).long() for x in (batch.users, batch.own)]
            penalty = sum(
                (side[rows] ** 2).sum() for side, rows in zip((W, H), touched, strict=True)
            )
            (LOSSES["bpr"](own[:, 0], own[:, 1:]).mean() + l2 / 2 * penalty).backward()
            if optimiser == "adam":  # the others leave rows without gradient alone anyway
                for side, rows in zip((W, H), touched, strict=True):
                    side.grad = torch.sparse_coo_tensor(
                        rows[None], side.grad[rows], side.shape, check_invariants=True
                    )
            torchs.step()
    # An Adam step is about the rate whatever the gradient, so small gradients' rounding shows.
    for table, side in zip(tables, (W, H), strict=True):
        np.testing.assert_allclose(table.factors, side.detach().numpy(), atol=2e-4 * rate)
    untouched = np.setdiff1d(np.arange(N_ITEMS), batch.own)
    assert len(untouched) > 0


N_STEPS, FEW = -(-len(DATA) // 5), 5


def epochs_of_dense_adam(o: Objective, workers: int) -> Iterator[tuple[float, list[Table]]]:
    """Loss and tables after each of three epochs of small steps, the rate halved between them."""
    tables = [Table.of(side.copy(), "dense-adam") for side in factors()]
    with on_all_cores(workers) as each:
        steps = Steps(o, *tables, batch_size=FEW, each=each, parts=workers)
        for epoch in range(3):

            def step_of(s: int, epoch: int = epoch) -> Step:
                number, rate = epoch * N_STEPS + s, 0.02 / 2**epoch
                return Step.number(
                    number, optimiser="dense-adam", rate=rate, l2=0.0, cosine=o.cosine
                )

            yield steps.epoch(order_of(epoch), KEY, step_of, lambda *_: None), tables


def order_of(epoch: int) -> np.ndarray:
    return np.random.default_rng(epoch).permutation(len(DATA))


@pytest.mark.parametrize("cosine", [False, True], ids=["dot", "cosine"])
def test_dense_adam_is_that_of_torch_on_all_rows(cosine: bool) -> None:
    o = objective("bpr", BatchPlan(0, 1, 0, False, True), cosine=cosine)
    W, H = (torch.tensor(x, requires_grad=True) for x in factors())
    adam = torch.optim.Adam([W, H], lr=0.02)
    drawn = Steps(
        o, *(Table.of(side, "sgd") for side in factors()), batch_size=FEW, each=map, parts=1
    )
    for epoch, (loss, tables) in enumerate(epochs_of_dense_adam(o, 1)):
        total = 0.0
        for s in range(N_STEPS):
            batch = drawn.batch(order_of(epoch)[s * FEW : (s + 1) * FEW], KEY, s)
            own, _ = scores_by_torch(W, H, batch, cosine=cosine)
            values = LOSSES["bpr"](own[:, 0], own[:, 1:])
            adam.zero_grad()
            values.mean().backward()
            adam.step()
            total += float(values.detach().sum())
        assert loss == pytest.approx(total / len(DATA), rel=1e-3)
        for table, side in zip(tables, (W, H), strict=True):
            apart = np.abs(table.factors - side.detach().numpy())
            assert np.median(apart) < 1e-5  # small gradients' rounding shows, as above
            assert apart.max() < 0.1 * 0.02
        adam.param_groups[0]["lr"] /= 2


def test_the_number_of_threads_changes_no_bit_of_dense_adam() -> None:
    o = objective("infonce", PLANS["shared-excluding"], cosine=True)
    for (one, mine), (other, theirs) in zip(
        epochs_of_dense_adam(o, 1), epochs_of_dense_adam(o, 3), strict=True
    ):
        assert one == other
        for table, same in zip(mine, theirs, strict=True):
            for array, again in zip(table, same, strict=True):
                np.testing.assert_array_equal(array, again)
