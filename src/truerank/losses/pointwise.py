r"""Pointwise losses: a score of a positive and scores of negatives, each with a target of its own.

All three have one form, with the mean over the negatives as CCL prints it,

.. math::  \ell_b = l^+(s^+_b) + \frac{w}{n} \sum_{j=1}^{n} l^-(s^-_{bj}),

so that the weight :math:`w` means the same whatever the number of negatives. ``weight=n`` gives
the sum.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import logsigmoid

from truerank.losses.checks import check_scores
from truerank.losses.parameters import check_margin, check_weight


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
        weight: :math:`w`, at least 0.

    Returns:
        ``(batch,)``.
    """
    check_scores(pos, neg)
    check_weight(weight)
    return -logsigmoid(pos) - weight * logsigmoid(-neg).mean(dim=1)


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
        weight: :math:`w`, at least 0.

    Returns:
        ``(batch,)``.
    """
    check_scores(pos, neg)
    check_weight(weight)
    return mse_pull(pos) + weight * mse_push(neg).mean(dim=1)


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
    return ccl_pull(pos) + weight * ccl_push(neg, margin).mean(dim=1)


def mse_pull(scores: Tensor) -> Tensor:
    r""":math:`l^+(s) = (1 - s)^2`."""
    return (1.0 - scores).square()


def mse_push(scores: Tensor) -> Tensor:
    r""":math:`l^-(s) = s^2`."""
    return scores.square()


def ccl_pull(scores: Tensor) -> Tensor:
    r""":math:`l^+(s) = 1 - s`."""
    return 1.0 - scores


def ccl_push(scores: Tensor, margin: float) -> Tensor:
    r""":math:`l^-(s) = \max(0, s - \epsilon)`."""
    return (scores - margin).relu()
