"""PureSVD: the best approximation of low rank."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from numpy.typing import NDArray

from truerank.adaptive_defaults import adaptation_note, adaptive, is_adaptive
from truerank.checks import whole_number
from truerank.data.interactions import Interactions
from truerank.deprecation import renamed_parameters
from truerank.models.input_checks import check_training_data
from truerank.models.linear.low_rank import LowRankModel
from truerank.models.linear.spectrum import Spectrum, decompose
from truerank.numerics.dtypes import Precision, dtype_of


@renamed_parameters(rank="dim")
@dataclass(slots=True, eq=False)
class PureSVD(LowRankModel):
    r"""PureSVD [cremonesi2010]_.

    .. math::
        \min_{\mathrm{rank}(Y) \le k} \|X - Y\|_F^2, \qquad
        Y = U_k \Sigma_k V_k^\top = X V_k V_k^\top \quad\text{(Eckart and Young)}

    User factors are :math:`XV_k = U_k \Sigma_k`, item factors :math:`V_k`; a new user is projected
    in the same way.

    Memory: while decomposing six n_items x k matrices of float64, or three n_items x n_items for k
    from a quarter of the items on and for up to 4,096 items; then two n_items x k and one
    n_users x k of ``dtype``.

    Attributes:
        dim: The rank k, at most that of the data; where none is asked for, 50 or, if that is
            less, the rank of the data.
        dtype: Of the factors; the decomposition is in float64.
    """

    dim: int = adaptive(50)
    dtype: Precision = "float32"
    encoder: NDArray[Any] = field(init=False, repr=False)
    item_factors: NDArray[Any] = field(init=False, repr=False)
    user_factors: NDArray[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        whole_number("dim", self.dim)
        dtype_of(self.dtype)

    def fit(self, interactions: Interactions, *, spectrum: Spectrum | None = None) -> Self:
        """Decompose X; ``spectrum`` is its decomposition, if it is known already."""
        check_training_data(interactions)
        known, dim = spectrum or decompose(interactions, self.dim), self.dim
        adapted = []
        if is_adaptive(dim) and dim > known.rank:
            dim = known.rank
            adapted.append(
                adaptation_note("dim", dim, self.dim, "the rank of the data is no higher")
            )
        part = known.first(dim, "PureSVD")
        self.set_factors(interactions, part.V, part.V)
        self.record_training_data(interactions, adapted=adapted)
        return self
