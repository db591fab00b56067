"""Scored lists with targets: ranks against a loop, truncated lists, and every sentence."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.metrics import as_metric
from truerank.numerics.ties import TIE_RULES
from truerank.ranking import FunctionScorer, rank_pairs
from truerank.ranking.readers import read_lists
from truerank.rng import Stream, addresses

SEED = 5


def word(user: Any, item: Any) -> int:
    """The address of an item in the random order of a user: ids are numbers, or digests of text."""
    ids = [
        part if isinstance(part, int) else
        int.from_bytes(hashlib.blake2b(part.encode(), digest_size=8).digest(), "little")
        for part in (user, item)
    ]  # fmt: skip
    return int(addresses(SEED, Stream.TIES, *(np.array([part], np.uint64) for part in ids))[0])


def make_lists(
    *, n_users: int = 60, length: int = 30, n_targets: int = 3, strings: bool = False
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Shuffled lists with many ties, and up to three targets of each user in them."""
    rng = np.random.default_rng(9)
    rows, held = [], []
    for user in range(n_users):
        items = rng.choice(500, length, replace=False)
        scores = rng.integers(0, 12, length) / 4.0
        rows += [(user, item, score) for item, score in zip(items, scores, strict=True)]
        held += [(user, item) for item in rng.permutation(items)[: rng.integers(1, n_targets + 1)]]
    lists = pd.DataFrame(rows, columns=["user_id", "item_id", "score"])
    lists = lists.sample(frac=1.0, random_state=4)
    targets = pd.DataFrame(held, columns=["user_id", "item_id"])
    if strings:
        for frame in (lists, targets):
            frame["user_id"] = "u" + frame["user_id"].astype(str)
            frame["item_id"] = "i" + frame["item_id"].astype(str)
    return lists, targets


