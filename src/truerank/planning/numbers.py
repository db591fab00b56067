"""What numbers a plan can be asked with: real ones, and sizes that can be simulated."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank.checks import whole_number
from truerank.errors import InvalidArgumentError
from truerank.metrics import Metric

MOST_ITEMS = 10**9
"""The most that numpy's hypergeometric draws, of which trials are made, can be asked for."""

MOST_USERS = 2**53
"""Up to here a float64, in which users are counted and divided, holds every whole number."""

MOST_TRIALS = 10**6
"""Predicted errors are then known to 1 / sqrt(2 trials) of themselves, less than 0.1 %."""


def is_finite(value: Any) -> bool:
    """Whether this is one real number that a float can hold: no text, no truth value.

    >>> [is_finite(value) for value in (0.5, np.int64(3), "0.5", True, float("nan"), 10**400)]
    [True, True, False, False, False, False]
    """
    real = isinstance(value, int | float | np.integer | np.floating)
    most = float(np.finfo(np.float64).max)
    return real and not isinstance(value, bool) and bool(-most <= value <= most)


def whole(name: str, value: Any, least: int = 1, most: int | None = None, why: str = "") -> int:
    """The value as an int, also where it is written ``1e6``; else a sentence with the limits.

    >>> whole("n_users", 1e6, 1, MOST_USERS, "floats end there")
    1000000
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return whole_number(name, value, least, most, hint=why)


def checked_sizes(n_items: int, n_users: int, trials: int, metric: Metric) -> tuple[int, int, int]:
    """The three as whole numbers that can be simulated."""
    sizes = (
        whole("n_items", n_items, 2, MOST_ITEMS, "numpy draws hypergeometric numbers up to there"),
        whole("n_users", n_users, 1, MOST_USERS, "beyond it floats do not count one by one"),
        whole("trials", trials, 1, MOST_TRIALS, "errors are then known to 0.1 %"),
    )
    if metric.k is not None and metric.k > sizes[0]:
        raise InvalidArgumentError("metric", str(metric), f"with K at most the {sizes[0]:,} items")
    return sizes
