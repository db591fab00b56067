r"""Debiased losses: what the unknown positives among the negatives add is taken off again.

Negatives are drawn from all items, :math:`p_u = \tau_u^+ p_u^+ + (1 - \tau_u^+) p_u^-`, so an
average over true negatives is an average over all minus :math:`\tau_u^+` times one over positives
[chuang2020]_, [li2023]_. Here ``neg`` holds :math:`n` draws from :math:`p_u` (*unlabelled*: do not
leave the known positives out), ``extra_pos`` holds :math:`m` draws from the user's known
positives, taken for draws from :math:`p_u^+`; without them the positive itself is the only one.
:func:`~truerank.losses.positive_rate` gives ``tau_pos``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from truerank.losses.checks import check_scores, positives_like, rates_like
from truerank.losses.listwise import ahead
from truerank.losses.parameters import check_margin, check_temperature, check_weight
from truerank.losses.pointwise import ccl_pull, ccl_push, mse_pull, mse_push


def mse_debiased(
    pos: Tensor,
    neg: Tensor,
    *,
    tau_pos: Tensor | float,
    extra_pos: Tensor | None = None,
    weight: float = 1.0,
) -> Tensor:
    r"""Squared error with the unknown positives taken off: :func:`debiased_pointwise`.

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
    return debiased_pointwise(mse_pull(pos), mse_push(neg), mse_push(more), tau, weight)


def ccl_debiased(
    pos: Tensor,
    neg: Tensor,
    *,
    tau_pos: Tensor | float,
    extra_pos: Tensor | None = None,
    margin: float = 0.0,
    weight: float = 1.0,
) -> Tensor:
    r"""Cosine contrastive loss with the unknown positives taken off: :func:`debiased_pointwise`.

    .. math::
        \ell_b = \tau_b (1 - s^+_b) + \lambda \Bigl(
            \frac1n \sum_{j=1}^{n} \max(0, s^-_{bj} - \epsilon)
            - \frac{\tau_b}{m} \sum_{k=1}^{m} \max(0, s^+_{bk} - \epsilon) \Bigr)

    Assumes cosines. The positive carries :math:`\tau_b`, about 1/1000, so a weight here is about
    that much smaller than one of :func:`~truerank.losses.pointwise.ccl`.

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
    push, more_push = ccl_push(neg, margin), ccl_push(more, margin)
    return debiased_pointwise(ccl_pull(pos), push, more_push, tau, weight)


def debiased_pointwise(
    pull: Tensor, push: Tensor, more_push: Tensor, tau: Tensor, weight: float
) -> Tensor:
    r"""The empirical debiased pointwise loss, of single losses already taken.

    .. math::
        \ell_b = \tau_b\, l^+(s^+_b) + \lambda \Bigl( \frac1n \sum_{j=1}^{n} l^-(s^-_{bj})
               - \frac{\tau_b}{m} \sum_{k=1}^{m} l^-(s^+_{bk}) \Bigr)

    Its expectation over all draws is the ideal pointwise loss
    :math:`\tau\, E_{p^+} l^+ + \lambda (1 - \tau)\, E_{p^-} l^-`; single values may be negative.
    As :math:`\tau \to 0` the printed loss loses its positive. We read :math:`\tau = 0` as
    *nothing to take off*, and the positive then counts 1: the biased loss with the same weight.

    Shapes:
        pull ``(batch,)``, push ``(batch, n)``, more_push ``(batch, m)``, tau ``(batch,)`` or
        ``()`` -> ``(batch,)``.
    """
    share = torch.where(tau > 0, tau, 1.0)
    return share * pull + weight * (push.mean(dim=1) - tau * more_push.mean(dim=1))


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
    :func:`~truerank.losses.listwise.infonce`.

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
