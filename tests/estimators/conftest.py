"""Simulated rank tables of a smooth law, and the likelihood by scipy, rank by rank."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from truerank.estimators.cells import cells_of
from truerank.estimators.grid import RankGrid
from truerank.estimators.problem import Problem

Simulate = Callable[..., tuple[Problem, NDArray[np.int64]]]


@pytest.fixture
def problem_of() -> Callable[..., Problem]:
    """A problem from rows of one size."""

    def build(
        rank: object,
        n: int,
        n_items: int,
        *,
        replacement: bool = True,
        dense: bool = False,
        n_rows: float | None = None,
    ) -> Problem:
        r = np.asarray(rank, dtype=np.int64)
        cells, _ = cells_of(
            r,
            np.full(len(r), n),
            np.full(len(r), n_items),
            np.ones(len(r)),
            replacement=replacement,
        )
        grid = RankGrid(np.arange(1, n_items + 2)) if dense else None
        return Problem.of(cells, n_rows=n_rows or len(r), grid=grid)

    return build


@pytest.fixture
def simulate(problem_of: Callable[..., Problem]) -> Simulate:
    """A problem simulated from Beta(0.35, 2) ranks, and the true ranks."""

    def draw(
        n_items: int,
        n: int,
        n_rows: int,
        *,
        replacement: bool = True,
        dense: bool = False,
        seed: int = 0,
    ) -> tuple[Problem, NDArray[np.int64]]:
        rng = np.random.default_rng(seed)
        R = 1 + np.floor(n_items * rng.beta(0.35, 2.0, n_rows)).astype(np.int64)
        R = np.minimum(R, n_items)
        if replacement:
            r = 1 + rng.binomial(n - 1, (R - 1) / (n_items - 1))
        else:
            r = 1 + rng.hypergeometric(R - 1, n_items - R, n - 1)
        return problem_of(r, n, n_items, replacement=replacement, dense=dense), R

    return draw


@pytest.fixture
def scipy_likelihood() -> Callable[[int, int, bool], NDArray[np.float64]]:
    """P(r | R) for r = 1..n and R = 1..N: shape ``(n, N)``."""

    def build(n: int, n_items: int, replacement: bool) -> NDArray[np.float64]:
        x, R = np.arange(n)[:, None], np.arange(1, n_items + 1)[None, :]
        if replacement:
            return np.asarray(stats.binom.pmf(x, n - 1, (R - 1) / (n_items - 1)))
        return np.asarray(stats.hypergeom.pmf(x, n_items - 1, R - 1, n - 1))

    return build
