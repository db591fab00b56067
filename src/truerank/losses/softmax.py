"""Softmax: the positive against the log of the summed exponentials of its negatives.

Only differences to the positive are exponentiated, and their sum stays in logarithms: no score
overflows, and a shift of all scores changes nothing, in float32 too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from truerank.arrays import Float32
from truerank.losses.checks import check_scores
from truerank.losses.loss import FusedLoss, loss
from truerank.losses.row_kernels import exponentials, largest, times
from truerank.numerics.exponential import exp32
from truerank.numerics.jit import fastmath

if TYPE_CHECKING:
    from torch import Tensor

_1 = np.float32(1)


@fastmath
def softmax_gradient(
    fused: FusedLoss,
    pos: np.float32,
    neg: Float32,
    extra: Float32,
    tau: np.float32,
    scale: np.float32,
) -> tuple[float, np.float32]:
    """Loss and gradient of a row; see :data:`~truerank.losses.loss.FusedGradient`."""
    t = fused.temperature
    top = largest(neg, pos)
    own = exp32((pos - top) / t)
    others = exponentials(neg, top, _1 / t)
    times(neg, scale / (t * (own + others)))
    value = np.log(np.float64(own + others)) + np.float64((top - pos) / t)
    return value, -scale * others / (t * (own + others))


@loss(gradient=softmax_gradient)
def softmax(pos: Tensor, neg: Tensor) -> Tensor:
    r"""Negative log-likelihood of the positive among itself and its negatives.

    .. math::
        \ell_b = -\log \frac{e^{s^+_b}}{e^{s^+_b} + \sum_{j=1}^{n} e^{s^-_{bj}}}

    This is the softmax over the catalogue when ``neg`` holds every other item, each once. With a
    sample of them it is not an estimate of that one: see
    :func:`~.sampled_softmax.sampled_softmax`. The likelihood of several positives of a user is a
    product, so their losses add up, one row each. It assumes
    that users choose one item at a time, in proportion to :math:`e^s` [liang2018]_.

    Gradient, with :math:`p_j` the softmax of :math:`(s^+, s^-_1, \dots, s^-_n)`:
    :math:`\partial\ell/\partial s^+ = p_0 - 1`, :math:`\partial\ell/\partial s^-_j = p_j`.

    Shapes:
        pos ``(batch,)``, neg ``(batch, n)`` -> ``(batch,)``.

    >>> import torch
    >>> softmax(torch.zeros(1), torch.zeros(1, 3)).item()  # log 4
    1.3862943649291992
    """
    check_scores(pos, neg)
    from torch.nn.functional import logsigmoid

    return -logsigmoid(-ahead(pos, neg).logsumexp(dim=1))


def ahead(pos: Tensor, scores: Tensor, temperature: float = 1.0) -> Tensor:
    r"""How far scores are ahead of their positive, :math:`(s_{bj} - s^+_b) / t`."""
    return (scores - pos[:, None]) / temperature
