"""Users who tell nothing: of no weight, or the only one."""

from __future__ import annotations

import math

import numpy as np
import pytest

import truerank as tr


def test_one_user_shows_no_difference() -> None:
    """All resamples of one user are alike, which says nothing of future users."""
    tables = {
        name: tr.RankTable.from_arrays(rank=[rank], n_sampled=50, n_items=500)
        for name, rank in (("a", 1), ("b", 50))
    }
    found = tr.compare(tables, ["recall@10"], progress=False).comparisons[0]
    assert found.p_value == 1.0
    assert math.isnan(found.std_error)
    assert math.isnan(found.low)


@pytest.mark.parametrize("n_sampled", [50, 500])
def test_users_of_no_weight_change_nothing(n_sampled: int) -> None:
    rank, weight = np.array([1, 40, 9, 2, 30, 3]), np.array([1.0, 0, 2, 0, 3, 1])
    columns = {"user": np.arange(6), "rank": rank, "weight": weight}
    with_them, without = (
        tr.RankTable.from_arrays(
            **{name: column[rows] for name, column in columns.items()},
            n_sampled=n_sampled,
            n_items=500,
        )
        for rows in (slice(None), weight > 0)
    )
    for one, other in zip(
        tr.estimate(with_them, ["recall@10"]), tr.estimate(without, ["recall@10"]), strict=True
    ):
        assert (one.value, one.std_error) == (other.value, other.std_error)
        assert np.isfinite(one.replicates).all()


def test_weights_within_a_user_count_by_their_mean_in_any_order() -> None:
    columns = {
        "user": np.array([0, 0, 1, 1, 2]),
        "item": np.array([0, 1, 0, 1, 0]),
        "rank": np.array([1, 30, 40, 2, 9]),
        "weight": np.array([1.0, 3.0, 0.5, 0.1, 2.0]),
    }
    orders = (np.arange(5), np.array([1, 3, 0, 4, 2]))
    tables = [
        tr.RankTable.from_arrays(
            **{name: column[order] for name, column in columns.items()}, n_sampled=50, n_items=50
        )
        for order in orders
    ]
    assert np.allclose(tables[0].user_weight, [2.0, 0.3, 2.0])
    first, second = (tr.estimate(table, ["hit@5"], n_boot=9)[0] for table in tables)
    assert first.value == second.value == pytest.approx((2.0 + 0.3) / 4.3)
    assert np.array_equal(first.replicates, second.replicates)
