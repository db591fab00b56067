"""Sampled ranks that are said to be exact: the alarm rings for them, and for nothing else."""

from __future__ import annotations

import math
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import binom

import truerank as tr
from truerank.errors import DataWarning
from truerank.estimators.bounds.ceiling import (
    FALSE_ALARMS,
    RATIOS,
    _log_chance,
    ceiling_notes,
    suspicious_ceiling,
)

N = 12_929


def zipf(rng: np.random.Generator, n: int, *, most: int = N, power: float = 1.0) -> Any:
    """Exact ranks with P(R = r) in proportion to r^-power, down to the last place."""
    p = np.arange(1, most + 1, dtype=float) ** -power
    return rng.choice(np.arange(1, most + 1), n, p=p / p.sum())


def among(rng: np.random.Generator, ranks: Any, n: int) -> Any:
    """Ranks among n - 1 rivals drawn without replacement."""
    return 1 + rng.hypergeometric(ranks - 1, N - ranks, n - 1)


@pytest.mark.parametrize("power", [0.5, 0.8, 1.0])
@pytest.mark.parametrize("n", [20, 100, 1000])
def test_sampled_ranks_alarm_and_the_exact_ones_behind_them_do_not(power: float, n: int) -> None:
    rng = np.random.default_rng(5)
    exact = zipf(rng, 3_000, power=power)
    sizes = np.full(3_000, N)
    assert suspicious_ceiling(exact, sizes) is None
    top = suspicious_ceiling(among(rng, exact, n), sizes)
    assert top is not None
    assert 0.8 * n < top <= n


def test_lists_cut_at_a_length_alarm() -> None:
    exact = zipf(np.random.default_rng(1), 4_000)
    found = exact[exact <= 100]
    assert suspicious_ceiling(found, np.full(len(found), N)) == 100
    assert suspicious_ceiling(np.minimum(exact, 101), np.full(4_000, N)) == 101


