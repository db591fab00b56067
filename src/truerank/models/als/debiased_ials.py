"""iALS under the debiased squared loss, and which iALS it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.checks import check_l2, check_not_negative, is_number
from truerank.data.interactions import Interactions
from truerank.deprecation import renamed_parameters
from truerank.errors import InvalidArgumentError
from truerank.models.als.model import ALSModel
from truerank.models.als.problem import Ridge, frequency_scaled, observed
from truerank.models.positive_ratios import check_positive_ratio, positive_ratios


@renamed_parameters(reg="l2", c="positive_ratio", hidden="n_hidden_positives")
@dataclass(slots=True, eq=False)
class DebiasedIALS(ALSModel):
    r"""iALS where some of the unobserved pairs are taken to be positive, and nobody knows which.

    .. math::
        \min_{W,H} \sum_u \Bigl[ c_u \sum_{i \in I_u} \bigl((s_{ui} - 1)^2 - \alpha_0 s_{ui}^2\bigr)
        + \alpha_0 \sum_i s_{ui}^2 \Bigr]
        + \lambda \sum_u (|I_u| + \alpha_0 |I|)^\nu |w_u|^2
        + \lambda \sum_i (|U_i| + \alpha_0 |U|)^\nu |h_i|^2

    with :math:`s_{ui} = w_u \cdot h_i` and :math:`c_u = |I| \tau_u^+ / |I_u|`, how many times more
    positives there are than were seen. The minimum for a user, the items fixed, is

    .. math::
        w_u = \left(c_u (1 - \alpha_0) H_S^\top H_S + \alpha_0 H^\top H + \lambda_u I\right)^{-1}
              c_u H_S^\top 1,

    with :math:`c_u` on the right (the dissertation prints its root), and needs
    :math:`\alpha_0 < 1`.

    **It is an iALS** where :math:`c_u = c` for all users. Put :math:`k = 1 / (1 - \alpha_0)`: then
    :math:`L^{deb}(\sqrt k\,W, \sqrt k\,H) = c\,k\,L^{iALS}(W, H)` up to a constant, if that iALS
    has :math:`\alpha_0' = \alpha_0 / ((1 - \alpha_0) c)` and the penalties
    :math:`\lambda_u' = \lambda_u / c`, :math:`\lambda_i' = \lambda_i / c` row by row. Scores
    differ by the factor :math:`k` and no ranking differs, at every epoch, not only at the end.
    :class:`IALS` has such penalties

    * for ``nu=0`` with ``l2 = l2 / positive_ratio``;
    * for any ``nu`` where :math:`c = 1 / (1 - \alpha_0)`, hence :math:`\alpha_0' = \alpha_0`;
    * otherwise not: the penalty's own :math:`\alpha_0` would have to stay as it was.

    (A single half-step from the same, unscaled other side also has the printed form,
    :math:`\lambda' = \lambda / ((1 - \alpha_0) c)`; it does not carry over to the next one.)

    Weights of interactions are not used: an interaction is a positive. Memory and solvers as in
    :class:`IALS`.

    Attributes:
        dim: Dimensions of the factors.
        l2: lambda, positive.
        unobserved_weight: alpha_0, from 0 and below 1.
        positive_ratio: c, positives there are for each one seen, at least 1; 1 takes what was
            seen for all.
        n_hidden_positives: K, positives unseen besides, the same number for every user:
            :math:`c_u = c + K / |I_u|`.
        nu: How far penalties follow the number of interactions.
        epochs: Times that both sides are solved.

    By name only: ``solver``, ``cg_steps``, ``block_size``, ``init_std``, ``seed``, ``dtype`` and
    ``track_objective`` of :class:`~truerank.models.als.model.ALSModel`.
    """

    dim: int = 64
    l2: float = 0.003
    unobserved_weight: float = 0.1
    positive_ratio: float = 1.2
    n_hidden_positives: float = 0.0
    nu: float = 1.0
    epochs: int = 16

    def __post_init__(self) -> None:
        self.check_settings()
        check_l2(self.l2)
        check_not_negative(nu=self.nu)
        check_positive_ratio(self.positive_ratio, self.n_hidden_positives)
        if not is_number(self.unobserved_weight) or not 0 <= self.unobserved_weight < 1:
            raise InvalidArgumentError(
                "unobserved_weight", self.unobserved_weight, "from 0 and below 1",
                "from 1 on the debiased objective has no minimum",
            )  # fmt: skip

    def pairs(self, interactions: Interactions) -> tuple[sparse.csr_array, NDArray[np.float64]]:
        """c_u (1 - alpha_0) and c_u."""
        seen = observed(interactions)
        counts = np.diff(seen.indptr)
        ratios = positive_ratios(counts, self.positive_ratio, self.n_hidden_positives)
        pull = np.repeat(ratios, counts)
        data = pull * (1.0 - self.unobserved_weight)
        return sparse.csr_array((data, seen.indices, seen.indptr), seen.shape), pull

    def ridge(self) -> Ridge:
        """Scaled by frequency."""
        return frequency_scaled(self.l2, self.unobserved_weight, self.nu)

    def weight_of_all(self) -> float:
        """alpha_0."""
        return self.unobserved_weight
