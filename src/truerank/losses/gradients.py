"""Loss and gradient of a row of scores, of whichever loss: the table for compiled code.

Compiled code cannot look a function up by its name, so the gradients of the table become one
function that asks for one code after the other. A code is made of the kernel's name, not of its
place: what was compiled and stored before a loss was added does not know the new code and answers
NaN, instead of training with another loss.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from truerank.arrays import Float32
from truerank.losses.loss import FusedGradient, FusedLoss
from truerank.losses.parameters import NEUTRAL
from truerank.losses.table import DEFINITIONS
from truerank.numerics.jit import fastmath


def _code(gradient: FusedGradient) -> int:
    return zlib.crc32(f"{gradient.__module__}.{gradient.__name__}".encode())


@fastmath
def _no_such_loss(
    fused: FusedLoss,
    pos: np.float32,
    neg: Float32,
    extra: Float32,
    tau: np.float32,
    scale: np.float32,
) -> tuple[float, np.float32]:
    return np.nan, np.float32(np.nan)


def _either(gradient: FusedGradient, otherwise: FusedGradient) -> FusedGradient:
    code = _code(gradient)

    @fastmath
    def either(
        fused: FusedLoss,
        pos: np.float32,
        neg: Float32,
        extra: Float32,
        tau: np.float32,
        scale: np.float32,
    ) -> tuple[float, np.float32]:
        if fused.code == code:
            return gradient(fused, pos, neg, extra, tau, scale)
        return otherwise(fused, pos, neg, extra, tau, scale)

    return either


_GRADIENTS = {
    _code(loss.gradient): loss.gradient
    for loss in DEFINITIONS.values()
    if loss.gradient is not None
}

loss_and_gradient: FusedGradient = _no_such_loss
for _gradient in reversed(_GRADIENTS.values()):
    loss_and_gradient = _either(_gradient, loss_and_gradient)


def has_fused_gradient(loss: object) -> bool:
    """Whether training with this loss needs no autograd, and so no torch.

    >>> [has_fused_gradient(loss) for loss in ("ccl", len)]
    [True, False]
    """
    return isinstance(loss, str) and fused_loss(loss, {}) is not None


def fused_loss(name: str, parameters: Mapping[str, Any]) -> FusedLoss | None:
    """The loss with checked parameters for :func:`loss_and_gradient`; None for one not in it.

    >>> fused_loss("mine_plus", {"weight": 1.5})[1:]
    (np.float32(1.0), np.float32(0.0), np.float32(1.5))
    """
    loss = DEFINITIONS.get(name)
    if loss is None or loss.gradient is None or _code(loss.gradient) not in _GRADIENTS:
        return None
    values = NEUTRAL | loss.parameters | dict(parameters)
    if values["weight"] is None:
        values["weight"] = -1.0
    numbers = {parameter: np.float32(values[parameter]) for parameter in NEUTRAL}
    return FusedLoss(code=_code(loss.gradient), **numbers)
