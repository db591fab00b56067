"""What iALS, WMF and debiased iALS share: they differ in their observed pairs and penalties."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError
from truerank.execution import Progress
from truerank.models.als_problem import Problem, Ridge, rows_of
from truerank.models.als_solvers import SOLVERS, Method, Solver, alternate, objective, solve_exactly
from truerank.models.factor_model import (
    FactorModel,
    Factors,
    check_counts,
    check_factor_room,
    check_positive,
    start_factors,
)
from truerank.models.parallel import on_all_cores
from truerank.models.precision import Precision, dtype_of
from truerank.rng import checked_seed


class ALSModel(FactorModel):
    """A model fitted by :mod:`.als_solvers`; it says what its problem is."""

    __slots__ = ("objectives",)
    dim: int
    epochs: int
    solver: Solver
    cg_steps: int
    block_size: int
    init_std: float
    seed: int
    dtype: Precision
    track_objective: bool
    objectives: NDArray[np.float64]

    def pairs(self, interactions: Interactions) -> tuple[sparse.csr_array, NDArray[np.float64]]:
        """Curvature and pull of every observed pair."""
        raise NotImplementedError

    def ridge(self) -> Ridge:
        """The penalties of rows."""
        raise NotImplementedError

    def weight_of_all(self) -> float:
        """The weight of the squared scores of all pairs."""
        raise NotImplementedError

    def fit(self, interactions: Interactions, *, workers: int | None = None) -> Self:
        """Alternate; the result has the same bits for any number of ``workers`` (threads)."""
        check_factor_room(interactions, self.dim, self.dtype, type(self).__name__)
        problem = self.problem(interactions)
        start = start_factors(interactions.n_users, self.dim, self.init_std, self.seed, self.dtype)
        method = Method(solver=self.solver, cg_steps=self.cg_steps, block_size=self.block_size)
        objectives: list[float] = []
        label = f"fitting {type(self).__name__}"
        with on_all_cores(workers) as each, Progress(label, total=self.epochs) as bar:

            def after_epoch(W: Factors, H: Factors) -> None:
                bar.advance()
                if self.track_objective:
                    objectives.append(objective(problem, W, H, each))

            self.user_factors, self.item_factors = alternate(
                problem, start, method, each, epochs=self.epochs, after_epoch=after_epoch
            )
        self.objectives = np.array(objectives)
        self.remember(interactions)
        return self

    def problem(self, interactions: Interactions) -> Problem:
        """What is minimised on these data; see :mod:`.als_problem`."""
        curvature, pull = self.pairs(interactions)
        return Problem.of(
            curvature,
            pull,
            unobserved_weight=self.weight_of_all(),
            ridge=self.ridge(),
            dtype=dtype_of(self.dtype),
        )

    def solve_users(self, history: Interactions) -> Factors:
        """The exact minimum of each user's part of the objective, the items fixed."""
        curvature, pull = self.pairs(history)
        rows = rows_of(curvature, pull, ridge=self.ridge(), dtype=dtype_of(self.dtype))
        with on_all_cores() as each:
            return solve_exactly(rows, self.item_factors, self.weight_of_all(), each)

    def check_settings(self) -> None:
        """What every model of this kind asks of its parameters."""
        check_counts(
            dim=self.dim, epochs=self.epochs, cg_steps=self.cg_steps, block_size=self.block_size
        )
        check_positive(init_std=self.init_std)
        if self.solver not in SOLVERS:
            raise InvalidArgumentError("solver", self.solver, f"one of {SOLVERS}")
        checked_seed(self.seed)
        dtype_of(self.dtype)
