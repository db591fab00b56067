r"""EDLAE of low rank: :math:`W = UV^\top - \mathrm{diag}(UV^\top)`, by descent or by ADMM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from truerank.arrays import Float
from truerank.data.interactions import Interactions
from truerank.execution import Progress
from truerank.models.linear.gram import gram, mirror
from truerank.models.linear.spectrum import decompose
from truerank.numerics.blocked_inverse import invert_in_place
from truerank.numerics.dtypes import Precision, dtype_of
from truerank.numerics.memory import check_room
from truerank.numerics.products import times
from truerank.numerics.threads import Each, on_all_cores

Matrix = NDArray[Any]
LowRankSolver = Literal["descent", "admm"]

TOLERANCE = 1e-6
"""Rounds end when the gap is below this."""


@dataclass(frozen=True, slots=True, eq=False)
class Convergence:
    """How a run went, one number per round.

    Attributes:
        objective: The objective of W, per user, less that of W = 0. The best round is kept.
        gap: How far from a solution. By descent: the relative fall of the objective in the round.
            By ADMM: the relative distance of the two copies of the diagonal.
    """

    objective: Float
    gap: Float

    def __str__(self) -> str:
        rounds = zip(self.objective, self.gap, strict=True)
        lines = [f"{i:5d} {f:12.6f} {g:9.1e}" for i, (f, g) in enumerate(rounds, start=1)]
        end = [] if self.at_rest else ["not at rest: more epochs may go lower"]
        return "\n".join(["round    objective       gap", *lines, *end])

    @property
    def at_rest(self) -> bool:
        """Whether the rounds ended by themselves, not because there were no more."""
        return len(self.gap) > 0 and bool(self.gap[-1] < TOLERANCE)


@dataclass(frozen=True, slots=True, eq=False)
class LowRankProblem:
    """G, its diagonal, the penalties, the inverse of M = G + penalties, and all cores."""

    G: Matrix
    g: Float
    penalty: Float
    inverse: Matrix
    each: Each  # type: ignore[type-arg]

    def with_penalty(self, GU: Matrix, U: Matrix) -> Matrix:
        """M U from G U."""
        return np.asarray(GU + self.penalty.astype(U.dtype)[:, None] * U)

    def quadratic(self, inner: Matrix, MU: Matrix, U: Matrix, V: Matrix) -> float:
        r""":math:`\mathrm{tr}(W^\top M W)`, where ``inner`` is U'MU times V'V, entry by entry."""
        own, cross = _rows(U, V), _rows(MU, V)
        size = float(np.sum(inner, dtype=np.float64))
        return size - float(own @ (2 * cross - own * (self.g + self.penalty)))

    def value(self, U: Matrix, V: Matrix, GU: Matrix) -> float:
        """The objective of W, less that of W = 0."""
        MU = self.with_penalty(GU, U)
        fit = float(np.sum(_rows(GU, V) - self.g * _rows(U, V)))
        return self.quadratic((U.T @ MU) * (V.T @ V), MU, U, V) - 2 * fit


def solve_low_rank(
    interactions: Interactions,
    penalty: Float,
    dim: int,
    precision: Precision,
    *,
    epochs: int,
    solver: LowRankSolver = "descent",
) -> tuple[Matrix, Matrix, Convergence]:
    r"""Minimise :math:`\|X - XW\|_F^2 + \|\Lambda^{1/2} W\|_F^2` over U and V.

    The problem is not convex; the start is :math:`V_k` of the data's own decomposition, and the
    round with the lowest objective is kept. Rounds end when the gap is below :data:`TOLERANCE`.

    Memory: two n_items x n_items matrices, ten of n_items x dim, and before them what the
    decomposition takes (:func:`~truerank.models.linear.spectrum.decompose`). Time per round: six
    n_items^2 x dim operations by descent, eight by ADMM.
    """
    dtype, n = dtype_of(precision), interactions.n_items
    check_room(
        (2 * n * n + 10 * n * dim) * np.dtype(dtype).itemsize,
        f"EDLAE of rank {dim:,} on {n:,} items",
        "IALS and PureSVD (low rank), ItemKNN and SLIM (sparse) need far less",
    )
    V = decompose(interactions, dim).first(dim, "EDLAE").V.astype(dtype)
    G = gram(interactions.matrix(), dtype=dtype)
    inverse = G.copy()
    inverse[np.diag_indices(n)] += penalty
    invert_in_place(inverse)
    objectives: list[float] = []
    gaps: list[float] = []
    best: tuple[float, Matrix, Matrix] = (np.inf, V, V)
    with on_all_cores() as each, Progress(f"EDLAE of rank {dim}", total=epochs) as bar:
        mirror(inverse, each)
        problem = LowRankProblem(G, np.diag(G).astype(np.float64), penalty, inverse, each)
        rounds = by_descent(problem, V) if solver == "descent" else by_admm(problem, V)
        for _, (U, V, value, gap) in zip(range(epochs), rounds, strict=False):
            bar.advance()
            if not np.isfinite(value):
                break
            objectives.append(value / interactions.n_users)
            gaps.append(gap)
            if value < best[0]:
                best = (value, U, V)
            if gap < TOLERANCE:
                break
    return best[1], best[2], Convergence(np.array(objectives), np.array(gaps))


def by_descent(problem: LowRankProblem, V: Matrix) -> Iterator[tuple[Matrix, Matrix, float, float]]:
    r"""Rounds in which the objective never rises: V exactly, U by an exact step downhill.

    With U fixed, column j of W is :math:`U_{-j} v_j`, where :math:`U_{-j}` is U without its row j,
    so with :math:`M = G + \Lambda`

    .. math::  v_j = (U_{-j}^\top M U_{-j})^{-1} U_{-j}^\top G_j,

    and the matrix differs from :math:`U^\top M U` by rank two. With V fixed and orthonormal (the
    product does not change when V is) the gradient is twice :math:`E V`, with E the part of
    :math:`MW - G` off the diagonal, and U moves along :math:`-M^{-1} E V` as far as is best.
    """
    G, M_inverse, each = problem.G, problem.inverse, problem.each
    U = times(M_inverse, times(G, V, each), each)
    GU, value = times(G, U, each), np.inf
    while True:
        V = _best_columns(problem, U, GU)
        Q, R = np.linalg.qr(V)
        U, GU, V = U @ R.T, GU @ R.T, np.ascontiguousarray(Q)
        MU, own = problem.with_penalty(GU, U), _rows(U, V)
        diagonal = _rows(MU, V) - own * (problem.g + problem.penalty) - problem.g
        EV = MU - times(G, _scaled(1 + own, V), each) - _scaled(problem.penalty * own + diagonal, V)
        step = times(M_inverse, EV, each)
        GS = times(G, step, each)
        MS = problem.with_penalty(GS, step)
        curvature = problem.quadratic((step.T @ MS) * (V.T @ V), MS, step, V)
        slope = float(np.sum(step * EV, dtype=np.float64))
        far = U.dtype.type(slope / curvature if curvature > 0 else 0.0)
        U, GU = U - far * step, GU - far * GS
        before, value = value, problem.value(U, V, GU)
        yield U, V, value, (before - value) / abs(value) if np.isfinite(before) else 1.0


def _best_columns(problem: LowRankProblem, U: Matrix, GU: Matrix) -> Matrix:
    """The best V for this U, in float64 by blocks of items."""
    penalty, g = problem.penalty, problem.g
    MU = problem.with_penalty(GU, U)
    S = _positive((U.T @ MU).astype(np.float64), U.dtype)
    factor = linalg.cho_factor(S, lower=True)
    V = np.empty_like(U)

    def block(start: int) -> None:
        rows = slice(start, start + 1024)
        u, p = U[rows].astype(np.float64), MU[rows].astype(np.float64)
        b = GU[rows] - g[rows, None] * u
        Sb, Sp, Su = (linalg.cho_solve(factor, z.T).T for z in (b, p, u))
        # (S + Z C Z')^-1 b by Woodbury, Z = [p u], C = [[0, -1], [-1, m]]
        k11 = _rows(p, Sp) - (g + penalty)[rows]
        k12, k22 = _rows(p, Su) - 1.0, _rows(u, Su)
        z1, z2 = _rows(p, Sb), _rows(u, Sb)
        determinant = k11 * k22 - k12 * k12
        c1 = (k22 * z1 - k12 * z2) / determinant
        c2 = (k11 * z2 - k12 * z1) / determinant
        V[rows] = Sb - c1[:, None] * Sp - c2[:, None] * Su

    problem.each(block, range(0, len(U), 1024))
    return V


def by_admm(problem: LowRankProblem, V: Matrix) -> Iterator[tuple[Matrix, Matrix, float, float]]:
    r"""Rounds of ADMM, with a copy :math:`\beta` of the diagonal of :math:`UV^\top`.

    With scaled multipliers :math:`\gamma` (the dissertation's appendix "Low-Rank EDLAE",
    [steck2020]_; :math:`\Lambda_1` its :math:`\Lambda`)

    .. math::
        R &= G\,\mathrm{diag}(1 + \beta) + \Omega\,\mathrm{diag}(\beta - \gamma), \qquad
        M = G + \Lambda_1 + \Omega \\
        U &\leftarrow M^{-1} R V (V^\top V)^{-1}, \qquad
        V^\top \leftarrow (U^\top M U)^{-1} U^\top R \\
        \beta &\leftarrow \frac{\mathrm{diag}(G U V^\top) - \mathrm{diag}(G) +
            \Omega (\mathrm{diag}(U V^\top) + \gamma)}{\mathrm{diag}(G) + \Omega - \Lambda_1},
        \qquad \gamma \leftarrow \gamma + \mathrm{diag}(U V^\top) - \beta.

    The printed rounds take :math:`\Lambda_1 = \Lambda` and :math:`\Omega = \Lambda + \omega I`. But
    they penalise all of :math:`UV^\top` by :math:`\Omega`, not only its diagonal, so where they
    come to rest W is stationary for the penalty :math:`\Lambda_1 + \Omega`, not
    :math:`\Lambda_1`. Here :math:`\Lambda_1 = 0` and :math:`\Omega = \Lambda`, which of the ways to
    split the penalty diverges least. Published settings :math:`(p, \lambda, \omega)` are ours with
    :math:`p' / (1 - p') = 2p / (1 - p)` and :math:`\lambda' = 2 \lambda + \omega`.

    Nothing bounds the objective from round to round, and often it diverges (docs/linear.md): that
    is why descent is the usual solver.
    """
    G, g, penalty, each = problem.G, problem.g, problem.penalty, problem.each
    beta, gamma = np.zeros(len(V)), np.zeros(len(V))
    with suppress(linalg.LinAlgError, ValueError):  # diverged: nothing more will come of it
        while True:
            with np.errstate(over="ignore", invalid="ignore"):
                right = penalty * (beta - gamma)
                RV = times(G, _scaled(1 + beta, V), each) + _scaled(right, V)
                U = _right_solve(times(problem.inverse, RV, each), V.T @ V)
                GU = times(G, U, each)
                UMU = U.T @ problem.with_penalty(GU, U)
                V = _right_solve(_scaled(1 + beta, GU) + _scaled(right, U), UMU)
                own = _rows(U, V)
                beta = _rows(GU, V) - g + penalty * (own + gamma)
                beta = np.where(g > 0, beta / np.where(g > 0, g + penalty, 1.0), 0.0)
                gamma = gamma + own - beta
                gap = float(np.linalg.norm(own - beta)) / (float(np.linalg.norm(own)) or 1.0)
                value = problem.value(U, V, GU)
            yield U, V, value, gap


def _rows(A: Matrix, B: Matrix) -> Float:
    """Dot products of rows, which is the diagonal of A B'."""
    return np.asarray(np.einsum("ik,ik->i", A, B, dtype=np.float64))


def _scaled(by: Float, A: Matrix) -> Matrix:
    """Rows times a number each, in the precision of A."""
    return np.asarray(by.astype(A.dtype)[:, None] * A)


def _positive(S: Matrix, made_in: np.dtype[Any]) -> Matrix:
    """A sum of squares as it should be: symmetric, and positive where rounding has hidden it."""
    S = (S + S.T) / 2
    S[np.diag_indices_from(S)] += np.finfo(made_in).eps * np.trace(S) / np.sqrt(len(S))
    return S


def _right_solve(B: Matrix, S: Matrix) -> Matrix:
    """B S^-1 for a small symmetric positive definite S, solved in float64."""
    factor = linalg.cho_factor(_positive(S.astype(np.float64), B.dtype), lower=True)
    return np.asarray(B @ linalg.cho_solve(factor, np.eye(len(S))).astype(B.dtype))
