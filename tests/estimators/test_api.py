"""tr.estimate end to end: any mixture of rows, honest uncertainty, and sentences for mistakes."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy import stats

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.estimators.methods.table import METHODS
from truerank.estimators.simulate import simulate

N_ITEMS = 2_000


def exact_table(n_users: int, seed: int, n_items: int = N_ITEMS) -> tr.RankTable:
    """Users from a smooth law: log-rank is roughly uniform, thinning out at the top."""
    rng = np.random.default_rng(seed)
    ranks = np.exp(rng.beta(1.4, 1.0, n_users) * np.log(n_items))
    return tr.RankTable.from_arrays(np.ceil(ranks).astype(int), n_items, n_items)


def values(table: tr.RankTable, metrics: list[str], **options: object) -> np.ndarray:
    return np.array(
        [e.value for e in tr.estimate(table, metrics, n_boot=0, bounds=False, **options)]
    )


METRICS = ["recall@1", "recall@10", "ndcg@10", "ap@50"]


def test_exact_ranks_give_exact_metrics_with_the_standard_error_of_a_mean() -> None:
    table = exact_table(3_000, 0)
    for e in tr.estimate(table, METRICS):
        per_user = table.per_user(e.metric)[1]
        assert e.method == "exact"
        assert e.value == pytest.approx(per_user.mean(), rel=1e-12)
        theory = per_user.std(ddof=1) / np.sqrt(len(per_user))
        assert e.std_error == pytest.approx(theory, rel=4 / np.sqrt(2 * 999))


@pytest.mark.parametrize("design", [tr.Adaptive(), tr.Adaptive(n0=50, n_max=800)], ids=str)
def test_auto_is_close_and_naive_is_not(design: tr.Adaptive) -> None:
    exact = exact_table(20_000, 1)
    sampled = simulate(exact, design, seed=2)
    assert sampled.n_scored.mean() < N_ITEMS / 3
    for e in tr.estimate(sampled, ["recall@10", "ndcg@10"], bounds=False):
        truth = exact.per_user(e.metric)[1].mean()
        naive = sampled.per_row(e.metric, naive=True).mean()
        assert abs(e.value - truth) < 4 * e.std_error
        assert naive > 2 * truth


def test_intervals_cover_the_population() -> None:
    """95 % intervals over fresh users and fresh samples; false alarm below 1e-3 by the binomial."""
    population = exact_table(400_000, 3)
    truth = population.per_row("recall@10").mean()
    runs, covered = 60, 0
    rng = np.random.default_rng(4)
    for run in range(runs):
        users = population[rng.integers(0, len(population), 2_000)]
        sampled = simulate(users, tr.Adaptive(), seed=run)
        own = tr.RankTable.from_arrays(sampled.rank, sampled.n_sampled, N_ITEMS)
        e = tr.estimate(own, "recall@10", n_boot=200, bounds=False)[0]
        low, high = e.interval(0.95)
        covered += low <= truth <= high
    assert covered >= stats.binom.ppf(1e-3, runs, 0.95)


def test_rows_shards_and_order_do_not_matter() -> None:
    sampled = simulate(exact_table(3_000, 5), tr.Adaptive(), seed=1)
    own = tr.RankTable.from_arrays(sampled.rank, sampled.n_sampled, sampled.n_items)
    order = np.random.default_rng(6).permutation(len(own))
    joined = tr.RankTable.concat([own[order[:1_000]], own[order[1_000:]]])
    for method in ("auto", "mle"):
        assert values(joined, METRICS, method=method) == pytest.approx(
            values(own, METRICS, method=method), rel=1e-9
        )


def test_weights_stand_for_repeated_rows() -> None:
    rng = np.random.default_rng(7)
    r, times = rng.integers(1, 30, 400), rng.integers(1, 4, 400)
    weighted = tr.RankTable.from_arrays(r, 100, N_ITEMS, weight=times)
    repeated = tr.RankTable.from_arrays(np.repeat(r, times), 100, N_ITEMS)
    assert values(weighted, METRICS, method="mle") == pytest.approx(
        values(repeated, METRICS, method="mle"), rel=1e-9
    )


@pytest.mark.filterwarnings("ignore:suspicious")
def test_several_targets_per_user_weigh_as_the_metric_says() -> None:
    """At a sample of nearly everything, the estimate must be the per-user metric."""
    rng = np.random.default_rng(8)
    user = np.repeat(np.arange(500), rng.integers(1, 6, 500))
    ranks = rng.integers(1, 200, len(user))
    exact = tr.RankTable.from_arrays(ranks, 200, 200, user=user, item=np.arange(len(user)))
    for metric in ("recall@20", "recall-capped@3", "ndcg@20", "precision@5"):
        truth = exact.per_user(metric)[1].mean()
        assert tr.estimate(exact, metric, n_boot=0)[0].value == pytest.approx(truth, rel=1e-9)
        almost = simulate(exact, tr.Sampled(199), seed=1)
        estimated = values(almost, [metric])[0]
        assert estimated == pytest.approx(truth, rel=0.05)


def test_metrics_of_joint_ranks_need_exact_ranks() -> None:
    user = [0, 0, 1]
    sampled = tr.RankTable.from_arrays([1, 2, 3], 10, 100, user=user, item=[0, 1, 2])
    with pytest.raises(InvalidArgumentError, match="per_user on exact ranks"):
        tr.estimate(sampled, "ap@5")
    exact = tr.RankTable.from_arrays([1, 2, 3], 100, 100, user=user, item=[0, 1, 2])
    assert tr.estimate(exact, "ap@5", n_boot=0)[0].value == pytest.approx((1 + 1 / 3) / 2)


def test_candidates_that_differ_by_user_are_carried_through() -> None:
    rng = np.random.default_rng(9)
    n_items = N_ITEMS - rng.integers(0, 300, 8_000)
    ranks = np.minimum(np.ceil(np.exp(rng.beta(1.4, 1, 8_000) * np.log(N_ITEMS))), n_items)
    exact = tr.RankTable.from_arrays(ranks, n_items, n_items)
    sampled = simulate(exact, tr.Adaptive(), seed=3)
    for e in tr.estimate(sampled, ["recall@10", "recall@50"], bounds=False):
        assert abs(e.value - exact.per_row(e.metric).mean()) < 4 * e.std_error


def test_the_blind_spot_is_said_in_words() -> None:
    blind = simulate(exact_table(5_000, 10, 20_000), tr.Sampled(50), seed=1)
    e = tr.estimate(blind, "recall@5", n_boot=0)[0]
    assert e.diagnostics.blind
    assert e.diagnostics.bounds is not None
    low, high = e.diagnostics.bounds
    assert low == 0
    assert high > e.value
    assert "blind spot" in str(e.diagnostics)
    assert "n >= " in str(e.diagnostics)
    seen = simulate(exact_table(5_000, 10, 20_000), tr.Full())
    assert not tr.estimate(seen, "recall@5", n_boot=0)[0].diagnostics.blind


def test_rank_distribution_gives_edges_and_mass() -> None:
    sampled = simulate(exact_table(4_000, 11), tr.Adaptive(), seed=1)
    edges, mass = tr.rank_distribution(sampled)
    assert len(edges) == len(mass) + 1
    assert (edges[0], edges[-1]) == (1, N_ITEMS + 1)
    assert mass.sum() == pytest.approx(1.0)
    assert (mass >= 0).all()
    recall = values(sampled, ["recall@50"])[0]
    assert mass[edges[:-1] <= 50].sum() == pytest.approx(recall)


def test_resamples_are_those_of_their_seed() -> None:
    sampled = simulate(exact_table(1_000, 12), tr.Adaptive(), seed=1)
    first, same, other = (
        tr.estimate(sampled, "recall@10", seed=s, n_boot=50, bounds=False)[0].std_error
        for s in (1, 1, 2)
    )
    assert first == same
    assert first != other


# ---------------------------------------------------------------- odd tables

LIKELIHOOD_METHODS = ("auto", "mle", "wmle-ap", "wmle-ndcg")


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"exact"}))
@pytest.mark.parametrize(
    ("rank", "n", "n_items"),
    [
        pytest.param([1], 100, 1_000, id="one-row"),
        pytest.param([1] * 50, 100, 1_000, id="all-first"),
        pytest.param([100] * 50, 100, 1_000, id="all-last"),
        pytest.param([1, 2, 2, 1], 2, 1_000, id="n-is-2"),
        pytest.param([1, 7, 30, 2], 99, 100, id="n-almost-N"),
    ],
)
def test_odd_tables_give_finite_numbers(method: str, rank: list[int], n: int, n_items: int) -> None:
    table = tr.RankTable.from_arrays(rank, n, n_items)
    for e in tr.estimate(table, ["recall@1", "ndcg@1"], method=method, n_boot=3):
        assert np.isfinite(e.value)


@pytest.mark.parametrize("method", LIKELIHOOD_METHODS)
def test_a_sample_of_one_says_nothing_and_does_not_fail(method: str) -> None:
    table = tr.RankTable.from_arrays([1, 1, 1], 1, 1_000)
    e = tr.estimate(table, "recall@10", method=method, n_boot=0)[0]
    assert 0 <= e.value <= 1
    assert e.diagnostics.bounds == pytest.approx((0.0, 1.0), abs=1e-6)


def test_ten_thousand_sample_sizes_take_bounded_time() -> None:
    rng = np.random.default_rng(13)
    n = rng.permutation(np.repeat(np.arange(50, 10_050), 3))
    ranks = np.ceil(np.exp(rng.beta(1.4, 1, len(n)) * np.log(20_000))).astype(int)
    r = 1 + rng.hypergeometric(ranks - 1, 20_000 - ranks, n - 1)
    table = tr.RankTable.from_arrays(r, n, 20_000)
    start = time.monotonic()
    got = values(table, ["recall@10", "recall@50"])
    assert time.monotonic() - start < 120  # a hang, not a speed, is what this would catch
    truth = np.array([np.mean(ranks <= 10), np.mean(ranks <= 50)])
    assert got == pytest.approx(truth, rel=0.15)


# ---------------------------------------------------------------- mistakes


def test_no_rows() -> None:
    empty = tr.RankTable.from_arrays([1, 2], 10, 100)[:0]
    with pytest.raises(InvalidDataError, match="no rows: there is nothing to estimate from"):
        tr.estimate(empty, "recall@10")


def test_all_weights_zero() -> None:
    table = tr.RankTable.from_arrays([1, 2], 10, 100, weight=0.0)
    with pytest.raises(InvalidDataError, match="all weights are zero"):
        tr.estimate(table, "recall@10")


@pytest.mark.parametrize("weight", [-1.0, float("nan")])
def test_bad_weights_never_become_a_table(weight: float) -> None:
    with pytest.raises(InvalidDataError, match="must be finite and not negative"):
        tr.RankTable.from_arrays([1, 2], 10, 100, weight=weight)


def test_cutoff_beyond_the_catalogue() -> None:
    with pytest.raises(InvalidArgumentError, match="K at most the 100 candidates"):
        tr.estimate(tr.RankTable.from_arrays([1, 2], 10, 100), "recall@101")


def test_unknown_method_suggests_the_nearest() -> None:
    with pytest.raises(InvalidArgumentError, match="did you mean 'mle'"):
        tr.estimate(tr.RankTable.from_arrays([1, 2], 10, 100), "recall@1", method="mel")


def test_unknown_parameter_lists_those_there_are() -> None:
    with pytest.raises(InvalidArgumentError, match="it has iterations"):
        tr.estimate(tr.RankTable.from_arrays([1], 10, 100), "recall@1", method="mle", steps=3)


def test_a_method_that_needs_one_size_names_one_that_does_not() -> None:
    mixed = tr.RankTable.from_arrays([1, 2], [10, 20], 100)
    with pytest.raises(InvalidDataError, match="use method 'auto' or 'mle'"):
        tr.estimate(mixed, "recall@1", method="bv")


def test_sampled_ranks_are_not_exact() -> None:
    with pytest.raises(InvalidDataError, match="'auto'"):
        tr.estimate(tr.RankTable.from_arrays([1], 10, 100), "recall@1", method="exact")


def test_tables_of_other_replacement_cannot_be_joined() -> None:
    a = tr.RankTable.from_arrays([1], 10, 100, user=[0])
    b = tr.RankTable.from_arrays([1], 10, 100, user=[1], replacement=True)
    with pytest.raises(InvalidDataError, match="differ in replacement"):
        tr.RankTable.concat([a, b])
