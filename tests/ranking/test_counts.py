"""Counts: a table reduced, added up over shards in any order."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from truerank.ranking import RankCounts, RankTable

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
    times, weight = Counter(row[:3] for row in rows), Counter[tuple[int, ...]]()
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
