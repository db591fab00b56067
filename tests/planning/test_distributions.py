"""Distributions of ranks that plans assume: typical ones, and those that a pilot leaves open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import truerank as tr
from truerank.estimators.simulate import simulate
from truerank.metrics import parse
from truerank.planning.distributions import typical_distributions
from truerank.planning.pilots import pilot_distributions, pilot_value, step_strength

RECALL = parse("recall@10")
N_ITEMS = 5_000


@pytest.mark.parametrize("metric", ["recall@1", "ndcg@10", "ap", "auc"])
@pytest.mark.parametrize("n_items", [300, 10_000_000])
def test_typical_distributions_have_the_expected_level_and_differ(
    metric: str, n_items: int
) -> None:
    chosen = parse(metric)
    level = 0.8 if metric == "auc" else 0.15
    distributions = typical_distributions(n_items, chosen, level)
    for distribution in distributions:
        assert distribution.mass.sum() == pytest.approx(1)
        assert (distribution.mass >= 0).all()
        assert distribution.moments(chosen)[0] == pytest.approx(level, rel=1e-6)
    upto = np.cumsum([distribution.mass for distribution in distributions], axis=1)
    assert np.ptp(upto, axis=0).max() > 0.03


def test_draws_follow_the_law() -> None:
    """Shares of the top, and of a wide bin, within 4.5 standard errors: P < 1e-5 each."""
    distribution, n = typical_distributions(50_000, RECALL, 0.1)[1], 40_000
    ranks = distribution.draw(n, np.random.default_rng(1)).rank
    mean, sd = distribution.moments(RECALL)
    assert sd == pytest.approx(np.sqrt(mean * (1 - mean)), rel=1e-6)
    assert np.mean(ranks <= 10) == pytest.approx(mean, abs=4.5 * sd / np.sqrt(n))
    below = distribution.mass[distribution.grid.edges[1:] <= 10_001].sum()
    cut = distribution.grid.edges[1:][distribution.grid.edges[1:] <= 10_001][-1]
    assert np.mean(ranks < cut) == pytest.approx(below, abs=4.5 * 0.5 / np.sqrt(n))
    assert ranks.max() <= 50_000


@pytest.mark.parametrize("design", [tr.Full(), tr.Adaptive()], ids=["full", "adaptive"])
def test_distributions_of_a_pilot_spread_as_far_as_the_pilot_leaves_open(design: object) -> None:
    """The draws' spread is the error of the pilot's own estimate, in both directions.

    24 pilots; the spread of 16 draws is known to 18 % each time, and the error to 14 %.
    """
    distribution, m = typical_distributions(N_ITEMS, RECALL, 0.1)[2], 1_000
    rng, errors, spreads = np.random.default_rng(2), [], []
    for run in range(24):
        pilot = simulate(distribution.draw(m, rng), design, seed=run)  # type: ignore[arg-type]
        values = [
            x.moments(RECALL)[0] for x in pilot_distributions(pilot, N_ITEMS, RECALL, seed=run)
        ]
        errors.append(np.mean(values) / 0.1 - 1)
        spreads.append(np.std(values, ddof=1) / 0.1)
    # The error of the draws' mean has its own noise: a sixteenth of their variance.
    ratio = np.sqrt(np.mean(np.square(spreads)) * 17 / 16 / np.mean(np.square(errors)))
    assert np.exp(-4 * 0.15) < ratio < np.exp(4 * 0.15)


def test_distributions_of_a_pilot_are_smooth_and_those_of_their_seed() -> None:
    exact = typical_distributions(N_ITEMS, RECALL, 0.1)[2].draw(2_000, np.random.default_rng(3))
    first, again, other = (pilot_distributions(exact, N_ITEMS, RECALL, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first[3].mass, again[3].mass)
    assert not np.array_equal(first[3].mass, other[3].mass)
    edges, mass = tr.rank_distribution(exact)
    assert np.array_equal(first[0].grid.edges, edges)
    rough = np.abs(np.diff(np.log(mass[:100] + 1e-4))).mean()
    for distribution in first:
        assert distribution.mass.sum() == pytest.approx(1)
        assert np.abs(np.diff(np.log(distribution.mass[:100] + 1e-4))).mean() < rough / 4


def test_the_value_of_a_pilot_is_that_of_its_estimate() -> None:
    exact = typical_distributions(N_ITEMS, RECALL, 0.1)[2].draw(2_000, np.random.default_rng(3))
    assert pilot_value(exact, RECALL) == pytest.approx(exact.per_row("recall@10").mean(), rel=1e-9)
    sampled = simulate(exact, tr.Adaptive(), seed=1)
    found = tr.estimate(sampled, "recall@10", n_boot=0)[0].value
    assert pilot_value(sampled, RECALL) == pytest.approx(found, rel=1e-9)


def test_steps_are_found_where_there_are_some_and_not_where_there_are_none() -> None:
    """Poisson counts of 128 ranks seldom, counts with steps of .6 nearly always.

    BIC accepts if twice the gain exceeds log 128 = 4.9: chi-square with one degree of freedom,
    half a chance each way, gives 1.4 %; 9 or more of 200 have P < .003 and 20 P < 1e-9.
    """
    rng, smooth = np.random.default_rng(8), 200.0 / np.arange(2, 130)
    none = [step_strength(rng.poisson(smooth).astype(float), smooth) for _ in range(200)]
    assert sum(found is not None for found in none) < 20
    rough = [rng.poisson(smooth * rng.gamma(2.8, 1 / 2.8, 128)).astype(float) for _ in range(50)]
    found = [step_strength(counts, smooth) for counts in rough]
    assert sum(kappa is not None for kappa in found) > 45
    assert np.median([kappa for kappa in found if kappa]) == pytest.approx(2.8, rel=0.3)


def test_distributions_of_a_popularity_list_have_its_steps() -> None:
    """All users of the top are at odd ranks. Distributions follow, at the pilot's level.

    A value of about .3 is known to 2.4 % by 4,000 users; 12 % are five standard errors.
    """
    ranks = (
        typical_distributions(N_ITEMS, RECALL, 0.3)[2].draw(4_000, np.random.default_rng(9)).rank
    )
    ranks = np.where(ranks <= 128, ranks - (ranks + 1) % 2, ranks)
    pilot = tr.RankTable.from_arrays(ranks, N_ITEMS, N_ITEMS)
    for distribution in pilot_distributions(pilot, N_ITEMS, RECALL):
        assert distribution.mass.sum() == pytest.approx(1)
        assert distribution.moments(RECALL)[0] == pytest.approx(
            pilot_value(pilot, RECALL), rel=0.12
        )
        assert distribution.mass[:20:2].sum() > 5 * distribution.mass[1:20:2].sum()
    sampled = simulate(pilot, tr.Sampled(n=500), seed=1)
    for distribution in pilot_distributions(sampled, N_ITEMS, RECALL):  # samples cannot show it
        assert distribution.mass[:20:2].sum() < 2 * distribution.mass[1:20:2].sum()


def test_a_weight_of_two_is_two_users() -> None:
    """Up to the information: equal weights are one each, whatever they are."""
    exact = typical_distributions(N_ITEMS, RECALL, 0.1)[2].draw(500, np.random.default_rng(4))
    heavy = replace(exact, weight=np.full(len(exact), 2.0))
    a, b = (pilot_distributions(x, N_ITEMS, RECALL)[0].mass for x in (exact, heavy))
    assert np.allclose(a, b, rtol=1e-9)
