"""BCE: is this item a positive, yes or no?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from truerank.arrays import Float32
from truerank.losses.checks import check_scores
from truerank.losses.loss import FusedLoss, loss
from truerank.losses.parameters import check_weight
from truerank.losses.row_kernels import logistic
from truerank.numerics.exponential import exp32
from truerank.numerics.jit import fastmath

if TYPE_CHECKING:
    from torch import Tensor

_0, _1 = np.float32(0), np.float32(1)


@fastmath
def bce_gradient(
    fused: FusedLoss,
    pos: np.float32,
    neg: Float32,
    extra: Float32,
    tau: np.float32,
    scale: np.float32,
) -> tuple[float, np.float32]:
    """Loss and gradient of a row; see :data:`~truerank.losses.loss.FusedGradient`."""
    n = np.float32(len(neg))
    value, _ = logistic(neg, _0, scale * fused.weight / n)
    small = exp32(-abs(pos))
    below = small if pos > _0 else _1
    own = np.log1p(np.float64(small)) + max(np.float64(-pos), 0.0)
    return own + np.float64(fused.weight / n) * value, -scale * below / (_1 + small)


@loss(gradient=bce_gradient)
def bce(pos: Tensor, neg: Tensor, *, weight: float = 1.0) -> Tensor:
    r"""Binary cross-entropy of the sigmoid of scores, [he2017]_.

    .. math::
        \ell_b = -\log \sigma(s^+_b) - \frac wn \sum_{j=1}^{n} \log\bigl(1 - \sigma(s^-_{bj})\bigr)

    Assumes that scores are logits, free to be large: cosines leave the sigmoid in [0.27, 0.73].

    Gradient: :math:`\partial\ell/\partial s^+ = \sigma(s^+) - 1`,
    :math:`\partial\ell/\partial s^-_j = \frac wn \sigma(s^-_j)`.

    Args:
        pos: Logits of the positives, ``(batch,)``.
        neg: Logits of their negatives, ``(batch, n)``.
        weight: :math:`w`, at least 0. The negatives count as their mean, so that it means the
            same whatever their number; ``weight=n`` gives the sum.

    Returns:
        ``(batch,)``.
    """
    check_scores(pos, neg)
    check_weight(weight)
    from torch.nn.functional import logsigmoid

    return -logsigmoid(pos) - weight * logsigmoid(-neg).mean(dim=1)
