"""How many positives there are for each one seen: what the debiased models assume."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.checks import check_not_negative, is_number
from truerank.errors import InvalidArgumentError


def positive_rates(
    counts: NDArray[np.integer[Any]], c: float, hidden: float
) -> NDArray[np.float64]:
    r""":math:`c_u = c + \mathrm{hidden} / |I_u|`, of users with interactions (else ``c``).

    The dissertation's two choices are :math:`\tau_u^+ = (1 + \alpha) |I_u| / |I|`, which is
    ``c = 1 + alpha``, and :math:`\tau_u^+ = (|I_u| + K) / |I|`, which is ``c = 1, hidden = K``.

    >>> positive_rates(np.array([2, 4]), 1.0, 1.0).tolist()
    [1.5, 1.25]
    """
    return np.asarray(c + hidden / np.maximum(counts, 1), dtype=np.float64)


def check_debiasing(c: float, hidden: float) -> None:
    """There are at least as many positives as were seen."""
    if not is_number(c) or not 1 <= c < np.inf:
        raise InvalidArgumentError("c", c, "at least 1 and finite")
    check_not_negative(hidden=hidden)
