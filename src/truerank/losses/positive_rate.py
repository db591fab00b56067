"""How many of all items a user likes: the share that debiased losses assume."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.errors import InvalidArgumentError


def positive_rate(
    n_positives: NDArray[np.integer[Any]], n_items: int, *, hidden: float = 0.0, alpha: float = 0.0
) -> NDArray[np.float64]:
    r"""Share of items that each user likes, known or not: :math:`\tau_u^+`.

    .. math::  \tau_u^+ = \frac{(1 + \alpha)\,|I_u^+| + K}{|I|}

    holds the two rules of [li2023]_. ``hidden``, its :math:`K`: every user has that many unknown
    positives, :math:`(|I_u^+| + K) / |I|`. ``alpha``: the unknown ones are in proportion to the
    known, :math:`(1 + \alpha) |I_u^+| / |I|`. Neither can be learned from the data; both are
    assumptions.

    Args:
        n_positives: Known positives of each user, :math:`|I_u^+|`.
        n_items: All items, :math:`|I|`.
        hidden: Unknown positives of every user.
        alpha: Unknown positives for each known one.

    Returns:
        One share in [0, 1) per user; the debiased losses take those of the rows of a batch.

    >>> positive_rate(np.array([2, 6]), 100, hidden=20).tolist()
    [0.22, 0.26]
    >>> positive_rate(np.array([2, 6]), 100, alpha=0.5).tolist()
    [0.03, 0.09]
    """
    counts = np.asarray(n_positives)
    if n_items < 1:
        raise InvalidArgumentError("n_items", n_items, "at least 1")
    if counts.size and counts.min() < 0:
        raise InvalidArgumentError("n_positives", int(counts.min()), "counts, at least 0")
    for name, value in (("hidden", hidden), ("alpha", alpha)):
        if not 0 <= value < math.inf:
            raise InvalidArgumentError(name, value, "a finite number, at least 0")
    rate = np.asarray(((1.0 + alpha) * counts + hidden) / n_items, dtype=np.float64)
    if rate.size and rate.max() >= 1:
        worst = int(counts.flat[int(rate.argmax())])
        raise InvalidArgumentError(
            "the share of positives", float(rate.max()),
            f"below 1 for the user with {worst:,} of {n_items:,} items",
            "choose a smaller hidden or alpha",
        )  # fmt: skip
    return rate
