"""One table of losses by name, and what a trainer needs: any name or any function of the shape."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from truerank.errors import InvalidArgumentError, MissingExtraError
from truerank.losses.entries import ENTRIES, INPUTS, entry_of
from truerank.losses.parameters import check_parameters

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
    function of one's own gets those that its signature names.

    >>> inputs_of("bpr"), inputs_of("ccl_debiased")
    ((), ('extra_pos', 'tau_pos'))
    """
    if isinstance(loss, str):
        return entry_of(loss).inputs
    try:
        taken = inspect.signature(loss).parameters
    except ValueError:  # compiled functions may not tell their signature
        return ()
    return tuple(name for name in INPUTS if name in taken)
