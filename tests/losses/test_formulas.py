"""Every loss against its printed formula, and its printed gradient against autograd."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

import truerank as tr

from .formulas import CASES, Case, scores, sigmoid


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value_is_that_of_the_formula(case: Case) -> None:
    tensors = scores(case.takes)
    values = tr.losses.LOSSES[case.name](**tensors, **case.parameters)
    assert values.shape == tensors["pos"].shape
    assert values.dtype == torch.float64
    for b, value in enumerate(values.tolist()):
        row = {name: tensor[b].tolist() for name, tensor in tensors.items()}
        assert value == pytest.approx(case.formula(**row, **case.parameters), rel=1e-12, abs=1e-12)


def test_every_loss_has_a_case() -> None:
    assert {case.name for case in CASES} == set(tr.losses.LOSSES)


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        pytest.param("bpr", {}, 2 * math.log(2), id="bpr: a sum over negatives"),
        pytest.param("bce", {}, 2 * math.log(2), id="bce: a mean over negatives"),
        pytest.param("mse", {"weight": 4.0}, 1.0, id="mse"),
        pytest.param("ccl", {"weight": 4.0}, 1.0, id="ccl: nothing above the margin"),
        pytest.param("softmax", {}, math.log(3), id="softmax: one of three"),
        pytest.param("sampled_softmax", {"log_q": -math.log(5)}, math.log(11), id="1 + 2 * 5"),
        pytest.param("infonce", {"temperature": 0.1}, math.log(3), id="infonce"),
        pytest.param("mine", {"temperature": 0.1}, math.log(2), id="mine: a sum over negatives"),
        pytest.param("mine_plus", {"weight": 3.0}, 3 * math.log(2), id="mine+"),
        pytest.param("mse_debiased", {"tau_pos": 0.25}, 0.25, id="mse debiased"),
        pytest.param("ccl_debiased", {"tau_pos": 0.25}, 0.25, id="ccl debiased"),
        pytest.param("infonce_debiased", {"tau_pos": 0.25}, math.log(3), id="infonce debiased"),
    ],
)
def test_by_hand_when_all_scores_are_zero(
    name: str, parameters: dict[str, float], expected: float
) -> None:
    pos, neg = torch.zeros(1, dtype=torch.float64), torch.zeros(1, 2, dtype=torch.float64)
    value = tr.losses.LOSSES[name](pos, neg, **parameters)
    assert value.item() == pytest.approx(expected, rel=1e-14)


def closed_form(case: Case, row: dict[str, list[float]]) -> dict[str, list[float]]:
    """The gradients of the docstrings, one row at a time."""
    p: float = row["pos"]  # type: ignore[assignment]
    neg, n = row["neg"], len(row["neg"])
    t = case.parameters.get("temperature", 1.0)
    w = case.parameters.get("weight", 1.0)
    margin = case.parameters.get("margin", 0.0)
    name = case.name
    if name == "bpr":
        g = [sigmoid(s - p) for s in neg]
        return {"pos": [-sum(g)], "neg": g}
    if name == "bce":
        return {"pos": [sigmoid(p) - 1], "neg": [w / n * sigmoid(s) for s in neg]}
    if name == "mse":
        return {"pos": [2 * (p - 1)], "neg": [2 * w / n * s for s in neg]}
    if name == "ccl":
        return {"pos": [-1.0], "neg": [w / n * (s > margin) for s in neg]}
    if name in {"softmax", "sampled_softmax", "infonce"}:
        log_q = row.get("log_q", [0.0] * n)
        e = [math.exp(s / t - lq) for s, lq in zip(neg, log_q, strict=True)]
        below = math.exp(p / t) + sum(e)
        return {"pos": [(math.exp(p / t) / below - 1) / t], "neg": [x / below / t for x in e]}
    if name in {"mine", "mine_plus"}:
        e = [math.exp(s / t) for s in neg]
        return {"pos": [-1 / t], "neg": [w * x / sum(e) / t for x in e]}
    tau: float = row["tau_pos"]  # type: ignore[assignment]
    more = row.get("extra_pos", [p])
    m = len(more)
    if name == "mse_debiased":
        grad = {
            "pos": [2 * tau * (p - 1)],
            "neg": [2 * w / n * s for s in neg],
            "extra_pos": [-2 * w * tau / m * s for s in more],
        }
    elif name == "ccl_debiased":
        grad = {
            "pos": [-tau],
            "neg": [w / n * (s > margin) for s in neg],
            "extra_pos": [-w * tau / m * (s > margin) for s in more],
        }
    else:
        lam = case.parameters.get("weight", n)
        everything = sum(math.exp(s / t) for s in neg) / n
        f = (everything - tau * sum(math.exp(s / t) for s in more) / m) / (1 - tau)
        alive = f > math.exp(-1 / t)
        f = max(f, math.exp(-1 / t))
        below = math.exp(p / t) + lam * f
        a = alive * lam / ((1 - tau) * t * below)
        grad = {
            "pos": [-lam * f / (t * below)],
            "neg": [a / n * math.exp(s / t) for s in neg],
            "extra_pos": [-a * tau / m * math.exp(s / t) for s in more],
        }
    if "extra_pos" not in row:  # the positive is its own sample: both ways add up
        grad["pos"][0] += grad.pop("extra_pos")[0]
    return grad


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradient_is_the_printed_one(case: Case) -> None:
    tensors = scores(case.takes)
    wanted: dict[str, Tensor] = {}
    for name in ("pos", "neg", "extra_pos"):
        if name in tensors:
            wanted[name] = tensors[name].requires_grad_()
    tr.losses.LOSSES[case.name](**tensors, **case.parameters).sum().backward()
    for b in range(len(tensors["pos"])):
        row = {name: tensor[b].tolist() for name, tensor in tensors.items()}
        for name, gradient in closed_form(case, row).items():
            found = wanted[name].grad
            assert found is not None
            assert found[b].reshape(-1).tolist() == pytest.approx(gradient, rel=1e-11, abs=1e-12)
