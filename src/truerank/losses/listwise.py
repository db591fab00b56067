"""Listwise losses: the positive against the log of the summed exponentials of its negatives.

Only differences to the positive are exponentiated, and their sum stays in logarithms: no score
overflows, and a shift of all scores changes nothing, in float32 too.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import logsigmoid

from truerank.losses.checks import check_scores, log_q_like
from truerank.losses.parameters import check_temperature, check_weight


def softmax(pos: Tensor, neg: Tensor) -> Tensor:
    r"""Negative log-likelihood of the positive among itself and its negatives.

    .. math::
        \ell_b = -\log \frac{e^{s^+_b}}{e^{s^+_b} + \sum_{j=1}^{n} e^{s^-_{bj}}}

    This is the softmax over the catalogue when ``neg`` holds every other item, each once. With a
    sample of them it is not an estimate of that one: see :func:`sampled_softmax`. The likelihood
    of several positives of a user is a product, so their losses add up, one row each. It assumes
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
    return -logsigmoid(-ahead(pos, neg).logsumexp(dim=1))


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

    With every other item once and :math:`\log q = 0` it is :func:`softmax`.

    Gradient: that of :func:`softmax` at :math:`s^-_j - \log q_j`.

    Args:
        pos: Scores of the positives, ``(batch,)``.
        neg: Scores of their negatives, ``(batch, n)``.
        log_q: :math:`\log q`: one number for uniform draws, ``(n,)`` for negatives shared by the
            batch, or ``(batch, n)``. The default corrects nothing.

    Returns:
        ``(batch,)``.
    """
    check_scores(pos, neg)
    return -logsigmoid(-(ahead(pos, neg) - log_q_like(neg, log_q)).logsumexp(dim=1))


def infonce(pos: Tensor, neg: Tensor, *, temperature: float = 1.0) -> Tensor:
    r"""InfoNCE [oord2018]_: which one is the positive, and which are noise?

    .. math::
        \ell_b = -\log \frac{e^{s^+_b/t}}{e^{s^+_b/t} + \sum_{j=1}^{n} e^{s^-_{bj}/t}}

    No correction for how negatives are drawn: the scores learn the log of p(i | u) / p(i), up to
    a constant, where p is the distribution of the negatives. A sampled negative may be a positive
    that is not known yet; :func:`~truerank.losses.debiased.infonce_debiased` corrects for that.

    Gradient: that of :func:`softmax` at :math:`s/t`, divided by t.

    Args:
        pos: Scores of the positives, ``(batch,)``, usually cosines.
        neg: Scores of their negatives, ``(batch, n)``.
        temperature: :math:`t`, positive.

    Returns:
        ``(batch,)``, at least 0.
    """
    check_scores(pos, neg)
    check_temperature(temperature)
    return -logsigmoid(-ahead(pos, neg, temperature).logsumexp(dim=1))


def mine(pos: Tensor, neg: Tensor, *, temperature: float = 1.0) -> Tensor:
    r"""InfoNCE without the positive in the denominator, after [belghazi2018]_.

    .. math::  \ell_b = -\frac{s^+_b}{t} + \log \sum_{j=1}^{n} e^{s^-_{bj}/t}

    Minus this, plus log n, is the sample's lower bound of the mutual information of user and
    item. [li2023]_ leaves the constant out and so do we. Unlike :func:`infonce` it goes on
    pulling a positive that is far ahead: it has no lower bound unless scores have, so it wants
    cosines or regularisation. For the order of the losses see :func:`~truerank.losses.bpr`.

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


def ahead(pos: Tensor, scores: Tensor, temperature: float = 1.0) -> Tensor:
    r"""How far scores are ahead of their positive, :math:`(s_{bj} - s^+_b) / t`."""
    return (scores - pos[:, None]) / temperature
