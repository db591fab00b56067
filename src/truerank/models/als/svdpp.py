"""SVD++ for implicit data: a user is a vector of their own and the sum of their items'."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.checks import check_counts, check_l2, check_not_negative, check_positive
from truerank.data.interactions import Interactions
from truerank.deprecation import renamed_parameters
from truerank.execution import Progress
from truerank.models.als.problem import ALSProblem, Ridge, frequency_scaled, observed, rows_of
from truerank.models.als.solvers import gram_of, objective, scores_of_pairs, solve_exactly
from truerank.models.factor_model import FactorModel, Factors, check_factor_room, start_factors
from truerank.models.input_checks import check_training_data
from truerank.numerics.dtypes import Precision, dtype_of
from truerank.numerics.threads import Each, on_all_cores
from truerank.rng import checked_seed


@renamed_parameters(reg="l2")
@dataclass(slots=True, eq=False)
class SVDpp(FactorModel):
    r"""SVD++ [koren2008]_ with the squared loss of iALS over all pairs instead of ratings.

    .. math::
        \min_{P,H,Y} \sum_{(u,i) \in S} c_{ui} (s_{ui} - 1)^2 + \alpha_0 \sum_u \sum_i s_{ui}^2
        + \sum_u \lambda_u |p_u|^2 + \sum_i \lambda_i (|h_i|^2 + |y_i|^2)

    .. math::
        s_{ui} = h_i \cdot \Bigl(p_u + |I_u|^{-1/2} \sum_{j \in I_u} y_j\Bigr), \qquad
        \lambda_u = \lambda (|I_u| + \alpha_0 |I|)^\nu, \quad
        \lambda_i = \lambda (|U_i| + \alpha_0 |U|)^\nu

    What differs from Koren's: every pair counts, not only rated ones; there are no biases, because
    there are no ratings to have a mean; and the sum over :math:`I_u` has item :math:`i` itself
    among the others when :math:`(u, i)` is observed, as his has.

    Solved by turns, each lowering the objective: :math:`H` exactly; :math:`Y`, which ties all
    users together, by ``cg_steps`` conjugate gradients on the whole of it; :math:`P` exactly (a
    ridge regression towards zero around what :math:`Y` says). New users get their :math:`p` in the
    same way. :math:`c` are the weights of the interactions, ones where there are none.

    Memory: as :class:`IALS`, and five more matrices of items x dim, three of users x dim.

    Attributes:
        dim: Dimensions of the factors.
        l2: lambda, positive.
        unobserved_weight: alpha_0, at least 0.
        nu: How far penalties follow the number of interactions.
        epochs: Turns.
        cg_steps: Conjugate gradients for Y per turn.
        init_std: Length of the users' vectors at the start, about.
        seed: Of the random start.
        dtype: ``"float32"`` or ``"float64"``.
        track_objective: Note the objective after each epoch in ``objectives``.
    """

    dim: int = 64
    l2: float = 0.003
    unobserved_weight: float = 0.1
    nu: float = 1.0
    epochs: int = 16
    cg_steps: int = 3
    init_std: float = 0.1
    seed: int = 0
    dtype: Precision = "float32"
    track_objective: bool = False
    user_factors: Factors = field(init=False, repr=False)
    item_factors: Factors = field(init=False, repr=False)
    implicit_factors: Factors = field(init=False, repr=False)
    objectives: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_counts(dim=self.dim, epochs=self.epochs, cg_steps=self.cg_steps)
        check_l2(self.l2)
        check_positive(init_std=self.init_std)
        check_not_negative(unobserved_weight=self.unobserved_weight, nu=self.nu)
        checked_seed(self.seed)
        dtype_of(self.dtype)

    def fit(self, interactions: Interactions, *, workers: int | None = None) -> Self:
        """Take turns; the result has the same bits for any number of ``workers`` (threads)."""
        check_training_data(interactions)
        check_factor_room(interactions, 2 * self.dim, self.dtype, "SVDpp")
        weights, dtype = observed(interactions), dtype_of(self.dtype)
        problem = ALSProblem.of(
            weights, weights.data,
            unobserved_weight=self.unobserved_weight, ridge=self._ridge(), dtype=dtype,
        )  # fmt: skip
        share = shares(weights, dtype)
        Z = start_factors(len(problem.users.ridge), self.dim, self.init_std, self.seed, self.dtype)
        Y = np.zeros((interactions.n_items, self.dim), dtype)
        P, objectives = Z, []
        with on_all_cores(workers) as each, Progress("fitting SVDpp", total=self.epochs) as bar:
            for _ in range(self.epochs):
                H = solve_exactly(problem.items, Z, self.unobserved_weight, each)
                Y = _improve_implicit(
                    problem, weights.astype(dtype), share, P, H, Y, self.cg_steps, each
                )
                prior = share @ Y
                Z = solve_exactly(problem.users, H, self.unobserved_weight, each, prior=prior)
                P = Z - prior
                if self.track_objective:
                    objectives.append(_objective(problem, P, Z, H, Y, each))
                bar.advance()
        self.user_factors, self.item_factors, self.implicit_factors = Z, H, Y
        self.objectives = np.array(objectives)
        self.record_training_data(interactions)
        return self

    def solve_users(self, history: Interactions) -> Factors:
        """What the items of each user say, and the best vector of their own besides."""
        weights, dtype = observed(history), dtype_of(self.dtype)
        rows = rows_of(weights, weights.data, ridge=self._ridge(), dtype=dtype)
        prior = shares(weights, dtype) @ self.implicit_factors
        with on_all_cores() as each:
            return solve_exactly(rows, self.item_factors, self.unobserved_weight, each, prior=prior)

    def _ridge(self) -> Ridge:
        return frequency_scaled(self.l2, self.unobserved_weight, self.nu)


def shares(weights: sparse.csr_array, dtype: type[np.floating[Any]]) -> sparse.csr_array:
    """Every interaction as one over the root of its user's number of them."""
    counts = np.diff(weights.indptr)
    data = np.repeat(1.0 / np.sqrt(np.maximum(counts, 1)), counts).astype(dtype)
    return sparse.csr_array((data, weights.indices, weights.indptr), weights.shape)


