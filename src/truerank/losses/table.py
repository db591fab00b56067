"""One table of losses by name, and what a trainer needs: any name or any function of the shape."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from truerank.errors import InvalidArgumentError, MissingExtraError
from truerank.losses.entries import ENTRIES, INPUTS, entry_of
from truerank.losses.parameters import check_parameters, check_temperature

if TYPE_CHECKING:
    from torch import Tensor

LossFn: TypeAlias = "Callable[..., Tensor]"
"""``loss(pos, neg, **parameters) -> values``: (batch,), (batch, n) -> (batch,)."""


class LossTable(Mapping[str, LossFn]):
    """Losses by name, read only; torch and the function are loaded when one is looked up."""

    def __getitem__(self, name: str) -> LossFn:
        module, _, function = entry_of(name).home.partition(":")
        try:
            loss: LossFn = getattr(import_module(f"truerank.losses.{module}"), function)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise MissingExtraError("torch", "torch", f"the loss {name!r}") from None
        return loss

    def __contains__(self, name: object) -> bool:
        return name in ENTRIES  # without loading torch

    def __iter__(self) -> Iterator[str]:
        return iter(ENTRIES)

    def __len__(self) -> int:
        return len(ENTRIES)

    def __repr__(self) -> str:
        return f"LOSSES({', '.join(ENTRIES)})"


LOSSES = LossTable()


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
            "loss", loss, "a name or a function of (pos, neg)", f"names are {', '.join(ENTRIES)}"
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
        return entry_of(loss).inputs
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
