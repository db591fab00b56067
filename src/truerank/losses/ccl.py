"""CCL: positives are pulled, negatives above a margin pushed. With and without unknown positives.

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
from truerank.losses.parameters import check_margin, check_weight
from truerank.numerics.jit import fastmath

if TYPE_CHECKING:
    from torch import Tensor

_0, _1 = np.float32(0), np.float32(1)
_UNBOUNDED = "the pull on its positives never ends"


@fastmath
def _above(s: Float32, margin: np.float32, factor: np.float32) -> np.float32:
    """Sum of what is above the margin; ``s`` becomes ``factor`` where something is, else 0."""
    total = _0
    for j in range(len(s)):
        over = s[j] - margin
        total += max(over, _0)
        s[j] = factor if over > _0 else _0
    return total


@fastmath
def ccl_gradient(
    fused: FusedLoss,
    pos: np.float32,
    neg: Float32,
    extra: Float32,
    tau: np.float32,
    scale: np.float32,
) -> tuple[float, np.float32]:
    """Loss and gradient of a row; see :data:`~truerank.losses.loss.FusedGradient`."""
    share, each, of_extra = pointwise_weights(fused.weight, tau, len(neg), len(extra))
    own, own_gradient = _1 - pos, -_1
    pushed = _above(neg, fused.margin, scale * each)
    more = _above(extra, fused.margin, scale * of_extra)
    value = pointwise_sum(share, own, each, pushed, of_extra, more)
    return value, scale * share * own_gradient


@loss(gradient=ccl_gradient, logits=False, unbounded=_UNBOUNDED)
def ccl(pos: Tensor, neg: Tensor, *, margin: float = 0.0, weight: float = 1.0) -> Tensor:
    r"""Cosine contrastive loss [mao2021]_: negatives below the margin are left alone.

    .. math::
        \ell_b = (1 - s^+_b) + \frac wn \sum_{j=1}^{n} \max(0,\, s^-_{bj} - \epsilon)

    Assumes cosines, in [-1, 1]: with dot products it has no minimum, because the pull on the
    positive never ends.

    Gradient: :math:`\partial\ell/\partial s^+ = -1`,
    :math:`\partial\ell/\partial s^-_j = \frac wn \mathbb 1[s^-_j > \epsilon]` (0 at the margin).

    Args:
        pos: Cosines of the positives, ``(batch,)``.
        neg: Cosines of their negatives, ``(batch, n)``.
        margin: :math:`\epsilon`, in [0, 1).
        weight: :math:`w`, at least 0; hundreds are usual with a high margin.

    Returns:
        ``(batch,)``.
    """
    check_scores(pos, neg)
    check_margin(margin)
    check_weight(weight)
    return _pull(pos) + weight * _push(neg, margin).mean(dim=1)


@loss(gradient=ccl_gradient, logits=False, unbounded=_UNBOUNDED)
def ccl_debiased(
    pos: Tensor,
    neg: Tensor,
    *,
    tau_pos: Tensor | float,
    extra_pos: Tensor | None = None,
    margin: float = 0.0,
    weight: float = 1.0,
) -> Tensor:
    r"""Cosine contrastive loss with the unknown positives taken off.

    The form is that of :func:`~.debiasing.debiased_pointwise`:

    .. math::
        \ell_b = \tau_b (1 - s^+_b) + \lambda \Bigl(
            \frac1n \sum_{j=1}^{n} \max(0, s^-_{bj} - \epsilon)
            - \frac{\tau_b}{m} \sum_{k=1}^{m} \max(0, s^+_{bk} - \epsilon) \Bigr)

    Assumes cosines. The positive carries :math:`\tau_b`, about 1/1000, so a weight here is about
    that much smaller than one of :func:`ccl`.

    Gradient: :math:`\partial\ell/\partial s^+ = -\tau`,
    :math:`\partial\ell/\partial s^-_j = \frac\lambda n \mathbb 1[s^-_j > \epsilon]`,
    :math:`\partial\ell/\partial s^+_k = -\frac{\lambda\tau}{m} \mathbb 1[s^+_k > \epsilon]`.

    Shapes:
        pos ``(batch,)``, neg ``(batch, n)``, extra_pos ``(batch, m)`` or None, tau_pos
        ``(batch,)`` or one number in [0, 1) -> ``(batch,)``.
    """
    check_scores(pos, neg)
    check_margin(margin)
    check_weight(weight)
    more = positives_like(pos, extra_pos)
    tau = rates_like(pos, tau_pos)
    push, more_push = _push(neg, margin), _push(more, margin)
    return debiased_pointwise(_pull(pos), push, more_push, tau, weight)


def _pull(scores: Tensor) -> Tensor:
    r""":math:`l^+(s) = 1 - s`."""
    return 1.0 - scores


def _push(scores: Tensor, margin: float) -> Tensor:
    r""":math:`l^-(s) = \max(0, s - \epsilon)`."""
    return (scores - margin).relu()
