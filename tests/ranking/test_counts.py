"""Counts: a table reduced, added up over shards in any order."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from dataclasses import replace
from datetime import date
from functools import reduce
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from truerank.errors import FileFormatError, InvalidArgumentError, InvalidDataError
from truerank.ranking import Header, RankCounts, RankTable
from truerank.ranking.counts import BUCKETS, KEYS, SUMS

rows = st.lists(
    st.integers(1, 4).flatmap(
        lambda n: st.tuples(st.integers(1, n), st.just(n), st.integers(n, 6), st.integers(0, 5))
    ),
    max_size=40,
)
"""(rank, n_sampled, n_items, weight); weights are whole, so that their sums have no order."""


def table_of(rows: list[tuple[int, int, int, int]]) -> RankTable:
    rank, n_sampled, n_items, weight = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return RankTable.from_arrays(rank, n_sampled, n_items, weight=weight.astype(float))


def as_dict(counts: RankCounts) -> dict[tuple[int, int, int], tuple[int, float]]:
    keys = zip(
        counts.rank.tolist(), counts.n_sampled.tolist(), counts.n_items.tolist(), strict=True
    )
    values = zip(counts.n_rows.tolist(), counts.weight.tolist(), strict=True)
    return dict(zip(keys, values, strict=True))


def bits(counts: RankCounts) -> list[bytes]:
    names = ("rank", "n_sampled", "n_items", "n_rows", "weight")
    return [getattr(counts, name).tobytes() for name in names]


@given(rows)
@settings(deadline=None)
def test_counts_are_those_of_a_dictionary(rows: list[tuple[int, int, int, int]]) -> None:
    weight = Counter[tuple[int, ...]]()
    rows = [row for row in rows if row[3] > 0]  # users of weight 0 are left out
    times = Counter(row[:3] for row in rows)
    for *key, w in rows:
        weight[tuple(key)] += w
    counts = table_of(rows).counts()
    assert as_dict(counts) == {key: (times[key], float(weight[key])) for key in times}
    assert len(counts) == len(times)


@given(rows, st.lists(st.integers(0, 40), max_size=3), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_shards_add_up_to_the_whole(
    rows: list[tuple[int, int, int, int]], cuts: list[int], random: object
) -> None:
    whole = table_of(rows).counts()
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    shards = [table_of(rows[start:stop]).counts() for start, stop in pairwise(edges)]
    random.shuffle(shards)  # type: ignore[attr-defined]
    total = shards[0]
    for shard in shards[1:]:
        total = total + shard
    assert bits(total) == bits(whole)


@given(rows, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_rows_does_not_matter(
    rows: list[tuple[int, int, int, int]], random: object
) -> None:
    mixed = list(rows)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert bits(table_of(mixed).counts()) == bits(table_of(rows).counts())


def test_a_million_rows_reduce_to_a_few() -> None:
    rng = np.random.default_rng(0)
    rank = rng.integers(1, 101, 1_000_000)
    counts = RankTable.from_arrays(rank, 100, 10_000).counts()
    assert len(counts) == 100
    assert counts.n_rows.tolist() == np.bincount(rank)[1:].tolist()
    assert counts.weight.sum() == 1_000_000


# -------------------------------------------------------------------- worlds with several rows


def world(seed: int, n_rows: int, *, weights: bool = False, text: bool = False) -> RankTable:
    """Users with one to many rows, ties, several sample sizes, exact rows among them."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, max(1, n_rows // 3), n_rows)
    n_items = rng.choice([500, 700], n_rows)
    n_sampled = np.where(rng.random(n_rows) < 0.2, n_items, rng.choice([20, 50], n_rows))
    rank = 1 + (rng.random(n_rows) ** 3 * n_sampled).astype(np.int64)
    return RankTable.from_arrays(
        rank, n_sampled, n_items,
        user=user.astype(str) if text else user,
        item=np.arange(n_rows),
        weight=rng.choice([0.25, 0.5, 3.0], n_rows) if weights else 1.0,
        header=Header(seed=seed, design=tr.Sampled(20), ties="random"),
    )  # fmt: skip


