"""What every loss of the table promises; a new one is asked from the moment it has a name."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import truerank as tr
from truerank.losses.gradients import fused_loss, has_fused_gradient, loss_and_gradient
from truerank.losses.loss import INPUTS, FusedLoss, Loss
from truerank.losses.parameters import CHECKS, NEUTRAL, PARAMETERS
from truerank.losses.table import DEFINITIONS

from . import formulas

OTHERS = {"temperature": 0.3, "margin": 0.2, "weight": 1.7}
"""Other than the defaults; every loss is asked with those of them that it takes."""


def parameters_to_try(loss: Loss) -> list[dict[str, Any]]:
    return [{}, {name: OTHERS[name] for name in loss.parameters}]


def check_value(loss: Loss, formula: Callable[..., float], parameters: dict[str, Any]) -> None:
    """The torch function gives what the printed formula gives, read aloud with a loop."""
    tensors = formulas.scores(loss.inputs)
    values = loss.function(**tensors, **parameters)
    assert values.shape == tensors["pos"].shape
    for b, value in enumerate(values.tolist()):
        row = {name: tensor[b].tolist() for name, tensor in tensors.items()}
        assert value == pytest.approx(formula(**row, **parameters), rel=1e-12, abs=1e-12)


def check_gradient(loss: Loss, fused: FusedLoss, kernel: Any, parameters: dict[str, Any]) -> None:
    """Loss and gradient of the kernel are those of autograd, up to single precision."""
    takes = tuple(name for name in loss.inputs if name != "log_q")  # taken off the scores before
    tensors = formulas.scores(takes, batch=20, n=40)
    moving = [tensors[name] for name in ("pos", "neg", "extra_pos") if name in tensors]
    rounded = [tensor.float().double().requires_grad_() for tensor in moving]
    given = dict(zip(("pos", "neg", "extra_pos"), rounded, strict=False))
    fixed = {name: tensors[name].float().double() for name in takes if name == "tau_pos"}
    values = loss.function(**given, **fixed, **parameters)
    values.sum().backward()
    rates, scale = fixed.get("tau_pos", torch.zeros(20)), np.float32(0.25)
    for b, value in enumerate(values.tolist()):
        pos, *rows = (tensor[b].detach().float().numpy() for tensor in rounded)
        neg, extra = (rows[0].copy(), rows[1].copy() if len(rows) > 1 else rows[0][:0].copy())
        mine, own = kernel(fused, np.float32(pos), neg, extra, np.float32(rates[b]), scale)
        assert mine == pytest.approx(value, rel=1e-5, abs=1e-5)
        for found, truth in zip(([own], neg, extra), rounded, strict=False):
            assert truth.grad is not None
            wanted = truth.grad[b].reshape(-1).numpy()
            room = 2e-6 * np.abs(wanted).max()
            np.testing.assert_allclose(np.array(found) / scale, wanted, rtol=2e-4, atol=room)


def check_declaration(loss: Loss) -> None:
    """Keyword-only numbers with checked defaults; the formula and its gradient in print."""
    taken = inspect.signature(loss.function).parameters
    assert list(taken)[:2] == ["pos", "neg"]
    for name, parameter in list(taken.items())[2:]:
        assert parameter.kind is parameter.KEYWORD_ONLY
        assert (name in PARAMETERS) != (name in INPUTS)
    assert loss.parameters == {n: p.default for n, p in taken.items() if n in PARAMETERS}
    for name, default in loss.parameters.items():
        assert default is not inspect.Parameter.empty
        if default is not None:  # which is left to the loss
            CHECKS[name](default)
    text = inspect.getdoc(loss.function) or ""
    assert ".. math::" in text
    assert r"\ell_b" in text
    assert "Gradient" in text


@pytest.mark.parametrize("name", DEFINITIONS)
def test_values_are_those_of_the_formula(name: str) -> None:
    assert hasattr(formulas, name), f"write the formula of {name} into tests/losses/formulas.py"
    for parameters in parameters_to_try(DEFINITIONS[name]):
        check_value(DEFINITIONS[name], getattr(formulas, name), parameters)


@pytest.mark.parametrize("name", [n for n, loss in DEFINITIONS.items() if loss.gradient])
def test_the_fused_gradient_is_that_of_autograd(name: str) -> None:
    """Found by its code in the one function that trains."""
    assert has_fused_gradient(name)
    for parameters in parameters_to_try(DEFINITIONS[name]):
        fused = fused_loss(name, parameters)
        assert fused is not None
        check_gradient(DEFINITIONS[name], fused, loss_and_gradient, parameters)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_parameters_and_formula_are_declared(name: str) -> None:
    loss = DEFINITIONS[name]
    assert loss.function.__name__ == name
    assert getattr(tr.losses, name) is tr.losses.LOSSES[name] is loss.function
    check_declaration(loss)
    assert name in {case.name for case in formulas.CASES}


@pytest.mark.parametrize("name", [n for n, loss in DEFINITIONS.items() if loss.gradient])
def test_compiled_code_has_the_defaults_of_the_signature(name: str) -> None:
    loss = DEFINITIONS[name]
    fused = fused_loss(name, {})
    assert fused is not None
    assert fused == fused_loss(name, loss.parameters)
    for parameter in PARAMETERS:
        wanted = loss.parameters.get(parameter, NEUTRAL[parameter])
        assert getattr(fused, parameter) == np.float32(-1.0 if wanted is None else wanted)


def test_a_code_that_was_not_compiled_is_no_other_loss() -> None:
    codes = {fused.code for name in DEFINITIONS if (fused := fused_loss(name, {}))}
    assert len(codes) == len({loss.gradient for loss in DEFINITIONS.values() if loss.gradient})
    unknown = FusedLoss(0, *map(np.float32, NEUTRAL.values()))
    scores, none, one = np.zeros(3, np.float32), np.zeros(0, np.float32), np.float32(1)
    assert np.isnan(loss_and_gradient(unknown, one, scores, none, np.float32(0), one)).all()


def test_fused_gradients_need_no_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from truerank.losses.gradients import has_fused_gradient\n"
        "from truerank.losses import LOSSES\n"
        "print(all(has_fused_gradient(name) for name in LOSSES))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
