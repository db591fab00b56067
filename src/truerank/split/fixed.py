"""Splits that somebody else made: published ones by name, and your own parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.split.pair_sets import on_common_vocabularies
from truerank.split.policies import (
    ColdItems,
    NewUsers,
    Overlap,
    Policies,
    ShortUsers,
    apply_policies,
)
from truerank.split.result import Dropped, Split, SplitDescription

DEFAULT_PARTS = ("", "loo")
"""Parts that need not be named: the only split of a set, and NCF's leave-one-out."""


def from_parts(
    train: Interactions,
    held_out: Interactions,
    *,
    fold_in: Interactions | None = None,
    overlap: Overlap = "error",
    short_users: ShortUsers = "keep_in_train",
    new_users: NewUsers = "keep",
    cold_items: ColdItems = "keep",
) -> Split:
    """Make a split of parts that exist already; their vocabularies are merged.

    Args:
        train: What models are fitted on.
        held_out: What they must rank.
        fold_in: What is known of held-out users who are not in ``train``, if that is the setting.
        overlap: What a held-out pair means that ``train`` or ``fold_in`` has as well: an error,
            or drop it from the held-out part, or keep it there.
        short_users: What to do with training users who have nothing held out.
        new_users: Whether to keep held-out users without any history.
        cold_items: Whether to keep held-out items that nobody in training has seen.

    >>> train = Interactions.from_arrays([1, 2], [5, 6])
    >>> held_out = Interactions.from_arrays([1, 3], [6, 7])
    >>> report = from_parts(train, held_out).report
    >>> report.users_without_history, report.cold_pairs
    (1, 1)
    """
    policies = Policies(
        overlap=overlap, short_users=short_users, new_users=new_users, cold_items=cold_items
    )
    parts = [train, held_out] if fold_in is None else [train, held_out, fold_in]
    merged = on_common_vocabularies(*parts)
    return apply_policies(
        policies,
        _description("from_parts", policies),
        train=merged[0],
        held_out=merged[1],
        fold_in=None if fold_in is None else merged[2],
    )


def published(
    name: str,
    *,
    part: str | None = None,
    overlap: Overlap = "error",
    short_users: ShortUsers = "keep_in_train",
    new_users: NewUsers = "keep",
    cold_items: ColdItems = "keep",
) -> Split:
    """The split a data set was published with, for numbers comparable with papers.

    Ids are the published ones, 0-based; the vocabularies have every id from 0 on, used or not.
    Ratings and counts are ignored, as the papers do. Rows that repeat a pair within a part count
    once; the report says how many there were.

    Args:
        name: A data set of the registry with a fixed split, such as ``"gowalla"``.
        part: Which split, where a set has several: ``"pinterest-37501"`` has ``"loo"`` (NCF's
            leave-one-out, used where none is named) and ``"split"`` (a random one that leaks).
        overlap: As in :func:`from_parts`.
        short_users: As in :func:`from_parts`.
        new_users: As in :func:`from_parts`.
        cold_items: As in :func:`from_parts`.
    """
    from truerank.data.registry.load import load_arrays

    policies = Policies(
        overlap=overlap, short_users=short_users, new_users=new_users, cold_items=cold_items
    )
    return split_of_arrays(load_arrays(name), name, part, policies)


def split_of_arrays(
    arrays: Mapping[str, NDArray[Any]], name: str, part: str | None, policies: Policies
) -> Split:
    """A split from arrays ``[part_]train_user, ..train_item, ..test_user, ..test_item``."""
    part = _chosen_part(arrays, name, part)
    prefix = f"{part}_" if part else ""
    n_users, n_items = (_n_ids(arrays, prefix, side) for side in ("user", "item"))
    train, test = (
        Interactions.from_arrays(
            arrays[f"{prefix}{side}_user"],
            arrays[f"{prefix}{side}_item"],
            user_ids=np.arange(n_users),
            item_ids=np.arange(n_items),
            duplicates="first",
        )
        for side in ("train", "test")
    )
    rows = len(arrays[f"{prefix}train_user"]) + len(arrays[f"{prefix}test_user"])
    return apply_policies(
        policies,
        {**_description("published", policies), "data": name, "part": part},
        train=train,
        held_out=test,
        dropped=Dropped(repeated_rows=rows - len(train) - len(test)),
    )


def _chosen_part(arrays: Mapping[str, NDArray[Any]], name: str, part: str | None) -> str:
    stems = [key.removesuffix("train_user") for key in arrays if key.endswith("train_user")]
    parts = [
        stem.removesuffix("_")
        for stem in stems
        if {f"{stem}train_item", f"{stem}test_user", f"{stem}test_item"} <= arrays.keys()
    ]
    parts.sort(key=lambda p: (p not in DEFAULT_PARTS, p))
    if not parts:
        raise InvalidDataError(
            f"the data set {name!r} has no published split; load it and use another function of "
            "truerank.split, such as leave_one_out"
        )
    if part is None and parts[0] in DEFAULT_PARTS:
        return parts[0]
    if part is None or part not in parts:
        named = ", ".join(repr(p) for p in sorted(parts) if p)
        want = f"one of {named}" if named else f"left out, {name!r} has a single split"
        raise InvalidArgumentError("part", part, want)
    return part


def _n_ids(arrays: Mapping[str, NDArray[Any]], prefix: str, side: str) -> int:
    if f"n_{side}s" in arrays:
        return int(arrays[f"n_{side}s"])
    columns = (arrays[f"{prefix}{half}_{side}"] for half in ("train", "test"))
    return 1 + max(int(column.max(initial=-1)) for column in columns)


def _description(name: str, policies: Policies) -> SplitDescription:
    return {
        "name": name,
        "overlap": policies.overlap,
        "short_users": policies.short_users,
        "new_users": policies.new_users,
        "cold_items": policies.cold_items,
    }
