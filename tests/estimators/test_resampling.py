"""Resamples of users: what they add up to, and that grouping many users keeps standard errors."""

import numpy as np
import pytest

import truerank as tr
from truerank.estimators import resampling
from truerank.estimators.resampling import MOST_DRAWN, UserResamples

N_BOOT = 400


def times_drawn(drawn: UserResamples) -> np.ndarray:
    """How often each user is in each resample."""
    users = np.arange(drawn.n_users)
    return drawn.sums(users, users, np.ones(drawn.n_users), drawn.n_users)


def within_standard_errors(found: float, theory: float, n_boot: int, groups: int) -> bool:
    """A standard deviation of n_boot resamples of groups is off by 1/sqrt(2 n_boot) and of the
    groups by 1/sqrt(2 groups), relatively."""
    relative = np.sqrt(0.5 / n_boot + 0.5 / groups)
    return abs(found / theory - 1) < 4 * relative


@pytest.mark.parametrize("n_users", [1, 2, 7, 500])
def test_every_resample_draws_as_many_users_as_there_are(n_users: int) -> None:
    times = times_drawn(UserResamples(n_users, 20, 1))
    assert np.array_equal(times.sum(axis=0), np.full(20, n_users))


def test_sums_are_those_of_a_loop() -> None:
    rng = np.random.default_rng(0)
    drawn = UserResamples(40, 70, 3)
    row, user, value = rng.integers(0, 5, 200), rng.integers(0, 40, 200), rng.random(200)
    times = times_drawn(drawn)
    expected = np.zeros((5, 70))
    for b in range(70):
        for r, u, v in zip(row, user, value, strict=True):
            expected[r, b] += v * times[u, b]
    np.testing.assert_allclose(drawn.sums(row, user, value, 5), expected, rtol=1e-12)


def test_the_number_added_up_at_a_time_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    row, user, value = rng.integers(0, 5, 200), rng.integers(0, 40, 200), rng.random(200)
    whole = UserResamples(40, 70, 3).sums(row, user, value, 5)
    monkeypatch.setattr(resampling, "TOGETHER", 1)
    assert np.array_equal(UserResamples(40, 70, 3).sums(row, user, value, 5), whole)


def test_users_of_one_group_are_drawn_together() -> None:
    drawn = UserResamples(MOST_DRAWN + 1, 3, 5)
    group = drawn.group(np.arange(drawn.n_users))
    assert len(np.unique(group)) > 0.99 * drawn.n_groups
    times = times_drawn(drawn)
    first = np.unique(group, return_index=True)[1]
    assert np.array_equal(times, times[first][np.unique(group, return_inverse=True)[1]])


@pytest.mark.parametrize("n_users", [MOST_DRAWN, MOST_DRAWN + 5_000])
@pytest.mark.parametrize("n_sampled", [2_000, 200])
def test_standard_error_of_a_recall_is_the_textbook_one(n_users: int, n_sampled: int) -> None:
    """A share p of n users: sqrt(p (1 - p) / n), whether users are drawn singly or in groups.

    All candidates ranked, it is the metric; of a sample, naive Recall is a share just as well.
    ``paired`` resamples users, not cells.
    """
    rank = np.random.default_rng(2).integers(1, n_sampled + 1, n_users)
    table = tr.RankTable.from_arrays(rank=rank, n_sampled=n_sampled, n_items=2_000)
    naive = tr.estimate(table, ["recall@20"], method="naive", n_boot=N_BOOT, seed=1, paired=True)[0]
    p = np.mean(rank <= 20)
    theory = np.sqrt(p * (1 - p) / n_users)
    groups = UserResamples(n_users, 1, 0).n_groups
    assert within_standard_errors(naive.std_error, theory, N_BOOT, groups)


