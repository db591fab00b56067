"""Some of the users: standard errors about all of them, and intervals that cover."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.estimators.finite import UserPart, difference_ratio, finite_ratio, sampled_fraction
from truerank.estimators.simulate import simulate
from truerank.metrics import parse

N_ITEMS = 400


def everybody(n_users: int, seed: int) -> tr.RankTable:
    rng = np.random.default_rng(seed)
    ranks = np.ceil(np.exp(rng.beta(1.4, 1.0, n_users) * np.log(N_ITEMS))).astype(int)
    return tr.RankTable.from_arrays(ranks, N_ITEMS, N_ITEMS)


def some_users(
    population: tr.RankTable,
    m: int,
    rng: np.random.Generator,
    inner: tr.Full | tr.Sampled | tr.Adaptive,
    seed: int = 0,
) -> tr.RankTable:
    """The table of Users(m, inner), its users and samples drawn anew."""
    users = np.unique(population.user)
    chosen = population[np.isin(population.user, rng.choice(users, m, replace=False))]
    table = simulate(chosen, inner, seed=seed)
    header = replace(table.header, design=tr.Users(m, inner).describe(), n_population=len(users))
    return replace(table, header=header)


@pytest.mark.parametrize("inner", [tr.Full(), tr.Sampled(n=120)], ids=["exact", "sampled"])
def test_intervals_cover_the_population_and_not_more(inner: tr.Full | tr.Sampled) -> None:
    """95 % intervals at m / M = 1/2; false alarms below 1e-3 by the binomial on either side.

    Without the correction the standard errors of exact ranks would be 41 % too large.
    """
    M, m = 1_600, 800
    population = everybody(M, 3)
    truth = population.per_row("recall@10").mean()
    rng = np.random.default_rng(4)
    runs = 200 if isinstance(inner, tr.Full) else 80
    off, errors, said = [], [], []
    for run in range(runs):
        table = some_users(population, m, rng, inner, seed=run)
        e = tr.estimate(
            table, "recall@10", n_boot=200, bounds=False, seed=run, population="finite"
        )[0]
        low, high = e.interval(0.95)
        off.append(not low <= truth <= high)
        errors.append(e.value - truth)
        said.append(e.std_error)
    covered = runs - sum(off)
    # Percentiles of 200 resamples are themselves a little narrow: 94.2 % at best.
    low, high = stats.binom.ppf([1e-3, 1 - 1e-3], runs, [0.942, 0.95])
    assert low <= covered <= high
    spread = np.std(errors, ddof=1)
    assert np.mean(said) == pytest.approx(spread, rel=4 / np.sqrt(2 * (runs - 1)) + 0.05)


def test_exact_ranks_shrink_by_what_was_not_seen() -> None:
    population, rng = everybody(800, 5), np.random.default_rng(6)
    for m in (200, 600, 800):
        table = some_users(population, m, rng, tr.Full())
        about_all = tr.estimate(table, ["recall@10", "ndcg@10"], population="finite")
        future = tr.estimate(table, ["recall@10", "ndcg@10"])
        for a, b in zip(about_all, future, strict=True):
            assert a.value == b.value
            assert a.std_error == pytest.approx(np.sqrt(1 - m / 800) * b.std_error, abs=1e-15)
            wide, narrow = b.interval(), a.interval()
            for end, wider in zip(narrow, wide, strict=True):
                moved = np.sqrt(1 - m / 800) * (wider - b.value)
                assert end - a.value == pytest.approx(moved, abs=1e-12)
            assert (b.population, b.n_population) == ("infinite", None)
            assert (a.population, a.n_population) == ("finite", 800)
            assert ("known, not estimated" if m == 800 else f"{m} of 800") in str(a.diagnostics)


def test_all_users_ranked_in_full_leave_no_error() -> None:
    population = everybody(300, 7)
    table = some_users(population, 300, np.random.default_rng(8), tr.Full())
    for n_boot in (0, 200):  # nothing to resample: it is known
        e = tr.estimate(table, "ndcg@10", n_boot=n_boot, population="finite")[0]
        assert e.known
        assert e.std_error == 0
        assert e.interval() == (e.value, e.value)
        assert (
            str(e) == f"ndcg@10 {e.value:.4f} known exactly for these 300 users (every rank exact)"
        )


def test_all_users_with_samples_leave_the_error_of_the_samples() -> None:
    """m = M: the error left is that of the items, measured by drawing them anew."""
    population = everybody(3_000, 9)
    truth = population.per_row("recall@10").mean()
    rng, runs = np.random.default_rng(10), 40
    errors, said = [], []
    for run in range(runs):
        table = some_users(population, 3_000, rng, tr.Adaptive(budget=80), seed=run)
        e = tr.estimate(
            table, "recall@10", n_boot=200, bounds=False, seed=run, population="finite"
        )[0]
        assert not e.known
        errors.append(e.value - truth)
        said.append(e.std_error)
    full = tr.estimate(table, "recall@10", n_boot=200, bounds=False)[0]
    spread = np.sqrt(np.mean(np.square(errors)))
    assert np.mean(said) == pytest.approx(spread, rel=4 / np.sqrt(2 * runs))
    assert np.mean(said) < 0.9 * full.std_error


def test_who_is_sampled_from_whom() -> None:
    population, rng = everybody(400, 11), np.random.default_rng(12)
    table = some_users(population, 100, rng, tr.Full())
    assert sampled_fraction(table, "finite") == 0.25
    assert sampled_fraction(table) == sampled_fraction(table, "infinite") == 0
    full = replace(population, header=replace(population.header, n_population=400))
    assert sampled_fraction(full) == 0  # all users: a sample of future users
    assert sampled_fraction(full, "finite") == 1
    assert tr.estimate(full, "recall@10", n_boot=20, population="finite")[0].std_error == 0
    assert tr.estimate(full, "recall@10", n_boot=20)[0].std_error > 0


def test_several_items_a_user_never_make_it_narrower_than_exact_ranks() -> None:
    rng = np.random.default_rng(13)
    user = np.repeat(np.arange(600), 3)
    ranks = np.ceil(np.exp(rng.beta(1.4, 1.0, len(user)) * np.log(N_ITEMS))).astype(int)
    population = tr.RankTable.from_arrays(
        ranks, N_ITEMS, N_ITEMS, user=user, item=np.arange(len(user))
    )
    exact = some_users(population, 300, np.random.default_rng(14), tr.Full())
    sampled = some_users(population, 300, np.random.default_rng(14), tr.Sampled(n=200))
    for metric in ("recall@20", "ndcg@20"):
        ratio = []
        for table in (exact, sampled):
            finite, infinite = (
                tr.estimate(table, metric, n_boot=300, bounds=False, population=p)[0].std_error
                for p in ("finite", "infinite")
            )
            ratio.append(finite / infinite)
        assert ratio[0] == pytest.approx(np.sqrt(0.5))
        assert ratio[0] < ratio[1] < 0.95


def test_metrics_of_joint_ranks_shrink_as_well() -> None:
    user = np.repeat(np.arange(200), 2)
    ranks = np.random.default_rng(15).integers(1, 60, 400)
    population = tr.RankTable.from_arrays(ranks, 100, 100, user=user, item=np.arange(400))
    table = some_users(population, 150, np.random.default_rng(16), tr.Full())
    finite, infinite = (
        tr.estimate(table, "ap@20", n_boot=50, population=p)[0].std_error
        for p in ("finite", "infinite")
    )
    assert finite == pytest.approx(0.5 * infinite)


def test_naive_ranks_are_left_alone() -> None:
    population, rng = everybody(400, 17), np.random.default_rng(18)
    table = some_users(population, 300, rng, tr.Sampled(n=50))
    finite, infinite = (
        tr.estimate(table, "recall@10", "naive", n_boot=50, population=p)[0].std_error
        for p in ("finite", "infinite")
    )
    assert finite == infinite


def test_the_ratio_of_the_formula() -> None:
    """Var T - f (2 Cov - Var T_m), with numbers of known moments; and its limits."""
    rng = np.random.default_rng(19)
    own, noise = rng.normal(size=(2, 200_000))
    estimate = own + 2 * noise  # Var 5, Cov 1, Var of the users' part 1
    part = UserPart(own, 0.0)
    assert finite_ratio(0.5, estimate, part) == pytest.approx(1 - 0.5 / 5, rel=0.01)
    half_hidden = UserPart(own, 0.5)
    assert finite_ratio(0.5, estimate, half_hidden) == pytest.approx(1 - 0.25 / 5, rel=0.01)
    assert finite_ratio(0.5, estimate, UserPart(own, 50.0)) == 1  # never wider
    assert finite_ratio(1.0, own, part) == pytest.approx(0, abs=1e-12)
    both = part - UserPart(own, 0.25)
    assert both.hidden == 0.25
    assert not both.known.any()


def test_the_difference_of_two_models_has_its_own_ratio() -> None:
    """Two models alike on users: most of the difference is chance of the items, which stays.

    Standard deviation of the error about all users, over 40 draws, to 4 standard errors.
    """
    rng = np.random.default_rng(20)
    a = everybody(1_000, 21)
    moved = np.clip(a.rank + rng.integers(-3, 4, len(a)), 1, N_ITEMS)
    b = replace(a, rank=moved)
    truth = a.per_row("recall@10").mean() - b.per_row("recall@10").mean()
    inner = tr.Sampled(n=120)
    errors, said, single = [], [], []
    for run in range(40):
        tables = (
            some_users(a, 800, np.random.default_rng([23, run]), inner, seed=2 * run),
            some_users(b, 800, np.random.default_rng([23, run]), inner, seed=2 * run + 1),
        )
        found = [
            tr.estimate(t, "recall@10", n_boot=100, bounds=False, paired=True, seed=run,
                        population="infinite")[0]
            for t in tables
        ]  # fmt: skip
        drawn = found[0].replicates - found[1].replicates
        ratio = difference_ratio(tables, parse("recall@10"), drawn, seed=run)
        errors.append(found[0].value - found[1].value - truth)
        said.append(ratio * drawn.var(ddof=1))
        single.append(ratio)
    spread = np.std(errors, ddof=1)
    assert np.sqrt(np.mean(said)) == pytest.approx(spread, rel=4 / np.sqrt(2 * 39))
    assert np.mean(single) > 0.5  # 1 - m / M = 0.2 would be far too small


def test_the_ratio_of_a_difference_at_its_limits() -> None:
    population = everybody(300, 24)
    exact = some_users(population, 150, np.random.default_rng(25), tr.Full())
    drawn = np.array([0.1, 0.3, 0.2])
    metric = parse("recall@10")
    assert difference_ratio((exact, exact), metric, drawn) == 0.5
    assert difference_ratio((exact, exact), metric, drawn, population="infinite") == 1
    fewer = some_users(population, 100, np.random.default_rng(25), tr.Full())
    with pytest.raises(InvalidDataError, match=r"hold 0\.5 and 0\.333 of their users"):
        difference_ratio((exact, fewer), metric, drawn)


def test_the_error_for_future_users_falls_with_every_user_ranked() -> None:
    """Up to the noise of 400 resamples, a relative standard error of 1 / sqrt(800)."""
    population, rng = everybody(2_946, 26), np.random.default_rng(27)
    sizes = (375, 750, 1_500, 2_946)
    errors = [
        tr.estimate(some_users(population, m, rng, tr.Full()), "recall@10", n_boot=400)[0].std_error
        for m in sizes
    ]
    p = population.per_row("recall@10").mean()
    theory = [np.sqrt(p * (1 - p) / m) for m in sizes]
    assert errors == pytest.approx(theory, rel=4 / np.sqrt(800) + 0.05)
    assert errors == sorted(errors, reverse=True)


def test_intervals_of_a_users_design_cover_future_users() -> None:
    """All M of the users there are, M drawn anew from a law: 95 % hold the law's metric.

    About these users alone the interval would have no width, and would never cover.
    """
    law = everybody(200_000, 28)
    truth = law.per_row("recall@10").mean()
    rng, runs, covered = np.random.default_rng(29), 200, 0
    for run in range(runs):
        users = law[rng.integers(0, len(law), 500)]
        there_are = tr.RankTable.from_arrays(users.rank, N_ITEMS, N_ITEMS)
        table = some_users(there_are, 500, rng, tr.Full())
        low, high = tr.estimate(table, "recall@10", n_boot=200, seed=run)[0].interval(0.95)
        covered += low <= truth <= high
    least, most = stats.binom.ppf([1e-3, 1 - 1e-3], runs, [0.942, 0.95])
    assert least <= covered <= most


def test_auto_warns_and_means_future_users() -> None:
    population = everybody(300, 30)
    table = some_users(population, 100, np.random.default_rng(31), tr.Full())
    with pytest.warns(DeprecationWarning, match="population='auto' now means 'infinite'"):
        old = tr.estimate(table, "recall@10", n_boot=50, population="auto")[0]  # type: ignore[arg-type]
    new = tr.estimate(table, "recall@10", n_boot=50)[0]
    assert old == new


def test_mistakes_have_a_sentence() -> None:
    foreign = tr.RankTable.from_arrays([1, 2, 3], 10, 10)
    with pytest.raises(InvalidArgumentError, match="'infinite' or 'finite', got 'small'"):
        tr.estimate(foreign, "recall@1", population="small")
    with pytest.raises(InvalidArgumentError, match="give it a header with n_population"):
        tr.estimate(foreign, "recall@1", population="finite")
    wrong = replace(foreign, header=replace(foreign.header, n_population=2))
    with pytest.raises(InvalidDataError, match="3 users and says that there are 2"):
        tr.estimate(wrong, "recall@1", population="finite")


def test_a_method_without_a_distribution_is_refused_for_these_users() -> None:
    table = tr.RankTable.from_arrays(
        rank=[1, 5, 9], n_sampled=10, n_items=500, header=tr.ranking.Header(n_population=9)
    )
    with pytest.raises(InvalidArgumentError, match="must be 'infinite' for method 'cls'"):
        tr.estimate(table, "recall@5", method="cls", population="finite")
