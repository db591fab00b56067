"""MINE and MINE+: a bound of the mutual information, with a weight on its negatives.

One file, because MINE is MINE+ at weight 1, and one gradient does for both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from truerank.arrays import Float32
from truerank.losses.checks import check_scores
from truerank.losses.loss import FusedLoss, loss
from truerank.losses.parameters import check_temperature, check_weight
from truerank.losses.row_kernels import exponentials, largest, times
from truerank.losses.softmax import ahead
from truerank.numerics.jit import fastmath

if TYPE_CHECKING:
    from torch import Tensor

_1 = np.float32(1)
_UNBOUNDED = "it rewards positives without end"


@fastmath
def mine_gradient(
    fused: FusedLoss,
    pos: np.float32,
    neg: Float32,
    extra: Float32,
    tau: np.float32,
    scale: np.float32,
) -> tuple[float, np.float32]:
    """Loss and gradient of a row; see :data:`~truerank.losses.loss.FusedGradient`."""
    t = fused.temperature
    top = largest(neg, neg[0])
    total = exponentials(neg, top, _1 / t)
    times(neg, scale * fused.weight / (t * total))
    level = np.log(np.float64(total)) + np.float64(top / t)
    return np.float64(fused.weight) * level - np.float64(pos / t), -scale / t


@loss(gradient=mine_gradient, unbounded=_UNBOUNDED)
def mine(pos: Tensor, neg: Tensor, *, temperature: float = 1.0) -> Tensor:
    r"""InfoNCE without the positive in the denominator, after [belghazi2018]_.

    .. math::  \ell_b = -\frac{s^+_b}{t} + \log \sum_{j=1}^{n} e^{s^-_{bj}/t}

    Minus this, plus log n, is the sample's lower bound of the mutual information of user and
    item. [li2023]_ leaves the constant out and so do we. Unlike :func:`~.infonce.infonce` it goes
    on pulling a positive that is far ahead: it has no lower bound unless scores have, so it wants
    cosines or regularisation. For the order of the losses see :func:`~.bpr.bpr`.

    Gradient, with :math:`w_j` the softmax of :math:`s^-/t` over the negatives alone:
    :math:`\partial\ell/\partial s^+ = -1/t`, :math:`\partial\ell/\partial s^-_j = w_j/t`.

    Args:
        pos: Scores of the positives, ``(batch,)``, usually cosines.
        neg: Scores of their negatives, ``(batch, n)``.
        temperature: :math:`t`, positive.

    Returns:
        ``(batch,)``, of either sign.
    """
    return mine_plus(pos, neg, temperature=temperature, weight=1.0)


@loss(gradient=mine_gradient, unbounded=_UNBOUNDED)
def mine_plus(pos: Tensor, neg: Tensor, *, temperature: float = 1.0, weight: float = 1.0) -> Tensor:
    r"""MINE with a weight on the negatives [li2023]_; with weight 1 it is :func:`mine`.

    .. math::  \ell_b = -\frac{s^+_b}{t} + \lambda \log \sum_{j=1}^{n} e^{s^-_{bj}/t}

    Meant for cosines. A weight other than 1 makes the loss depend on the level of all scores, not
    only on differences: above 1 it lowers them.

    Gradient: :math:`\partial\ell/\partial s^+ = -1/t`,
    :math:`\partial\ell/\partial s^-_j = \lambda w_j/t` with :math:`w` as in :func:`mine`.

    Args:
        pos: Cosines of the positives, ``(batch,)``.
        neg: Cosines of their negatives, ``(batch, n)``.
        temperature: :math:`t`, positive.
        weight: :math:`\lambda`, at least 0; 1 to 1.2 is usual.

    Returns:
        ``(batch,)``, of either sign.
    """
    check_scores(pos, neg)
    check_temperature(temperature)
    check_weight(weight)
    # As above, written with differences: what the weight adds is a pull on the positive's level.
    return weight * ahead(pos, neg, temperature).logsumexp(dim=1) + (weight - 1) * pos / temperature
