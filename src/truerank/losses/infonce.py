"""InfoNCE: the softmax at a temperature, of negatives as they are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truerank.losses.checks import check_scores
from truerank.losses.loss import loss
from truerank.losses.parameters import check_temperature
from truerank.losses.softmax import ahead, softmax_gradient

if TYPE_CHECKING:
    from torch import Tensor


@loss(gradient=softmax_gradient)
def infonce(pos: Tensor, neg: Tensor, *, temperature: float = 1.0) -> Tensor:
    r"""InfoNCE [oord2018]_: which one is the positive, and which are noise?

    .. math::
        \ell_b = -\log \frac{e^{s^+_b/t}}{e^{s^+_b/t} + \sum_{j=1}^{n} e^{s^-_{bj}/t}}

    No correction for how negatives are drawn: the scores learn the log of p(i | u) / p(i), up to
    a constant, where p is the distribution of the negatives. A sampled negative may be a positive
    that is not known yet; :func:`~.infonce_debiased.infonce_debiased` corrects for that.

    Gradient: that of :func:`~.softmax.softmax` at :math:`s/t`, divided by t.

    Args:
        pos: Scores of the positives, ``(batch,)``, usually cosines.
        neg: Scores of their negatives, ``(batch, n)``.
        temperature: :math:`t`, positive.

    Returns:
        ``(batch,)``, at least 0.
    """
    check_scores(pos, neg)
    check_temperature(temperature)
    from torch.nn.functional import logsigmoid

    return -logsigmoid(-ahead(pos, neg, temperature).logsumexp(dim=1))
