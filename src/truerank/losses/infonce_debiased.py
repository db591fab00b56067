"""Debiased InfoNCE: what the unknown positives among the negatives add is taken off again.

A file of its own beside InfoNCE's: the difference of two sums wants other arithmetic.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from truerank.arrays import Float32
from truerank.losses.checks import check_scores
from truerank.losses.debiasing import positives_like, rates_like
from truerank.losses.loss import FusedLoss, loss
from truerank.losses.parameters import check_temperature, check_weight
from truerank.losses.row_kernels import exponentials, largest, times
from truerank.losses.softmax import ahead
from truerank.numerics.jit import fastmath

if TYPE_CHECKING:
    from torch import Tensor

_0, _1 = np.float32(0), np.float32(1)


@fastmath
def infonce_debiased_gradient(
    fused: FusedLoss,
    pos: np.float32,
    neg: Float32,
    extra: Float32,
    tau: np.float32,
    scale: np.float32,
) -> tuple[float, np.float32]:
    """Loss and gradient of a row; see :data:`~truerank.losses.loss.FusedGradient`.

    Logarithms relative to the positive, in double precision: sums may be far apart.
    """
    n, m = len(neg), len(extra)
    t, share, own = np.float64(fused.temperature), np.float64(tau), np.float64(pos)
    weight = np.float64(fused.weight) if fused.weight >= _0 else np.float64(n)
    top, top_extra = largest(neg, neg[0]), largest(extra, extra[0])
    lead, lead_extra = (np.float64(top) - own) / t, (np.float64(top_extra) - own) / t
    everything = lead + np.log(np.float64(exponentials(neg, top, _1 / fused.temperature)) / n)
    positives = np.float64(exponentials(extra, top_extra, _1 / fused.temperature)) / m
    gap = np.log(share) + lead_extra + np.log(positives) - everything
    log_f, floor = everything + np.log(-np.expm1(gap)) - np.log1p(-share), -(1.0 + own) / t
    kept = not (gap >= 0.0 or log_f <= floor)  # which NaN is not either: it must be seen
    level = (log_f if kept else floor) + np.log(weight)
    value = max(level, 0.0) + np.log1p(np.exp(-abs(level)))
    factor = np.float64(scale) * weight / ((1.0 - share) * t)
    times(neg, np.float32(factor / n * np.exp(lead - value)) if kept else _0)
    times(extra, np.float32(-factor * share / m * np.exp(lead_extra - value)) if kept else _0)
    return value, np.float32(-np.float64(scale) / t * np.exp(level - value))


@loss(gradient=infonce_debiased_gradient)
def infonce_debiased(
    pos: Tensor,
    neg: Tensor,
    *,
    tau_pos: Tensor | float,
    extra_pos: Tensor | None = None,
    temperature: float = 1.0,
    weight: float | None = None,
) -> Tensor:
    r"""InfoNCE with the unknown positives taken off, after [chuang2020]_.

    .. math::
        \ell_b = -\log \frac{e^{s^+_b/t}}{e^{s^+_b/t} + \lambda f_b}, \qquad
        f_b = \max\Bigl\{ \frac{1}{1 - \tau_b} \Bigl( \frac1n \sum_{j=1}^{n} e^{s^-_{bj}/t}
            - \frac{\tau_b}{m} \sum_{k=1}^{m} e^{s^+_{bk}/t} \Bigr),\; e^{-1/t} \Bigr\}

    The floor is the least that :math:`E_{p^-} e^{s/t}` can be if scores are cosines, which is
    assumed; [li2023]_ prints :math:`e^{1/t}`, the greatest. Consistent, not unbiased: the error
    vanishes as n and m grow. With :math:`\tau = 0`, :math:`\lambda = n` and cosines it is
    :func:`~.infonce.infonce`.

    Gradient, with :math:`D = e^{s^+/t} + \lambda f`:
    :math:`\partial\ell/\partial s^+ = -\lambda f / (t D)` and, above the floor (else 0),
    :math:`\partial\ell/\partial s^-_j = \frac{\lambda}{n (1-\tau) t D} e^{s^-_j/t}`,
    :math:`\partial\ell/\partial s^+_k = -\frac{\lambda\tau}{m (1-\tau) t D} e^{s^+_k/t}`.

    Args:
        pos: Cosines of the positives, ``(batch,)``.
        neg: Cosines of unlabelled items, ``(batch, n)``.
        tau_pos: Share of positives among all items, ``(batch,)`` or one number, in [0, 1).
        extra_pos: Cosines of further positives of the user, ``(batch, m)``.
        temperature: :math:`t`, positive.
        weight: :math:`\lambda`; None is n, the number of unlabelled items.

    Returns:
        ``(batch,)``, at least 0.
    """
    check_scores(pos, neg)
    import torch
    from torch.nn.functional import logsigmoid

    check_temperature(temperature)
    if weight is None:
        weight = float(neg.shape[1])
    check_weight(weight)
    more = positives_like(pos, extra_pos)
    tau = rates_like(pos, tau_pos)

    # Everything relative to the positive, e^{(s - s+)/t}: shifts cancel before they can round.
    log_all = _log_mean_exp(ahead(pos, neg, temperature))
    gap = tau.log() + (_log_mean_exp(ahead(pos, more, temperature)) - log_all)
    something_left = ~(gap >= 0)  # NaN is not to be hidden by the floor
    # Rows with nothing left get any finite number here: a NaN would leak through `where`.
    share_left = -torch.where(something_left, gap, -1.0).expm1()
    log_f = log_all + share_left.log() - (-tau).log1p()
    floor = -(1.0 + pos) / temperature
    log_f = torch.where(something_left & ~(log_f <= floor), log_f, floor)
    log_weight = math.log(weight) if weight > 0 else -math.inf
    return -logsigmoid(-(log_f + log_weight))


def _log_mean_exp(scores: Tensor) -> Tensor:
    return scores.logsumexp(dim=1) - math.log(scores.shape[1])
