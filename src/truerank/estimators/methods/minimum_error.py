"""MN: the correction of least expected squared error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank.arrays import Float
from truerank.estimators.methods.corrections import LinearCorrection, Prior, check_prior, prior_name


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimumError(LinearCorrection):
    r"""``mn-mle``, ``mn-mes``: bias against the variance that M rows leave (``eq:mn_closed``).

    .. math::  \min_x \sum_R P(R) \left(E[x_r \mid R] - F(R)\right)^2
               + \frac1M \sum_R \mathrm{Var}[x_r \mid R],

    a bound on the expected squared error of :math:`\hat T = \sum_r \tilde P(r)\, x_r`. Against BV,
    the weight of the variance is not a parameter: it is 1/M, alike for all ranks. With
    :math:`A_{Rr} = P(r \mid R)`, :math:`D = \mathrm{diag}\,P(R)` and
    :math:`\Lambda_1 = \mathrm{diag} \sum_R P(r \mid R)` the solution is

    .. math::  x = \left(A^\top D A + \tfrac1M (\Lambda_1 - A^\top A)\right)^{-1} A^\top D b.

    :math:`\Lambda_1 - A^\top A` is a sum of multinomial covariances; what it leaves at zero,
    the constants, :math:`A^\top D A` does not: the matrix is positive definite. M counts the
    rows of the table. Needs one sample size.

    Attributes:
        prior: P(R), fitted to the same sampled ranks.
    """

    prior: Prior = "mle"

    def __post_init__(self) -> None:
        check_prior(self.prior, allowed=("uniform", "mle", "mes"))

    def _name(self) -> str:
        return prior_name("mn", self.prior)

    def _gram(self, A: Float, p: Float, widths: Float, n_rows: float) -> Float:
        G = (A * (p - widths / n_rows)) @ A.T
        G[np.diag_indices_from(G)] += (A @ widths) / n_rows
        return G