def by_users(table: RankTable, n: int) -> list[RankTable]:
    """Shards, each with all rows of its users."""
    shard = np.unique(table.user, return_inverse=True)[1] % n
    return [table[shard == k] for k in range(n)]


def columns(counts: RankCounts) -> dict[str, list[Any]]:
    names = (*KEYS, *SUMS, *(() if counts.bucket is None else ("bucket",)))
    return {name: getattr(counts, name).tolist() for name in names}


@pytest.mark.parametrize("n_rows", [1, 7, 300, 100_000])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("text", [False, True])
def test_users_dealt_to_shards_add_up_in_any_order(n_rows: int, weights: bool, text: bool) -> None:
    table = world(n_rows, n_rows, weights=weights, text=text)
    whole = RankCounts.from_table(table, bucket=True)
    shards = [RankCounts.from_table(t, bucket=True) for t in by_users(table, 5) if len(t)]
    assert columns(reduce(add, shards)) == columns(whole)
    assert columns(reduce(add, shards[::-1])) == columns(whole)
    assert whole.n_rows.sum() == n_rows
    assert whole.n_users == table.n_users


def test_what_each_entry_holds() -> None:
    table = world(0, 400, weights=True)
    counts = RankCounts.from_table(table)
    assert counts.bucket is not None
    assert counts.bucket.max() < BUCKETS
    assert (counts.weight.sum(), counts.n_scored.sum()) == (
        table.weight.sum(),
        table.n_scored.sum(),
    )
    assert counts.squared_weight.sum() == (table.weight**2).sum()
    together = Counter(np.unique(table.user, return_counts=True)[1].tolist())
    by_targets = Counter[int]()
    for m, rows in zip(counts.n_targets.tolist(), counts.n_rows.tolist(), strict=True):
        by_targets[m] += rows
    assert by_targets == {m: m * users for m, users in together.items()}
    keys = list(zip(*(columns(counts)[k] for k in ("n_items", "n_sampled", "rank", "n_targets",
                                                   "bucket")), strict=True))  # fmt: skip
    assert keys == sorted(set(keys))


def test_counts_do_not_change() -> None:
    counts = RankCounts.from_table(world(0, 50))
    with pytest.raises(ValueError, match="read-only"):
        counts.weight[0] = 3.0
    again = pickle.loads(pickle.dumps(counts))
    assert columns(again) == columns(counts)
    assert not again.rank.flags.writeable
    assert again.header == counts.header
    assert repr(counts).startswith("RankCounts(")


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"design": tr.Full()}, "differ in design"),
        ({"ties": "half"}, "differ in ties"),
        ({"candidates": "unseen"}, "differ in candidates"),
        ({"replacement": True}, "differ in replacement"),
    ],
)
def test_what_does_not_belong_together_is_not_added(other: dict[str, Any], sentence: str) -> None:
    one = RankCounts.from_table(world(1, 60))
    with pytest.raises(InvalidDataError, match=sentence):
        one + replace(one, header=replace(one.header, **other))
    with pytest.raises(InvalidDataError, match="buckets of users"):
        one + RankCounts.from_table(world(1, 60), bucket=False)


def test_users_of_shards_are_counted_together() -> None:
    header = Header(n_population=2)
    halves = [RankTable.from_arrays([1, 2], 5, 9, user=[k, k + 1], header=header) for k in (0, 10)]
    total = RankCounts.from_table(halves[0]) + RankCounts.from_table(halves[1])
    assert total.header.n_population == 4


def test_sum_adds_shards_up() -> None:
    shards = [RankCounts.from_table(t, bucket=True) for t in by_users(world(1, 60), 3)]
    assert columns(sum(shards)) == columns(reduce(add, shards))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        1 + shards[0]  # type: ignore[operator]


