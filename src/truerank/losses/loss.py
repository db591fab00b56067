"""What a loss is: a torch function and, where it has one, the compiled gradient beside it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from truerank.arrays import Float32

if TYPE_CHECKING:
    from torch import Tensor

LossFn: TypeAlias = "Callable[..., Tensor]"
"""``loss(pos, neg, **parameters) -> values``: (batch,), (batch, n) -> (batch,)."""

Function = TypeVar("Function", bound=Callable[..., Any])

INPUTS = ("log_q", "extra_pos", "tau_pos")
"""Every input that changes with the batch, beside the scores; a foreign loss may take them too."""

_DEFINITION = "__truerank_loss__"


class FusedLoss(NamedTuple):
    """A loss and its parameters, for compiled code."""

    code: int
    temperature: np.float32
    margin: np.float32
    weight: np.float32  # negative: the number of negatives


FusedGradient: TypeAlias = Callable[
    [FusedLoss, np.float32, Float32, Float32, np.float32, np.float32], tuple[float, np.float32]
]
r"""``gradient(fused, pos, neg, extra, tau, scale) -> loss, own gradient``: one row, compiled.

With :math:`s_0` the score of the positive, :math:`s_j` those of its n negatives and :math:`s_k`
those of m further positives, it returns the loss of the row and ``scale`` times
:math:`\partial\ell/\partial s_0`, and puts ``scale`` times :math:`\partial\ell/\partial s_j` and
:math:`\partial\ell/\partial s_k` in the place of the scores ``neg`` and ``extra``. ``tau`` is the
user's share of positives, 0 for losses that know none. All in float32, logarithms of sums and what
is made of them excepted.
"""


@dataclass(frozen=True, slots=True)
class Loss:
    """One loss of the table; its parameters and their defaults are those of the torch function.

    Attributes:
        function: The torch function.
        gradient: Its compiled gradient; None leaves it to autograd.
        logits: Whether scores are logits, so that a logarithm taken off them corrects for how
            negatives are drawn; otherwise they have targets of their own.
        unbounded: Why it has no minimum with dot products; empty if it has one.
    """

    function: LossFn
    gradient: FusedGradient | None = None
    logits: bool = True
    unbounded: str = ""

    @property
    def parameters(self) -> dict[str, Any]:
        """Numbers fixed for the whole training, by name, with their defaults."""
        taken = list(inspect.signature(self.function).parameters.values())[2:]
        return {one.name: one.default for one in taken if one.name not in INPUTS}

    @property
    def inputs(self) -> tuple[str, ...]:
        """Further tensors, different in every batch."""
        taken = inspect.signature(self.function).parameters
        return tuple(name for name in INPUTS if name in taken)


def loss(
    *, gradient: FusedGradient | None = None, logits: bool = True, unbounded: str = ""
) -> Callable[[Function], Function]:
    """Say of a torch function what :class:`Loss` holds; the function stays as it is."""

    def define(function: Function) -> Function:
        function.__dict__[_DEFINITION] = Loss(function, gradient, logits, unbounded)
        return function

    return define


def definition_of(function: LossFn) -> Loss:
    """What was said of this function by :func:`loss`.

    >>> from truerank.losses.ccl import ccl
    >>> definition_of(ccl).parameters
    {'margin': 0.0, 'weight': 1.0}
    """
    definition: Loss = function.__dict__[_DEFINITION]
    return definition
