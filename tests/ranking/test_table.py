"""RankTable: what it accepts, refuses, joins and gives back."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.ranking import Header, RankTable
from truerank.ranking.designs import Foreign


def make_table(rank: Any = (1, 4, 2), **columns: Any) -> RankTable:
    return RankTable.from_arrays(**{"rank": rank, "n_sampled": 10, "n_items": 50, **columns})


def test_scalars_stand_for_whole_columns() -> None:
    table = make_table()
    assert table.n_sampled.tolist() == [10, 10, 10]
    assert table.n_items.tolist() == [50, 50, 50]
    assert table.weight.tolist() == [1.0, 1.0, 1.0]
    assert table.n_scored.tolist() == [10, 10, 10]
    assert table.user.tolist() == [0, 1, 2]  # each row its own user
    assert table.item.tolist() == [0, 0, 0]
    assert len(table) == table.n_users == 3
    assert table.header == Header()
    assert table.header.design == Foreign()


def test_a_scalar_rank_spreads_over_the_other_columns() -> None:
    table = make_table(1, n_sampled=[10, 20], weight=[1, 2])
    assert table.rank.tolist() == [1, 1]
    assert len(make_table(1)) == 1
    assert make_table(1, weight=[1, 2, 3]).rank.tolist() == [1, 1, 1]


def test_an_empty_table_is_a_table() -> None:
    table = make_table([])
    assert len(table) == len(table.counts()) == 0
    assert "0 rows" in repr(table)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.float32, np.float64])
def test_columns_of_other_types_are_converted(dtype: Any) -> None:
    table = make_table(np.array([1, 3], dtype), n_items=np.array([40, 50], dtype))
    assert table.rank.dtype == table.n_items.dtype == np.int64
    assert table.rank.tolist() == [1, 3]


def test_columns_are_read_only_and_the_callers_are_not() -> None:
    rank, weight, user = np.array([1, 2]), np.array([0.5, 1.5]), np.array(["a", "b"])
    table = make_table(rank, weight=weight, user=user)
    for name in ("user", "item", "rank", "n_sampled", "n_items", "weight", "n_scored"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(table, name)[0] = getattr(table, name)[1]
    for array in (rank, weight, user):
        assert array.flags.writeable
    with pytest.raises(AttributeError):
        table.rank = rank  # type: ignore[misc]


@pytest.mark.parametrize("way", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies_are_read_only_too(way: Any) -> None:
    table = make_table(user=["a", "b", "c"], header=Header(seed=3))
    again = way(table)
    assert not again.rank.flags.writeable
    assert again.rank.tolist() == table.rank.tolist()
    assert again.user.tolist() == ["a", "b", "c"]
    assert again.header == table.header


def test_some_rows() -> None:
    table = make_table([1, 2, 3, 4])
    assert table[1:3].rank.tolist() == [2, 3]
    assert table[table.rank > 2].rank.tolist() == [3, 4]
    assert table[np.array([3, 0])].rank.tolist() == [4, 1]
    assert table[1:3].header is table.header


def test_exact_rows_are_those_ranked_among_all() -> None:
    assert make_table(n_sampled=[10, 50, 49]).is_exact.tolist() == [False, True, False]


def test_ids_of_any_kind() -> None:
    assert make_table(user=np.array(["x", "yy", "z"], object)).user.dtype.kind == "U"
    assert make_table(user=np.array([7, 8, 9], object)).user.dtype.kind == "i"
    for bad in ([1.5, 2.5, 3.5], [None, "a", "b"], [b"a", b"b", b"c"]):
        with pytest.raises(
            InvalidDataError, match="user ids must be whole numbers or strings, got values of type"
        ):
            make_table(user=bad)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        pytest.param({"rank": [1, 11, 2]}, "row 1: rank 11 is larger than n_sampled 10; n_sampled "
                     "counts the target too, so 99 negatives make 100", id="rank>n"),
        pytest.param({"n_items": [50, 50, 9]}, "row 2: n_sampled 10 is larger than n_items 9; "
                     "n_items is the size of the catalogue", id="n>N"),
        pytest.param({"rank": [0, 1, 2]}, "row 0: rank 0 must be at least 1: ranks are 1-based",
                     id="rank-0"),
        pytest.param({"rank": [-3, 1, 2]}, "row 0: rank -3 must be at least 1", id="negative"),
        pytest.param({"rank": [1.5, 1, 2]}, "rank must be whole numbers, got 1.5", id="fraction"),
        pytest.param({"rank": [np.nan, 1, 2]}, "rank must be whole numbers, got nan", id="nan"),
        pytest.param({"rank": [np.inf, 1, 2]}, "rank must be whole numbers, got inf", id="inf"),
        pytest.param({"rank": ["1", "2", "3"]}, "rank must be whole numbers, got values of type",
                     id="strings"),
        pytest.param({"n_items": 1e19}, "n_items must be whole numbers, got 1e[+]19", id="huge"),
        pytest.param({"weight": [1, np.nan, 1]}, "row 1: weight nan must be finite and not neg",
                     id="nan-weight"),
        pytest.param({"weight": [1, 1, -0.5]}, "row 2: weight -0.5 must be finite and not negative",
                     id="negative-weight"),
        pytest.param({"weight": np.inf}, "row 0: weight inf must be finite", id="inf-weight"),
        pytest.param({"weight": [1, 1e101, 1]}, r"row 1: weight 1e\+101 must be 0 or from 1e-100 "
                     r"to 1e\+100.*multiply all weights by one number", id="huge-weight"),
        pytest.param({"weight": [1, 0, 1e-101]}, "row 2: weight 1e-101 must be 0 or from 1e-100",
                     id="tiny-weight"),
        pytest.param({"weight": ["1", "2", "3"]}, "weight must be numbers, got values of type <U1, "
                     "the first of them 1; convert them first", id="text-weight"),
        pytest.param({"weight": np.array([1, "2", 3], object)}, "weight must be numbers, got "
                     "values of type object", id="some-text-weight"),
        pytest.param({"weight": [1j, 1, 1]}, "weight must be numbers, got values of type "
                     "complex128", id="complex-weight"),
        pytest.param({"weight": [[1], [1, 2], 1]}, "numbers, got values that are not numbers: ",
                     id="nested-weight"),
        pytest.param({"weight": [10**400, 1, 1]}, "numbers, got values that are not numbers: ",
                     id="endless-weight"),
        pytest.param({"n_scored": -1}, "row 0: n_scored -1 must not be negative", id="cost"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be(columns: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidDataError, match=sentence):
        make_table(**columns)


@pytest.mark.parametrize("column", ["n_sampled", "n_items", "weight", "user", "item", "n_scored"])
def test_columns_of_other_lengths(column: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"must be a scalar or of shape \(3,\) like"):
        make_table(**{column: [10, 10]})
    with pytest.raises(InvalidArgumentError, match=rf"{column} must be a scalar or of shape"):
        make_table(**{column: [[10, 10, 10]]})


def test_a_column_of_the_wrong_shape_is_named() -> None:
    table = make_table()
    with pytest.raises(InvalidArgumentError, match=r"weight must be of shape \(3,\) like rank"):
        replace(table, weight=np.ones(2))


# ---------------------------------------------------------------- joining


def shard(users: list[int], **header: Any) -> RankTable:
    return make_table(
        [1] * len(users), user=users,
        header=Header(design={"kind": "sampled", "n": 10}, seed=1, **header),
    )  # fmt: skip


def test_shards_join_in_order() -> None:
    joined = RankTable.concat([shard([5, 6]), shard([1])])
    assert joined.user.tolist() == [5, 6, 1]
    assert joined.header == shard([1]).header
    assert not joined.rank.flags.writeable
    one = shard([3, 3])  # one table alone may hold what it holds
    assert RankTable.concat([one]).user.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seed", 2),
        ("ties", "random"),
        ("model", "ease"),
        ("data", "abc"),
        ("split", "abc"),
        ("candidates", "all"),
        ("replacement", True),
        ("version", "9.9"),
        ("design", {"kind": "full"}),
    ],
)
def test_tables_of_different_jobs_do_not_join(field: str, value: Any) -> None:
    one, other = shard([1]), shard([2])
    other = replace(other, header=replace(other.header, **{field: value}))
    with pytest.raises(InvalidDataError, match=f"these tables differ in {field}; only shards of"):
        RankTable.concat([one, other])


def test_tables_that_share_rows_do_not_join() -> None:
    with pytest.raises(InvalidDataError, match=r"share \(user, item\) rows; each row may come"):
        RankTable.concat([shard([1, 2]), shard([2, 3])])


def test_nothing_does_not_join() -> None:
    with pytest.raises(InvalidArgumentError, match="tables must be at least one table"):
        RankTable.concat([])


@pytest.mark.parametrize(
    ("one", "other", "joint"),
    [
        pytest.param(2, 1, 3, id="shards-count-their-own-users"),
        pytest.param(9, 9, 9, id="parts-know-the-whole"),
        pytest.param(2, None, None, id="unknown-stays-unknown"),
    ],
)
def test_users_that_could_have_been_ranked(one: int, other: int | None, joint: int | None) -> None:
    tables = [shard([1, 2], n_population=one), shard([3], n_population=other)]
    assert RankTable.concat(tables).header.n_population == joint


def test_user_samples_of_different_populations_do_not_join() -> None:
    design = {"kind": "users", "m": 2, "inner": {"kind": "full"}}
    one, other = (
        make_table(1, user=[k], header=Header(design=design, n_population=5 + k)) for k in (0, 1)
    )
    with pytest.raises(InvalidDataError, match="these tables differ in n_population"):
        RankTable.concat([one, other])


# ---------------------------------------------------------------- metrics


EXACT = make_table([1, 3, 11], n_sampled=50, user=["b", "a", "a"], item=[1, 2, 3])


def test_values_per_row() -> None:
    assert EXACT.per_row("recall@10").tolist() == [1.0, 1.0, 0.0]
    assert EXACT.per_row("ndcg@10").tolist() == [1.0, 0.5, 0.0]
    assert EXACT.per_row(lambda rank: 1 / rank).tolist() == [1.0, 1 / 3, 1 / 11]


def test_values_per_user() -> None:
    users, values = EXACT.per_user("recall@10")
    assert users.tolist() == ["a", "b"]
    assert values.tolist() == [0.5, 1.0]


def test_sampled_ranks_are_no_metric_of_the_catalogue() -> None:
    table = make_table(n_sampled=[10, 50, 10])
    for value in (table.per_row, table.per_user):
        with pytest.raises(
            InvalidDataError,
            match=r"2 of 3 ranks are sampled, so they do not give recall@5 of the catalogue; use "
            "tr.estimate, or naive=True",
        ):
            value("recall@5")
    assert table.per_row("recall@1", naive=True).tolist() == [1.0, 0.0, 0.0]
    assert table.per_user("recall@1", naive=True)[1].tolist() == [1.0, 0.0, 0.0]


def test_a_cutoff_beyond_the_list() -> None:
    for value in (EXACT.per_user, EXACT.per_row):
        with pytest.raises(
            InvalidArgumentError,
            match="the cutoff of recall@51 must be at most the number of candidate items, 50",
        ):
            value("recall@51")
    with pytest.raises(InvalidArgumentError, match="at most the number of candidate items, 10"):
        make_table().per_user("recall@11", naive=True)  # on the samples, of 10


def test_naive_auc_is_that_of_the_samples() -> None:
    assert make_table([4]).per_row("auc", naive=True)[0] == pytest.approx(1 - 3 / 9)
    assert EXACT.per_row("auc")[1] == pytest.approx(1 - 2 / 49)


def test_a_table_introduces_itself() -> None:
    text = repr(make_table(n_sampled=[10, 50, 10]))
    assert text == "RankTable(3 rows, foreign design, 1 exact ranks, 23.3 scored per row)"


# ---------------------------------------------------------------- unsigned numbers


@pytest.mark.parametrize("kind", ["arrays", "columns", "pairs"])
def test_unsigned_ids_are_signed_where_they_fit_and_text_elsewhere(kind: str) -> None:
    def column(ids: Any) -> Any:
        if kind == "pairs":
            scorer = tr.FunctionScorer(lambda users: np.zeros((len(users), 3)), n_items=3)
            return tr.rank_pairs(scorer, [0, 1], [0, 1], user_ids=ids).user
        table = RankTable.from_arrays([1, 1], 2, 3, user=ids if kind == "arrays" else None)
        return table.user if kind == "arrays" else replace(table, user=np.asarray(ids)).user

    small = column(np.array([7, 2**63 - 1], np.uint64))
    assert small.dtype == np.int64
    assert small.tolist() == [7, 2**63 - 1]
    assert column(np.array([7, 2**64 - 1], np.uint64)).tolist() == ["7", str(2**64 - 1)]
    if kind != "columns":  # which takes arrays of numpy's types only
        assert column([7, 2**64]).tolist() == ["7", str(2**64)]


def test_unsigned_numbers_beyond_int64_are_refused_where_numbers_are_meant() -> None:
    huge = np.array([1, 2**63], np.uint64)
    with pytest.raises(InvalidDataError, match=r"n_items must be whole numbers below 2\*\*63, got"):
        RankTable.from_arrays([1, 1], 1, huge)
    scorer = tr.FunctionScorer(lambda users: np.zeros((len(users), 3)), n_items=3)
    with pytest.raises(InvalidArgumentError, match=r"users must be indices from 0, got 9223372036"):
        tr.rank_pairs(scorer, huge, [0, 1])
    with pytest.raises(InvalidDataError, match="negatives must be item indices: whole numbers"):
        tr.FixedNegatives(huge[:, None])


def test_the_largest_and_least_weights_are_taken() -> None:
    weights = [1e-100, 0.0, 1e100]
    assert make_table(weight=weights).weight.tolist() == weights
