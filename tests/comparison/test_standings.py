"""Chances of being best, and groups that cannot be told apart."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from truerank.comparison.standings import chance_of_being_best, indistinguishable_groups


def test_chances_count_first_places_and_share_ties() -> None:
    replicates = np.array([[3.0, 1.0, 2.0, 2.0], [1.0, 2.0, 2.0, 1.0]])
    assert chance_of_being_best(replicates).tolist() == [2.5 / 4, 1.5 / 4]


@given(st.integers(1, 6), st.data())
def test_groups_are_exactly_the_largest_sets_without_a_pair_told_apart(
    n: int, data: st.DataObject
) -> None:
    models = [f"m{i}" for i in range(n)]
    pairs = list(combinations(models, 2))
    apart = set(data.draw(st.lists(st.sampled_from(pairs), unique=True))) if pairs else set()
    level = [
        set(group)
        for size in range(1, n + 1)
        for group in combinations(models, size)
        if not any(pair in apart for pair in combinations(group, 2))
    ]
    largest = [group for group in level if not any(group < other for other in level)]
    found = indistinguishable_groups(models, apart)
    assert sorted(map(sorted, largest)) == sorted(map(sorted, found))
    assert all(list(group) == [m for m in models if m in group] for group in found)
