"""WMF: weighted matrix factorisation of implicit feedback, the ancestor of iALS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.checks import check_l2, check_positive
from truerank.data.interactions import Interactions
from truerank.deprecation import renamed_parameters
from truerank.models.als.model import ALSModel
from truerank.models.als.problem import Ridge, frequency_scaled, observed


@renamed_parameters(reg="l2")
@dataclass(slots=True, eq=False)
class WMF(ALSModel):
    r"""Collaborative filtering for implicit feedback [hu2008]_.

    .. math::
        \min_{W,H} \sum_u \sum_i c_{ui} (w_u \cdot h_i - p_{ui})^2
        + \lambda \left(\sum_u |w_u|^2 + \sum_i |h_i|^2\right),
        \qquad c_{ui} = 1 + \alpha r_{ui}, \quad p_{ui} = \mathbb 1[r_{ui} > 0]

    :math:`r` are the weights of the interactions (counts, hours), ones where there are none.
    With the items fixed :math:`w_u = (H^\top C_u H + \lambda I)^{-1} H^\top C_u p_u`.

    **It is an iALS** for data without weights. Put :math:`k = (1 + \alpha) / \alpha`: then
    :math:`L^{WMF}(\sqrt k\,W, \sqrt k\,H) = (1 + \alpha)\,k\,L^{iALS}(W, H)` up to a constant, if
    that :class:`IALS` has ``nu=0``, :math:`\alpha_0 = 1 / \alpha` and
    :math:`\lambda' = \lambda / (1 + \alpha)`. Scores differ by the factor :math:`k` and no ranking
    differs: at the end, and at every epoch if the starts (``init_std``) differ by
    :math:`\sqrt k`.

    Memory and solvers as in :class:`IALS`.

    Attributes:
        dim: Dimensions of the factors.
        l2: lambda, positive; of the order of 1 to 1000.
        alpha: Confidence per unit of weight, positive.
        epochs: Times that both sides are solved.

    By name only: ``solver``, ``cg_steps``, ``block_size``, ``init_std``, ``seed``, ``dtype`` and
    ``track_objective`` of :class:`~truerank.models.als.model.ALSModel`.
    """

    dim: int = 64
    l2: float = 10.0
    alpha: float = 10.0
    epochs: int = 16

    def __post_init__(self) -> None:
        self.check_settings()
        check_l2(self.l2)
        check_positive(alpha=self.alpha)

    def pairs(self, interactions: Interactions) -> tuple[sparse.csr_array, NDArray[np.float64]]:
        r""":math:`c (1 - s)^2 = s^2 + \alpha r s^2 - 2 c s + c` with :math:`c = 1 + \alpha r`."""
        weights = observed(interactions)
        extra = weights * self.alpha
        return extra, 1.0 + extra.data

    def ridge(self) -> Ridge:
        """The same for all."""
        return frequency_scaled(self.l2, 1.0, 0.0)

    def weight_of_all(self) -> float:
        """Each pair counts 1, and observed ones more."""
        return 1.0
