"""Bring tables onto the same rows: only what both models ranked can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from truerank.data.id_order import distinct_ids, order_keys
from truerank.data.ids import in_one_type
from truerank.errors import InvalidArgumentError, InvalidDataError, option
from truerank.ranking import RankTable

Alignment = Literal["refuse", "common"]


def align(tables: Mapping[str, RankTable], how: Alignment = "refuse") -> dict[str, RankTable]:
    """The tables with their rows in one order, by (user, item).

    Args:
        tables: By the name of their model.
        how: ``"refuse"`` tables that do not hold the same (user, item) rows, or keep the rows
            ``"common"`` to all: right if what is missing is missing by chance.

    Memory beyond the tables, measured with two of a million rows and ids of 7 characters: nothing
    where the rows are the same and ascending already, as ranking leaves them, but while it looks
    (3 bytes per row and table with ids that are numbers, 80 with text); 70 and 330 where they are
    the same in another order, most of it the tables put in order; 80 and 360 where they are not
    the same, since then all ids are numbered together.
    """
    if how not in ("refuse", "common"):
        raise InvalidArgumentError("align", how, "'refuse' or 'common'")
    _check_origin(tables, how)
    _check_ties(tables)
    tables = _with_like_ids(tables)
    names = list(tables)
    if _same_rows(list(tables.values())):
        _check_rows(tables)
        if _in_order(tables[names[0]]):
            return dict(tables)
        key = _row_keys({names[0]: tables[names[0]]})[names[0]]  # the others' too
        _check_repeats(names[0], key)
        order = np.argsort(key, kind="stable")
        return {name: table[order] for name, table in tables.items()}
    keys = _row_keys(tables)
    for name, key in keys.items():
        _check_repeats(name, key)
    common = keys[names[0]]
    for name in names[1:]:
        common = np.intersect1d(common, keys[name], assume_unique=True)
    if how == "refuse":
        for name, key in keys.items():
            if len(key) > len(common):
                raise InvalidDataError(
                    f"{len(key) - len(common):,} of {len(key):,} (user, item) rows of {name!r} are "
                    "not in every table; rank all models on one split, or compare the rows they "
                    "share with " + option("align", "common")
                )
    if len(common) == 0:
        raise InvalidDataError(
            f"the tables of {', '.join(map(repr, names))} share no (user, item) row; were they "
            "made from one split, with the same ids?"
        )
    aligned = {}
    for name, table in tables.items():
        order = np.argsort(keys[name], kind="stable")
        aligned[name] = table[order[np.searchsorted(keys[name], np.sort(common), sorter=order)]]
    _check_rows(aligned)
    return aligned


def _same_rows(tables: list[RankTable]) -> bool:
    """Whether all hold the same (user, item) in the same order, as tables of one job do."""
    first, *others = tables
    return all(
        np.array_equal(first.user, table.user) and np.array_equal(first.item, table.item)
        for table in others
    )


def _in_order(table: RankTable) -> bool:
    """Whether its rows ascend by (user, item), so that no pair is there twice."""
    if len(table) < 2:
        return True
    user, item = order_keys(table.user), order_keys(table.item)
    same_user = user[1:] == user[:-1]
    return bool(((user[1:] > user[:-1]) | (same_user & (item[1:] > item[:-1]))).all())


def _with_like_ids(tables: Mapping[str, RankTable]) -> dict[str, RankTable]:
    """The tables with ids of one type: 7 of one is "7" of another, whose ids came as text.

    Converted in the tables, since resamples number the users of each in ascending order.
    """
    users = in_one_type([table.user for table in tables.values()])
    items = in_one_type([table.item for table in tables.values()])
    return {
        name: table
        if user is table.user and item is table.item
        else replace(table, user=user, item=item)
        for (name, table), user, item in zip(tables.items(), users, items, strict=True)
    }


def _row_keys(tables: Mapping[str, RankTable]) -> dict[str, NDArray[np.int64]]:
    """One number per (user, item), the same in every table, ascending by user."""
    users = _numbered([table.user for table in tables.values()])
    items = _numbered([table.item for table in tables.values()])
    n_items = 1 + max(int(codes.max(initial=0)) for codes in items)
    return {name: u * n_items + i for name, u, i in zip(tables, users, items, strict=True)}


def _numbered(columns: list[NDArray[Any]]) -> list[NDArray[np.int64]]:
    codes = distinct_ids(np.concatenate(columns))[1]
    return np.split(codes, np.cumsum([len(column) for column in columns])[:-1])


def _check_repeats(name: str, key: NDArray[np.int64]) -> None:
    """A pair that is there twice could be matched with either."""
    if len(np.unique(key)) < len(key):
        raise InvalidDataError(
            f"the table of {name!r} holds a (user, item) pair twice, so its rows cannot be "
            "matched with another table's; give every row its user= and item="
        )


def _check_origin(tables: Mapping[str, RankTable], how: Alignment) -> None:
    """Ranks of other data, or among other candidates, are answers to another question."""
    for attribute, what in (("data", "training data"), ("split", "split"), ("candidates", "rule")):
        seen = {
            name: value
            for name, table in tables.items()
            if (value := getattr(table.header, attribute)) not in (None, "unknown")
        }
        if len(set(seen.values())) < 2 or (how == "common" and attribute != "candidates"):
            continue
        first, *others = seen
        other = next(name for name in others if seen[name] != seen[first])
        if attribute == "candidates":
            raise InvalidDataError(
                f"{first!r} is ranked among {seen[first]!r} candidates and {other!r} among "
                f"{seen[other]!r} ones, which are different metrics; rank both with the same "
                + option("candidates")
            )
        raise InvalidDataError(
            f"{first!r} and {other!r} do not come from the same {what}; rank both models on one "
            "split of one data set, or compare the rows they share with "
            + option("align", "common")
        )


def _check_ties(tables: Mapping[str, RankTable]) -> None:
    """Ties for one model and against another: even a constant model would win, or lose."""
    rules = {name: table.header.ties for name, table in tables.items()}
    for name, rule in rules.items():
        if rule not in ("optimistic", "pessimistic"):
            continue
        for other, its in rules.items():
            if its not in (rule, "unknown"):
                raise InvalidDataError(
                    f"{name!r} is ranked with ties={rule!r} and {other!r} with ties={its!r}, so "
                    "equal scores count for one and not for the other; rank both with the same "
                    + option("ties")
                )


def _check_rows(aligned: Mapping[str, RankTable]) -> None:
    first, *others = aligned
    for name in others:
        if not np.array_equal(aligned[first].weight, aligned[name].weight):
            raise InvalidDataError(
                f"{first!r} and {name!r} weigh the same rows differently; give both tables the "
                "same weights"
            )
        if not np.array_equal(aligned[first].n_items, aligned[name].n_items):
            raise InvalidDataError(
                f"{first!r} and {name!r} have different n_items for the same (user, item) row; "
                "rank both among the same candidates, or correct n_items"
            )
