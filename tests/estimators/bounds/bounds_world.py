"""Sampled ranks of known distributions, for tests of bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from truerank.arrays import Float
from truerank.estimators.bounds.identification import compatible_set
from truerank.estimators.cells import cells_of
from truerank.estimators.grid import RankGrid
from truerank.estimators.problem import Problem
from truerank.metrics import Metric, parse
from truerank.ranking.designs import Sampled
from truerank.ranking.stages import Stages

RankSampler = Callable[[np.random.Generator, int, int], np.ndarray]
METRICS = [parse(name) for name in ("recall@5", "ndcg@10", "ap@10")]


def log_normal_ranks(rng: np.random.Generator, m: int, n_items: int) -> np.ndarray:
    """Global ranks of a plausible model: most mass near the top, a long tail."""
    ranks = np.exp(rng.normal(np.log(n_items / 12), 1.6, size=m)).astype(np.int64) + 1
    return np.minimum(ranks, n_items)


def power_law_ranks(rng: np.random.Generator, m: int, n_items: int) -> np.ndarray:
    """Recall@K = (K / N)^0.45: at N = 9,836 recall@10 is 0.045, as real models have it."""
    return np.ceil(n_items * rng.random(m) ** (1 / 0.45)).astype(np.int64)


def draw(
    rng: np.random.Generator, R: np.ndarray, n_items: np.ndarray, stages: Stages
) -> tuple[np.ndarray, np.ndarray]:
    """Sampled ranks and sizes without replacement, stage by stage."""
    better, drawn = np.zeros_like(R), np.zeros_like(R)
    active = np.arange(len(R))
    for size, last, keep in zip(stages.sizes, stages.max_rank, stages.continue_prob, strict=True):
        more = np.minimum(size, n_items[active]) - 1 - drawn[active]
        good = R[active] - 1 - better[active]
        bad = n_items[active] - 1 - drawn[active] - good
        better[active] += rng.hypergeometric(good, bad, more)
        drawn[active] += more
        rank = better[active] + 1
        going = (rank < last) | ((rank == last) & (rng.random(len(active)) < keep))
        active = active[going & (drawn[active] < n_items[active] - 1)]
    return better + 1, drawn + 1


def problem_of(
    rank: np.ndarray, n: np.ndarray, n_items: np.ndarray | int, grid: RankGrid | None = None
) -> Problem:
    n_items = np.broadcast_to(n_items, rank.shape)
    cells, _ = cells_of(rank, n, n_items, np.ones(len(rank)), replacement=False)
    return Problem.of(cells, n_rows=len(rank), grid=grid)


def sampled_problem(
    seed: int, m: int, n: int, n_items: int, ranks: RankSampler = log_normal_ranks
) -> Problem:
    rng = np.random.default_rng(seed)
    R = ranks(rng, m, n_items)
    rank, size = draw(rng, R, np.full(m, n_items), Sampled(n).stages(n_items))
    return problem_of(rank, size, n_items)


def width(bounds: tuple[float, float]) -> float:
    return bounds[1] - bounds[0]


def identification_bounds(
    problem: Problem,
    metrics: Sequence[Metric],
    shares: Float,
    *,
    confidence: float = 0.95,
    stages: Stages | None = None,
    n_effective: float | None = None,
) -> list[tuple[float, float]]:
    """Smallest and largest value of each metric over all compatible rank distributions."""
    found = compatible_set(
        problem, shares, confidence=confidence, stages=stages, n_effective=n_effective
    )
    return found.bounds(metrics)