def test_sums_beyond_int64_are_refused() -> None:
    half = RankCounts.from_arrays([1], 5, 9, n_rows=2**62, n_scored=0)
    with pytest.raises(InvalidDataError, match=r"n_rows adds up to 9.22e\+18"):
        half + half
    with pytest.raises(InvalidDataError, match="n_rows adds up to"):
        RankCounts.from_arrays([1, 2], 5, 9, n_rows=2**62, n_scored=0)
    with pytest.raises(InvalidDataError, match="n_scored adds up to"):
        RankCounts.from_arrays([1], 5, 9, n_rows=2**62)
    scored = RankCounts.from_arrays([1], 5, 9, n_scored=2**62)
    with pytest.raises(InvalidDataError, match="n_scored adds up to"):
        scored + scored
    with pytest.raises(InvalidDataError, match="n_scored adds up to"):
        RankTable.from_arrays([1] * 10, 10**18, 10**18).counts()
    most = RankCounts.from_arrays([1, 2], 5, 9, n_rows=[2**62, 2**62 - 1], n_scored=0)
    assert int(most.n_rows.sum()) == 2**63 - 1


def test_any_number_of_targets_is_a_key() -> None:
    many = [2**61, 2**61 + 1, 2**61]
    counts = RankCounts.from_arrays([1, 1, 1], 5, 9, n_rows=many, n_targets=many, n_scored=0)
    assert counts.n_targets.tolist() == [2**61, 2**61 + 1]
    assert counts.n_rows.tolist() == [2**62, 2**61 + 1]


def test_users_without_weight_are_left_out() -> None:
    table = RankTable.from_arrays(
        [1, 2, 3, 1, 5], 5, 9, user=[0, 0, 1, 2, 2], item=[1, 2, 3, 4, 5], weight=[1, 0, 1, 0, 0]
    )
    counts = RankCounts.from_table(table)
    assert (int(counts.n_rows.sum()), counts.n_users) == (3, 2)
    one, other = (tr.estimate(c, "recall@1", n_boot=20)[0] for c in (table, counts))
    assert one.n_users == other.n_users == 2
    assert other.value == pytest.approx(one.value)
    nobody = replace(table, weight=np.zeros(5))
    assert len(RankCounts.from_table(nobody)) == 0


# -------------------------------------------------------------------- frames and files


@pytest.mark.parametrize("several", [False, True])
def test_frames_and_files_give_the_counts_back(several: bool, tmp_path: Path) -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    counts = RankCounts.from_table(world(2, 300, weights=True), bucket=several)
    assert counts.bucket is None or several
    frame = counts.to_frame()
    assert isinstance(frame, pd.DataFrame)
    for one in (frame, pl.from_pandas(frame), counts.to_arrow(), frame.sample(frac=1.0)):
        read = RankCounts.from_frame(one, header=counts.header)
        assert columns(read) == columns(counts)
    counts.to_parquet(tmp_path / "counts.parquet")
    read = RankCounts.from_parquet(tmp_path / "counts.parquet")
    assert columns(read) == columns(counts)
    assert read.header == counts.header
    assert [f.name for f in tmp_path.iterdir()] == ["counts.parquet"]


def test_a_frame_of_parts_is_added_up(tmp_path: Path) -> None:
    frame = pa.table(
        {
            "rank": [1, 1, 2], "n_sampled": [5, 5, 5], "n_items": [9, 9, 9], "n_rows": [1, 1, 1],
            "x": ["a", "b", "c"],
        }
    )  # fmt: skip
    counts = RankCounts.from_frame(frame)
    assert (counts.n_rows.tolist(), counts.weight.tolist()) == ([2, 1], [2.0, 1.0])
    pq.write_table(frame, tmp_path / "plain.parquet")
    read = RankCounts.from_parquet(tmp_path / "plain.parquet", header=Header(replacement=True))
    assert columns(read) == columns(counts)
    assert read.replacement


