"""The ways a row can take through an adaptive design."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truerank.errors import InvalidDataError
from truerank.estimators.bounds.identification import compatible_set
from truerank.estimators.bounds.paths import stopping
from truerank.estimators.grid import RankGrid
from truerank.estimators.likelihood import likelihood_matrix
from truerank.ranking import RankCounts
from truerank.ranking.designs import Adaptive
from truerank.ranking.stages import Stages

from .bounds_world import (
    problem_of,
)


@st.composite
def schedules(draw_: st.DrawFn) -> tuple[Stages, int, bool]:
    n_items = draw_(st.integers(3, 24))
    sizes = sorted(draw_(st.sets(st.integers(2, 30), min_size=1, max_size=5)))
    max_rank = [draw_(st.integers(0, size)) for size in sizes]
    keep = [draw_(st.floats(0, 1)) for _ in sizes]
    return (
        Stages(np.array(sizes), np.array(max_rank), np.array(keep)),
        n_items,
        draw_(st.booleans()),
    )


def all_cells(stages: Stages, n_items: int, replacement: bool) -> RankCounts:
    sizes = stages.capped(n_items, replacement=replacement).sizes.tolist()
    pairs = [(r, n) for n in sizes for r in range(1, n + 1)]
    rank, n = (np.array(column) for column in zip(*pairs, strict=True))
    return RankCounts.from_arrays(rank, n, n_items, replacement=replacement)


def paths_for(stages: Stages, cells: RankCounts, n_items: int, replacement: bool) -> np.ndarray:
    """path(cell) for each cell."""
    own = stages.capped(n_items, replacement=replacement)
    paths = np.empty(len(cells))
    for stage, n in enumerate(own.sizes):
        here = cells.n_sampled == n
        paths[here] = stopping(own, stage, cells.rank[here])
    return paths


@given(schedules())
@settings(max_examples=150, deadline=None)
def test_a_row_ends_somewhere_whatever_its_rank(case: tuple[Stages, int, bool]) -> None:
    """The paths are probabilities only if P(cell | R) sums to one for each R."""
    stages, n_items, replacement = case
    cells = all_cells(stages, n_items, replacement)
    A = likelihood_matrix(cells, RankGrid.of(n_items))
    total = paths_for(stages, cells, n_items, replacement) @ A
    np.testing.assert_allclose(total, 1.0, atol=1e-10)


@pytest.mark.parametrize("replacement", [False, True])
def test_paths_agree_with_playing_the_design(replacement: bool) -> None:
    """Rivals drawn one by one, for each R; no hypergeometric anywhere. False alarm < 1e-4."""
    stages = Stages(np.array([3, 6, 9, 40]), np.array([2, 3, 1, 0]), np.array([0.4, 0.7, 1.0, 1.0]))
    n_items, repeats = 12, 5_000
    rng = np.random.default_rng(11)
    cells = all_cells(stages, n_items, replacement)
    keys = cells.rank, cells.n_sampled
    place = {(int(r), int(n)): c for c, (r, n) in enumerate(zip(*keys, strict=True))}
    P = paths_for(stages, cells, n_items, replacement)[:, None]
    P = P * likelihood_matrix(cells, RankGrid.of(n_items))
    most = n_items - 1 if replacement else n_items
    worst = 0.0
    for R in (1, 2, 4, 9, 12):
        seen = np.zeros(len(cells))
        for _ in range(repeats):
            rivals = (
                rng.integers(1, n_items, n_items)
                if replacement
                else rng.permutation(n_items - 1) + 1
            )
            for size, last, keep in zip(
                stages.sizes, stages.max_rank, stages.continue_prob, strict=True
            ):
                n = min(int(size), most)
                r = 1 + int((rivals[: n - 1] < R).sum())
                if n == most or r > last or (r == last and rng.random() >= keep):
                    break
            seen[place[r, n]] += 1
        p = P[:, R - 1]
        assert (seen[p < 1e-12] == 0).all()
        z = (seen - repeats * p) / np.sqrt(repeats * p * (1 - p) + 1e-9)
        worst = max(worst, float(np.abs(z[(p > 1e-3) & (p < 1 - 1e-9)]).max(initial=0.0)))
    assert worst < 5.0  # some 150 cells at 6e-7 each


def test_a_size_the_design_cannot_end_at_is_refused() -> None:
    stages = Adaptive(n0=10, n_max=40).stages(1000)
    problem = problem_of(np.array([1, 2, 3]), np.array([40, 20, 15]), 1000)
    with pytest.raises(InvalidDataError, match=r"sample size 15.*10, 20, 40"):
        compatible_set(problem, problem.cells.shares, stages=stages)
