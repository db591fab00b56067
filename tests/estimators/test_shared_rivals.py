"""Users who share their rivals err together: intervals come from resampling their blocks.

The world is the worst one: every user orders the items by popularity, so all users of a block have
the same rivals above and below. What is estimated is the metric on the samples themselves
(``naive``), whose error is that of users and draws and of no method.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import truerank as tr
from truerank.estimators.samples import blocks_sharing, prepare

N_ITEMS, N_USERS, REPEATS = 400, 800, 300
METRICS = ["recall@1", "recall@5", "ndcg@10"]
POPULARITY = 1.0 / (np.arange(N_ITEMS) + 5.0)
SCORER = tr.FactorScorer(
    np.ones((N_USERS, 1), np.float32), -np.arange(N_ITEMS, dtype=np.float32)[:, None]
)


@pytest.fixture(scope="module")
def runs() -> dict[str, np.ndarray]:
    """Values, standard errors by blocks and by users, and intervals, of fresh users and draws."""
    found: dict[str, list[list[float]]] = {name: [] for name in ("value", "blocks", "users")}
    ends: list[list[tuple[float, float]]] = []
    for seed in range(REPEATS):
        rng = np.random.default_rng([seed, 1])
        targets = rng.choice(N_ITEMS, N_USERS, p=POPULARITY / POPULARITY.sum())
        table = tr.rank_pairs(
            SCORER, np.arange(N_USERS), targets, tr.Sampled(60, shared=20), seed=seed
        )
        sample = prepare(table)
        by_block = tr.estimate(sample, METRICS, "naive", n_boot=200, seed=seed, bounds=False)
        by_user = tr.estimate(
            replace(sample, block=None), METRICS, "naive", n_boot=200, seed=seed, bounds=False
        )
        found["value"].append([e.value for e in by_block])
        found["blocks"].append([e.std_error for e in by_block])
        found["users"].append([e.std_error for e in by_user])
        ends.append([e.interval() for e in by_block])
    assert blocks_sharing(table) == 40
    return {name: np.array(values) for name, values in found.items()} | {"ends": np.array(ends)}


def test_standard_errors_of_blocks_are_right_and_those_of_users_too_small(
    runs: dict[str, np.ndarray],
) -> None:
    spread = runs["value"].std(axis=0, ddof=1)
    ratio = runs["blocks"].mean(axis=0) / spread
    # The spread is known to 1 / sqrt(2 * 299) = 4 %; 40 blocks are 1 % too small.
    assert (np.abs(ratio - 1) < 4 * 0.041 + 0.02).all()
    assert (runs["users"].mean(axis=0) < 0.85 * spread).all()


def test_intervals_cover(runs: dict[str, np.ndarray]) -> None:
    truth = runs["value"].mean(axis=0)  # known 17 times better than each value
    low, high = runs["ends"][:, :, 0], runs["ends"][:, :, 1]
    covered = ((low <= truth) & (truth <= high)).sum(axis=0)
    least = stats.binom.ppf(1e-4, REPEATS, 0.925)  # percentiles of 40 blocks are a little short
    assert (covered >= least).all()


def test_bounds_widen_by_the_design_effect() -> None:
    targets = np.random.default_rng(2).choice(N_ITEMS, N_USERS, p=POPULARITY / POPULARITY.sum())
    users = np.arange(N_USERS)
    shared = prepare(tr.rank_pairs(SCORER, users, targets, tr.Sampled(60, shared=20)))
    alone = prepare(tr.rank_pairs(SCORER, users, targets, tr.Sampled(60)))
    assert shared.design_effect > 1.3
    assert alone.design_effect == 1.0
    low, high = tr.estimate(shared, "recall@20", n_boot=0)[0].diagnostics.bounds or (0, 0)
    as_if = tr.estimate(replace(shared, block=None), "recall@20", n_boot=0)[0].diagnostics
    assert as_if.bounds is not None
    assert low <= as_if.bounds[0]
    assert high >= as_if.bounds[1]
    assert "fewer than 20 blocks" in str(as_if)


def test_few_blocks_are_said() -> None:
    targets = np.random.default_rng(2).integers(0, N_ITEMS, N_USERS)
    table = tr.rank_pairs(SCORER, np.arange(N_USERS), targets, tr.Sampled(60, shared=400))
    (found,) = tr.estimate(table, "recall@20", n_boot=100)
    assert "fewer than 20 blocks" in str(found.diagnostics)
