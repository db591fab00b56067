"""Turns the columns people have into the arrays :class:`Interactions` keeps, or says why not."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.errors import InvalidArgumentError, InvalidDataError

DuplicateRule = Literal["error", "first", "last", "sum", "max"]
DUPLICATE_RULES: tuple[str, ...] = get_args(DuplicateRule)


def index_ids(
    ids: ArrayLike, vocabulary: ArrayLike | None, name: str
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Number external ids in sorted order, or look them up in a given vocabulary."""
    values = _checked_ids(ids, name)
    if vocabulary is None:
        known, index = np.unique(values, return_inverse=True)
        return index.astype(np.int64), known
    given = _checked_ids(vocabulary, f"{name}_ids")
    known = np.unique(given)
    if len(known) != len(given):
        raise InvalidDataError(
            f"{name}_ids repeats {len(given) - len(known):,} ids; a vocabulary names each id once"
        )
    if known.dtype.kind != values.dtype.kind and len(values):
        raise InvalidDataError(
            f"{name} ids are {_kind(values)} but {name}_ids are {_kind(known)}; "
            "convert one to the type of the other"
        )
    index = np.searchsorted(known, values)
    missing = known[np.minimum(index, len(known) - 1)] != values if len(known) else values == values
    if missing.any():
        raise InvalidDataError(
            f"{int(missing.sum()):,} {name} ids are not in the vocabulary {name}_ids, "
            f"the first is {values[np.argmax(missing)]}; add them to it or drop these rows"
        )
    return index.astype(np.int64), known


def _checked_ids(ids: ArrayLike, name: str) -> NDArray[Any]:
    values = np.asarray(ids)
    if values.ndim != 1:
        raise InvalidArgumentError(name, f"shape {values.shape}", "one-dimensional")
    if values.dtype.kind == "O":
        values = _from_objects(values, name)
    if values.dtype.kind == "f":
        whole = np.isfinite(values) & (values == np.floor(values))
        if not whole.all():
            raise InvalidDataError(
                f"{name} ids must be whole numbers or strings, got {values[np.argmin(whole)]}; "
                "round them, or convert them to strings"
            )
        values = values.astype(np.int64)
    if values.dtype.kind == "u":
        values = values.astype(np.int64)
    if values.dtype.kind == "i":
        values = values.astype(np.int64, copy=False)
        if len(values) and values.min() < 0:
            raise InvalidDataError(
                f"{name} ids must not be negative, got {values.min()}; negative numbers usually "
                "mark missing values: drop these rows, or convert the ids to strings"
            )
        return values
    if values.dtype.kind in "US":
        return values.astype(str)
    if len(values) == 0:
        return values.astype(np.int64)
    raise InvalidDataError(f"{name} ids must be whole numbers or strings, got {_kind(values)}")


def _from_objects(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Object columns (pandas strings, mixed types): all strings or all whole numbers."""
    kinds = {type(v) for v in values.tolist()}
    if kinds <= {str}:
        return values.astype(str)
    if kinds <= {int}:
        return values.astype(np.int64)
    if kinds <= {int, float}:
        return values.astype(np.float64)
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise InvalidDataError(
        f"{name} ids must all be strings or all be whole numbers, got a mix of {names}; "
        "drop missing ids and convert the rest to one type"
    )


def _kind(values: NDArray[Any]) -> str:
    return {"i": "whole numbers", "U": "strings"}.get(values.dtype.kind, f"of type {values.dtype}")


def checked_weights(weight: ArrayLike, n: int) -> NDArray[np.float32]:
    """Weights as finite float32, one per interaction."""
    values = np.asarray(weight, dtype=np.float64)
    _same_length(values, n, "weight")
    bad = ~np.isfinite(values)
    if bad.any():
        raise InvalidDataError(
            f"weights must be finite, got {values[np.argmax(bad)]} in row {int(np.argmax(bad))} "
            f"({int(bad.sum()):,} such rows); drop these rows or fill them in"
        )
    return values.astype(np.float32)


def checked_timestamps(timestamp: ArrayLike, n: int) -> NDArray[np.int64]:
    """Timestamps as int64: integers as they are, ``datetime64`` as seconds since 1970."""
    values = np.asarray(timestamp)
    _same_length(values, n, "timestamp")
    if values.dtype.kind == "M":
        bad = np.isnat(values)
        seconds = values.astype("datetime64[s]").astype(np.int64)
    else:
        number = values.astype(np.float64)
        bad = ~np.isfinite(number) | (np.abs(number) >= 2.0**63)
        seconds = values if values.dtype.kind == "i" else np.where(bad, 0, number)
        seconds = seconds.astype(np.int64)
    bad = bad | (seconds < 0)
    if bad.any():
        raise InvalidDataError(
            f"timestamps must be between 0 and 2**63 - 1, got {values[np.argmax(bad)]} in row "
            f"{int(np.argmax(bad))} ({int(bad.sum()):,} such rows); drop these rows or shift them"
        )
    return np.asarray(seconds, dtype=np.int64)


def _same_length(values: NDArray[Any], n: int, name: str) -> None:
    if values.shape != (n,):
        raise InvalidArgumentError(name, f"shape {values.shape}", f"of shape ({n},) like user")


def merge_duplicates(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    weights: NDArray[np.float32] | None,
    times: NDArray[np.int64] | None,
    repeated: NDArray[np.bool_],
    rule: DuplicateRule,
) -> tuple[
    NDArray[np.int64], NDArray[np.int64], NDArray[np.float32] | None, NDArray[np.int64] | None
]:
    """One row per pair. Rows come sorted by pair, within a pair in the caller's order."""
    if times is not None:
        order = np.lexsort((times, columns, rows))
        times = times[order]
        weights = None if weights is None else weights[order]
    first = np.flatnonzero(np.concatenate([[True], ~repeated]))
    last = np.concatenate([first[1:], [len(rows)]]) - 1
    at = first if rule == "first" else last
    merged: NDArray[np.float32] | None
    if rule == "sum":
        ones = np.ones(len(rows)) if weights is None else weights.astype(np.float64)
        merged = np.add.reduceat(ones, first).astype(np.float32)
    elif rule == "max" and weights is not None:
        merged = np.maximum.reduceat(weights, first)
    else:
        merged = None if weights is None else weights[at]
    return rows[at], columns[at], merged, None if times is None else times[at]
