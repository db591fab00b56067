"""LRR: linear regression of low rank, in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from truerank.arrays import Float
from truerank.checks import check_l2, whole_number
from truerank.data.interactions import Interactions
from truerank.deprecation import renamed_parameters
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.models.input_checks import check_training_data
from truerank.models.linear.gram import gram
from truerank.models.linear.low_rank import LowRankModel
from truerank.models.linear.spectrum import LAPACK_ITEMS, Spectrum, decompose
from truerank.numerics.dtypes import Precision, dtype_of
from truerank.numerics.memory import check_room


@renamed_parameters(rank="dim")
@dataclass(slots=True, eq=False)
class LRR(LowRankModel):
    r"""Low-rank regression [jin2021]_.

    .. math::
        \min_{\mathrm{rank}(W) \le k} \|X - XW\|_F^2 + \|\Gamma W\|_F^2

    With :math:`X = U \Sigma V^\top` and :math:`\Gamma^\top \Gamma = V \mathrm{diag}(\lambda_i)
    V^\top` (all :math:`\lambda_i = \lambda`: the plain ridge) the solution is

    .. math::
        W = V_k\,\mathrm{diag}\!\left(\frac{\sigma_i^2}{\sigma_i^2 + \lambda_i}\right) V_k^\top.

    The :math:`k` largest are the best :math:`k` where :math:`\sigma_i^4/(\sigma_i^2 + \lambda_i)`
    descends, as it does for equal :math:`\lambda_i`. For a general penalty
    :math:`\Gamma^\top \Gamma` (``fit(..., penalty=)``) see
    :func:`reduced_rank_regression`.

    Memory: while decomposing six n_items x k matrices of float64, or three n_items x n_items for k
    from a quarter of the items on and for up to 4,096 items; then two n_items x k and one
    n_users x k of ``dtype``. With a general penalty four n_items x n_items of float64.

    Attributes:
        l2: The penalty lambda, at least 0; or one :math:`\lambda_i` per component, ``dim`` of
            them, that of the largest singular value first. None after a fit with a general
            penalty, which has taken its place.
        dim: The rank k; None for that of the data.
        dtype: Of the factors; the decomposition is in float64.
    """

    l2: float | Sequence[float] | None = 1000.0
    dim: int | None = None
    dtype: Precision = "float32"
    encoder: NDArray[Any] = field(init=False, repr=False)
    item_factors: NDArray[Any] = field(init=False, repr=False)
    user_factors: NDArray[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.dim is not None:
            whole_number("dim", self.dim)
        if isinstance(self.l2, Sequence | np.ndarray):
            for value in self.l2:
                check_l2(value, zero=True)
            self.l2 = [float(value) for value in self.l2]
            if len(self.l2) != self.dim:
                raise InvalidArgumentError(
                    "l2", f"{len(self.l2)} values with dim={self.dim}",
                    "one number, or one per component", f"give dim={len(self.l2)}",
                )  # fmt: skip
        elif self.l2 is not None:
            check_l2(self.l2, zero=True)
        dtype_of(self.dtype)

    def fit(
        self,
        interactions: Interactions,
        *,
        spectrum: Spectrum | None = None,
        penalty: NDArray[Any] | None = None,
    ) -> Self:
        r"""Solve for W.

        Args:
            interactions: The matrix X.
            spectrum: Its decomposition, if it is known already; of rank ``dim`` or more.
            penalty: A general :math:`\Gamma^\top \Gamma` instead of ``l2``: its diagonal, or the
                whole n_items x n_items matrix.
        """
        check_training_data(interactions)
        if penalty is not None:
            A, B = reduced_rank_regression(interactions, penalty, self.dim)
            self.set_factors(interactions, A, B)
            self.l2 = None
            self.record_training_data(interactions)
            return self
        if self.l2 is None:
            raise InvalidArgumentError("l2", None, "given where fit is given no penalty")
        known = spectrum or decompose(interactions, self.dim)
        part = known if self.dim is None else known.first(self.dim, "LRR")
        square = part.sigma**2
        self.set_factors(interactions, part.V * (square / (square + np.asarray(self.l2))), part.V)
        self.record_training_data(interactions)
        return self


def reduced_rank_regression(
    interactions: Interactions, penalty: NDArray[Any], dim: int | None
) -> tuple[Float, Float]:
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
