"""LRR: linear regression of low rank, in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError
from truerank.models.encoder import EncoderModel
from truerank.models.precision import Precision, check_l2, check_rank, dtype_of
from truerank.models.reduced_rank import reduced_rank_regression
from truerank.models.spectrum import Spectrum, decompose


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
    :func:`~truerank.models.reduced_rank.reduced_rank_regression`.

    Attributes:
        l2: The penalty lambda, at least 0; or one :math:`\lambda_i` per component, ``rank`` of
            them, that of the largest singular value first.
        rank: The rank k; None for that of the data.
        dtype: Of the factors; the decomposition is in float64.
    """

    l2: float | Sequence[float] = 1000.0
    rank: int | None = None
    dtype: Precision = "float32"
    encoder: NDArray[Any] = field(init=False, repr=False)
    item_factors: NDArray[Any] = field(init=False, repr=False)
    user_factors: NDArray[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.l2, Sequence | np.ndarray):
            self.l2 = [float(value) for value in self.l2]
        for value in self.l2 if isinstance(self.l2, list) else [self.l2]:
            check_l2(value, zero=True)
        if self.rank is not None:
            check_rank(self.rank)
        if isinstance(self.l2, list) and len(self.l2) != self.rank:
            raise InvalidArgumentError(
                "l2", f"{len(self.l2)} values", f"one number, or one per rank ({self.rank})"
            )
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
            spectrum: Its decomposition, if it is known already; of rank ``rank`` or more.
            penalty: A general :math:`\Gamma^\top \Gamma` instead of ``l2``: its diagonal, or the
                whole n_items x n_items matrix.
        """
        if penalty is not None:
            self.keep(interactions, *reduced_rank_regression(interactions, penalty, self.rank))
            return self
        known = spectrum or decompose(interactions, self.rank)
        part = known if self.rank is None else known.first(self.rank, "LRR")
        square = part.sigma**2
        self.keep(interactions, part.V * (square / (square + np.asarray(self.l2))), part.V)
        return self
