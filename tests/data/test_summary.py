from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank.data.interactions import Interactions
from truerank.data.summary import gini, summarise


@pytest.fixture
def data() -> Interactions:
    """Item 0 has 10 interactions, items 1 to 9 have one each; user 10 and item 10 have none."""
    return Interactions.from_arrays(
        [*range(10), *range(9)],
        [0] * 10 + list(range(1, 10)),
        weight=[0.5, *[1] * 17, 5],
        timestamp=np.arange(19) * 86_400 + 1_577_836_800,
        user_ids=range(11),
        item_ids=range(11),
    )


def test_numbers(data: Interactions) -> None:
    found = summarise(data)
    assert (found.n_users, found.n_items, found.n_interactions) == (11, 11, 19)
    assert found.density == pytest.approx(19 / 121)
    assert found.per_user == {"median": 2.0, "mean": 19 / 11, "max": 2.0}
    assert found.per_item == {"median": 1.0, "mean": 19 / 11, "max": 10.0}
    assert found.top_1_share == pytest.approx(10 / 19)  # 1 of 11 items
    assert found.top_10_share == pytest.approx(11 / 19)  # 2 of 11 items
    # sorted counts 0, 1 (nine times), 10: the sum of i c_i is (2 + ... + 10) + 11 * 10
    assert found.gini == pytest.approx(2 * (54 + 110) / (11 * 19) - 12 / 11)
    assert (found.users_without, found.items_without) == (1, 1)
    assert found.weight_range == (0.5, 5.0)
    assert found.time_span == (1_577_836_800, 1_577_836_800 + 18 * 86_400)


def test_table_is_aligned(data: Interactions) -> None:
    assert str(data.summary()).splitlines() == [
        "users                       11  1 without interactions",
        "items                       11  1 without interactions",
        "interactions                19  density 15.702%",
        "per user                     2  median, mean 1.7, max 2",
        "per item                     1  median, mean 1.7, max 10",
        "top 1 % of items         52.6%  of the interactions",
        "top 10 % of items        57.9%  of the interactions",
        "Gini of popularity       0.478  0 even, 1 all on one item",
        "weights                    0.5  to 5",
        "time                2020-01-01  to 2020-01-19",
    ]


def test_times_that_are_no_seconds_are_shown_as_they_are() -> None:
    data = Interactions.from_arrays([1, 1], [1, 2], timestamp=[3, 1_577_836_800_000])
    assert str(data.summary()).splitlines()[-1].split() == ["time", "3", "to", "1,577,836,800,000"]


def test_what_is_not_there_is_not_shown() -> None:
    found = Interactions.from_arrays([1], [1]).summary()
    assert found.time_span is None
    assert found.weight_range is None
    assert "weights" not in str(found)
    assert "without" not in str(found)


def test_to_dict_is_ready_for_json(data: Interactions) -> None:
    found = data.summary().to_dict()
    assert json.loads(json.dumps(found))["per_item"]["max"] == 10
    assert found["n_items"] == 11


@given(counts=st.lists(st.integers(0, 50), min_size=1, max_size=20).filter(any))
def test_gini_is_half_the_relative_mean_difference(counts: list[int]) -> None:
    n, mean = len(counts), sum(counts) / len(counts)
    differences = sum(abs(a - b) for a in counts for b in counts)
    assert gini(np.array(counts)) == pytest.approx(differences / (2 * n * n * mean), abs=1e-12)


def test_gini_of_nothing() -> None:
    assert gini(np.zeros(3, dtype=np.int64)) == 0.0