def test_counts_without_their_number_are_refused(tmp_path: Path) -> None:
    frame = pa.table(
        {"rank": [1, 2], "n_sampled": [5, 5], "n_items": [9, 9], "count_star()": [7, 8]}
    )
    with pytest.raises(InvalidDataError, match=r"name the column of COUNT\(\*\) n_rows"):
        RankCounts.from_frame(frame)
    pq.write_table(frame, tmp_path / "sql.parquet")
    with pytest.raises(FileFormatError, match=r"name the column of COUNT\(\*\) n_rows"):
        RankCounts.from_parquet(tmp_path / "sql.parquet")


def test_advice_can_be_followed() -> None:
    frame = pa.table({"rank": [1], "n_sampled": [5], "n_item": [9], "n_rows": [7]})
    with pytest.raises(InvalidDataError, match="rename the column 'n_item'") as told:
        RankCounts.from_frame(frame)
    assert "n_items=" not in str(told.value)
    with pytest.raises(InvalidArgumentError, match=r"RankCounts\.from_arrays takes plain arrays"):
        RankCounts.from_frame({"rank": [1]})


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"rank": [0, 1]}, "rank 0 must be at least 1"),
        ({"rank": [6, 1]}, "larger than n_sampled"),
        ({"n_rows": [0, 1]}, "n_rows 0 must be at least 1"),
        ({"n_rows": [1.5, 1]}, "n_rows must be whole numbers"),
        ({"n_targets": [0, 1]}, "n_targets 0 must be"),
        ({"bucket": [200, 1]}, "bucket 200 must be from 0 to 199"),
        ({"weight": [-1.0, 1]}, "weight -1.0 must be finite"),
        ({"n_scored": [-1, 1]}, "n_scored -1 must not"),
        ({"rank": [None, 1]}, "missing values"),
        ({"rank": ["1", "x"]}, "column 'rank' must be numbers, got values such as '1'"),
        ({"rank": [date(2026, 1, 1)] * 2}, "rank must be|'rank' must be numbers"),
        ({"n_rows": [4, 4], "squared_weight": [3.9, 4.0]}, "cannot be the sum of the squares of 4"),
        ({"squared_weight": [0.0, 4.0]}, r"squared_weight 0.0 cannot be"),
        ({"weight": [2.0, 1.0], "squared_weight": [4.1, 1.0]}, r"squared_weight 4.1 cannot be"),
        ({"weight": [1e-101, 1.0]}, "weight 1e-101 of n_rows 1 must be 0 or from 1e-100"),
        ({"weight": [1e101, 1.0]}, r"weight 1e\+101 of n_rows 1 must be 0 or from 1e-100"),
        ({"n_targets": [3, 3]}, "0.67 of a user"),
    ],
)
def test_wrong_columns_are_refused(wrong: dict[str, list[Any]], sentence: str) -> None:
    good = {"rank": [1, 2], "n_sampled": [5, 5], "n_items": [9, 9], "n_rows": [1, 1]}
    with pytest.raises(InvalidDataError, match=sentence):
        RankCounts.from_frame(pa.table(good | wrong))


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    RankCounts.from_table(world(0, 5)).to_parquet(path)
    with pytest.raises(FileFormatError, match=r"holds counts, not a rank table"):
        RankTable.from_parquet(path)
    world(0, 5).to_parquet(path)
    with pytest.raises(FileFormatError, match=r"a rank table, not counts"):
        RankCounts.from_parquet(path)
    pq.write_table(pa.table({"rank": [1]}), path)
    with pytest.raises(FileFormatError, match="there is no column 'n_sampled'"):
        RankCounts.from_parquet(path)
    path.write_bytes(b"PAR1")
    with pytest.raises(FileFormatError, match="not a complete Parquet file"):
        RankCounts.from_parquet(path)


# -------------------------------------------------------------------- estimates

METRICS = ["recall@10", "ndcg@10", "recall@50"]


def sampled(seed: int, n: int = 900, **given: Any) -> RankTable:
    rng = np.random.default_rng(seed)
    rank = 1 + rng.binomial(99, np.minimum(rng.pareto(0.5, n) * 0.01, 1.0))
    return RankTable.from_arrays(rank, 100, 3000, **given)


