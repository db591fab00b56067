r"""EDLAE of low rank by ADMM: :math:`W = UV^\top - \mathrm{diag}(UV^\top)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from truerank.data.interactions import Interactions
from truerank.errors import InvalidDataError
from truerank.execution import Progress
from truerank.models.blocked_inverse import invert_in_place
from truerank.models.gram import gram, mirror
from truerank.models.memory import check_room
from truerank.models.parallel import on_all_cores
from truerank.models.precision import Precision, dtype_of
from truerank.models.spectrum import decompose

Matrix = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Convergence:
    """How an ADMM run went, one number per round.

    Attributes:
        objective: The objective of W, per user, less that of W = 0. The best round is kept.
        gap: Relative distance of the two copies of the diagonal, zero at a solution.
    """

    objective: NDArray[np.float64]
    gap: NDArray[np.float64]

    def __str__(self) -> str:
        rounds = zip(self.objective, self.gap, strict=True)
        lines = [f"{i:5d} {f:12.6f} {g:9.1e}" for i, (f, g) in enumerate(rounds, start=1)]
        return "\n".join(["round    objective       gap", *lines])


@dataclass(frozen=True, slots=True, eq=False)
class LowRankScorer:
    r"""Scores :math:`x_u (UV^\top - \mathrm{diag}(UV^\top))`.

    The diagonal matters only for items that the user has already.
    """

    history: sparse.csr_array
    U: Matrix
    V: Matrix
    name: str = "EDLAE"

    @property
    def n_items(self) -> int:
        return len(self.V)

    def score_all(self, users: NDArray[np.integer[Any]]) -> Matrix:
        """Scores of all items, shape ``(len(users), n_items)``."""
        x = self.history[users]
        scores = (x @ self.U) @ self.V.T
        own = np.einsum("ik,ik->i", self.U, self.V)
        row = np.repeat(np.arange(len(scores)), np.diff(x.indptr))
        scores[row, x.indices] -= x.data * own[x.indices]
        return np.asarray(scores)

    def score_pairs(self, users: NDArray[np.integer[Any]], items: NDArray[Any]) -> Matrix:
        """Scores of given items, in the shape of ``items``."""
        return np.take_along_axis(self.score_all(users), np.asarray(items), axis=1)


def solve_low_rank(
    interactions: Interactions,
    penalty: NDArray[np.float64],
    rank: int,
    precision: Precision,
    *,
    iterations: int,
    tolerance: float = 1e-4,
) -> tuple[Matrix, Matrix, Convergence]:
    r"""Minimise :math:`\|X - XW\|_F^2 + \|\Lambda^{1/2} W\|_F^2` over U and V.

    With :math:`G = X^\top X` and a copy :math:`\beta` of the diagonal of :math:`UV^\top`, scaled
    multipliers :math:`\gamma` and :math:`\Omega = \Lambda_1 = \Lambda / 2`, a round is
    (the dissertation's appendix "Low-Rank EDLAE", [steck2020]_)

    .. math::
        R &= G\,\mathrm{diag}(1 + \beta) + \Omega\,\mathrm{diag}(\beta - \gamma), \qquad
        M = G + \Lambda_1 + \Omega = G + \Lambda \\
        U &\leftarrow M^{-1} R V (V^\top V)^{-1}, \qquad
        V^\top \leftarrow (U^\top M U)^{-1} U^\top R \\
        \beta &\leftarrow \frac{\mathrm{diag}(G U V^\top) - \mathrm{diag}(G) +
            \Omega (\mathrm{diag}(U V^\top) + \gamma)}{\mathrm{diag}(G) + \Omega - \Lambda_1},
        \qquad \gamma \leftarrow \gamma + \mathrm{diag}(U V^\top) - \beta.

    The printed rounds take :math:`\Lambda_1 = \Lambda` and :math:`\Omega = \Lambda + \omega I`. But
    they penalise all of :math:`UV^\top` by :math:`\Omega`, not only its diagonal, so where they
    come to rest W is stationary for the penalty :math:`\Lambda_1 + \Omega`, not
    :math:`\Lambda_1`. Splitting :math:`\Lambda` in two gives the objective above. Published
    settings :math:`(p, \lambda, \omega)` are ours with :math:`p' / (1 - p') = 2p / (1 - p)` and
    :math:`\lambda' = 2 \lambda + \omega`.

    The problem is not convex; the start is :math:`V_k` of the data's own decomposition, and the
    round with the lowest objective is kept.

    Memory: two n_items x n_items matrices, six of n_items x rank. Time per round: eight n_items^2 x
    rank operations.
    """
    dtype, n = dtype_of(precision), interactions.n_items
    check_room(
        (2 * n * n + 6 * n * rank) * np.dtype(dtype).itemsize,
        f"EDLAE of rank {rank:,} on {n:,} items",
        "EDLAE of full rank needs half as much, IALS and PureSVD (low rank) still less",
    )
    V = decompose(interactions, rank).first(rank, "EDLAE").V.astype(dtype)
    G = gram(interactions.matrix(), dtype=dtype)
    inverse = G.copy()
    inverse[np.diag_indices(n)] += penalty
    invert_in_place(inverse)
    with on_all_cores() as each:
        mirror(inverse, each)
    g, half = np.diag(G).astype(np.float64), penalty / 2
    M_diagonal = g + penalty
    beta, gamma = np.zeros(n), np.zeros(n)
    best: tuple[float, Matrix, Matrix] = (np.inf, V, V)
    objectives: list[float] = []
    gaps: list[float] = []
    with Progress(f"EDLAE of rank {rank}", total=iterations) as bar:
        for _ in range(iterations):
            left, right = (1 + beta).astype(dtype), (half * (beta - gamma)).astype(dtype)
            RV = G @ (left[:, None] * V) + right[:, None] * V
            U = _right_solve(inverse @ RV, V.T @ V)
            GU = G @ U
            MU = GU + penalty.astype(dtype)[:, None] * U
            UMU = U.T @ MU
            V = _right_solve(left[:, None] * GU + right[:, None] * U, UMU)
            own = np.einsum("ik,ik->i", U, V, dtype=np.float64)
            pull = np.einsum("ik,ik->i", GU, V, dtype=np.float64)
            beta = (pull - g + half * (own + gamma)) / np.where(g > 0, g, 1.0)
            beta[g == 0] = 0.0
            gamma += own - beta
            fit = float(np.sum(pull - g * own))
            size = float(np.sum(UMU * (V.T @ V), dtype=np.float64))
            cross = np.einsum("ik,ik->i", MU, V, dtype=np.float64)
            quadratic = size - float(2 * own @ cross - own**2 @ M_diagonal)
            objectives.append((quadratic - 2 * fit) / interactions.n_users)
            gaps.append(float(np.linalg.norm(own - beta)) / (float(np.linalg.norm(own)) or 1.0))
            bar.advance()
            if not np.isfinite(objectives[-1]):
                raise InvalidDataError(
                    "low-rank EDLAE diverged; take a larger p or l2, or dtype='float64'"
                )
            if objectives[-1] < best[0]:
                best = (objectives[-1], U, V)
            if gaps[-1] < tolerance and _at_rest(objectives, tolerance):
                break
    return best[1], best[2], Convergence(np.array(objectives), np.array(gaps))


def _at_rest(objectives: list[float], tolerance: float) -> bool:
    last = objectives[-2:]
    return len(last) == 2 and abs(last[1] - last[0]) <= tolerance * 1e-2 * abs(last[1])


def _right_solve(B: Matrix, S: Matrix) -> Matrix:
    """B S^-1 for a small symmetric positive definite S, solved in float64."""
    S = S.astype(np.float64)
    S = (S + S.T) / 2
    S[np.diag_indices_from(S)] += 1e-12 * np.trace(S) / len(S)
    inverse = linalg.cho_solve(linalg.cho_factor(S, lower=True), np.eye(len(S)))
    return np.asarray(B @ inverse.astype(B.dtype))
