"""Sampled softmax: that over all items, from a sample of them and how often each is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truerank.losses.checks import check_scores, log_q_like
from truerank.losses.loss import loss
from truerank.losses.softmax import ahead, softmax_gradient

if TYPE_CHECKING:
    from torch import Tensor


@loss(gradient=softmax_gradient)  # the scores of the negatives have lost their log q before
def sampled_softmax(pos: Tensor, neg: Tensor, *, log_q: Tensor | float = 0.0) -> Tensor:
    r"""Softmax with sampled negatives, each divided by how often it is drawn [bengio2008]_.

    .. math::
        \ell_b = -\log \frac{e^{s^+_b}}
            {e^{s^+_b} + \sum_{j=1}^{n} e^{s^-_{bj}} / q_{bj}}

    With :math:`q_{bj} = n\,p(j)`, the expected number of draws of item j, the sum is an unbiased
    estimate of that over all items from which negatives are drawn, which should be all but the
    positive. [li2023]_ prints :math:`q = p(j)`, which makes the sum n times too large: the same
    as adding log n to every negative. The loss itself is a logarithm of the estimate and
    therefore too small on average, by less as n grows.

    With every other item once and :math:`\log q = 0` it is :func:`~.softmax.softmax`.

    Gradient: that of :func:`~.softmax.softmax` at :math:`s^-_j - \log q_j`.

    Args:
        pos: Scores of the positives, ``(batch,)``.
        neg: Scores of their negatives, ``(batch, n)``.
        log_q: :math:`\log q`: one number for uniform draws, ``(n,)`` for negatives shared by the
            batch, or ``(batch, n)``. The default corrects nothing.

    Returns:
        ``(batch,)``.
    """
    check_scores(pos, neg)
    from torch.nn.functional import logsigmoid

    return -logsigmoid(-(ahead(pos, neg) - log_q_like(neg, log_q)).logsumexp(dim=1))
