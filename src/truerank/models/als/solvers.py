r"""Alternating least squares: solve all items, then all users, again and again.

With one side fixed the objective of :mod:`.problem` falls apart into one small problem per row
of the other side, whose matrix is :math:`\alpha_0 H^\top H + H_S^\top \mathrm{diag}(p) H_S +
\lambda I`. The first part is shared: its eigenvectors :math:`Q` are found once per half-step and
both sides are turned, :math:`W Q` and :math:`H Q`, which changes no score and no length. In these
axes it is diagonal, and :mod:`.kernels` need not carry it from row to row.

==============  ==============================================================================
solver          what a half-step does to each row
==============  ==============================================================================
``"cholesky"``  the exact minimum; the system is as small as the fewer of its interactions and
                the dimensions
``"cg"``        a few steps of conjugate gradients from where it was [takacs2011]_, with the shared
                part as preconditioner
``"block"``     exact within blocks of dimensions, one after the other: iALS++ [rendle2021]_, its
                blocks taken along the eigenvectors
==============  ==============================================================================

None of them ever raises the objective, up to rounding. Results have the same bits for any number
of threads: rows are independent, and shared sums are taken over fixed blocks in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from truerank.errors import InvalidDataError
from truerank.models.als.kernels import (
    Floats,
    ObservedRows,
    observed_loss,
    pair_scores,
    solve_blocks,
    solve_cg,
)
from truerank.models.als.problem import ALSProblem
from truerank.numerics.threads import Each

ALSSolver = Literal["cholesky", "cg", "block"]
SOLVERS: tuple[str, ...] = get_args(ALSSolver)

BLOCK_ROWS = 4096
"""Rows of a matrix product done at once; fixed, because sums depend on it."""

TASKS = 64
"""Tasks of a half-step, with about equally many interactions each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A solver with its setting.

    Attributes:
        solver: One of :data:`SOLVERS`.
        cg_steps: Of conjugate gradients per row and half-step.
        block_size: Dimensions solved together by ``"block"``.
    """

    solver: ALSSolver = "cholesky"
    cg_steps: int = 3
    block_size: int = 32


def alternate(
    problem: ALSProblem,
    start: Floats,
    method: Method,
    each: Each[Any],
    *,
    epochs: int,
    after_epoch: Callable[[Floats, Floats], object],
) -> tuple[Floats, Floats]:
    """User and item factors after so many epochs, from user factors to start with.

    The last half-step solves the users exactly whatever the method, and in the axes of the item
    factors it returns: a user folded in later gets the vector of a known user with the same
    history, bit by bit.
    """
    W, H = start, np.zeros((len(problem.items.ridge), start.shape[1]), start.dtype)
    weight = problem.unobserved_weight
    for epoch in range(epochs):
        W, H = half_step(problem.items, W, H, weight, method, each)
        if epoch < epochs - 1:
            H, W = half_step(problem.users, H, W, weight, method, each)
        else:
            W = solve_exactly(problem.users, H, weight, each)
        after_epoch(W, H)
    return W, H


def half_step(
    rows: ObservedRows,
    fixed: Floats,
    moving: Floats,
    weight: float,
    method: Method,
    each: Each[Any],
) -> tuple[Floats, Floats]:
    """Both sides in new axes, the moving one solved; ``moving`` is where iterations start."""
    spectrum, Q = principal_axes(fixed, weight, each)
    fixed = times(fixed, Q, each)
    exact = method.solver == "cholesky"  # then it does not matter where the rows were
    moving = np.empty_like(moving) if exact else times(moving, Q, each)
    _run(rows, fixed, spectrum, np.empty((0, len(Q)), Q.dtype), moving, method, each)
    return fixed, moving


def solve_exactly(
    rows: ObservedRows,
    fixed: Floats,
    weight: float,
    each: Each[Any],
    *,
    prior: Floats | None = None,
) -> Floats:
    r"""The minimum for every row, in the axes of ``fixed``.

    With a ``prior`` :math:`m` the penalty is :math:`\lambda |x - m|^2`.
    """
    spectrum, Q = principal_axes(fixed, weight, each)
    turned = times(fixed, Q, each)
    solved = np.empty((len(rows.ridge), len(Q)), Q.dtype)
    offset = np.empty((0, len(Q)), Q.dtype)
    if prior is not None:
        # spectrum x^2 + ridge (x - m)^2 has its lowest point between 0 and m.
        ridge = rows.ridge[:, None]
        offset = times(prior, Q, each) * (ridge / (spectrum + ridge))
    _run(rows, turned, spectrum, offset, solved, Method(), each)
    return times(solved, np.ascontiguousarray(Q.T), each)


def principal_axes(fixed: Floats, weight: float, each: Each[Any]) -> tuple[Floats, Floats]:
    """Eigenvalues (times the weight) and eigenvectors of the Gram matrix, found in float64."""
    values, vectors = np.linalg.eigh(weight * gram_of(fixed, each))
    return np.maximum(values, 0.0).astype(fixed.dtype), vectors.astype(fixed.dtype)


def gram_of(factors: Floats, each: Each[Any]) -> NDArray[np.float64]:
    """F'F: blocks in the precision of the factors, their sum in float64."""
    starts = range(0, len(factors), BLOCK_ROWS)
    parts: dict[int, Floats] = {}

    def block(start: int) -> None:
        rows = factors[start : start + BLOCK_ROWS]
        parts[start] = rows.T @ rows

    each(block, starts)
    total = np.zeros((factors.shape[1], factors.shape[1]))
    for start in starts:
        total += parts[start]
    return total


