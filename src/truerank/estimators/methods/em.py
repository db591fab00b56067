r"""Maximum likelihood by EM: the distribution of ranks as a mixture's weights.

With cells :math:`c` observed in shares :math:`s_c` and :math:`A_{cj} = P(c \mid \text{bin } j)`,

.. math::  \pi_j \leftarrow \pi_j \sum_c s_c \frac{A_{cj}}{\sum_k A_{ck} \pi_k},

from uniform ranks (``eq:em_pi_speedup``; over distinct (rank, n_sampled, n_items) it is the
adaptive MLE as well). Each step raises the log-likelihood :math:`\sum_c s_c \log (A\pi)_c`.

The number of steps is a regulariser: run to convergence the estimate is a handful of spikes, and
worse. The dissertation's runs use 100 steps for one sample size and 50 for adaptive samples;
these are the defaults. ``auto`` replaces early stopping by a stated smoothness.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Float
from truerank.errors import InvalidArgumentError
from truerank.estimators.problem import DistributionEstimator, Problem


def em(A: Float, shares: Float, start: Float, *, steps: int) -> Float:
    """``steps`` EM updates of ``start``; shares and start may be columns of many problems."""
    if steps < 0:
        raise InvalidArgumentError("iterations", steps, "at least 0")
    pi = start.copy()
    seen = shares if shares.ndim == 2 else shares[:, None]
    pi = np.broadcast_to(pi[:, None] if pi.ndim == 1 else pi, (A.shape[1], seen.shape[1])).copy()
    for _ in range(steps):
        p = A @ pi
        ratio = np.divide(seen, p, out=np.zeros_like(p), where=seen > 0)
        pi *= A.T @ ratio
    return pi if shares.ndim == 2 else pi[:, 0]


def rank_weights(rank: NDArray[np.int64], kind: str, C: float) -> Float:
    r"""Weights of the weighted MLE: :math:`w(r) = F_{AP}(r/C)` or :math:`F_{NDCG}(r/C)`."""
    if not C > 1:
        raise InvalidArgumentError("C", C, "more than 1")
    if kind == "ap":
        return np.asarray(C / rank, dtype=np.float64)
    return np.asarray(1.0 / np.log2(1.0 + rank / C), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaximumLikelihood(DistributionEstimator):
    """``mle``: the plain EM estimate. Valid for any mixture of sample sizes.

    Attributes:
        iterations: EM steps; None for 100 with one sample size and 50 with several.
    """

    iterations: int | None = None

    def distribution(self, problem: Problem, shares: Float) -> Float:
        """Bin masses after the EM steps."""
        return em(problem.A, shares, problem.grid.uniform(), steps=_steps(self, problem))


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedMaximumLikelihood(DistributionEstimator):
    """``wmle-ap``, ``wmle-ndcg``: more weight on small sampled ranks, as the text prints it.

    The weights tilt the data that the mixture is fitted to, and nothing undoes the tilt, so
    the estimates are far too high (Recall@1..50 by about 200 % where plain MLE is 14 % off,
    n = 100, N = 10,000). With AP weights C cancels altogether. Kept for completeness.

    Attributes:
        kind: Which metric function gives the weights.
        C: Slows their decay down; more than 1.
        iterations: As in :class:`MaximumLikelihood`.
    """

    kind: Literal["ap", "ndcg"] = "ap"
    C: float = 10.0
    iterations: int | None = None

    def distribution(self, problem: Problem, shares: Float) -> Float:
        """Bin masses after the EM steps on the weighted shares."""
        weights = rank_weights(problem.cells.rank, self.kind, self.C)
        seen = shares * (weights if shares.ndim == 1 else weights[:, None])
        seen = seen / seen.sum(axis=0)
        return em(problem.A, seen, problem.grid.uniform(), steps=_steps(self, problem))


def _steps(method: MaximumLikelihood | WeightedMaximumLikelihood, problem: Problem) -> int:
    if method.iterations is not None:
        return method.iterations
    return 100 if problem.one_size else 50