def _improve_implicit(
    problem: ALSProblem,
    weights: sparse.csr_array,
    share: sparse.csr_array,
    P: Factors,
    H: Factors,
    Y: Factors,
    steps: int,
    each: Each[Any],
) -> Factors:
    r"""Conjugate gradients on Y, from where it is.

    With :math:`N` the shares, half the gradient is :math:`N^\top R H + \lambda_i Y` for the
    residuals :math:`R = c \circ (Z H^\top - 1)` on the observed pairs, plus
    :math:`\alpha_0 N^\top Z H^\top H` for all of them. The diagonal penalty preconditions.
    """
    shared = problem.unobserved_weight * gram_of(H, each).astype(H.dtype)
    ridge = problem.items.ridge[:, None]

    def pulled(Z: Factors, target: float) -> Factors:
        """From movements of users to forces on items."""
        scores = scores_of_pairs(problem.users, Z, H, each)
        pairs = sparse.csr_array(
            (weights.data * (scores - target), weights.indices, weights.indptr), weights.shape
        )
        return np.asarray(share.T @ (pairs @ H + Z @ shared))

    def inner(a: Factors, b: Factors) -> float:
        return float(np.einsum("ij,ij->", a, b, dtype=np.float64))

    one, none = H.dtype.type(1), H.dtype.type(0)
    residual = -(pulled(P + share @ Y, one) + ridge * Y)
    ahead = residual / ridge
    direction, size = ahead, inner(residual, ahead)
    for _ in range(steps):
        if size == 0:
            break
        curved = pulled(share @ direction, none) + ridge * direction
        step = H.dtype.type(size / inner(direction, curved))
        Y = Y + step * direction
        residual = residual - step * curved
        ahead = residual / ridge
        before, size = size, inner(residual, ahead)
        direction = ahead + H.dtype.type(size / before) * direction
    return Y


def _objective(
    problem: ALSProblem, P: Factors, Z: Factors, H: Factors, Y: Factors, each: Each[Any]
) -> float:
    """That of iALS for Z and H, with the penalty on P in place of Z, and that on Y."""

    def penalty(ridge: Factors, x: Factors) -> float:
        return float(np.einsum("r,rd,rd->", ridge, x, x, dtype=np.float64))

    users, items = problem.users.ridge, problem.items.ridge
    return (
        objective(problem, Z, H, each) + penalty(users, P) - penalty(users, Z) + penalty(items, Y)
    )
