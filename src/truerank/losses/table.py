"""The table of losses by name, and what a trainer asks of it or of any function of the shape."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from truerank.checks import did_you_mean
from truerank.errors import InvalidArgumentError
from truerank.losses.checks import torch_for
from truerank.losses.loss import INPUTS, Loss, LossFn, definition_of
from truerank.losses.parameters import CHECKS, check_temperature

_FILES = {  # name of the loss and of its function: the file in this folder
    "bpr": "bpr",
    "bce": "bce",
    "mse": "mse",
    "ccl": "ccl",
    "softmax": "softmax",
    "sampled_softmax": "sampled_softmax",
    "infonce": "infonce",
    "mine": "mine",
    "mine_plus": "mine",
    "mse_debiased": "mse",
    "ccl_debiased": "ccl",
    "infonce_debiased": "infonce_debiased",
}

DEFINITIONS: dict[str, Loss] = {
    name: definition_of(getattr(import_module(f"truerank.losses.{file}"), name))
    for name, file in _FILES.items()
}
"""What each file says of its losses, by name; without torch."""


class UnknownLossError(InvalidArgumentError, KeyError):
    """No loss has this name. Also a KeyError, so that the table is a mapping like any other."""

    def __init__(self, name: object) -> None:
        hint = did_you_mean(name, DEFINITIONS)
        super().__init__("loss", name, f"one of {', '.join(DEFINITIONS)}", hint)

    def __str__(self) -> str:
        return Exception.__str__(self)  # KeyError would put quotes around the sentence


def definition(name: str) -> Loss:
    """The loss of this name, or a sentence with the nearest name.

    >>> definition("ccl").parameters
    {'margin': 0.0, 'weight': 1.0}
    """
    if name not in DEFINITIONS:
        raise UnknownLossError(name)
    return DEFINITIONS[name]


class LossTable(Mapping[str, LossFn]):
    """Torch functions by name, read only; torch is loaded when one is looked up."""

    def __getitem__(self, name: str) -> LossFn:
        function = definition(name).function
        torch_for(f"the loss {name!r}")
        return function

    def __contains__(self, name: object) -> bool:
        return name in DEFINITIONS  # without loading torch

    def __iter__(self) -> Iterator[str]:
        return iter(DEFINITIONS)

    def __len__(self) -> int:
        return len(DEFINITIONS)

    def __repr__(self) -> str:
        return f"LOSSES({', '.join(DEFINITIONS)})"


LOSSES = LossTable()


def check_parameters(name: str, parameters: Mapping[str, Any]) -> None:
    """Refuses what is not a parameter of the loss ``name``, or has a value that it cannot use.

    None is left to the loss where that is the default (the weight of ``infonce_debiased``).

    >>> check_parameters("ccl", {"margin": 0.9, "weight": 150.0})
    """
    known = definition(name).parameters
    for parameter, value in parameters.items():
        if parameter not in known:
            raise InvalidArgumentError(
                "parameter", parameter, f"one that the loss {name!r} takes",
                f"it takes {', '.join(known)}" if known else "it takes none",
            )  # fmt: skip
        if value is not None or known[parameter] is not None:
            CHECKS[parameter](value)


def resolve(loss: str | LossFn, **parameters: Any) -> LossFn:
    """The function of a name, or the given function, with its parameters fixed.

    Parameters of named losses are checked here, so that a bad temperature is said before the
    first batch; a function of one's own gets them as they are.

    >>> resolve("ccl", margin=0.9).keywords
    {'margin': 0.9}
    """
    if isinstance(loss, str):
        check_parameters(loss, parameters)
        function = LOSSES[loss]
    elif callable(loss):
        function = loss
    else:
        raise InvalidArgumentError(
            "loss", loss, "a name or a function of (pos, neg)", f"names are {', '.join(LOSSES)}"
        )
    return partial(function, **parameters) if parameters else function


def inputs_of(loss: str | LossFn) -> tuple[str, ...]:
    """Which tensors beside ``pos`` and ``neg`` the trainer must hand over in every batch.

    ``log_q`` of shape (n,) or (batch, n), ``extra_pos`` (batch, m), ``tau_pos`` (batch,). A
    function of one's own gets those that its signature names and that are not bound to it.

    >>> inputs_of("bpr"), inputs_of("ccl_debiased")
    ((), ('extra_pos', 'tau_pos'))
    >>> inputs_of(partial(lambda pos, neg, log_q, tau_pos: pos, tau_pos=0.1))
    ('log_q',)
    """
    if isinstance(loss, str):
        return definition(loss).inputs
    bound = loss.keywords if isinstance(loss, partial) else {}
    return tuple(name for name in INPUTS if name in _signature(loss) and name not in bound)


def temperature_of(loss: str | LossFn, parameters: Mapping[str, Any]) -> float:
    """What scores are divided by: as given, else as bound to the function or its default, else 1.

    >>> temperature_of(partial(lambda pos, neg, temperature: pos, temperature=0.1), {})
    0.1
    """
    temperature = parameters.get("temperature")
    if temperature is None and not isinstance(loss, str) and "temperature" in _signature(loss):
        temperature = _signature(loss)["temperature"].default
    if temperature is None or temperature is inspect.Parameter.empty:
        return 1.0
    check_temperature(temperature)
    return float(temperature)


def _signature(loss: LossFn) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(loss).parameters
    except ValueError:  # compiled functions may not tell theirs
        return {}
