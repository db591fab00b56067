from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numba import njit

from truerank.losses import LOSSES, inputs_of
from truerank.losses.gradients import fused_loss, has_fused_gradient, loss_and_gradient
from truerank.losses.row_kernels import largest
from truerank.models.mf.scores import loss_and_gradient_of_tile
from truerank.numerics.exponential import HIGHEST, LOWEST, exp32
from truerank.training.torch_loss import loss_and_gradient_by_autograd

ULP = 2.0**-23
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("bpr", {}),
    ("bce", {}),
    ("bce", {"weight": 3.0}),
    ("mse", {"weight": 2.0}),
    ("ccl", {"margin": 0.3, "weight": 5.0}),
    ("softmax", {}),
    ("sampled_softmax", {}),
    ("infonce", {"temperature": 0.2}),
    ("mine", {"temperature": 0.3}),
    ("mine_plus", {"temperature": 0.12, "weight": 1.1}),
    ("mse_debiased", {"weight": 0.7}),
    ("ccl_debiased", {"margin": 0.2, "weight": 0.6}),
    ("infonce_debiased", {"temperature": 0.5}),
    ("infonce_debiased", {"temperature": 0.2, "weight": 30.0}),
    ("infonce_debiased", {"temperature": 0.02}),
    ("infonce_debiased", {"temperature": 0.005, "weight": 3.0}),
    ("infonce", {"temperature": 0.005}),
    ("mine_plus", {"temperature": 0.005, "weight": 1.1}),
]
IDS = [f"{name}-{'-'.join(map(str, values.values()))}" for name, values in SETTINGS]


