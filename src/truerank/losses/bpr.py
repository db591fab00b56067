"""BPR: the positive against each negative by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from truerank.arrays import Float, Float32
from truerank.losses.checks import check_scores
from truerank.losses.loss import FusedLoss, loss
from truerank.losses.row_kernels import logistic
from truerank.numerics.jit import fastmath

if TYPE_CHECKING:
    from torch import Tensor


@fastmath
def bpr_gradient(
    fused: FusedLoss,
    pos: np.float32,
    neg: Float32,
    extra: Float32,
    tau: np.float32,
    scale: np.float32,
) -> tuple[float, np.float32]:
    """Loss and gradient of a row; see :data:`~truerank.losses.loss.FusedGradient`."""
    value, gradients = logistic(neg, pos, scale)
    return value, -gradients


@njit(nogil=True, cache=True)
def mean_bpr_gradient(scores: Float, scale: float, gradient: Float) -> float:
    r"""The mean over the negatives in double precision, and its gradient in each score.

    For models whose gradients are sums over whole histories; ``scores[0]`` is the positive.

    .. math::
        \ell = -\frac1m \sum_{j=1}^{m} \log \delta\bigl(t (s_0 - s_j)\bigr), \qquad
        \frac{\partial \ell}{\partial s_j} = \frac{t}{m}\, \delta\bigl(-t (s_0 - s_j)\bigr)
        = -\text{its part of } \frac{\partial \ell}{\partial s_0}
    """
    m = len(scores) - 1
    value = 0.0
    gradient[0] = 0.0
    for j in range(1, m + 1):
        margin = scale * (scores[0] - scores[j])
        small = np.exp(-abs(margin))
        value += np.log1p(small) + max(-margin, 0.0)
        gradient[j] = scale / m * (small if margin > 0 else 1.0) / (1.0 + small)
        gradient[0] -= gradient[j]
    return value / m


@loss(gradient=bpr_gradient)
def bpr(pos: Tensor, neg: Tensor) -> Tensor:
    r"""Bayesian personalised ranking [rendle2009]_, summed over the negatives.

    .. math::
        \ell_b = \sum_{j=1}^{n} -\log \sigma(s^+_b - s^-_{bj})
               = \sum_{j=1}^{n} \log\bigl(1 + e^{s^-_{bj} - s^+_b}\bigr)

    The sum is that of [li2023]_; many programs take the mean, which is this divided by n: for
    plain gradient steps a learning rate n times smaller, for Adam hardly a difference.

    With :math:`d_j = s^-_j - s^+` the losses of this room are ordered, row by row,

    .. math::
        n\,\ell_{infonce} \ge \ell_{bpr} \ge \ell_{infonce} \ge \ell_{mine}
        \ge \max_j d_j \ge \tfrac1n \sum_j d_j,
        \qquad \ell_{mine} \ge \tfrac1n \sum_j d_j + \log n,

    all at temperature 1. BPR shares the last, loose bound in the form
    :math:`\ell_{bpr}/n \ge \frac1n \sum_j \max(0, d_j)`: it counts every negative that is ahead,
    where the others follow the one that is furthest ahead.

    Assumes nothing about the range of the scores.

    Gradient: :math:`\partial\ell/\partial s^-_j = \sigma(d_j)` and
    :math:`\partial\ell/\partial s^+ = -\sum_j \sigma(d_j)`.

    Shapes:
        pos ``(batch,)``, neg ``(batch, n)`` -> ``(batch,)``.

    >>> import torch
    >>> bpr(torch.zeros(1), torch.zeros(1, 2)).item()  # 2 log 2
    1.3862943649291992
    """
    check_scores(pos, neg)
    from torch.nn.functional import logsigmoid

    return -logsigmoid(pos[:, None] - neg).sum(dim=1)
