"""Regularised matrix factorisation, in closed form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from numpy.typing import NDArray

from truerank.adaptive_defaults import adaptation_note, adaptive, is_adaptive
from truerank.checks import check_l2, whole_number
from truerank.data.interactions import Interactions
from truerank.deprecation import renamed_parameters
from truerank.errors import InvalidDataError
from truerank.models.input_checks import check_training_data
from truerank.models.linear.low_rank import LowRankModel
from truerank.models.linear.spectrum import Spectrum, decompose
from truerank.numerics.dtypes import Precision, dtype_of


@renamed_parameters(rank="dim")
@dataclass(slots=True, eq=False)
class ClosedFormMF(LowRankModel):
    r"""Regularised SVD [zheng2018]_.

    .. math::
        \min_{P, Q} \|X - PQ^\top\|_F^2 + \lambda (\|P\|_F^2 + \|Q\|_F^2),
        \qquad P \in \mathbb R^{m \times k},\; Q \in \mathbb R^{n \times k}

    With :math:`X = U \Sigma V^\top` the product of the solution is

    .. math::
        PQ^\top = U_k\,\mathrm{diag}\bigl((\sigma_i - \lambda)_+\bigr) V_k^\top = XW, \qquad
        W = V_k\,\mathrm{diag}\bigl((1 - \lambda/\sigma_i)_+\bigr) V_k^\top :

    singular values below :math:`\lambda` are **clipped at zero**, so a larger k stops mattering.
    :math:`W` is its form as a linear autoencoder, by which new users are folded in. Of the many
    pairs with this product the objective's own is :math:`P = U_k D^{1/2}, Q = V_k D^{1/2}` with
    :math:`D = \mathrm{diag}((\sigma_i - \lambda)_+)`; kept are :math:`XV_k\,\mathrm{diag}((1 -
    \lambda/\sigma_i)_+)` and :math:`V_k`, which score the same.

    Memory: while decomposing six n_items x k matrices of float64, or three n_items x n_items for k
    from a quarter of the items on and for up to 4,096 items; then two n_items x k and one
    n_users x k of ``dtype``.

    Attributes:
        l2: The penalty lambda, at least 0, in units of singular values; where none is asked for,
            10 or, if nothing would be left of the data, half of their largest singular value.
        dim: The rank k; None for that of the data.
        dtype: Of the factors; the decomposition is in float64.
    """

    l2: float = adaptive(10.0)
    dim: int | None = None
    dtype: Precision = "float32"
    encoder: NDArray[Any] = field(init=False, repr=False)
    item_factors: NDArray[Any] = field(init=False, repr=False)
    user_factors: NDArray[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_l2(self.l2, zero=True)
        if self.dim is not None:
            whole_number("dim", self.dim)
        dtype_of(self.dtype)

    def fit(self, interactions: Interactions, *, spectrum: Spectrum | None = None) -> Self:
        """Solve for P and Q; ``spectrum`` is the decomposition, if it is known already."""
        check_training_data(interactions)
        known = spectrum or decompose(interactions, self.dim)
        part = known if self.dim is None else known.first(self.dim, "ClosedFormMF")
        l2, adapted = self.l2, []
        if is_adaptive(l2) and part.sigma[0] <= l2:
            l2 = float(part.sigma[0]) / 2
            why = f"the largest singular value of the data is {part.sigma[0]:.4g}"
            adapted.append(adaptation_note("l2", l2, self.l2, why))
        if part.sigma[0] <= l2:
            raise InvalidDataError(
                f"l2 {l2:,g} is above the largest singular value, {part.sigma[0]:,.4g}, so "
                "that nothing is left of the data; take a smaller l2"
            )
        left = part.sigma > l2  # the others are zero and need no room
        V = part.V[:, left]
        self.set_factors(interactions, V * (1 - l2 / part.sigma[left]), V)
        self.record_training_data(interactions, adapted=adapted)
        return self
