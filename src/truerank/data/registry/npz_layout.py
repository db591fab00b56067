"""The npz layout of data sets: what its arrays are called, on disk and as Interactions.

A file ``<name>/<name>.npz`` (``numpy.savez_compressed``, no pickle) holds one of

* a log: ``user, item`` and optionally ``rating`` (or ``count``, ``value``) and ``timestamp``;
  where ids are strings, ``user_id, item_id`` are those strings, sorted, and ``user, item`` index
  them;
* a published split: the same columns as ``train_*`` and ``test_*``, with 0-based ids below
  ``n_users`` and ``n_items``, and optionally ``test_negative`` (row k: negatives of test row k);
* several of either, each under a prefix that is the name of the part: ``purchase_user, ...``.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.data.input_columns import DuplicateRule
from truerank.data.interactions import Interactions
from truerank.data.registry.archives import Arrays
from truerank.data.registry.partial import storage_error
from truerank.errors import FileFormatError, InvalidArgumentError
from truerank.files import written_whole

WEIGHTS = ("rating", "count", "value")
"""What the strength of an interaction may be called."""


def read_npz(path: Path) -> Arrays:
    """All arrays of a file; a split without ``n_users`` and ``n_items`` gets them."""
    try:
        # Opened here, since np.load forgets to close a file that turns out to be none of its own.
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, TypeError) as error:
        # TypeError: a .npy file under the wrong name gives a bare array, no file to enter.
        raise FileFormatError(
            f"{path} is damaged, or no npz file without pickle; remove it and get it again"
        ) from error
    except OSError as error:
        raise storage_error("read", path, error) from error
    return with_sizes(arrays)


def write_npz(path: Path, arrays: Arrays) -> None:
    """Write the file whole, or not at all; its folder is made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    except OSError as error:
        raise storage_error("write", path, error) from error


def with_sizes(arrays: Arrays) -> Arrays:
    """A split's arrays with ``n_users`` and ``n_items``: where missing, the largest id plus one."""
    if not {"train_user", "train_item", "test_user", "test_item"} <= arrays.keys():
        return arrays
    sizes: Arrays = {}
    for size, columns in (
        ("n_users", ("train_user", "test_user")),
        ("n_items", ("train_item", "test_item", "test_negative")),
    ):
        largest = max(int(arrays[c].max(initial=-1)) for c in columns if c in arrays)
        sizes[size] = np.array(largest + 1, dtype=np.int32)
    return sizes | arrays


def parts_of(arrays: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
    """Names of the parts that make a data set of their own; ``""`` where there is no prefix.

    >>> none = np.zeros(0)
    >>> parts_of({"loo_train_user": none, "loo_train_item": none, "n_users": none})
    ('loo',)
    """
    parts: list[str] = []
    for key in arrays:
        stem = key.removesuffix("user")
        # A test half alone makes no data set: ncf_full_test of pinterest-37501 has no train half.
        whole = stem != key and f"{stem}item" in arrays and not stem.endswith("test_")
        if whole and (not stem or stem.endswith("_")):
            parts.append(stem.removesuffix("train_").removesuffix("_"))
    return tuple(dict.fromkeys(parts))


def to_interactions(
    arrays: Mapping[str, NDArray[Any]],
    *,
    name: str,
    part: str | None,
    default_part: str | None,
    duplicates: DuplicateRule,
) -> Interactions:
    """One part as :class:`Interactions`: a log as it is, a split as its train and test together."""
    parts = parts_of(arrays)
    if not parts:
        raise FileFormatError(
            f"the data set {name!r} has no arrays user and item, or train_user and train_item; "
            f"it has {', '.join(arrays) or 'none'}: see truerank.data.registry.npz_layout for the "
            "names"
        )
    chosen = part if part is not None else default_part
    if chosen is None:
        chosen = parts[0] if len(parts) == 1 else ""
    if chosen not in parts:
        named = ", ".join(repr(p) for p in parts if p)
        want = f"one of {named}" if named else f"left out, {name!r} has no parts"
        raise InvalidArgumentError("part", part, want)
    prefix = f"{chosen}_" if chosen else ""
    halves = [half for half in ("train_", "test_") if f"{prefix}{half}user" in arrays] or [""]
    columns = {
        column: np.concatenate([arrays[f"{prefix}{half}{column}"] for half in halves])
        for column in ("user", "item", *WEIGHTS, "timestamp")
        if all(f"{prefix}{half}{column}" in arrays for half in halves)
    }
    weight = next((columns[c] for c in WEIGHTS if c in columns), None)
    ranges = {
        side: np.arange(size)
        for side in ("user", "item")
        if (size := _vocabulary_size(arrays, side)) is not None
    }
    data = Interactions.from_arrays(
        columns["user"],
        columns["item"],
        weight=weight,
        timestamp=columns.get("timestamp"),
        user_ids=ranges.get("user"),
        item_ids=ranges.get("item"),
        duplicates=duplicates,
        # What known data sets mean by 0 is known, and their figures count all of it.
        min_rating=None if weight is None else -np.inf,
    )
    return _named(data, arrays, name)


def _vocabulary_size(arrays: Mapping[str, NDArray[Any]], side: str) -> int | None:
    """How many ids there are, used or not; None where only those that occur are known."""
    if f"{side}_id" in arrays:
        return len(arrays[f"{side}_id"])
    return int(arrays[f"n_{side}s"]) if f"n_{side}s" in arrays else None


def _named(data: Interactions, arrays: Mapping[str, NDArray[Any]], name: str) -> Interactions:
    """Give string ids back; they are put in last, since a string per row would not fit."""
    names = {s: arrays[f"{s}_id"].astype(str) for s in ("user", "item") if f"{s}_id" in arrays}
    for side, ids in names.items():
        if np.any(ids[1:] <= ids[:-1]):
            raise FileFormatError(
                f"{side}_id of the data set {name!r} is not sorted or repeats an id; "
                "sort it and renumber the rows"
            )
    if not names:
        return data
    return Interactions(
        indptr=data.indptr,
        indices=data.indices,
        user_ids=names.get("user", data.user_ids),
        item_ids=names.get("item", data.item_ids),
        weights=data.weights,
        timestamps=data.timestamps,
    )
