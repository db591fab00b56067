"""LRR: linear regression of low rank, in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from truerank.checks import check_l2, whole_number
from truerank.data.interactions import Interactions
from truerank.deprecation import renamed_parameters
from truerank.errors import InvalidArgumentError
from truerank.models.input_checks import check_training_data
from truerank.models.linear.encoder import EncoderModel
from truerank.models.linear.reduced_rank import reduced_rank_regression
from truerank.models.linear.spectrum import Spectrum, decompose
from truerank.numerics.dtypes import Precision, dtype_of


@renamed_parameters(rank="dim")
@dataclass(slots=True, eq=False)
class LRR(EncoderModel):
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
    :func:`~truerank.models.linear.reduced_rank.reduced_rank_regression`.

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
