"""The estimators of Krichene and Rendle: unbiased rank, CLS, and bias against variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from truerank.arrays import Float
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.estimators.likelihood import rank_likelihood
from truerank.estimators.methods.corrections import LinearCorrection, Prior, check_prior, prior_name
from truerank.estimators.methods.simple import masses_at, metric_of_ranks
from truerank.estimators.problem import Problem
from truerank.metrics import Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class RankUnbiased:
    r"""``rank-unbiased``: the metric at an unbiased estimate of each row's rank [krichene2020]_.

    .. math::  \hat R(r) = 1 + (N-1)\frac{r-1}{n-1}, \qquad E[\hat R(r) \mid R] = R,
               \qquad \hat T = \sum_r \tilde P(r)\, F(\hat R(r))

    Unbiased for the rank, with or without replacement, hence for auc; not for a top-K metric,
    which is not a linear function of the rank. Any mixture of sizes.
    """

    def values(self, problem: Problem, metrics: list[Metric], shares: Float) -> Float:
        """The mean over rows of F at the estimated rank."""
        return metric_of_ranks(metrics, unbiased_ranks(problem), problem.cells.n_items) @ shares

    def distribution(self, problem: Problem, shares: Float) -> Float:
        """Masses at the estimated ranks, rounded up: Recall@K is the same."""
        return masses_at(problem, np.ceil(unbiased_ranks(problem)).astype(np.int64), shares)


def unbiased_ranks(problem: Problem) -> Float:
    """1 + (N - 1)(r - 1)/(n - 1) of each cell; an exact rank is itself."""
    cells = problem.cells
    if np.any((cells.n_sampled < 2) & (cells.n_items > 1)):
        raise InvalidDataError(
            "method 'rank-unbiased' needs samples of at least 2 items: the target alone is always "
            "first, which says nothing about its rank; drop the rows with n_sampled = 1"
        )
    rivals = np.maximum(cells.n_sampled - 1, 1)
    return np.asarray(1.0 + (cells.n_items - 1) * (cells.rank - 1) / rivals, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstrainedLeastSquares:
    r"""``cls``: the least biased monotone correction [krichene2020]_.

    .. math::  \min_x \sum_{R=1}^{N} \Bigl(\sum_r P(r \mid R)\, x_r - F(R)\Bigr)^2
               \quad\text{subject to}\quad x_1 \ge x_2 \ge \dots \ge x_n

    and :math:`\hat T = \sum_r \tilde P(r)\, x_r`. In increments
    :math:`d_i = x_i - x_{i+1} \ge 0`, the columns are the distribution functions
    :math:`P(r \le i \mid R)`. The free level :math:`x_n` is the mean over R of what they leave, so
    with columns and F centred it is a non-negative least squares problem. A metric that grows
    with the rank is turned round. One problem per metric, none of which depends on the
    observations. Needs one sample size.
    """

    def values(self, problem: Problem, metrics: list[Metric], shares: Float) -> Float:
        """Corrected metrics, averaged over rows."""
        return self.corrected(problem, metrics) @ problem.by_rank(shares)

    def distribution(self, problem: Problem, shares: Float) -> Float:  # noqa: ARG002
        """Refused."""
        raise InvalidDataError(
            "method 'cls' corrects each metric by itself and has no rank distribution: use method "
            "'auto', 'mle' or 'bv' for one"
        )

    def corrected(self, problem: Problem, metrics: list[Metric]) -> Float:
        """The x of each metric: shape ``(len(metrics), n)``."""
        n, n_items = problem.require_one_size("cls")
        if n >= n_items:
            ranks = np.arange(1, n + 1)
            return metric_of_ranks(metrics, ranks.astype(np.float64), np.full(n, n_items))
        A = rank_likelihood(n, problem.grid, replacement=problem.cells.replacement)
        uniform, root = problem.grid.uniform(), np.sqrt(problem.grid.uniform())
        below = np.cumsum(A, axis=0)[:-1].T
        centre = uniform @ below
        Q, C = np.linalg.qr(root[:, None] * (below - centre))
        x = np.zeros((len(metrics), n))
        for i, metric in enumerate(metrics):
            F = problem.grid.metric_values(metric)
            sign, mean = _direction(F, metric), float(uniform @ F)
            if n > 1:
                d = optimize.nnls(C, sign * (Q.T @ (root * (F - mean))))[0]
                x[i, :-1] = sign * np.cumsum(d[::-1])[::-1]
                mean -= sign * float(centre @ d)
            x[i] += mean
        return x


def _direction(F: Float, metric: Metric) -> float:
    slack = 1e-12 * np.abs(F).max()
    if np.all(np.diff(F) <= slack):
        return 1.0
    if np.all(np.diff(F) >= -slack):
        return -1.0
    raise InvalidArgumentError(
        "metric",
        str(metric),
        "a monotone function of the rank for method 'cls'",
        "use method 'auto', 'mle' or 'bv', which take any function",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BiasVariance(LinearCorrection):
    r"""``bv``, ``bv-mle``, ``bv-mes``: bias against variance (``eq:leastsquare``, [krichene2020]_).

    .. math::  \min_x \sum_R P(R) \left[ \left(E[x_r \mid R] - F(R)\right)^2
               + \gamma\,\mathrm{Var}[x_r \mid R] \right]

    With :math:`A_{Rr} = P(r \mid R)`, :math:`D = \mathrm{diag}\,P(R)` and
    :math:`c_r = \sum_R P(R) P(r \mid R)` the solution is

    .. math::  x = \left((1-\gamma) A^\top D A + \gamma\, \mathrm{diag}(c)\right)^{-1} A^\top D b.

    Scaled by c, the matrix has its eigenvalues in :math:`[\gamma, 1]`. Needs one sample size.

    Attributes:
        prior: P(R): uniform as published, or fitted to the same sampled ranks (BV_MLE, BV_MES).
        gamma: Weight of the variance, in (0, 1]. Small is unbiased and noisy.
    """

    prior: Prior = "uniform"
    gamma: float = 0.01

    def __post_init__(self) -> None:
        check_prior(self.prior, allowed=("uniform", "mle", "mes"))
        if not 0.0 < self.gamma <= 1.0:
            raise InvalidArgumentError("gamma", self.gamma, "in (0, 1]", "try 0.1 or 0.01")

    def _name(self) -> str:
        return prior_name("bv", self.prior)

    def _gram(self, A: Float, p: Float, widths: Float, n_rows: float) -> Float:  # noqa: ARG002
        G = (A * ((1.0 - self.gamma) * p)) @ A.T
        G[np.diag_indices_from(G)] += self.gamma * (A @ p)
        return G
