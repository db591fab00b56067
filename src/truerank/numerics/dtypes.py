"""The two precisions of a dense model, by name."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from truerank.errors import InvalidArgumentError

Precision = Literal["float32", "float64"]


def dtype_of(precision: str) -> type[np.floating[Any]]:
    """The numpy type of this name, or one clear sentence.

    >>> dtype_of("float32")
    <class 'numpy.float32'>
    """
    if precision not in get_args(Precision):
        raise InvalidArgumentError("dtype", precision, "'float32' or 'float64'")
    return np.float32 if precision == "float32" else np.float64
