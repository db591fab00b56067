"""How alike two rows of a matrix are: names, parameters, and what they need of each row."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.checks import check_counts, check_not_negative, check_one_of
from truerank.numerics.dtypes import dtype_of

Similarity = Literal["cosine", "jaccard", "dice", "pearson"]

SIMILARITIES: dict[str, int] = {name: code for code, name in enumerate(get_args(Similarity))}
"""Numbers by which the compiled code knows the similarities."""


def prepared(matrix: sparse.csr_array, similarity: str) -> sparse.csr_array:
    """The matrix in float64; Jaccard and Dice count entries and forget their values."""
    values = matrix.data.astype(np.float64)
    if similarity in ("jaccard", "dice"):
        values[:] = matrix.data != 0
    return sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def sizes_of(matrix: sparse.csr_array, similarity: str) -> NDArray[np.float64]:
    """What a similarity needs to know of every row of a prepared matrix, besides products.

    Returns:
        Two columns. First the sum of squares, for Pearson about the mean. Second what the means
        contribute to products: the product of two rows about their means is their product less
        the product of these. It is 0 where the means do not matter.
    """
    sizes = np.zeros((matrix.shape[0], 2))
    squares = np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
    if similarity == "pearson":
        sizes[:, 1] = np.asarray(matrix.sum(axis=1)).ravel() / np.sqrt(matrix.shape[1])
    about_mean = squares - sizes[:, 1] ** 2
    # A constant row correlates with nothing; what rounding leaves of its variance is no size.
    sizes[:, 0] = np.where(about_mean > 1e-12 * squares, about_mean, 0.0)
    return sizes


def check_neighbourhood(k: int, similarity: object, shrink: float, dtype: str) -> None:
    """The parameters that all neighbourhood models share."""
    check_counts(k=k)
    check_one_of("similarity", similarity, SIMILARITIES)
    check_not_negative(shrink=shrink)
    dtype_of(dtype)
