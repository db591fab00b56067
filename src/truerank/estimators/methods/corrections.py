r"""Linear corrections of sampled metrics, and the priors they need.

BV and MN replace a metric :math:`F(R)` by a vector :math:`x = G^{-1} A^\top D b` over sampled
ranks, where :math:`A_{Rr} = P(r \mid R)`, :math:`D = \mathrm{diag}\, P(R)`, :math:`b_R = F(R)`
and G is symmetric and positive definite. The estimate is linear in F, so one solve serves all
metrics:

.. math::  \hat T = \tilde P^\top x = \sum_R F(R)\, \hat P(R), \qquad
           \hat P(R) = P(R)\, (A\, G^{-1} \tilde P)_R

(``eq:BV_recall_pr``). These masses need not be positive, nor add up to one.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import linalg

from truerank.arrays import Float
from truerank.errors import InvalidArgumentError
from truerank.estimators.likelihood import rank_likelihood
from truerank.estimators.methods.em import MaximumLikelihood
from truerank.estimators.methods.mes import MaximumEntropy
from truerank.estimators.methods.simple import masses_at
from truerank.estimators.problem import DistributionEstimator, Problem

Prior = Literal["uniform", "mle", "mes"] | DistributionEstimator
"""Where P(R) comes from: all ranks alike, or a method fitted to the same sampled ranks."""

OWN_PRIOR_UP_TO = 256
"""Up to this sample size each bootstrap column gets its own prior, hence its own G."""


def check_prior(prior: Prior, *, allowed: tuple[str, ...]) -> None:
    """Refuse what is neither one of the allowed names nor a method."""
    if isinstance(prior, DistributionEstimator) or prior in allowed:
        return
    raise InvalidArgumentError("prior", prior, f"one of {', '.join(allowed)}, or a method")


def prior_name(method: str, prior: Prior) -> str:
    """The method's name, with its prior where that is named and not uniform."""
    return f"{method}-{prior}" if isinstance(prior, str) and prior != "uniform" else method


class LinearCorrection(DistributionEstimator):
    """What BV and MN share; each says what its G is.

    With several columns of shares, each has its own prior up to n = :data:`OWN_PRIOR_UP_TO`;
    beyond, where a G costs too much to be built a thousand times, all take the prior of column
    0, the original sample, and their spread lacks the prior's part.
    """

    __slots__ = ()

    prior: Prior

    def _name(self) -> str:
        raise TypeError("defined by each method")  # pragma: no cover

    def _gram(self, A: Float, p: Float, widths: Float, n_rows: float) -> Float:  # noqa: ARG002
        raise TypeError("defined by each method")  # pragma: no cover

    def distribution(self, problem: Problem, shares: Float) -> Float:
        """Masses by linearity, from a Cholesky factor of G; memory 8 n (n + bins) bytes."""
        n, n_items = problem.require_one_size(self._name())
        if n >= n_items:  # exact ranks: x = F whatever the prior
            return masses_at(problem, problem.cells.rank, shares)
        A = rank_likelihood(n, problem.grid, replacement=problem.cells.replacement)
        seen = problem.by_rank(shares)
        columns = seen if seen.ndim == 2 else seen[:, None]
        own = n <= OWN_PRIOR_UP_TO and self.prior != "uniform"
        given = shares if shares.ndim == 2 else shares[:, None]
        priors = self._priors(problem, given if own else given[:, :1])
        masses = np.empty((len(problem.grid), columns.shape[1]))
        for b in range(priors.shape[1]):
            p = priors[:, b]
            mine = slice(b, b + 1) if own else slice(None)
            G = self._gram(A, p, problem.grid.widths.astype(np.float64), problem.n_rows)
            masses[:, mine] = p[:, None] * (A.T @ solve_positive(G, columns[:, mine]))
        return masses if shares.ndim == 2 else masses[:, 0]

    def _priors(self, problem: Problem, shares: Float) -> Float:
        if self.prior == "uniform":
            return problem.grid.uniform()[:, None]
        if isinstance(self.prior, DistributionEstimator):
            return self.prior.distribution(problem, shares)
        method = MaximumLikelihood() if self.prior == "mle" else MaximumEntropy()
        return method.distribution(problem, shares)


def solve_positive(G: Float, right: Float) -> Float:
    """Solve G z = right by Cholesky, after scaling G to a unit diagonal.

    A sampled rank that the prior makes impossible has an empty row; it is left by itself.
    """
    diagonal = np.diag(G).copy()
    diagonal[diagonal < 1e-280] = 1.0
    scale = 1.0 / np.sqrt(diagonal)
    scaled = G * scale * scale[:, None]
    scaled[np.diag_indices_from(scaled)] = 1.0
    factor = linalg.cho_factor(scaled, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(scale[:, None] * linalg.cho_solve(factor, scale[:, None] * right))