@njit(fastmath=True)  # which must not spread
def exp_of(x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = exp32(x[i])
    return out


def test_the_exponential_is_right_to_two_units_in_the_last_place() -> None:
    x = np.linspace(LOWEST, HIGHEST, 1_000_003).astype(np.float32)
    truth = np.exp(x.astype(np.float64))
    assert np.abs(exp_of(x) / truth - 1).max() < 2 * ULP
    near = np.linspace(-1e-3, 1e-3, 10_001).astype(np.float32)
    assert np.abs(exp_of(near) - np.exp(near.astype(np.float64))).max() < 2 * ULP
    far = exp_of(np.array([-1e30, 1e30], np.float32))
    np.testing.assert_allclose(far, np.exp([float(LOWEST), float(HIGHEST)]), rtol=2 * ULP)


@pytest.mark.parametrize("n", [1, 95, 96, 97, 1000, 2500])
@pytest.mark.parametrize("size", [0, 1, 100])
def test_the_logistic_loss_of_many_scores(n: int, size: int) -> None:
    own, neg, _ = scores(3, size, n=n)
    difference = neg.astype(np.float64) - own[:, :1]
    no_tau, no_extra = np.zeros(len(own), np.float32), np.empty((len(own), 0), np.float32)
    loss = sum(
        loss_and_gradient(fused_loss("bpr", {}), pos[0], row, extra, tau, np.float32(1))[0]
        for pos, row, extra, tau in zip(own, neg.copy(), no_extra, no_tau, strict=True)
    )
    truth = np.logaddexp(0.0, difference).sum()
    assert loss == pytest.approx(truth, rel=n * ULP)


def scores(seed: int, size: int, *, rows: int = 40, n: int = 21, m: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    own = rng.uniform(-size, size, (rows, 1 + m)).astype(np.float32)
    neg = rng.uniform(-size, size, (rows, n)).astype(np.float32)
    tau = rng.uniform(0.0, 0.3, rows).astype(np.float32)
    tau[0] = 0.0  # which the debiased losses read in a way of their own
    return [own, neg, tau]


@pytest.mark.parametrize(("name", "parameters"), SETTINGS, ids=IDS)
@pytest.mark.parametrize("size", [0.01, 1.0, 8.0])
def test_every_gradient_is_that_of_autograd_in_double_precision(
    name: str, parameters: dict[str, Any], size: float
) -> None:
    own, neg, tau = scores(1, size)
    debiased = "tau_pos" in inputs_of(name)
    m = 3 if debiased else 0
    own = own[:, : 1 + m].copy()
    pos64, neg64, extra64 = (
        torch.tensor(x.astype(np.float64), requires_grad=True) for x in (own[:, 0], neg, own[:, 1:])
    )
    more = {"tau_pos": torch.tensor(tau.astype(np.float64)), "extra_pos": extra64}
    values = LOSSES[name](pos64, neg64, **parameters, **(more if debiased else {}))
    values.sum().backward()

    scale = np.float32(0.25)
    fused = fused_loss(name, parameters)
    tau = tau if debiased else np.zeros_like(tau)
    total = loss_and_gradient_of_tile(fused, own, neg, tau, m, scale)

    values64 = values.detach().numpy()
    assert total == pytest.approx(values64.sum(), rel=1e-5, abs=1e-5 * np.abs(values64).sum())
    # Gradients of a row are sums of n rounded terms at most, each an exponential of s/t. Those of
    # autograd round as well, where large ones cancel.
    leaves = (own[:, 0], pos64), (neg, neg64), (own[:, 1:], extra64)
    truths = [np.zeros(x.shape) if x.grad is None else x.grad.numpy() for _, x in leaves]
    cancelled = 2.0**-50 * max(np.abs(truth).max(initial=0.0) for truth in truths)
    for (mine, _), truth in zip(leaves, truths, strict=True):
        largest = np.abs(truth).max(initial=0.0)
        np.testing.assert_allclose(mine / scale, truth, rtol=2e-4, atol=2e-6 * largest + cancelled)


@pytest.mark.parametrize(("name", "parameters"), SETTINGS, ids=IDS)
def test_own_negatives_have_the_gradients_of_shared_ones(
    name: str, parameters: dict[str, Any]
) -> None:
    own, neg, tau = scores(2, 1.0)
    m = 3 if "tau_pos" in inputs_of(name) else 0
    fused, tau = fused_loss(name, parameters), tau if m else np.zeros_like(tau)
    together = np.concatenate([own[:, : 1 + m], neg], axis=1)
    own = own[:, : 1 + m].copy()
    a = loss_and_gradient_of_tile(fused, own, neg, tau, m, np.float32(1))
    b = loss_and_gradient_of_tile(fused, together, neg[:, :0].copy(), tau, m, np.float32(1))
    assert a == pytest.approx(b, rel=1e-6)
    np.testing.assert_allclose(together, np.concatenate([own, neg], axis=1), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", LOSSES)
def test_extreme_scores_give_finite_losses_and_gradients(name: str) -> None:
    m = 2 if "tau_pos" in inputs_of(name) else 0
    own = np.zeros((4, 1 + m), np.float32)
    neg = np.zeros((4, 5), np.float32)
    own[:2], neg[1:3] = 1e4, 1e4
    own[3], neg[3] = -1e4, -1e4
    tau = np.full(4, 0.1 if m else 0.0, np.float32)
    total = loss_and_gradient_of_tile(fused_loss(name, {}), own, neg, tau, m, np.float32(1))
    assert np.isfinite(total)
    assert np.isfinite(own).all()
    assert np.isfinite(neg).all()


@pytest.mark.parametrize("nan", [0x7FC00000, 0xFFC00000], ids=["NaN", "-NaN"])
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_of_one_nan_score_is_nan(name: str, nan: int) -> None:
    """Of either sign: processors make the negative one, numpy writes the positive one."""
    m = 2 if "tau_pos" in inputs_of(name) else 0
    for bad in ("own", "neg"):
        own, neg = np.zeros((1, 1 + m), np.float32), np.zeros((1, 100), np.float32)
        {"own": own[:, 0], "neg": neg[:, 50]}[bad].view(np.uint32)[:] = nan
        tau = np.full(1, 0.1 if m else 0.0, np.float32)
        total = loss_and_gradient_of_tile(fused_loss(name, {}), own, neg, tau, m, np.float32(1))
        assert np.isnan(total), bad


@pytest.mark.parametrize("n", [1, 7, 32, 100])
@pytest.mark.parametrize("start", [-np.inf, 0.0, 3.0])
def test_the_largest_score_is_found_among_their_bits(n: int, start: float) -> None:
    rng = np.random.default_rng(n)
    for scale in (1e-40, 1.0, 1e38):
        scores = np.clip(rng.normal(0, scale, n), -3e38, 3e38).astype(np.float32)
        for some in (scores, -np.abs(scores), np.zeros_like(scores) * -1, scores * np.inf):
            if not np.isnan(some).any():
                assert largest(some, np.float32(start)) == max(some.max(), np.float32(start))


def test_torch_does_not_hide_nan_either() -> None:
    for name in LOSSES:
        pos, neg = torch.zeros(1), torch.full((1, 5), torch.nan)
        debiased = {"tau_pos": 0.1, "extra_pos": torch.zeros(1, 2)}
        assert LOSSES[name](pos, neg, **debiased if "tau_pos" in inputs_of(name) else {}).isnan()


def test_every_loss_of_the_table_has_gradients_and_no_other() -> None:
    assert all(has_fused_gradient(name) for name in LOSSES)
    assert not has_fused_gradient("hinge")
    assert not has_fused_gradient(torch.nn.functional.relu)
    assert fused_loss("hinge", {}) is None


def test_autograd_replaces_scores_by_gradients_in_place() -> None:
    own = np.array([[1.0, 5.0, 7.0], [2.0, 6.0, 8.0]], np.float32)

    def weighted(pos: torch.Tensor, neg: torch.Tensor, extra_pos: torch.Tensor) -> torch.Tensor:
        return 3 * pos + 5 * neg.sum(dim=1) + 7 * extra_pos.sum(dim=1)

    total = loss_and_gradient_by_autograd(weighted, own, own[:, :0], 1, 0.5, {})
    assert total == 3 * (1 + 2) + 5 * (7 + 8) + 7 * (5 + 6)
    np.testing.assert_array_equal(own, [[1.5, 3.5, 2.5]] * 2)


def test_autograd_of_what_the_loss_ignores_is_zero() -> None:
    own, shared = np.ones((2, 1), np.float32), np.ones((2, 3), np.float32)
    loss_and_gradient_by_autograd(lambda pos, neg: -pos, own, shared, 0, 1.0, {})
    np.testing.assert_array_equal(own, [[-1.0]] * 2)
    np.testing.assert_array_equal(shared, np.zeros((2, 3)))
