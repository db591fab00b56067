"""Regression of low rank with any quadratic penalty, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from truerank.checks import whole_number
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.models.linear.gram import gram
from truerank.models.linear.spectrum import LAPACK_ITEMS
from truerank.numerics.memory import check_room

Matrix = NDArray[np.float64]


def reduced_rank_regression(
    interactions: Interactions, penalty: NDArray[Any], dim: int | None
) -> tuple[Matrix, Matrix]:
    r"""Factors of :math:`W = A B^\top`, the minimum of
    :math:`\|X - XW\|_F^2 + \mathrm{tr}(W^\top \Gamma^\top \Gamma W)` over rank at most ``dim``.

    Without the limit the minimum is :math:`W^* = M^{-1} G`, with :math:`G = X^\top X` and
    :math:`M = G + \Gamma^\top \Gamma`. What the limit costs is
    :math:`\|\bar X W^* - \bar X W\|_F^2` with :math:`\bar X^\top \bar X = M`, and by Eckart and
    Young the best is

    .. math::  W = W^* Q_k Q_k^\top,

    :math:`Q_k` the leading right singular vectors of :math:`\bar X W^*`: the eigenvectors of
    :math:`W^{*\top} M W^* = G M^{-1} G`. They are those of :math:`G` where the penalty commutes
    with it, and not for a diagonal penalty in general, DLAE's among them.

    Memory: four n_items x n_items matrices of float64. Time: one eigendecomposition.

    Args:
        interactions: The matrix X.
        penalty: :math:`\Gamma^\top \Gamma`, its diagonal or the whole, so that M is invertible.
        dim: The limit; None for the rank of the data.

    Returns:
        :math:`A = W^* Q_k` and :math:`B = Q_k`, n_items x dim each.
    """  # noqa: D205
    n = interactions.n_items
    penalty = np.asarray(penalty, dtype=np.float64)
    if penalty.shape not in ((n,), (n, n)) or not np.isfinite(penalty).all():
        raise InvalidArgumentError(
            "penalty", f"of shape {penalty.shape}", f"finite, of shape ({n},) or ({n}, {n})"
        )
    if dim is not None:
        whole_number("dim", dim)
    if n > LAPACK_ITEMS:
        raise InvalidDataError(
            f"a general penalty on {n:,} items is beyond LAPACK's safe size of {LAPACK_ITEMS:,}; "
            "LRR(l2, dim) has no such limit"
        )
    check_room(
        4 * 8 * n * n, f"a general penalty on {n:,} items", "LRR(l2, dim) needs no such matrix"
    )
    G = gram(interactions.matrix(dtype=np.float64), dtype=np.float64)
    M = G + (np.diag(penalty) if penalty.ndim == 1 else penalty)
    try:
        L = linalg.cholesky(M, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        raise InvalidDataError(
            "X'X and the penalty together are not positive definite; raise the penalty"
        ) from None
    half = linalg.solve_triangular(L, G, lower=True, check_finite=False)  # L^-1 G
    values, Q = linalg.eigh(half.T @ half, check_finite=False, driver="evd")
    known = int(np.sum(values > values[-1] * n * np.finfo(float).eps))
    k = known if dim is None else dim
    if k > known:
        raise InvalidDataError(
            f"dim {k:,} was asked for, and these data have rank {known:,}; "
            f"take a dim of at most {known:,}"
        )
    Q = Q[:, ::-1][:, :k]
    A = linalg.solve_triangular(L, half @ Q, lower=True, trans=1, check_finite=False)
    return np.asarray(A), np.ascontiguousarray(Q)
