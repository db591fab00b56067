"""Search in rows that ascend, against sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from truerank.numerics.sorted_rows import absent_item, contains, place_of


@given(st.sets(st.integers(0, 40), max_size=41), st.integers(0, 3), st.integers(0, 3))
@settings(deadline=None)
def test_a_part_of_an_array_is_searched(held: set[int], before: int, after: int) -> None:
    row = np.array([*[7] * before, *sorted(held), *[9] * after], np.int32)
    first, last = before, before + len(held)
    assert [contains(row, first, last, item) for item in range(42)] == [
        item in held for item in range(42)
    ]
    places = [place_of(row, first, last, item) for item in range(42)]
    assert places == [
        first + sorted(held).index(item) if item in held else -1 for item in range(42)
    ]
    absent = [item for item in range(50) if item not in held]
    assert [absent_item(row, first, last, r) for r in range(len(absent))] == absent
