"""Types of arrays, named once."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Float: TypeAlias = NDArray[np.float64]
"""Values, weights, shares: double precision."""

Float32: TypeAlias = NDArray[np.float32]
"""Factors and scores where single precision is enough."""

Int: TypeAlias = NDArray[np.int64]
"""Ranks, counts, positions."""

Words: TypeAlias = NDArray[np.uint64]
"""Random words of 64 bits."""

Indices: TypeAlias = NDArray[np.integer[Any]]
"""Numbers of users or items, of any integer type."""

Scores: TypeAlias = NDArray[np.floating[Any]]
"""Scores of either precision."""

Mask: TypeAlias = NDArray[np.bool_]
"""One truth value for each row, user or item: which to take."""

Ids: TypeAlias = NDArray[Any]
"""What users or items are called: whole numbers or text."""
