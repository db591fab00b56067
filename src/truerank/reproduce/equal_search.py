r"""What a search would have found with fewer settings, so that unequal searches can be compared.

Of n settings tried, k drawn at random without repetition have as their best, in the mean,

.. math::  \mathrm E \max = \sum_{i=k}^{n} v_{(i)} \binom{i-1}{k-1} \Big/ \binom nk,

with the values :math:`v_{(1)} \le \dots \le v_{(n)}` [dodge2019]_. It is fair as far as the
settings of each search are as good as those of another: settings that a person chose one after
the other are not drawn at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from truerank.errors import InvalidArgumentError


def expected_best(values: Sequence[float], k: int) -> float:
    """The mean of the best of k of these values, over all choices of k.

    >>> expected_best([1.0, 2.0, 4.0], 2)  # of {1, 2}, {1, 4} and {2, 4}
    3.3333333333333335
    """
    n = len(values)
    if not 1 <= k <= n:
        raise InvalidArgumentError("k", k, f"from 1 to {n}, the number of values")
    ranked = sorted(values)
    return sum(ranked[i - 1] * comb(i - 1, k - 1) for i in range(k, n + 1)) / comb(n, k)
