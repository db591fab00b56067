"""What iALS, WMF and debiased iALS share: they differ in their observed pairs and penalties."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.checks import check_counts, check_one_of, check_positive
from truerank.data.interactions import Interactions
from truerank.execution import Progress
from truerank.models.als.problem import ALSProblem, Ridge, rows_of
from truerank.models.als.solvers import (
    SOLVERS,
    ALSSolver,
    Method,
    alternate,
    objective,
    solve_exactly,
)
from truerank.models.factor_model import FactorModel, Factors, check_factor_room, start_factors
from truerank.models.input_checks import check_training_data
from truerank.numerics.dtypes import Precision, dtype_of
from truerank.numerics.threads import on_all_cores
from truerank.rng import checked_seed


class _Alternated(FactorModel):
    """Parameters that every model by ALS has, each at its own place in the order."""

    __slots__ = ()
    dim: int
    epochs: int


@dataclass(slots=True, eq=False, kw_only=True)
class ALSModel(_Alternated):
    """A model fitted by :mod:`.solvers`; it says what its problem is.

    Attributes:
        solver: ``"cholesky"``, ``"cg"`` or ``"block"``; see :mod:`.solvers`.
        cg_steps: Steps per row and half-step of ``"cg"``.
        block_size: Dimensions solved together by ``"block"``.
        init_std: Length of the users' vectors at the start, about.
        seed: Of the random start.
        dtype: ``"float32"`` or ``"float64"``.
        track_objective: Note the objective after each epoch in ``objectives``; costs about as
            much as one step of ``"cg"`` per epoch.
    """

    solver: ALSSolver = "cholesky"
    cg_steps: int = 3
    block_size: int = 32
    init_std: float = 0.1
    seed: int = 0
    dtype: Precision = "float32"
    track_objective: bool = False
    user_factors: Factors = field(init=False, repr=False)
    item_factors: Factors = field(init=False, repr=False)
    objectives: NDArray[np.float64] = field(init=False, repr=False)

    @abstractmethod
    def pairs(self, interactions: Interactions) -> tuple[sparse.csr_array, NDArray[np.float64]]:
        """Curvature and pull of every observed pair."""

    @abstractmethod
    def ridge(self) -> Ridge:
        """The penalties of rows."""

    @abstractmethod
    def weight_of_all(self) -> float:
        """The weight of the squared scores of all pairs."""

    def fit(self, interactions: Interactions, *, workers: int | None = None) -> Self:
        """Alternate; the result has the same bits for any number of ``workers`` (threads)."""
        check_training_data(interactions)
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
        self.record_training_data(interactions)
        return self

    def problem(self, interactions: Interactions) -> ALSProblem:
        """What is minimised on these data; see :mod:`.problem`."""
        curvature, pull = self.pairs(interactions)
        return ALSProblem.of(
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
        check_one_of("solver", self.solver, SOLVERS)
        checked_seed(self.seed)
        dtype_of(self.dtype)
