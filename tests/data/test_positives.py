"""What a rating says about being a positive."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from truerank.data.interactions import Interactions
from truerank.data.registry.npz_layout import to_interactions
from truerank.errors import DataWarning, InvalidArgumentError, InvalidDataError

USERS, ITEMS, RATINGS = ["a", "a", "b", "c"], [1, 2, 1, 3], [5.0, -1.0, 0.0, -0.5]


def read(**options: Any) -> Interactions:
    return Interactions.from_arrays(USERS, ITEMS, weight=RATINGS, **options)


def test_what_is_rated_zero_or_less_is_left_out_with_a_warning() -> None:
    with pytest.warns(DataWarning) as caught:
        data = read()
    assert [str(w.message) for w in caught] == [
        (
            "3 of 4 interactions have a rating of 0 or less (the lowest is -1) and do not count as "
            "positives; draw the line elsewhere with min_rating="
        )
    ]
    assert caught[0].filename == __file__
    assert data.user_ids.tolist() == ["a"]
    assert data.item_ids.tolist() == [1]
    assert data.n_dropped == data.summary().n_dropped == 3
    assert "left out" in str(data.summary())
    assert pickle.loads(pickle.dumps(data)).n_dropped == 3
    plain = Interactions.from_arrays(["a"], [1], weight=[5.0])
    assert data.fingerprint() == plain.fingerprint()
    assert "left out" not in str(plain.summary())


@pytest.mark.parametrize(("least", "kept"), [(-np.inf, 4), (-1, 4), (-0.5, 3), (0, 2), (5, 1)])
def test_a_threshold_wins_and_says_nothing(least: float, kept: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = read(min_rating=least)
    assert len(data) == kept
    assert data.n_dropped == 4 - kept


def test_positive_ratings_and_no_ratings_change_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rated = Interactions.from_arrays(USERS, ITEMS, weight=[5, 0.5, 1, 2])
        plain = Interactions.from_arrays(USERS, ITEMS)
    assert len(rated) == len(plain) == 4
    assert rated.n_dropped == plain.n_dropped == 0


def test_named_vocabularies_stay() -> None:
    data = read(min_rating=1, user_ids=["a", "b", "c", "d"])
    assert data.user_ids.tolist() == ["a", "b", "c", "d"]
    assert data.item_ids.tolist() == [1]
    data = read(min_rating=1, item_ids=[1, 2, 3, 9])
    assert (data.n_users, data.n_items) == (1, 4)


def test_repeats_are_settled_first() -> None:
    rows: dict[str, Any] = {"user": [1, 1, 2, 2], "item": [1, 1, 1, 1], "timestamp": [1, 2, 2, 1]}
    opinions = {"weight": [5.0, -1.0, 4.0, -1.0], "min_rating": 0}
    for rule, users in (("last", [2]), ("first", [1]), ("sum", [1, 2]), ("max", [1, 2])):
        data = Interactions.from_arrays(**rows, **opinions, duplicates=rule)  # type: ignore[arg-type]
        assert data.user_ids.tolist() == users


def test_what_cannot_be() -> None:
    with pytest.raises(InvalidDataError, match=r"no rating is at least 6, they run from -1 to 5"):
        read(min_rating=6)
    with pytest.raises(InvalidArgumentError, match="min_rating must be a number, got nan"):
        read(min_rating=np.nan)
    with pytest.raises(InvalidArgumentError, match="left out where there are no ratings"):
        Interactions.from_arrays(USERS, ITEMS, min_rating=2)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames(make: Any) -> None:
    frame = make({"user_id": USERS, "item_id": ITEMS, "stars": RATINGS})
    with pytest.warns(DataWarning, match="3 of 4"):
        assert len(Interactions.from_frame(frame, weight="stars")) == 1
    assert len(Interactions.from_frame(frame, weight="stars", min_rating=0)) == 2
    with pytest.warns(DataWarning) as caught:
        assert len(Interactions.from_frame(frame)) == 4  # nobody named the ratings
    assert [str(w.message) for w in caught] == [
        (
            "3 of 4 rows have 0 or less in column 'stars' and count as positives all the same, "
            "since it was not named; leave them out with weight='stars', or say that they count "
            "with min_rating=-inf beside it"
        )
    ]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(Interactions.from_frame(frame, weight="stars", min_rating=-np.inf)) == 4


def test_files(tmp_path: Path) -> None:
    table = pa.table({"user_id": USERS, "item_id": ITEMS, "stars": RATINGS})
    pq.write_table(table, tmp_path / "x.parquet")
    table.to_pandas().to_csv(tmp_path / "x.csv", index=False)
    for read_file, name in ((Interactions.from_parquet, "parquet"), (Interactions.from_csv, "csv")):
        with pytest.warns(DataWarning, match="3 of 4"):
            assert len(read_file(tmp_path / f"x.{name}", weight="stars")) == 1
        assert len(read_file(tmp_path / f"x.{name}", weight="stars", min_rating=-1)) == 4
        with pytest.warns(DataWarning, match=r"3 of 4 rows have 0 or less in column 'stars'"):
            assert len(read_file(tmp_path / f"x.{name}")) == 4


def test_ratings_that_nobody_named_but_that_are_all_positive(tmp_path: Path) -> None:
    table = pd.DataFrame({"user_id": USERS, "item_id": ITEMS, "Rating": [1, 2.5, np.nan, 3]})
    table.to_csv(tmp_path / "x.csv", index=False)
    words = table.assign(Rating=["good", "bad", "bad", "-1"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for frame in (table, words):
            assert len(Interactions.from_frame(frame)) == 4
        data = Interactions.from_csv(tmp_path / "x.csv")
    assert data.weights is None


@pytest.mark.parametrize("weighted", [True, False])
def test_matrices(weighted: bool) -> None:
    matrix = sparse.csr_array([[5.0, -1.0], [0.0, -2.0]])
    with pytest.warns(DataWarning, match="2 of 3"):
        data = Interactions.from_csr(matrix, weighted=weighted)
    assert (data.n_users, data.n_items, len(data)) == (2, 2, 1)
    assert (data.weights is None) == (not weighted)
    assert len(Interactions.from_csr(matrix, weighted=weighted, min_rating=-1)) == 2


def test_known_data_sets_count_what_they_always_did() -> None:
    arrays = {"user": np.array([0, 1]), "item": np.array([0, 1]), "rating": np.array([0.0, 3.0])}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = to_interactions(arrays, name="x", part=None, default_part=None, duplicates="error")
    assert len(data) == 2
