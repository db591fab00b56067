"""Debiased losses: equal to the biased at tau = 0, and right about true negatives otherwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import truerank as tr

from .formulas import Case, scores

LOSSES = tr.losses.LOSSES
PAIRS = [
    pytest.param("mse", {"weight": 0.7}, id="mse"),
    pytest.param("ccl", {"margin": 0.3, "weight": 0.7}, id="ccl"),
    pytest.param("infonce", {"temperature": 0.4}, id="infonce"),
]


@pytest.mark.parametrize(("name", "parameters"), PAIRS)
@pytest.mark.parametrize("takes", [("extra_pos",), ()], ids=["more positives", "none"])
def test_nothing_hidden_is_the_biased_loss(
    name: str, parameters: dict[str, Any], takes: tuple[str, ...]
) -> None:
    tensors = scores(takes)
    pos, neg = tensors["pos"].requires_grad_(), tensors["neg"].requires_grad_()
    debiased = LOSSES[f"{name}_debiased"](**tensors, tau_pos=0.0, **parameters)
    biased = LOSSES[name](pos, neg, **parameters)
    assert torch.allclose(debiased, biased, rtol=1e-13, atol=1e-13)
    for mine, theirs in zip(
        torch.autograd.grad(debiased.sum(), [pos, neg]),
        torch.autograd.grad(biased.sum(), [pos, neg]),
        strict=True,
    ):
        assert torch.allclose(mine, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("name", "parameters"), PAIRS[:2])
def test_how_pointwise_losses_are_normalised_above_zero(
    name: str, parameters: dict[str, Any]
) -> None:
    """tau l+ + w (mean l- - tau mean l-+) is tau times the biased loss of weight w / tau, less w
    tau mean l-+: the positive carries tau, so the weight of the biased loss is divided by it."""
    tensors = scores(("extra_pos",))
    tau, w = 0.02, parameters["weight"]
    rest = {k: v for k, v in parameters.items() if k != "weight"}
    debiased = LOSSES[f"{name}_debiased"](**tensors, tau_pos=tau, **parameters)
    biased = LOSSES[name](tensors["pos"], tensors["neg"], weight=w / tau, **rest)
    push = LOSSES[name](torch.ones_like(tensors["pos"]), tensors["extra_pos"], **rest)
    assert torch.allclose(debiased, tau * biased - w * tau * push, rtol=1e-12, atol=1e-14)


def liked_and_not(n_items: int = 30, n_liked: int = 6) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(2)
    liked = torch.as_tensor(rng.uniform(0.1, 0.9, n_liked))
    return liked, torch.as_tensor(rng.uniform(-0.6, 0.7, n_items - n_liked))


@pytest.mark.parametrize(("name", "parameters"), PAIRS)
def test_the_whole_catalogue_leaves_exactly_the_true_negatives(
    name: str, parameters: dict[str, Any]
) -> None:
    """All items as unlabelled, all liked items as positives: nothing is left to chance."""
    liked, others = liked_and_not()
    everything = torch.cat([liked, others])
    tau = len(liked) / len(everything)
    pos = liked[:1]
    value = LOSSES[f"{name}_debiased"](
        pos, everything[None], extra_pos=liked[None], tau_pos=tau, **parameters
    ).item()
    s = pos.item()
    if name == "infonce":
        t, n = parameters["temperature"], len(everything)
        f = sum(math.exp(x / t) for x in others.tolist()) / len(others)
        expected = math.log1p(n * f / math.exp(s / t))
    else:
        w, eps = parameters["weight"], parameters.get("margin", 0.0)
        pull = {"mse": (1 - s) ** 2, "ccl": 1 - s}[name]
        push = [x**2 if name == "mse" else max(0.0, x - eps) for x in others.tolist()]
        expected = tau * pull + w * (1 - tau) * sum(push) / len(push)
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("name", "parameters"), PAIRS[:2])
@pytest.mark.parametrize("m", [0, 1, 5])
def test_expectation_of_a_debiased_pointwise_loss_is_the_ideal_one(
    name: str, parameters: dict[str, Any], m: int
) -> None:
    """Positives from p+, unlabelled items from p, over and over; the biased loss is far off."""
    liked, others = liked_and_not()
    everything = torch.cat([liked, others])
    tau = len(liked) / len(everything)
    rng = np.random.default_rng(17)
    runs, n = 20_000, 4

    def drawn(items: Tensor, *shape: int) -> Tensor:
        return items[torch.as_tensor(rng.integers(0, len(items), shape))]

    pos, neg = drawn(liked, runs), drawn(everything, runs, n)
    extra = drawn(liked, runs, m) if m else None
    debiased = LOSSES[f"{name}_debiased"](pos, neg, extra_pos=extra, tau_pos=tau, **parameters)
    # One row per item gives the single losses: l+ of the liked, l- of the others.
    pull = LOSSES[name](liked, torch.zeros(len(liked), 1), **{**parameters, "weight": 0.0}).mean()
    ones = torch.ones(len(others), dtype=torch.float64)
    push = LOSSES[name](ones, others[:, None], **{**parameters, "weight": 1.0}).mean()
    ideal = float(tau * pull + parameters["weight"] * (1 - tau) * push)
    error = float(debiased.std()) / math.sqrt(runs)
    assert abs(float(debiased.mean()) - ideal) < 4 * error  # P(|Z| > 4) = 6e-5
    all_push = LOSSES[name](
        torch.ones(len(everything), dtype=torch.float64),
        everything[:, None],
        **{**parameters, "weight": 1.0},
    ).mean()
    biased = float(tau * pull + parameters["weight"] * (1 - tau) * all_push)
    assert abs(biased - ideal) > 10 * error  # the test could see the bias


def test_debiased_infonce_closes_in_on_the_ideal_as_samples_grow() -> None:
    liked, others = liked_and_not()
    everything = torch.cat([liked, others])
    tau, t, lam = len(liked) / len(everything), 0.4, 30.0
    rng = np.random.default_rng(23)
    pos = liked[:1]
    f = float((others / t).exp().mean())
    ideal = math.log1p(lam * f / math.exp(pos.item() / t))
    errors = []
    for n in (10, 100, 1_000):
        neg = everything[torch.as_tensor(rng.integers(0, len(everything), (2_000, n)))]
        more = liked[torch.as_tensor(rng.integers(0, len(liked), (2_000, n)))]
        values = LOSSES["infonce_debiased"](
            pos.expand(2_000), neg, extra_pos=more, tau_pos=tau, temperature=t, weight=lam
        )
        errors.append(float((values - ideal).square().mean().sqrt()))
    assert errors[0] > 2 * errors[1] > 4 * errors[2]  # about sqrt(10) each time
    assert errors[2] < 0.1


def test_the_floor_is_the_least_of_cosines_and_stops_gradients() -> None:
    """Positives far above the unlabelled: the difference would be negative."""
    t, n, tau = 0.5, 3, 0.2
    pos = torch.tensor([0.9], dtype=torch.float64, requires_grad=True)
    neg = torch.full((1, n), -0.9, dtype=torch.float64, requires_grad=True)
    more = torch.full((1, 2), 0.95, dtype=torch.float64, requires_grad=True)
    value = LOSSES["infonce_debiased"](pos, neg, extra_pos=more, tau_pos=tau, temperature=t)
    assert value.item() == pytest.approx(math.log1p(n * math.exp(-1 / t) / math.exp(0.9 / t)))
    value.sum().backward()
    assert neg.grad is not None
    assert more.grad is not None
    assert pos.grad is not None
    assert neg.grad.eq(0).all()
    assert more.grad.eq(0).all()
    share = n * math.exp(-1 / t) / (math.exp(0.9 / t) + n * math.exp(-1 / t))
    assert pos.grad.item() == pytest.approx(-share / t, rel=1e-12)


def test_at_the_floor_exactly_and_with_nothing_left_there_is_no_nan() -> None:
    """The unlabelled are all positives and tau is nearly 1: the difference is 0 or rounding."""
    same = torch.full((1, 4), 0.5, requires_grad=True)
    pos = torch.full((1,), 0.5, requires_grad=True)
    for tau in (0.5, 1 - 1e-6):
        value = LOSSES["infonce_debiased"](pos, same, tau_pos=tau, temperature=0.05)
        value.sum().backward()
        assert value.isfinite().all()
        assert same.grad is not None
        assert same.grad.isfinite().all()


def test_any_number_of_more_positives() -> None:
    tensors = scores(("tau_pos",), m=3)
    for name in ("mse_debiased", "ccl_debiased", "infonce_debiased"):
        alone = LOSSES[name](**tensors)
        none = torch.empty(len(tensors["pos"]), 0, dtype=torch.float64)
        itself = tensors["pos"][:, None]
        for extra in (none, itself, itself.expand(-1, 5)):
            given = LOSSES[name](**tensors, extra_pos=extra)
            assert torch.allclose(given, alone, rtol=1e-13, atol=1e-14)


def test_the_weight_of_debiased_infonce_is_the_number_of_samples_unless_given() -> None:
    case = Case("infonce_debiased", {"temperature": 0.5}, ("tau_pos", "extra_pos"))
    tensors = scores(case.takes, n=7)
    loss = LOSSES[case.name]
    assert torch.equal(loss(**tensors, weight=7.0), loss(**tensors))
    assert loss(**tensors, weight=0.0).eq(0).all()


@pytest.mark.parametrize(("weight", "bounded"), [(1.0, True), (2.9, True), (3.1, False)])
def test_when_debiased_mse_is_bounded_over_a_catalogue(weight: float, bounded: bool) -> None:
    """Three items of ten are known and tau says 4.5: c = 1.5, and the limit is c / (c - 1) = 3."""
    tau = 0.45
    losses = []
    for score in (1e3, 2e3):
        known = torch.full((3,), score, dtype=torch.float64)
        everything = torch.cat([known, torch.zeros(7, dtype=torch.float64)])
        of_each = LOSSES["mse_debiased"](
            known,
            everything.expand(3, 10),
            extra_pos=known.expand(3, 3),
            tau_pos=tau,
            weight=weight,
        )
        losses.append(float(of_each.mean()))
    assert (losses[1] > losses[0] > 0) is bounded
