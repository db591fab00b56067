"""The table of names, what a trainer asks of it, and one sentence for each mistake."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.losses.checks import check_unreduced
from truerank.losses.loss import INPUTS
from truerank.losses.table import DEFINITIONS

from .formulas import scores

NAMES = ["bpr", "bce", "mse", "ccl", "softmax", "sampled_softmax", "infonce", "mine", "mine_plus"]
NAMES += ["mse_debiased", "ccl_debiased", "infonce_debiased"]
POS, NEG = torch.zeros(2), torch.zeros(2, 3)


def test_names_are_the_promised_ones() -> None:
    assert sorted(tr.losses.LOSSES) == sorted(NAMES)
    assert len(tr.losses.LOSSES) == len(NAMES)
    assert repr(tr.losses.LOSSES).startswith("LOSSES(bpr, ")


@pytest.mark.parametrize("name", NAMES)
def test_the_table_says_what_each_function_takes(name: str) -> None:
    function = tr.losses.LOSSES[name]
    assert function.__name__ == name
    assert getattr(tr.losses, name) is function
    taken = list(inspect.signature(function).parameters)
    assert taken[:2] == ["pos", "neg"]
    entry = DEFINITIONS[name]
    assert sorted(taken[2:]) == sorted([*entry.parameters, *entry.inputs])
    assert set(entry.inputs) <= set(INPUTS)


def test_the_table_is_read_only_and_a_mapping() -> None:
    with pytest.raises(TypeError):
        tr.losses.LOSSES["mine"] = tr.losses.LOSSES["bpr"]  # type: ignore[index]
    assert "bpr" in tr.losses.LOSSES
    assert "bprr" not in tr.losses.LOSSES
    assert tr.losses.LOSSES.get("bprr") is None
    with pytest.raises(KeyError):
        _ = tr.losses.LOSSES["bprr"]
    with pytest.raises(AttributeError, match="no attribute 'bprr'"):
        _ = tr.losses.bprr
    assert {"LOSSES", "resolve", "bpr", "mine_plus"} <= set(dir(tr.losses))


@pytest.mark.parametrize(
    ("name", "near"), [("bprr", "bpr"), ("InfoNCE", "infonce"), ("mine-plus", "mine_plus")]
)
def test_a_misspelt_name_is_answered_with_the_nearest(name: str, near: str) -> None:
    for ask in (tr.losses.LOSSES.__getitem__, tr.losses.resolve, tr.losses.inputs_of):
        with pytest.raises(InvalidArgumentError) as caught:
            ask(name)
        sentence = str(caught.value)
        assert sentence.startswith("loss must be one of bpr, bce, mse, ccl, softmax, ")
        assert sentence.endswith(f"got {name!r}; did you mean {near!r}?")
        assert str(pickle.loads(pickle.dumps(caught.value))) == sentence


def test_resolve_gives_functions_with_their_parameters() -> None:
    assert tr.losses.resolve("bpr") is tr.losses.LOSSES["bpr"]
    pos, neg = scores().values()
    fixed = tr.losses.resolve("ccl", margin=0.2, weight=3.0)
    assert torch.equal(fixed(pos, neg), tr.losses.LOSSES["ccl"](pos, neg, margin=0.2, weight=3.0))

    def hinge(pos: Tensor, neg: Tensor, *, gap: float = 1.0) -> Tensor:
        return (gap + neg - pos[:, None]).relu().sum(dim=1)

    assert tr.losses.resolve(hinge) is hinge
    assert torch.equal(tr.losses.resolve(hinge, gap=0.5)(pos, neg), hinge(pos, neg, gap=0.5))


def test_inputs_that_a_trainer_must_hand_over() -> None:
    assert tr.losses.inputs_of("bpr") == ()
    assert tr.losses.inputs_of("sampled_softmax") == ("log_q",)
    assert tr.losses.inputs_of("infonce_debiased") == ("extra_pos", "tau_pos")

    def own(pos: Tensor, neg: Tensor, tau_pos: Tensor) -> Tensor:
        return pos * tau_pos - neg.mean(dim=1)

    assert tr.losses.inputs_of(own) == ("tau_pos",)
    fixed = tr.losses.resolve("ccl_debiased", margin=0.5)
    assert tr.losses.inputs_of(fixed) == ("extra_pos", "tau_pos")
    assert tr.losses.inputs_of(dict) == ()  # type: ignore[arg-type]
    bound = tr.losses.resolve(fixed, tau_pos=0.1)  # is not to be overridden
    assert tr.losses.inputs_of(bound) == ("extra_pos",)


def test_the_temperature_of_a_loss() -> None:
    def own(pos: Tensor, neg: Tensor, temperature: float = 0.3) -> Tensor:
        return (pos - neg.mean(dim=1)) / temperature

    def hot(pos: Tensor, neg: Tensor, temperature: float) -> Tensor:
        return own(pos, neg, temperature)

    ask = tr.losses.temperature_of
    assert ask("infonce", {"temperature": 0.2}) == ask(own, {"temperature": 0.2}) == 0.2
    assert ask(tr.losses.resolve("infonce", temperature=0.2), {}) == 0.2
    assert ask(own, {}) == 0.3
    assert ask("infonce", {}) == ask("bpr", {}) == ask(hot, {}) == ask(dict, {}) == 1.0  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="temperature must be a positive number, got 'h"):
        ask(own, {"temperature": "hot"})


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("infonce", {"temperature": 0.0}, "temperature must be a positive number, got 0.0; 0.05"),
        ("mine", {"temperature": -1}, "temperature must be a positive number, got -1"),
        ("mine_plus", {"temperature": np.nan}, "temperature must be a positive number, got nan"),
        ("infonce_debiased", {"temperature": np.inf}, "temperature must be a positive number"),
        ("infonce", {"temperature": "0.1"}, "temperature must be a positive number, got '0.1'"),
        ("ccl", {"margin": 1.0}, r"margin must be in \[0, 1\), got 1.0"),
        ("ccl_debiased", {"margin": -0.1}, r"margin must be in \[0, 1\), got -0.1"),
        ("ccl", {"weight": -1.0}, "weight must be a finite number, at least 0, got -1.0"),
        ("mse", {"weight": np.inf}, "weight must be a finite number, at least 0, got inf"),
        ("bce", {"weight": None}, "weight must be a finite number, at least 0, got None"),
        ("mine_plus", {"weight": -0.5}, "weight must be a finite number, at least 0, got -0.5"),
        ("mse_debiased", {"weight": -0.5}, "weight must be a finite number"),
        ("infonce_debiased", {"weight": -3}, "weight must be a finite number"),
    ],
)
def test_parameters_out_of_range(name: str, parameters: dict[str, Any], sentence: str) -> None:
    """Said by the function itself, by resolve, and by the check that needs no torch."""
    inputs = {"tau_pos": 0.1} if name.endswith("_debiased") else {}
    with pytest.raises(InvalidArgumentError, match=sentence):
        tr.losses.LOSSES[name](POS, NEG, **parameters, **inputs)
    with pytest.raises(InvalidArgumentError, match=sentence):
        tr.losses.resolve(name, **parameters)
    with pytest.raises(InvalidArgumentError, match=sentence):
        tr.losses.check_parameters(name, parameters)


def test_numbers_of_numpy_are_numbers() -> None:
    tr.losses.check_parameters("mine_plus", {"temperature": np.float32(0.1), "weight": np.int64(1)})
    tr.losses.check_parameters("infonce_debiased", {"weight": None})


def test_a_parameter_that_the_loss_does_not_take() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        tr.losses.resolve("ccl", temperature=0.1)
    assert str(caught.value) == (
        "parameter must be one that the loss 'ccl' takes, got 'temperature'; "
        "it takes margin, weight"
    )
    with pytest.raises(InvalidArgumentError, match="got 'margin'; it takes none"):
        tr.losses.resolve("bpr", margin=0.1)
    with pytest.raises(InvalidArgumentError, match="a name or a function of"):
        tr.losses.resolve(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("pos", "neg", "sentence"),
    [
        (NEG, NEG, r"pos must be of shape \(batch,\), got \(2, 3\)"),
        (POS, POS, r"neg must be of shape \(2, n\), got \(2,\); each positive has one row"),
        (POS, torch.zeros(3, 2), r"neg must be of shape \(2, n\), got \(3, 2\)"),
        (POS, torch.zeros(2, 0), r"neg must be of shape \(2, n\), got \(2, 0\).*at least one"),
        (POS.numpy(), NEG, "pos must be a torch tensor of floats, got 'ndarray'; torch.as_tensor"),
        (POS, NEG.long(), "neg must be a torch tensor of floats, got torch.int64"),
    ],
)
def test_shapes_that_do_not_fit(name: str, pos: Any, neg: Any, sentence: str) -> None:
    inputs = {"tau_pos": 0.1} if name.endswith("_debiased") else {}
    with pytest.raises(InvalidArgumentError, match=sentence):
        tr.losses.LOSSES[name](pos, neg, **inputs)


@pytest.mark.parametrize("name", ["mse_debiased", "ccl_debiased", "infonce_debiased"])
@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({"tau_pos": 1.0}, r"tau_pos must be in \[0, 1\), got 1.0; it is the share of items"),
        ({"tau_pos": torch.tensor([0.1, -0.25])}, r"tau_pos must be in \[0, 1\), got -0.25"),
        ({"tau_pos": float("nan")}, r"tau_pos must be in \[0, 1\), got nan"),
        ({"tau_pos": torch.zeros(3)}, r"tau_pos must be of shape \(2,\) like pos, got \(3,\)"),
        ({"tau_pos": 0.1, "extra_pos": torch.zeros(2)}, r"extra_pos must be of shape \(2, m\)"),
        ({"tau_pos": 0.1, "extra_pos": torch.zeros(3, 2)}, r"extra_pos .* got \(3, 2\)"),
        ({"tau_pos": 0.1, "extra_pos": [0.1]}, "extra_pos must be a torch tensor of floats, or"),
    ],
)
def test_inputs_of_debiased_losses(name: str, inputs: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidArgumentError, match=sentence):
        tr.losses.LOSSES[name](POS, NEG, **inputs)


def test_log_q_belongs_to_the_negatives() -> None:
    with pytest.raises(InvalidArgumentError, match=r"log_q must be one number, or of shape \(3,\)"):
        tr.losses.LOSSES["sampled_softmax"](POS, NEG, log_q=torch.zeros(2))


def test_a_reduced_loss_is_refused() -> None:
    check_unreduced(torch.zeros(2), POS)
    with pytest.raises(InvalidDataError, match=r"the loss gave \(\) where one value per positive"):
        check_unreduced(torch.zeros(()), POS)
    with pytest.raises(InvalidDataError, match="the loss gave float where"):
        check_unreduced(0.5, POS)  # type: ignore[arg-type]


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_torch_is_loaded_when_a_loss_is_looked_up() -> None:
    code = (
        "import sys, truerank as tr\n"
        "list(tr.losses.LOSSES), 'bpr' in tr.losses.LOSSES, tr.losses.inputs_of('bpr')\n"
        "tr.losses.check_parameters('ccl', {'margin': 0.5}); tr.losses.positive_rate([3], 10)\n"
        "before = 'torch' in sys.modules\n"
        "tr.losses.LOSSES['bpr']\n"
        "print(before, 'torch' in sys.modules)"
    )
    assert run(code) == "False True"


def test_without_torch_one_sentence_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import truerank as tr\n"
        "try: tr.losses.LOSSES['bpr']\n"
        "except tr.TruerankError as error: print(error)"
    )
    assert run(code) == (
        "the loss 'bpr' needs the package 'torch', which is not installed; "
        "run: pip install 'truerank[torch]'"
    )
