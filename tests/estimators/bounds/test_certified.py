"""What a screen certifies holds for the users at hand, whatever their targets have in common."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import truerank as tr
from truerank.estimators.bounds.certified import certified_bounds, is_certified
from truerank.estimators.samples import prepare
from truerank.metrics import parse
from truerank.ranking.screening.certificate import drop_probability

N_ITEMS, N_USERS, K = 600, 400, 10
METRICS = ["recall@1", "recall@10", "ndcg@10", "ap@5"]
USERS = np.arange(N_USERS)
DESIGN = tr.Screened(k=K, miss=0.04)


def popularity() -> tuple[tr.FactorScorer, np.ndarray]:
    """All users have one order: whole blocks of hits may be dropped together."""
    scorer = tr.FactorScorer(
        np.ones((N_USERS, 1), np.float32), -np.arange(N_ITEMS, dtype=np.float32)[:, None]
    )
    return scorer, np.random.default_rng(3).integers(0, 60, N_USERS)


def tastes() -> tuple[tr.FactorScorer, np.ndarray]:
    rng = np.random.default_rng(4)
    Y, targets = rng.normal(size=(N_ITEMS, 8)), rng.integers(0, N_ITEMS, N_USERS)
    X = rng.normal(size=(N_USERS, 8)) + rng.uniform(0, 1.5, (N_USERS, 1)) * Y[targets]
    return tr.FactorScorer(X.astype(np.float32), Y.astype(np.float32)), targets


@pytest.mark.parametrize("world", [popularity, tastes])
def test_bounds_hold_and_the_estimate_is_unbiased(world: object) -> None:
    scorer, targets = world()  # type: ignore[operator]
    full = tr.rank_pairs(scorer, USERS, targets, tr.Full())
    truth = np.array([e.value for e in tr.estimate(full, METRICS, n_boot=0)])
    repeats, values, inside, above = 400, [], np.zeros(len(METRICS)), 0
    for seed in range(repeats):
        table = tr.rank_pairs(scorer, USERS, targets, DESIGN, seed=seed)
        found = tr.estimate(table, METRICS, n_boot=0)
        values.append([e.value for e in found])
        bounds = np.array([e.diagnostics.bounds for e in found])
        assert (bounds[:, 0] <= truth + 1e-12).all()  # what is known is known
        inside += truth <= bounds[:, 1] + 1e-12
        above += (np.array(values[-1]) < truth - 1e-12).any()
    assert above > 0  # some targets were dropped, so that this test can fail
    assert (inside >= stats.binom.ppf(1e-4, repeats, 0.95)).all()
    error = np.mean(values, axis=0) - truth
    spread = np.std(values, axis=0, ddof=1) / np.sqrt(repeats)
    # Bonferroni makes p(R) a little too large: what is added back may be too much by p(R) at most.
    assert (error > -4 * spread - 1e-12).all()
    assert (error < 4 * spread + 0.02 * truth).all()


def test_bounds_are_their_formula() -> None:
    scorer, targets = tastes()
    table = tr.rank_pairs(scorer, USERS, targets, DESIGN, seed=5)
    stages = table.header.stages
    assert stages is not None
    for name in METRICS:
        metric = parse(name)
        low = likely = possible = 0.0
        for rank, size, n_items in zip(table.rank, table.n_sampled, table.n_items, strict=True):
            gain = float(metric.row_values(np.array([rank]), np.array([n_items]))[0]) / N_USERS
            if size == n_items:
                low += gain
                likely += gain * float(drop_probability(np.array([rank]), N_ITEMS, stages)[0])
            else:
                possible += gain
        worst = float(drop_probability(np.array([metric.k]), N_ITEMS, stages)[0])
        high = low + min(possible, likely / (0.1 - worst))
        assert certified_bounds(prepare(table), metric, 0.9) == pytest.approx((low, high), rel=1e-9)


def test_what_is_certified() -> None:
    scorer, targets = tastes()
    table = tr.rank_pairs(scorer, USERS, targets, DESIGN, seed=5)
    sample = prepare(table)
    assert all(is_certified(sample, parse(name)) for name in METRICS)
    assert not is_certified(sample, parse("recall@100"))
    assert not is_certified(sample, parse("mrr"))
    full = prepare(tr.rank_pairs(scorer, USERS, targets))
    assert not is_certified(full, parse("recall@10"))  # it is exact, which says more
    shared = prepare(tr.rank_pairs(scorer, USERS, targets, tr.Sampled(100, shared=20)))
    assert not is_certified(shared, parse("recall@10"))
    (beyond, within) = tr.estimate(table, ["recall@100", "recall@10"], n_boot=200)
    assert "certified by the screen" in str(within.diagnostics)
    assert "certified" not in str(beyond.diagnostics)
    assert within.diagnostics.bounds is not None
    assert within.diagnostics.bounds[0] <= within.value <= within.diagnostics.bounds[1]


def test_counts_certify_the_same() -> None:
    scorer, targets = tastes()
    table = tr.rank_pairs(scorer, USERS, targets, DESIGN, seed=6)
    counts = tr.RankCounts.from_table(table)
    assert counts.bucket is not None  # blocks go together
    for a, b in zip(
        tr.estimate(table, METRICS, n_boot=0), tr.estimate(counts, METRICS, n_boot=0), strict=True
    ):
        assert b.value == pytest.approx(a.value, rel=1e-12)
        assert b.diagnostics.bounds == pytest.approx(a.diagnostics.bounds, rel=1e-12)


def test_several_targets_a_user() -> None:
    scorer, _ = tastes()
    rng = np.random.default_rng(8)
    users = np.repeat(USERS, 3)
    items = np.concatenate([rng.choice(N_ITEMS, 3, replace=False) for _ in USERS])
    full = tr.rank_pairs(scorer, users, items)
    table = tr.rank_pairs(scorer, users, items, DESIGN, seed=1)
    metrics = ["recall@10", "ndcg@10"]
    truth = [e.value for e in tr.estimate(full, metrics, n_boot=0)]
    for known, found in zip(truth, tr.estimate(table, metrics, n_boot=0), strict=True):
        low, high = found.diagnostics.bounds or (1.0, 0.0)
        assert low - 1e-12 <= known <= high + 1e-12


def test_a_comparison_of_screens_is_that_of_exact_ranks() -> None:
    scorer, targets = tastes()
    worse = tr.FactorScorer(scorer.user_factors * 1.0, scorer.item_factors[:, ::-1].copy())
    exact = {n: tr.rank_pairs(s, USERS, targets) for n, s in (("a", scorer), ("b", worse))}
    design = tr.Screened(k=K)
    screened = {
        name: tr.rank_pairs(s, USERS, targets, design) for name, s in (("a", scorer), ("b", worse))
    }
    known = tr.compare(exact, ["recall@10"], test="bootstrap").comparisons[0]
    found = tr.compare(screened, ["recall@10"]).comparisons[0]
    mixed = tr.compare({"a": exact["a"], "b": screened["b"]}, ["recall@10"]).comparisons[0]
    assert found.difference == pytest.approx(known.difference, rel=0.02)
    for other in (found, mixed):  # paired: the error of a difference is that of exact ranks
        assert other.std_error == pytest.approx(known.std_error, rel=0.15)
