"""The printed formulas, read aloud with loops over math functions; and small scores to try."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

Row = Sequence[float]


def log1pexp(x: float) -> float:
    return math.log(1.0 + math.exp(x))


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def bpr(pos: float, neg: Row) -> float:
    total = 0.0
    for s in neg:
        total += -math.log(sigmoid(pos - s))
    return total


def bce(pos: float, neg: Row, weight: float = 1.0) -> float:
    push = 0.0
    for s in neg:
        push += -math.log(1.0 - sigmoid(s))
    return -math.log(sigmoid(pos)) + weight * push / len(neg)


def mse(pos: float, neg: Row, weight: float = 1.0) -> float:
    push = 0.0
    for s in neg:
        push += s**2
    return (1.0 - pos) ** 2 + weight * push / len(neg)


def ccl(pos: float, neg: Row, margin: float = 0.0, weight: float = 1.0) -> float:
    push = 0.0
    for s in neg:
        push += max(0.0, s - margin)
    return (1.0 - pos) + weight * push / len(neg)


def softmax(pos: float, neg: Row) -> float:
    below = math.exp(pos)
    for s in neg:
        below += math.exp(s)
    return -math.log(math.exp(pos) / below)


def sampled_softmax(pos: float, neg: Row, log_q: Row) -> float:
    below = math.exp(pos)
    for s, lq in zip(neg, log_q, strict=True):
        below += math.exp(s) / math.exp(lq)
    return -math.log(math.exp(pos) / below)


def infonce(pos: float, neg: Row, temperature: float = 1.0) -> float:
    below = math.exp(pos / temperature)
    for s in neg:
        below += math.exp(s / temperature)
    return -math.log(math.exp(pos / temperature) / below)


def mine(pos: float, neg: Row, temperature: float = 1.0) -> float:
    return mine_plus(pos, neg, temperature, 1.0)


def mine_plus(pos: float, neg: Row, temperature: float = 1.0, weight: float = 1.0) -> float:
    total = 0.0
    for s in neg:
        total += math.exp(s / temperature)
    return -(pos / temperature - weight * math.log(total))


def mse_debiased(
    pos: float, neg: Row, tau_pos: float, extra_pos: Row | None = None, weight: float = 1.0
) -> float:
    more = extra_pos if extra_pos else [pos]
    everything = sum(s**2 for s in neg) / len(neg)
    positives = sum(s**2 for s in more) / len(more)
    return tau_pos * (1.0 - pos) ** 2 + weight * (everything - tau_pos * positives)


def ccl_debiased(
    pos: float,
    neg: Row,
    tau_pos: float,
    extra_pos: Row | None = None,
    margin: float = 0.0,
    weight: float = 1.0,
) -> float:
    more = extra_pos if extra_pos else [pos]
    everything = sum(max(0.0, s - margin) for s in neg) / len(neg)
    positives = sum(max(0.0, s - margin) for s in more) / len(more)
    return tau_pos * (1.0 - pos) + weight * (everything - tau_pos * positives)


def infonce_debiased(
    pos: float,
    neg: Row,
    tau_pos: float,
    extra_pos: Row | None = None,
    temperature: float = 1.0,
    weight: float | None = None,
) -> float:
    lam = len(neg) if weight is None else weight
    more = extra_pos if extra_pos else [pos]
    everything = sum(math.exp(s / temperature) for s in neg) / len(neg)
    positives = sum(math.exp(s / temperature) for s in more) / len(more)
    f = max((everything - tau_pos * positives) / (1.0 - tau_pos), math.exp(-1.0 / temperature))
    above = math.exp(pos / temperature)
    return -math.log(above / (above + lam * f))


class Case(NamedTuple):
    """One loss with parameters, and which of its tensors it takes."""

    name: str
    parameters: dict[str, Any]
    takes: tuple[str, ...] = ()

    @property
    def formula(self) -> Callable[..., float]:
        formula: Callable[..., float] = globals()[self.name]
        return formula

    def __str__(self) -> str:
        return "-".join([self.name, *(f"{k}={v}" for k, v in self.parameters.items()), *self.takes])


BOTH = ("tau_pos", "extra_pos")
CASES = [
    Case("bpr", {}),
    Case("bce", {}),
    Case("bce", {"weight": 2.5}),
    Case("mse", {}),
    Case("mse", {"weight": 0.3}),
    Case("ccl", {}),
    Case("ccl", {"margin": 0.4, "weight": 150.0}),
    Case("softmax", {}),
    Case("sampled_softmax", {}, ("log_q",)),
    Case("infonce", {}),
    Case("infonce", {"temperature": 0.2}),
    Case("mine", {}),
    Case("mine", {"temperature": 0.2}),
    Case("mine_plus", {"temperature": 0.4, "weight": 1.2}),
    Case("mse_debiased", {"weight": 0.7}, BOTH),
    Case("mse_debiased", {"weight": 0.7}, ("tau_pos",)),
    Case("ccl_debiased", {"margin": 0.3, "weight": 0.7}, BOTH),
    Case("ccl_debiased", {"margin": 0.3, "weight": 0.7}, ("tau_pos",)),
    Case("infonce_debiased", {"temperature": 0.5}, BOTH),
    Case("infonce_debiased", {"temperature": 0.5, "weight": 3.0}, BOTH),
    Case("infonce_debiased", {"temperature": 0.5}, ("tau_pos",)),
]


def scores(
    takes: tuple[str, ...] = (), *, batch: int = 6, n: int = 7, m: int = 3, seed: int = 0
) -> dict[str, Tensor]:
    """Cosines in float64, and the tensors that the loss takes beside them."""
    rng = torch.Generator().manual_seed(seed)

    def cosines(*shape: int) -> Tensor:
        return 1.9 * torch.rand(*shape, generator=rng, dtype=torch.float64) - 0.95

    made = {
        "pos": cosines(batch),
        "neg": cosines(batch, n),
        "log_q": cosines(batch, n) - 1.0,
        "extra_pos": cosines(batch, m),
        "tau_pos": 0.05 + 0.15 * torch.rand(batch, generator=rng, dtype=torch.float64),
    }
    return {name: made[name] for name in ("pos", "neg", *takes)}
