r"""The largest eigenvalues of a Gram matrix: one decomposition for a family of models.

LRR, regularised MF and PureSVD differ only in how they shrink the singular values of
:math:`X = U \Sigma V^\top`. :math:`V` and :math:`\Sigma^2` are the eigenvectors and eigenvalues of
:math:`X^\top X`, so a search over ranks and penalties decomposes once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from truerank.checks import whole_number
from truerank.data.interactions import Interactions
from truerank.errors import InvalidDataError
from truerank.execution import Progress
from truerank.models.linear.gram import gram
from truerank.numerics.dtypes import Precision, dtype_of
from truerank.numerics.lanczos import largest_eigenpairs
from truerank.numerics.memory import GIGABYTE, check_room, most_that_fit

DENSE_ITEMS = 4096
"""Up to here the whole decomposition takes seconds and is taken."""

DENSE_SHARE = 0.25
"""From this share of all eigenvectors on, the whole decomposition is cheaper than a part."""

LAPACK_ITEMS = 32_768
"""LAPACK is not asked for more: beyond, its 32-bit workspaces are not to be trusted."""


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    r"""The ``k`` largest singular values of :math:`X` and their right singular vectors.

    Attributes:
        sigma: Singular values, descending, float64, shape ``(k,)``.
        V: Right singular vectors in columns, shape ``(n_items, k)``; in each, the entry of
            largest size is positive, so that the signs are settled.
    """

    sigma: NDArray[np.float64]
    V: NDArray[Any]

    @property
    def rank(self) -> int:
        """How many singular values are known and not zero."""
        return len(self.sigma)

    def first(self, k: int, model: str = "the model") -> Spectrum:
        """The ``k`` largest; a sentence where the data have no ``k``."""
        whole_number("dim", k)
        if k > self.rank:
            raise InvalidDataError(
                f"dim {k:,} was asked of {model}, and these data have rank {self.rank:,}; "
                f"take a dim of at most {self.rank:,}"
            )
        return Spectrum(self.sigma[:k], self.V[:, :k])


def decompose(
    interactions: Interactions, rank: int | None = None, *, dtype: Precision = "float64"
) -> Spectrum:
    r"""The ``rank`` largest singular values and right singular vectors; all where None.

    Small catalogues, and ranks that are a large share of the items, go through LAPACK's
    eigendecomposition of the dense Gram matrix; others through
    :func:`~truerank.numerics.lanczos.largest_eigenpairs`, which needs products with :math:`X` only
    and no n x n matrix. Both are deterministic and agree to 1e-10 of the largest eigenvalue.
    Singular values that are zero to rounding (below :math:`\sigma_1 \sqrt{n\epsilon}`, twice the
    digits of the Gram matrix being lost to the root) are left out, with their vectors.

    Memory: dense, three n_items x n_items matrices; otherwise six of n_items x rank.

    Args:
        interactions: Its matrix is :math:`X`, weights included.
        rank: How many, or None.
        dtype: Of the work and of ``V``.
    """
    n, m = interactions.n_items, interactions.n_users
    if rank is not None:
        whole_number("rank", rank)
    wanted = n if rank is None else min(rank, n, m)
    X = interactions.matrix(dtype=dtype_of(dtype))
    if n <= DENSE_ITEMS or wanted >= DENSE_SHARE * n:
        values, V = _dense(X, dtype)
    else:
        check_room(
            6 * n * wanted * np.dtype(dtype).itemsize,
            f"a decomposition of rank {wanted:,} on {n:,} items",
            _instead(X, dtype),
        )
        with Progress("decomposing", total=wanted) as bar:
            values, V = largest_eigenpairs(X, wanted, progress=bar.advance)
    return _settled(values, V, wanted, len(X.data), float(np.finfo(X.dtype).eps))


def _dense(X: sparse.csr_array, dtype: Precision) -> tuple[NDArray[Any], NDArray[Any]]:
    n = X.shape[1]
    needed = 3 * n * n * np.dtype(dtype).itemsize
    if n > LAPACK_ITEMS:
        raise InvalidDataError(
            f"a whole decomposition of {n:,} items takes {needed / GIGABYTE:,.1f} GB of memory and "
            f"is beyond LAPACK's safe size of {LAPACK_ITEMS:,}; {_instead(X, dtype)}"
        )
    check_room(needed, f"a whole decomposition of {n:,} items", _instead(X, dtype))
    G = gram(X, dtype=dtype_of(dtype))
    values, V = linalg.eigh(G, overwrite_a=True, check_finite=False, driver="evd")
    return values[::-1], V[:, ::-1]


def _instead(X: sparse.csr_array, dtype: Precision) -> str:
    """The largest rank with room for :func:`decompose` and for factors of users, or another way."""
    m, n = X.shape
    each = (6 * n + m) * np.dtype(dtype).itemsize
    most = most_that_fit(each, math.ceil(DENSE_SHARE * n) - 1)
    if n <= DENSE_ITEMS or most < 1:  # then the rank changes nothing, or not enough
        return "ItemKNN would need less, or drop rare items"
    return f"a dim of at most {most:,} would fit"


def _settled(
    values: NDArray[Any], V: NDArray[Any], wanted: int, n_values: int, eps: float
) -> Spectrum:
    """Descending, without zeros, with settled signs."""
    if n_values == 0:
        raise InvalidDataError("there are no interactions to decompose; give some")
    values = values[:wanted].astype(np.float64)
    keep = int(np.sum(values > values[0] * len(V) * eps))
    V = np.ascontiguousarray(V[:, :keep])
    peak = np.abs(V).argmax(axis=0)
    V *= np.where(V[peak, np.arange(keep)] < 0, -1, 1).astype(V.dtype)
    return Spectrum(np.sqrt(values[:keep]), V)
