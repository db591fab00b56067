r"""Debiased losses: what the unknown positives among the negatives add is taken off again.

Negatives are drawn from all items, :math:`p_u = \tau_u^+ p_u^+ + (1 - \tau_u^+) p_u^-`, so an
average over true negatives is an average over all minus :math:`\tau_u^+` times one over positives
[chuang2020]_, [li2023]_. Here ``neg`` holds :math:`n` draws from :math:`p_u` (*unlabelled*: do not
leave the known positives out), ``extra_pos`` holds :math:`m` draws from the user's known
positives, taken for draws from :math:`p_u^+`; without them the positive itself is the only one.
:func:`positive_rate` gives ``tau_pos``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from truerank.deprecation import renamed_parameters
from truerank.errors import InvalidArgumentError
from truerank.numerics.jit import fastmath, strict

if TYPE_CHECKING:
    from torch import Tensor

_0, _1 = np.float32(0), np.float32(1)


@renamed_parameters(hidden="n_hidden_positives")
def positive_rate(
    n_positives: NDArray[np.integer[Any]],
    n_items: int,
    *,
    n_hidden_positives: float = 0.0,
    alpha: float = 0.0,
) -> NDArray[np.float64]:
    r"""Share of items that each user likes, known or not: :math:`\tau_u^+`.

    .. math::  \tau_u^+ = \frac{(1 + \alpha)\,|I_u^+| + K}{|I|}

    holds the two rules of [li2023]_. ``n_hidden_positives``, its :math:`K`: every user has that
    many unknown positives, :math:`(|I_u^+| + K) / |I|`. ``alpha``: the unknown ones are in
    proportion to the known, :math:`(1 + \alpha) |I_u^+| / |I|`. Neither can be learned from the
    data; both are assumptions.

    Args:
        n_positives: Known positives of each user, :math:`|I_u^+|`.
        n_items: All items, :math:`|I|`.
        n_hidden_positives: Unknown positives of every user.
        alpha: Unknown positives for each known one.

    Returns:
        One share in [0, 1) per user; the debiased losses take those of the rows of a batch.

    >>> positive_rate(np.array([2, 6]), 100, n_hidden_positives=20).tolist()
    [0.22, 0.26]
    >>> positive_rate(np.array([2, 6]), 100, alpha=0.5).tolist()
    [0.03, 0.09]
    """
    counts = np.asarray(n_positives)
    if n_items < 1:
        raise InvalidArgumentError("n_items", n_items, "at least 1")
    if counts.size and counts.min() < 0:
        raise InvalidArgumentError("n_positives", int(counts.min()), "counts, at least 0")
    for name, value in (("n_hidden_positives", n_hidden_positives), ("alpha", alpha)):
        if not 0 <= value < math.inf:
            raise InvalidArgumentError(name, value, "a finite number, at least 0")
    rate = np.asarray(((1.0 + alpha) * counts + n_hidden_positives) / n_items, dtype=np.float64)
    if rate.size and rate.max() >= 1:
        worst = int(counts.flat[int(rate.argmax())])
        raise InvalidArgumentError(
            "the share of positives", float(rate.max()),
            f"below 1 for the user with {worst:,} of {n_items:,} items",
            "choose a smaller n_hidden_positives or alpha",
        )  # fmt: skip
    return rate


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
    import torch

    share = torch.where(tau > 0, tau, 1.0)
    return share * pull + weight * (push.mean(dim=1) - tau * more_push.mean(dim=1))


@fastmath
def pointwise_weights(
    weight: np.float32, tau: np.float32, n: int, m: int
) -> tuple[np.float32, np.float32, np.float32]:
    """What the positive, each of n negatives and each of m further positives count, compiled."""
    share = tau if tau > _0 else _1
    return share, weight / np.float32(n), -weight * tau / np.float32(max(m, 1))


@strict
def pointwise_sum(
    share: np.float32,
    own: np.float32,
    each: np.float32,
    pushed: np.float32,
    of_extra: np.float32,
    more: np.float32,
) -> float:
    """The loss of a row by these weights, in this order whatever the single losses are."""
    return np.float64((share * own + of_extra * more) + each * pushed)


def rates_like(pos: Tensor, tau_pos: Tensor | float) -> Tensor:
    """``tau_pos`` as a tensor, (batch,) or one number for every row, with values in [0, 1)."""
    import torch

    tau = torch.as_tensor(tau_pos, dtype=pos.dtype, device=pos.device)
    if tau.shape not in {(), pos.shape}:
        raise InvalidArgumentError("tau_pos", tuple(tau.shape), f"of shape ({len(pos)},) like pos")
    fits = (tau >= 0) & (tau < 1)
    if not bool(fits.all()):
        raise InvalidArgumentError(
            "tau_pos", float(tau[~fits].flatten()[0]), "in [0, 1)",
            "it is the share of items that a user likes: see truerank.losses.positive_rate",
        )  # fmt: skip
    return tau


def positives_like(pos: Tensor, extra_pos: Tensor | None) -> Tensor:
    """``extra_pos`` (batch, m); the positive itself, (batch, 1), where there are none."""
    from torch import Tensor

    if extra_pos is None:
        return pos[:, None]
    if not (isinstance(extra_pos, Tensor) and extra_pos.is_floating_point()):
        kind = type(extra_pos).__name__
        raise InvalidArgumentError("extra_pos", kind, "a torch tensor of floats, or None")
    if extra_pos.ndim != 2 or len(extra_pos) != len(pos):
        raise InvalidArgumentError(
            "extra_pos", tuple(extra_pos.shape), f"of shape ({len(pos)}, m)",
            "each positive has one row of further positives of the same user",
        )  # fmt: skip
    return extra_pos if extra_pos.shape[1] else pos[:, None]