def by_hand(
    lists: pd.DataFrame, targets: pd.DataFrame, ties: str, *, leave_out_others: bool
) -> list[tuple[int, int]]:
    """(rank, list length) of each target, read off the list of its user, in order."""
    expected = []
    for user, item in targets.itertuples(index=False):
        mine = lists[lists.user_id == user]
        held = set(targets.item_id[targets.user_id == user])
        left_out = held - {item} if leave_out_others else set()
        listed = []
        for score in sorted(set(mine.score), reverse=True):
            block = sorted(set(mine.item_id[mine.score == score]) - left_out)
            targeted = [i for i in block if i in held]
            others = [i for i in block if i not in held]
            above = {
                "half": -(-len(others) // 2), "optimistic": 0, "pessimistic": len(others),
            }.get(ties, 0)  # fmt: skip
            listed += (
                sorted(block, key=lambda i: word(user, i)) if ties == "random"
                else others[:above] + targeted + others[above:]
            )  # fmt: skip
        expected.append((1 + listed.index(item), len(listed)))
    return expected


@pytest.mark.parametrize("ties", TIE_RULES)
@pytest.mark.parametrize("strings", [False, True], ids=["numbers", "strings"])
def test_sampled_lists(ties: Any, strings: bool) -> None:
    lists, targets = make_lists(strings=strings)
    table = read_lists(lists, targets, n_items=2_000, ties=ties, seed=SEED)
    expected = by_hand(lists, targets, ties, leave_out_others=True)
    assert list(zip(table.rank.tolist(), table.n_sampled.tolist(), strict=True)) == expected
    # A user's other targets are no candidates either.
    several = targets.groupby("user_id").item_id.transform("size").to_numpy()
    assert table.n_items.tolist() == (2_000 - (several - 1)).tolist()
    assert table.user.tolist() == targets.user_id.tolist()
    assert table.item.tolist() == targets.item_id.tolist()
    header = table.header
    assert header.design.describe() == {"kind": "foreign", "source": "lists", "lists": "sampled"}
    assert (header.ties, header.candidates) == (ties, "given")


@pytest.mark.parametrize("ties", TIE_RULES)
def test_complete_lists_are_exact_and_keep_the_other_targets(ties: Any) -> None:
    lists, targets = make_lists()
    table = read_lists(lists, targets, n_items=30, ties=ties, seed=SEED)
    expected = by_hand(lists, targets, ties, leave_out_others=False)
    assert table.rank.tolist() == [rank for rank, _ in expected]
    assert table.is_exact.all()


def test_the_same_ranks_as_ranking_the_model() -> None:
    scores = np.random.default_rng(6).normal(size=(40, 25)).round(1)
    users = np.arange(40)
    items = users % 25
    whole = rank_pairs(FunctionScorer(lambda u: scores[u], n_items=25), users, items)
    lists = pa.table({
        "user_id": np.repeat(users, 25), "item_id": np.tile(np.arange(25), 40),
        "score": scores.ravel(),
    })  # fmt: skip
    table = read_lists(lists, pa.table({"user_id": users, "item_id": items}), n_items=25)
    assert np.array_equal(table.rank, whole.rank)


def test_lists_and_targets_from_files(tmp_path: Path) -> None:
    lists, targets = make_lists()
    pq.write_table(pa.Table.from_pandas(lists), tmp_path / "lists.parquet")
    targets.assign(n=700).to_csv(tmp_path / "targets.csv", index=False)
    table = read_lists(tmp_path / "lists.parquet", tmp_path / "targets.csv", n_items="n")
    assert np.array_equal(table.rank, read_lists(lists, targets, n_items=700).rank)
    assert table.n_items.max() == 700


def top_of(lists: pd.DataFrame, k: int) -> pd.DataFrame:
    return lists.sort_values("score", ascending=False).groupby("user_id").head(k)


def test_top_lists_are_right_for_every_metric_within_them() -> None:
    lists, targets = make_lists(length=400)
    lists["score"] = np.random.default_rng(1).permutation(len(lists)).astype(float)  # no ties
    whole = read_lists(lists, targets, n_items=400)
    table = read_lists(top_of(lists, 50), targets, n_items=400, lists="top")
    within = whole.rank <= 50
    assert 0.02 < within.mean() < 0.9
    assert np.array_equal(table.rank[within], whole.rank[within])
    for who in np.unique(table.user):
        absent = np.sort(table.rank[~within & (table.user == who)])[::-1]
        assert absent.tolist() == [400 - k for k in range(len(absent))]
    assert table.is_exact.all()
    assert table.header.design.details["depth"] == 50
    assert table.header.design.details["n_missing"] == int((~within).sum())
    for name in ("recall@50", "ndcg@10", "ap@50", "hit@5", "mrr@50", "precision@20"):
        metric = as_metric(name)
        assert np.array_equal(table.per_user(metric)[1], whole.per_user(metric)[1]), name
    assert not np.array_equal(table.per_user("mrr")[1], whole.per_user("mrr")[1])
    dropped = read_lists(top_of(lists, 50), targets, n_items=400, lists="top", missing="drop")
    assert np.array_equal(dropped.rank, whole.rank[within])


def test_targets_not_in_a_list_that_nearly_fills_the_catalogue() -> None:
    """Two absent targets need two places below the list."""
    lists = pd.DataFrame({"user_id": [1, 1], "item_id": [5, 6], "score": [0.5, 0.25]})
    targets = pd.DataFrame({"user_id": [1, 1], "item_id": [8, 7]})
    table = read_lists(lists, targets, n_items=4, lists="top")
    assert table.rank.tolist() == [4, 3]
    with pytest.raises(InvalidDataError, match="there are more than n_items 3"):
        read_lists(lists, targets, n_items=3, lists="top")


LISTS = {"user_id": [1, 1, 2, 2], "item_id": [5, 6, 5, 7], "score": [0.5, 0.25, 1.0, 2.0]}


@pytest.mark.parametrize(
    ("changes", "held", "options", "sentence"),
    [
        pytest.param({}, {"user_id": [1], "item_id": [7]}, {}, r"1 of 1 targets are not in their "
                     r"lists, the first is user 1, item 7; a sampled list holds its target: .*say "
                     "lists='top'", id="truncated-as-sampled"),
        pytest.param({}, {"user_id": [1, 3], "item_id": [5, 5]}, {}, "user 3, item 5, whose user "
                     "has no list at all", id="one-unknown-user"),
        pytest.param({}, {"user_id": [8, 9], "item_id": [5, 5]}, {"lists": "top"}, "none of the 2 "
                     "users with targets has a list, the first is 8", id="no-known-user"),
        pytest.param({}, {"user_id": [1], "item_id": [7]}, {"lists": "top", "missing": "refuse"},
                     "say missing='last' or 'drop'", id="refused"),
        pytest.param({"score": [0.5, np.nan, 1.0, 2.0]}, {"user_id": [1], "item_id": [5]}, {},
                     "1 of 4 scores are NaN, the first for user 1", id="nan"),
        pytest.param({"score": ["x", "y", "z", "w"]}, {"user_id": [1], "item_id": [5]}, {},
                     "score must be numbers, got values such as 'x'", id="words"),
        pytest.param({"item_id": [5, 5, 5, 7]}, {"user_id": [1], "item_id": [5]}, {}, "1 of 4 rows "
                     "of the lists repeat a .user, item. pair, the first is user 1, item 5",
                     id="repeat-in-list"),
        pytest.param({}, {"user_id": [1, 1], "item_id": [5, 5]}, {}, "1 of 2 rows of targets repeat"
                     , id="repeated-target"),
        pytest.param({}, {"user_id": ["01"], "item_id": [5]}, {}, "none of the 1 users with "
                     "targets has a list, the first is 01;", id="types"),
        pytest.param({}, {"user_id": [1], "item_id": [5]}, {"n_items": 1}, "the list of user 1 has "
                     "2 items, more than n_items 1", id="catalogue-too-small"),
        pytest.param({}, {"user_id": [1], "item_id": [5]}, {"score": "scor"}, "no column 'scor'.*"
                     "score='score'", id="wrong-column"),
        pytest.param({}, {"user_id": [1], "item_id": [5]}, {"ties": "best"}, "ties must be one "
                     "of half, optimistic, pessimistic, random", id="unknown-ties"),
        pytest.param({}, {"user_id": [1], "item_id": [5]}, {"missing": "last"}, "missing must be "
                     "one of drop, refuse for sampled lists", id="last-of-sampled"),
        pytest.param({}, {"user_id": [1], "item_id": [5]}, {"lists": "full"}, "lists must be "
                     "'sampled' or 'top'", id="unknown-kind"),
    ],
)  # fmt: skip
def test_sentences(
    changes: dict[str, Any], held: dict[str, Any], options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises((InvalidArgumentError, InvalidDataError), match=sentence):
        read_lists(pa.table(LISTS | changes), pa.table(held), **{"n_items": 100, **options})


def test_swapped_arguments() -> None:
    held = pa.table({"user_id": [1], "item_id": [5]})
    with pytest.raises(InvalidDataError, match="swap the two arguments"):
        read_lists(held, pa.table(LISTS), n_items=100)