@pytest.mark.parametrize("mean", [0.0, 3.0])
def test_groups_have_the_variance_that_the_module_states(
    mean: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(1 - 1/G) times the sum of squares, over random groups: that of users if they are centred.

    The mean over 400 deals, within 4 standard errors of it; its left side needs no resamples.
    """
    monkeypatch.setattr(resampling, "MOST_DRAWN", 10)
    monkeypatch.setattr(resampling, "GROUPS", 16)
    v = np.random.default_rng(7).normal(size=200)
    v += mean - v.mean()
    found = []
    for seed in range(400):
        group = UserResamples(200, 1, seed).group(np.arange(200))
        s = np.bincount(group, v, minlength=16)
        found.append(np.sum((s - s.mean()) ** 2))
    error = np.std(found, ddof=1) / np.sqrt(400)
    assert abs(np.mean(found) - (1 - 1 / 16) * np.sum(v**2)) < 4 * error
    one_by_one = (1 - 1 / 16) * np.sum((v - v.mean()) ** 2)
    assert (abs(np.mean(found) - one_by_one) < 4 * error) == (mean == 0)


@pytest.mark.filterwarnings("ignore:suspicious")
def test_standard_error_counts_users_with_several_rows_once() -> None:
    """Rows of one user agree here, so five of them are worth one: groups keep users whole."""
    n_users = MOST_DRAWN + 5_000
    rank = np.random.default_rng(3).integers(1, 2_001, n_users)
    table = tr.RankTable.from_arrays(
        user=np.repeat(np.arange(n_users), 5),
        item=np.tile(np.arange(5), n_users),
        rank=np.repeat(rank, 5),
        n_sampled=100_000,
        n_items=100_000,
    )
    found = tr.estimate(table, ["recall@400"], n_boot=N_BOOT, seed=1)[0]
    p = np.mean(rank <= 400)
    theory = np.sqrt(p * (1 - p) / n_users)
    assert within_standard_errors(found.std_error, theory, N_BOOT, 8_192)


def test_a_difference_of_many_users_has_the_standard_error_of_its_pairs() -> None:
    """Two models that agree on nearly all users: both tables must get the same resamples."""
    rng = np.random.default_rng(4)
    n_users = MOST_DRAWN + 5_000
    a = rng.integers(1, 2_001, n_users)
    b = np.where(rng.random(n_users) < 0.05, rng.integers(1, 2_001, n_users), a)
    tables = {
        name: tr.RankTable.from_arrays(rank=rank, n_sampled=2_000, n_items=2_000)
        for name, rank in (("a", a), ("b", b))
    }
    found = [
        tr.estimate(table, ["recall@200"], n_boot=N_BOOT, seed=1, paired=True)[0]
        for table in tables.values()
    ]
    difference = (a <= 200).astype(float) - (b <= 200)
    theory = difference.std() / np.sqrt(n_users)
    spread = np.std(found[0].replicates - found[1].replicates, ddof=1)
    assert within_standard_errors(spread, theory, N_BOOT, 8_192)


@pytest.mark.parametrize("n_users", [300, MOST_DRAWN + 1])
def test_the_order_of_the_rows_changes_no_bit(n_users: int) -> None:
    rng = np.random.default_rng(6)
    n_rows = 2 * n_users
    columns = {
        "user": np.repeat(np.arange(n_users), 2),
        "item": np.arange(n_rows),
        "rank": rng.integers(1, 101, n_rows),
        "weight": np.repeat(rng.random(n_users), 2),
    }
    order = rng.permutation(n_rows)
    tables = [
        tr.RankTable.from_arrays(**each, n_sampled=100, n_items=5_000)
        for each in (columns, {key: column[order] for key, column in columns.items()})
    ]
    values = [
        tr.estimate(table, ["recall@50", "ndcg@10"], method="cls", n_boot=3, seed=1, bounds=False)
        for table in tables
    ]
    for one, other in zip(*values, strict=True):
        assert np.array_equal(one.replicates, other.replicates)
        assert one.value == other.value
