"""iALS: implicit alternating least squares with the frequency-scaled regulariser."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.checks import check_l2, check_not_negative
from truerank.data.interactions import Interactions
from truerank.deprecation import renamed_parameters
from truerank.models.als.model import ALSModel
from truerank.models.als.problem import Ridge, frequency_scaled, observed


@renamed_parameters(reg="l2")
@dataclass(slots=True, eq=False)
class IALS(ALSModel):
    r"""Matrix factorisation with a weight on everything unobserved [rendle2022]_.

    .. math::
        \min_{W,H} \sum_{(u,i) \in S} c_{ui} (w_u \cdot h_i - 1)^2
        + \alpha_0 \sum_u \sum_i (w_u \cdot h_i)^2
        + \lambda \sum_u (|I_u| + \alpha_0 |I|)^\nu |w_u|^2
        + \lambda \sum_i (|U_i| + \alpha_0 |U|)^\nu |h_i|^2

    :math:`c` are the weights of the interactions, ones where there are none; :math:`|I_u|` counts
    interactions. With the items fixed a user's minimum is

    .. math::
        w_u = \left(\alpha_0 H^\top H + H_S^\top \mathrm{diag}(c_u) H_S + \lambda_u I\right)^{-1}
              H_S^\top c_u

    and the other way round. A user without interactions, and an item nobody touched, get zeros.

    Memory: both factor matrices twice, about 40 bytes per interaction, and for each thread the
    vectors of one row's interactions. :mod:`.solvers` says what the solvers do; for most data
    ``"cholesky"`` is fast, because the systems are no larger than a user's number of items.

    Settings that were good, with ``nu=1``. On the NGCF splits after 16 epochs: gowalla ``dim=512,
    unobserved_weight=0.006, l2=0.006``, Recall@20 .1769 and NDCG@20 .1450 on the test data;
    yelp2018 ``dim=256, unobserved_weight=0.03, l2=0.006``, .0675 and .0559. Of 15 and 8 settings
    these had the best NDCG@20 on a fifth of the training data held out per user, after 10 epochs;
    more dimensions were always better. On ml-1m-ncf ``dim=192, unobserved_weight=0.3, l2=0.007,
    epochs=12``, a published setting: HR@10 .727 to .729 over three seeds.

    Attributes:
        dim: Dimensions of the factors.
        l2: lambda, positive. With ``nu=1`` it has the scale of a mean, about 0.001 to 0.01.
        unobserved_weight: alpha_0, at least 0.
        nu: How far penalties follow the number of interactions; 0 is the same for every row.
        epochs: Times that both sides are solved.

    By name only: ``solver``, ``cg_steps``, ``block_size``, ``init_std``, ``seed``, ``dtype`` and
    ``track_objective`` of :class:`~truerank.models.als.model.ALSModel`.
    """

    dim: int = 64
    l2: float = 0.003
    unobserved_weight: float = 0.1
    nu: float = 1.0
    epochs: int = 16

    def __post_init__(self) -> None:
        self.check_settings()
        check_l2(self.l2)
        check_not_negative(unobserved_weight=self.unobserved_weight, nu=self.nu)

    def pairs(self, interactions: Interactions) -> tuple[sparse.csr_array, NDArray[np.float64]]:
        """Both the weight."""
        weights = observed(interactions)
        return weights, weights.data

    def ridge(self) -> Ridge:
        """Scaled by frequency."""
        return frequency_scaled(self.l2, self.unobserved_weight, self.nu)

    def weight_of_all(self) -> float:
        """alpha_0."""
        return self.unobserved_weight