def times(factors: Floats, Q: Floats, each: Each[Any]) -> Floats:
    """The product with a small matrix, by blocks of rows."""
    product = np.empty_like(factors)

    def block(start: int) -> None:
        rows = slice(start, start + BLOCK_ROWS)
        np.matmul(factors[rows], Q, out=product[rows])

    each(block, range(0, len(factors), BLOCK_ROWS))
    return product


def objective(problem: ALSProblem, W: Floats, H: Floats, each: Each[Any]) -> float:
    """The objective of :mod:`.problem`: about as costly as a step of conjugate gradients."""
    cuts = tasks_of(problem.users)
    losses = np.zeros(len(cuts) - 1)

    def task(k: int) -> None:
        losses[k] = observed_loss(problem.users, cuts[k], cuts[k + 1], W, H)

    each(task, range(len(losses)))
    everywhere = float(np.sum(gram_of(W, each) * gram_of(H, each)))
    penalty = sum(
        float(np.einsum("r,rd,rd->", rows.ridge, x, x, dtype=np.float64))
        for rows, x in ((problem.users, W), (problem.items, H))
    )
    return float(losses.sum()) + problem.constant + problem.unobserved_weight * everywhere + penalty


def scores_of_pairs(rows: ObservedRows, solved: Floats, fixed: Floats, each: Each[Any]) -> Floats:
    """The scores of the observed pairs, in their order."""
    cuts, scores = tasks_of(rows), np.empty(len(rows.indices), solved.dtype)
    each(
        lambda k: pair_scores(rows, cuts[k], cuts[k + 1], solved, fixed, scores),
        range(len(cuts) - 1),
    )
    return scores


def _run(
    rows: ObservedRows,
    fixed: Floats,
    spectrum: Floats,
    offset: Floats,
    out: Floats,
    method: Method,
    each: Each[Any],
) -> None:
    """Solve every row into ``out``, in tasks."""
    cuts, d = tasks_of(rows), fixed.shape[1]
    width = min(method.block_size, d) if method.solver == "block" else d

    def task(k: int) -> None:
        first, last = cuts[k], cuts[k + 1]
        if method.solver == "cg":
            solve_cg(rows, first, last, fixed, spectrum, method.cg_steps, out)
        else:
            solve_blocks(rows, first, last, fixed, spectrum, offset, width, out)

    try:
        each(task, range(len(cuts) - 1))
        solved = bool(np.isfinite(out.sum(dtype=np.float64)))
    except np.linalg.LinAlgError:
        solved = False
    if not solved:
        raise InvalidDataError(
            f"the equations are too badly conditioned for {fixed.dtype}: the penalty l2 is too "
            "small for these weights; raise it or ask for dtype='float64'"
        )


def tasks_of(rows: ObservedRows) -> list[int]:
    """Borders of tasks with about equally many interactions; an empty row costs something too."""
    cost = rows.indptr[1:] + 16 * np.arange(1, len(rows.indptr))
    inner = np.searchsorted(cost, np.linspace(0, cost[-1], TASKS + 1)[1:-1])
    return [0, *(int(cut) for cut in inner), len(cost)]