@pytest.mark.parametrize(
    "ranks",
    [
        pytest.param(lambda rng: np.ones(5_000, np.int64), id="perfect"),
        pytest.param(lambda rng: rng.integers(1, 10, 5_000), id="nearly-perfect"),
        pytest.param(lambda rng: rng.geometric(0.003, 1_000), id="thins-out-fast"),
        pytest.param(lambda rng: rng.integers(1, N + 1, 5_000), id="useless"),
        pytest.param(lambda rng: zipf(rng, 5_000), id="zipf"),
        pytest.param(lambda rng: np.where(rng.random(5_000) < 0.4, N // 2 + 50, 7), id="tied"),
        pytest.param(lambda rng: np.array([100]), id="one"),
        pytest.param(lambda rng: np.array([], np.int64), id="none"),
    ],
)
def test_exact_ranks_do_not_alarm(ranks: Any) -> None:
    drawn = ranks(np.random.default_rng(3))
    assert suspicious_ceiling(drawn, np.full(len(drawn), N)) is None


def test_many_rows_within_a_small_part_alarm_whatever_their_shape() -> None:
    """Somebody's 99 negatives, thinning out by themselves: 426 of 500 in the first ten."""
    tens = np.repeat(np.arange(10), [426, 36, 12, 6, 1, 4, 2, 2, 1, 10])
    ranks = 10 * tens + 10
    assert suspicious_ceiling(ranks, np.full(500, N)) == 100
    assert suspicious_ceiling(ranks[::5], np.full(100, N)) is None
    assert suspicious_ceiling(ranks, np.full(500, 1_000)) is None


def test_false_alarms_are_as_rare_as_the_formula_says() -> None:
    """200 tables of ranks with Zipf's tail: none may alarm, at one in a million each."""
    rng = np.random.default_rng(8)
    for _ in range(200):
        ranks = zipf(rng, 500, most=N, power=1.5)
        assert suspicious_ceiling(ranks, np.full(500, N)) is None
    assert FALSE_ALARMS == 1e-6


def test_the_bound_is_the_one_of_the_docstring() -> None:
    for a, b in ((7, 3), (30, 12), (12, 12)):
        exact = max(
            sum(binom(a, j) * p**j * (1 - p) ** a for j in range(b, a + 1))
            for p in np.linspace(0.001, 0.999, 999)
        )
        term = binom(a, b) * (b / (a + b)) ** b * (a / (a + b)) ** a
        assert math.exp(_log_chance(a, b)) == pytest.approx((a - b + 1) * term)
        assert exact <= math.exp(_log_chance(a, b))
    assert all(q < r for q, r in pairwise(RATIOS))


def sampled_said_exact(n: int = 100, rows: int = 2_946) -> tr.RankTable:
    rng = np.random.default_rng(4)
    return tr.RankTable.from_arrays(among(rng, zipf(rng, rows), n), N, N)


def test_estimates_say_what_is_suspicious_and_what_to_say_instead() -> None:
    table = sampled_said_exact()
    with pytest.warns(DataWarning, match="suspicious: these ranks are said to be exact"):
        (found,) = tr.estimate(table, "recall@10", n_boot=0)
    assert str(found).endswith("suspicious, see its notes)")
    assert found.to_dict()["suspicious"]
    (note,) = found.diagnostics.notes
    assert note.startswith("suspicious: these ranks are said to be exact among 12,929 items, but ")
    assert "none of 2,946 is above 99, so they look like ranks among a sample" in note
    assert "say n_sampled=100" in note
    assert note in found.to_dict()["notes"]
    # several targets a user take another path
    several = tr.RankTable.from_arrays(
        table.rank, N, N, user=np.arange(len(table)) // 2, item=np.arange(len(table))
    )
    with pytest.warns(DataWarning):
        assert note in tr.estimate(several, "recall@10", n_boot=0)[0].diagnostics.notes


@pytest.mark.parametrize("method", ["auto", "mle", "naive"])
def test_other_methods_and_a_sampled_row_do_not_silence_it(method: str) -> None:
    table = sampled_said_exact()
    n_sampled = np.where(np.arange(len(table)) == 0, 5000, N)
    mixed = tr.RankTable.from_arrays(table.rank, n_sampled, N)
    with pytest.warns(DataWarning, match=f"none of {len(table) - 1:,} is above 99"):
        (found,) = tr.estimate(mixed, "recall@10", method, n_boot=0)
    assert found.diagnostics.suspicious


def test_ranks_that_items_of_one_user_share_are_suspected() -> None:
    """Two first places: nDCG@1 was 2."""
    shared = tr.RankTable.from_arrays([1, 1, 3], 50, 50, user=[0, 0, 1], item=[0, 1, 2])
    with pytest.warns(DataWarning, match="1 of 3 exact ranks are also the rank of another held-"):
        found = tr.estimate(shared, ["ndcg@1", "precision@1"], n_boot=50)
    assert [e.value for e in found] == [0.5, 0.5]
    assert all(0 <= e.interval()[0] <= e.value <= e.interval()[1] <= 1 for e in found)
    joint = tr.RankTable.from_arrays([1, 2, 3], 50, 50, user=[0, 0, 1], item=[0, 1, 2])
    assert not tr.estimate(joint, "ndcg@1", n_boot=0)[0].diagnostics.suspicious


def test_what_was_sampled_as_said_or_ranked_here_is_not_suspected() -> None:
    table = sampled_said_exact()
    right = tr.RankTable.from_arrays(table.rank, 100, N)
    (found,) = tr.estimate(right, "recall@10", n_boot=0)
    assert not any("suspicious" in note for note in found.diagnostics.notes)
    header = tr.ranking.header.Header(design={"kind": "full"})
    assert ceiling_notes(tr.RankTable.from_arrays(table.rank, N, N, header=header)) == ()


@pytest.mark.filterwarnings("ignore:suspicious")
def test_a_comparison_doubts_the_model_by_name() -> None:
    rng = np.random.default_rng(6)
    tables = {
        "theirs": sampled_said_exact(),
        "ours": tr.RankTable.from_arrays(zipf(rng, 2_946), N, N),
    }
    verdict = tr.compare(tables, "recall@10", n_boot=100)
    (row,) = verdict.comparisons
    assert "theirs is suspicious: these ranks are said to be exact" in row.caveats
    assert "ours is suspicious" not in row.caveats


@pytest.mark.parametrize("name", ["ml-1m", "steam-caserec", "lastfm-hetrec"])
@pytest.mark.parametrize("model", [tr.models.Popularity(), tr.models.ItemKNN(k=50)])
def test_on_models_of_real_data(name: str, model: Any) -> None:
    if not (Path(os.environ.get("TRUERANK_DATA", "")) / name / f"{name}.npz").is_file():
        pytest.skip(f"{name} is not there; set TRUERANK_DATA to the data folder")
    split = tr.split.leave_one_out(tr.load_dataset(name))
    fitted = model.fit(split.train)
    exact = tr.rank(fitted, split, tr.Full(), progress=False)
    assert suspicious_ceiling(exact.rank, exact.n_items) is None
    for n in (100, 1000):
        sampled = tr.rank(fitted, split, tr.Sampled(n), progress=False)
        top = suspicious_ceiling(sampled.rank, sampled.n_items)
        assert top is not None
        assert top <= n
