"""What every loss of the table must do, whatever its formula."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

import truerank as tr

from .formulas import CASES, Case, scores

SHIFT_FREE = ("bpr", "softmax", "sampled_softmax", "infonce", "mine")
"""Losses of differences between scores: their level does not matter."""


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_by_differences(case: Case) -> None:
    tensors = scores(case.takes, batch=3, n=4, m=2)
    names = [name for name in tensors if name not in {"tau_pos", "log_q"}]
    fixed = {name: tensor for name, tensor in tensors.items() if name not in names}

    def loss(*moving: Tensor) -> Tensor:
        given = dict(zip(names, moving, strict=True))
        return tr.losses.LOSSES[case.name](**given, **fixed, **case.parameters)

    assert torch.autograd.gradcheck(loss, [tensors[name].requires_grad_() for name in names])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_order_of_negatives_and_of_rows_is_irrelevant(case: Case) -> None:
    tensors = scores(case.takes)
    loss = tr.losses.LOSSES[case.name]
    values = loss(**tensors, **case.parameters)
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    moved = {k: v[:, order] if k in {"neg", "log_q"} else v for k, v in tensors.items()}
    assert torch.allclose(loss(**moved, **case.parameters), values, rtol=1e-14, atol=1e-14)
    rows = torch.tensor([5, 2, 0])
    some = {k: v[rows] for k, v in tensors.items()}
    assert torch.allclose(loss(**some, **case.parameters), values[rows], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("case", [c for c in CASES if c.takes != ("tau_pos",)], ids=str)
def test_a_higher_positive_never_hurts_and_a_higher_negative_never_helps(case: Case) -> None:
    """For cosines, where the positive is not its own sample of positives."""
    tensors = scores(case.takes)
    loss = tr.losses.LOSSES[case.name]
    moving = {**tensors, "pos": tensors["pos"].requires_grad_()}
    moving["neg"] = tensors["neg"].abs().requires_grad_()  # MSE pulls negative scores up to 0
    loss(**moving, **case.parameters).sum().backward()
    assert bool((moving["pos"].grad <= 0).all())
    assert bool((moving["neg"].grad >= 0).all())
    assert bool((moving["pos"].grad < 0).any())
    assert bool((moving["neg"].grad > 0).any())


EXTREMES = [-1e4, 0.0, 1e4]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_extremes_of_scores_stay_finite_in_single_precision(case: Case) -> None:
    """Every mixture of three levels of the positive, two negatives and one more positive."""
    levels = torch.tensor(list(itertools.product(EXTREMES, repeat=4)), dtype=torch.float64)
    rows = len(levels)
    tensors = {"pos": levels[:, 0], "neg": levels[:, 1:3], "extra_pos": levels[:, 3:]}
    tensors |= {"log_q": torch.full((rows, 2), -3.0), "tau_pos": torch.full((rows,), 0.01)}
    wide = {k: tensors[k] for k in ("pos", "neg", *case.takes)}
    single = {k: v.float() for k, v in wide.items()}
    moving = {k: v.requires_grad_() for k, v in single.items() if k not in {"tau_pos", "log_q"}}
    loss = tr.losses.LOSSES[case.name]
    values = loss(**single, **case.parameters)
    assert bool(values.isfinite().all())
    exact = loss(**wide, **case.parameters)
    # A difference of two scores of 1e4 / t keeps 24 bits of them; so does their square.
    assert torch.allclose(values.double(), exact, rtol=1e-6, atol=1e-5)
    values.sum().backward()
    for tensor in moving.values():
        assert tensor.grad is not None
        assert bool(tensor.grad.isfinite().all())


@pytest.mark.parametrize("name", SHIFT_FREE)
@pytest.mark.parametrize("shift", [1e4, -1e4])
def test_a_shift_of_all_scores_changes_nothing(name: str, shift: float) -> None:
    """Scores are multiples of 2^-9, so that the shifted ones are exact in single precision."""
    given = {k: (v * 512).round() / 512 for k, v in scores().items()}
    loss = tr.losses.LOSSES[name]
    there = loss(**{k: (v + shift).float() for k, v in given.items()})
    here = loss(**{k: v.float() for k, v in given.items()})
    assert torch.equal(there, here)


@pytest.mark.parametrize("name", ["mine_plus", "bce", "mse", "ccl"])
def test_the_others_know_the_level(name: str) -> None:
    given = scores()
    loss = tr.losses.LOSSES[name]
    parameters = {"weight": 1.5}
    shifted = loss(**{k: v + 0.5 for k, v in given.items()}, **parameters)
    assert bool(((shifted - loss(**given, **parameters)).abs() > 1e-3).any())


def test_an_empty_batch_is_empty() -> None:
    for name in tr.losses.LOSSES:
        more = {"tau_pos": 0.1} if "tau_pos" in tr.losses.inputs_of(name) else {}
        assert tr.losses.LOSSES[name](torch.zeros(0), torch.zeros(0, 3), **more).shape == (0,)


def test_scores_are_left_alone() -> None:
    for case in CASES:
        tensors = scores(case.takes)
        kept = {k: v.clone() for k, v in tensors.items()}
        tr.losses.LOSSES[case.name](**tensors, **case.parameters)
        assert all(torch.equal(tensors[k], kept[k]) for k in kept)
