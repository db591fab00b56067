"""MSE: positives have the score 1 and negatives 0. With and without the unknown positives.

One file, because the debiased loss is the same sum with one more term: one gradient does for both,
and without a share of positives it is the biased one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from truerank.arrays import Float32
from truerank.losses.checks import check_scores
from truerank.losses.debiasing import (
    debiased_pointwise,
    pointwise_sum,
    pointwise_weights,
    positives_like,
    rates_like,
)
from truerank.losses.loss import FusedLoss, loss
from truerank.losses.parameters import check_weight
from truerank.numerics.jit import fastmath

if TYPE_CHECKING:
    from torch import Tensor

_0, _1, _2 = np.float32(0), np.float32(1), np.float32(2)


@fastmath
def _squares(s: Float32, factor: np.float32) -> np.float32:
    """Sum of squares; ``s`` becomes 2 s ``factor``."""
    total = _0
    for j in range(len(s)):
        total += s[j] * s[j]
        s[j] *= _2 * factor
    return total


@fastmath
def mse_gradient(
    fused: FusedLoss,
    pos: np.float32,
    neg: Float32,
    extra: Float32,
    tau: np.float32,
    scale: np.float32,
) -> tuple[float, np.float32]:
    """Loss and gradient of a row; see :data:`~truerank.losses.loss.FusedGradient`."""
    share, each, of_extra = pointwise_weights(fused.weight, tau, len(neg), len(extra))
    own, own_gradient = (_1 - pos) * (_1 - pos), _2 * (pos - _1)
    pushed, more = _squares(neg, scale * each), _squares(extra, scale * of_extra)
    value = pointwise_sum(share, own, each, pushed, of_extra, more)
    return value, scale * share * own_gradient


@loss(gradient=mse_gradient, logits=False)
def mse(pos: Tensor, neg: Tensor, *, weight: float = 1.0) -> Tensor:
    r"""Squared error of positives to 1 and of negatives to 0, [hu2008]_, [li2023]_.

    .. math::  \ell_b = (1 - s^+_b)^2 + \frac wn \sum_{j=1}^{n} (s^-_{bj})^2

    With uniform negatives this is a sample of the implicit-feedback objective: over a user's
    positives, :math:`w = \alpha_0 |I| / |I_u^+|` stands for an unobserved weight :math:`\alpha_0`.

    Gradient: :math:`\partial\ell/\partial s^+ = 2 (s^+ - 1)`,
    :math:`\partial\ell/\partial s^-_j = \frac{2w}{n} s^-_j`.

    Args:
        pos: Scores of the positives, ``(batch,)``.
        neg: Scores of their negatives, ``(batch, n)``.
        weight: :math:`w`, at least 0. The negatives count as their mean, so that it means the
            same whatever their number; ``weight=n`` gives the sum.

    Returns:
        ``(batch,)``.
    """
    check_scores(pos, neg)
    check_weight(weight)
    return _pull(pos) + weight * _push(neg).mean(dim=1)


@loss(gradient=mse_gradient, logits=False)
def mse_debiased(
    pos: Tensor,
    neg: Tensor,
    *,
    tau_pos: Tensor | float,
    extra_pos: Tensor | None = None,
    weight: float = 1.0,
) -> Tensor:
    r"""Squared error with the unknown positives taken off.

    The form is that of :func:`~.debiasing.debiased_pointwise`:

    .. math::
        \ell_b = \tau_b (1 - s^+_b)^2 + \lambda \Bigl( \frac1n \sum_{j=1}^{n} (s^-_{bj})^2
               - \frac{\tau_b}{m} \sum_{k=1}^{m} (s^+_{bk})^2 \Bigr)

    Over a catalogue it is bounded from below when :math:`\lambda (c_u - 1) < c_u` with
    :math:`c_u = \tau_u^+ |I| / |I_u^+|`, so always for :math:`\lambda \le 1`; beyond, dot
    products run away, because what is taken off outgrows the pull.

    Gradient: :math:`\partial\ell/\partial s^+ = 2 \tau (s^+ - 1)`,
    :math:`\partial\ell/\partial s^-_j = \frac{2\lambda}{n} s^-_j`,
    :math:`\partial\ell/\partial s^+_k = -\frac{2\lambda\tau}{m} s^+_k`.

    Shapes:
        pos ``(batch,)``, neg ``(batch, n)``, extra_pos ``(batch, m)`` or None, tau_pos
        ``(batch,)`` or one number in [0, 1) -> ``(batch,)``.
    """
    check_scores(pos, neg)
    check_weight(weight)
    more = positives_like(pos, extra_pos)
    tau = rates_like(pos, tau_pos)
    return debiased_pointwise(_pull(pos), _push(neg), _push(more), tau, weight)


def _pull(scores: Tensor) -> Tensor:
    r""":math:`l^+(s) = (1 - s)^2`."""
    return (1.0 - scores).square()


def _push(scores: Tensor) -> Tensor:
    r""":math:`l^-(s) = s^2`."""
    return scores.square()
