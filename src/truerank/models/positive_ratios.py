"""How many positives there are for each one seen: what the debiased models assume."""

from __future__ import annotations

import numpy as np

from truerank.arrays import Float, Indices
from truerank.checks import check_not_negative, is_number
from truerank.errors import InvalidArgumentError


def positive_ratios(counts: Indices, positive_ratio: float, n_hidden_positives: float) -> Float:
    r""":math:`c_u = c + K / |I_u|`, of users with interactions (else :math:`c`).

    The dissertation's two choices are :math:`\tau_u^+ = (1 + \alpha) |I_u| / |I|`, which is
    ``positive_ratio = 1 + alpha``, and :math:`\tau_u^+ = (|I_u| + K) / |I|`, which is
    ``positive_ratio = 1, n_hidden_positives = K``.

    >>> positive_ratios(np.array([2, 4]), 1.0, 1.0).tolist()
    [1.5, 1.25]
    """
    hidden = n_hidden_positives / np.maximum(counts, 1)
    return np.asarray(positive_ratio + hidden, dtype=np.float64)


def check_positive_ratio(positive_ratio: float, n_hidden_positives: float) -> None:
    """There are at least as many positives as were seen."""
    if not is_number(positive_ratio) or not 1 <= positive_ratio < np.inf:
        raise InvalidArgumentError("positive_ratio", positive_ratio, "at least 1 and finite")
    check_not_negative(n_hidden_positives=n_hidden_positives)