def test_one_row_a_user_gives_the_same_bits() -> None:
    table = sampled(0)
    for one, other in zip(
        tr.estimate(table, METRICS, n_boot=100),
        tr.estimate(RankCounts.from_table(table), METRICS, n_boot=100),
        strict=True,
    ):
        assert (one.value, one.std_error, one.interval()) == (
            other.value, other.std_error, other.interval()
        )  # fmt: skip
        assert one.diagnostics == other.diagnostics
        assert one.n_users == other.n_users
    ours, theirs = tr.rank_distribution(table), tr.rank_distribution(RankCounts.from_table(table))
    assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_counts_say_what_the_table_says(weights: bool, several: bool, exact: bool) -> None:
    rng = np.random.default_rng(3)
    given: dict[str, Any] = {"item": np.arange(900)}
    given["user"] = rng.integers(0, 300, 900) if several else np.arange(900)
    given["weight"] = rng.uniform(0.2, 3.0, 900)[given["user"]] if weights else 1.0
    table = sampled(1, **given)
    if exact:
        table = replace(table, n_items=table.n_sampled, header=Header(design=tr.Full()))
    # Ranks that a user's items share carry ndcg beyond 1, where a table cuts it user by user.
    metrics = METRICS[:1] if exact and several else METRICS[:2]
    for one, other in zip(
        tr.estimate(table, metrics, n_boot=400, bounds=False),
        tr.estimate(RankCounts.from_table(table), metrics, n_boot=400, bounds=False),
        strict=True,
    ):
        assert other.value == pytest.approx(one.value, rel=1e-9)
        assert other.std_error == pytest.approx(one.std_error, rel=0.25)
        assert one.n_users == other.n_users
        assert one.diagnostics.scored == pytest.approx(other.diagnostics.scored)


