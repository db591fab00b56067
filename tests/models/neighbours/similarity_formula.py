from __future__ import annotations

import math

import numpy as np

SIMILARITIES = ["cosine", "jaccard", "dice", "pearson"]


def similarity(x: np.ndarray, y: np.ndarray, name: str, shrink: float) -> float:
    """The docstring's formulas, for two rows or two columns."""
    if name == "pearson":
        return similarity(x - x.mean(), y - y.mean(), "cosine", shrink)
    if name == "cosine":
        top, bottom = sum(x * y), math.sqrt(sum(x * x) * sum(y * y)) + shrink
    else:
        both = sum(bool(a and b) for a, b in zip(x, y, strict=True))
        n, m = np.count_nonzero(x), np.count_nonzero(y)
        top, bottom = both, n + m - both + shrink
        if name == "dice":
            top, bottom = 2 * both, n + m + shrink
    return top / bottom if bottom else 0.0