def test_several_rows_a_user_need_buckets_for_intervals() -> None:
    table = sampled(2, user=np.arange(900) // 3, item=np.arange(900))
    counts = RankCounts.from_table(table, bucket=False)
    found = tr.estimate(counts, "recall@10")[0]
    assert found.value == pytest.approx(tr.estimate(table, "recall@10", n_boot=0)[0].value)
    assert np.isnan(found.std_error)
    assert sum("no buckets of users" in note for note in found.diagnostics.notes) == 1
    with pytest.raises(InvalidDataError, match="no buckets of users"):
        tr.estimate(counts, "recall@10", n_boot=50)


@pytest.mark.parametrize("n_users", [3, 12])
@pytest.mark.parametrize("exact", [False, True])
def test_few_users_are_resampled_by_the_buckets_they_are_in(n_users: int, exact: bool) -> None:
    # Each user in a bucket of its own: what is drawn is what the table draws.
    user = np.arange(6 * n_users) // 6
    table = sampled(7, 6 * n_users, user=user, item=np.arange(6 * n_users))
    if exact:
        table = replace(table, n_items=table.n_sampled, header=Header(design=tr.Full()))
    counts = RankCounts.from_table(table)
    assert counts.bucket is not None
    assert len(np.unique(counts.bucket)) == n_users
    one, other = (
        tr.estimate(c, "recall@10", n_boot=1000, bounds=False)[0] for c in (table, counts)
    )
    assert np.isfinite(other.replicates).all()
    assert other.std_error == pytest.approx(one.std_error, rel=0.1)


@pytest.mark.parametrize("n_users", [40, 400])
def test_errors_of_several_targets_are_right(n_users: int) -> None:
    # Simulated users whose three items go together, hashed anew each time.
    errors = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        user = np.repeat(np.arange(n_users), 3)
        hit = rng.random(n_users)[user] < 0.4
        rank = np.where(hit, 1, 1 + rng.integers(10, 100, 3 * n_users))
        table = RankTable.from_arrays(
            rank, 200, 200, user=user + 10_000 * seed, item=np.arange(len(user)),
            header=Header(design=tr.Full()),
        )  # fmt: skip
        both = (table, RankCounts.from_table(table))
        errors.append([tr.estimate(c, "recall@10", n_boot=400)[0].std_error for c in both])
    table_error, counts_error = np.sqrt(np.mean(np.square(errors), axis=0))
    assert counts_error == pytest.approx(table_error, rel=0.05)
    assert counts_error == pytest.approx(np.sqrt(0.24 / n_users), rel=0.05)


def test_one_bucket_for_all_gives_no_error() -> None:
    counts = RankCounts.from_table(sampled(2, user=np.arange(900) // 3, item=np.arange(900)))
    assert counts.bucket is not None
    together = replace(counts, bucket=np.zeros_like(counts.bucket))
    found = tr.estimate(together, "recall@10", bounds=False)[0]
    assert np.isnan(found.std_error)


def test_few_buckets_are_said_to_be_too_few() -> None:
    counts = RankCounts.from_table(sampled(2, user=np.arange(900) // 3, item=np.arange(900)))
    assert counts.bucket is not None
    for n_buckets, said in ((29, 1), (30, 0)):
        dealt = replace(counts, bucket=counts.bucket % n_buckets)
        (found,) = tr.estimate(dealt, "recall@10", n_boot=50, bounds=False)
        assert (
            sum(f"are in {n_buckets} buckets" in note for note in found.diagnostics.notes) == said
        )


def test_users_there_are_may_be_asked_about() -> None:
    table = sampled(4, header=Header(n_population=1000))
    for one, other in zip(
        tr.estimate(table, METRICS, n_boot=100, population="finite"),
        tr.estimate(RankCounts.from_table(table), METRICS, n_boot=100, population="finite"),
        strict=True,
    ):
        assert other.std_error == pytest.approx(one.std_error, rel=1e-9)


def test_nothing_is_refused_in_one_sentence() -> None:
    empty = RankCounts.from_arrays([], 5, 9)
    assert len(empty) == 0
    with pytest.raises(InvalidDataError, match="the counts have no rows"):
        tr.estimate(empty, "recall@1")
    with pytest.raises(InvalidDataError, match="all weights are zero"):
        tr.estimate(RankCounts.from_arrays([1], 5, 9, weight=0.0), "recall@1")


# -------------------------------------------------------------------- SQL

PAGE = Path(__file__).parents[2] / "docs" / "counts.md"


def statements() -> list[str]:
    return re.findall(r"```sql\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("several", [False, True])
def test_the_sql_of_the_page_gives_the_counts(several: bool, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    rng = np.random.default_rng(5)
    user = rng.integers(0, 300, 900) if several else np.arange(900)
    weight = rng.choice([0.5, 1.0, 2.0], 900) * (user % 7 > 0)  # users of weight 0 among them
    table = sampled(5, user=user, item=np.arange(900), weight=weight)
    table.to_parquet(tmp_path / "ranks.parquet")
    query = statements()[several].replace("ranks.parquet", str(tmp_path / "ranks.parquet"))
    answer = duckdb.sql(query).arrow()
    frame = answer.read_all() if hasattr(answer, "read_all") else answer
    counts = RankCounts.from_frame(frame, header=table.header)
    ours = RankCounts.from_table(table)
    if not several:
        assert columns(counts) == columns(ours)
    else:  # another hash of the users: the same counts in other buckets
        apart = [replace(c, bucket=None) for c in (counts, ours)]
        empty = RankCounts.from_arrays([], 5, 9, header=table.header)
        assert columns(apart[0] + empty) == columns(apart[1] + empty)
    found, told = (tr.estimate(c, METRICS, n_boot=300, bounds=False) for c in (counts, table))
    for one, other in zip(found, told, strict=True):
        assert one.n_users == other.n_users
        assert one.value == pytest.approx(other.value, rel=1e-9)
        assert one.std_error == pytest.approx(other.std_error, rel=0.25)
