"""Turns the columns people have into the arrays :class:`Interactions` keeps, or says why not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.arrays import Float32, Int
from truerank.data.id_order import encode_text, find_ids
from truerank.errors import InvalidArgumentError, InvalidDataError, Message

DuplicateRule = Literal["error", "first", "last", "sum", "max"]
DUPLICATE_RULES: tuple[str, ...] = get_args(DuplicateRule)


def index_ids(ids: Any, vocabulary: ArrayLike | None, name: str) -> tuple[Int, NDArray[Any]]:
    """Number external ids in their order, or look them up in a given vocabulary.

    Their order is that of :mod:`truerank.data.id_order`. Linear in the number of ids, plus a sort
    of the distinct ones. Memory: 8 bytes per id, and for strings a copy of them in UTF-8.

    >>> index_ids(["b", "a", "b"], None, "user")[0].tolist()
    [1, 0, 1]
    """
    if hasattr(ids, "dictionary_encode"):  # Arrow's text, which is checked where it is read
        index, distinct = encode_text(ids)
    else:
        index, distinct = _encode(_checked_ids(ids, name))
    if vocabulary is None:
        return index, distinct
    given = _checked_ids(vocabulary, f"{name}_ids")
    known = _encode(given)[1]
    if len(known) != len(given):
        raise InvalidDataError(
            f"{name}_ids repeats {len(given) - len(known):,} ids; a vocabulary names each id once"
        )
    if len(index) and len(known) and known.dtype.kind != distinct.dtype.kind:
        raise InvalidDataError(
            f"{name} ids are {_kind(distinct)} but {name}_ids are {_kind(known)}; "
            "convert one to the type of the other"
        )
    place = find_ids(known, distinct)
    missing = place < 0
    if missing.any():
        raise InvalidDataError(
            f"{int(missing.sum()):,} {name} ids are not in the vocabulary {name}_ids, "
            f"the first is {distinct[np.argmax(missing)]}; add them to it or drop their rows"
        )
    return place[index], known


def _encode(values: NDArray[Any]) -> tuple[Int, NDArray[Any]]:
    """Each value's place among the sorted distinct ones, and those: ``np.unique`` by hashing."""
    if values.dtype.kind == "i" and len(values) and values.max() < 4 * len(values) + 1024:
        present = np.zeros(int(values.max()) + 1, dtype=bool)
        present[values] = True
        return (np.cumsum(present) - 1)[values], np.flatnonzero(present)
    import pyarrow as pa

    if values.dtype.kind != "i":
        return encode_text(pa.array(values, type=pa.large_string()))
    encoded = pa.array(values, type=pa.int64()).dictionary_encode()
    distinct = encoded.dictionary.to_numpy(zero_copy_only=False)
    order = np.argsort(distinct)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place[encoded.indices.to_numpy()], distinct[order]


def _checked_ids(ids: ArrayLike, name: str) -> NDArray[Any]:
    """Ids as int64, or as strings (numpy's or Python's), or a sentence about the first bad one."""
    try:
        values = np.asarray(ids)
        if values.dtype.kind in "US" and not hasattr(ids, "dtype"):
            values = np.asarray(ids, dtype=object)  # numpy has made "1" of a 1 next to an "a"
    except ValueError:
        raise InvalidArgumentError(name, "nested sequences", "one-dimensional") from None
    if values.ndim != 1:
        raise InvalidArgumentError(name, f"shape {values.shape}", "one-dimensional")
    if values.dtype.kind in "OT":
        values = _from_objects(values.astype(object), name)
    if values.dtype.kind == "f":
        values = _from_floats(values, name)
    if values.dtype.kind in "iu":
        return _from_integers(values, name)
    if values.dtype.kind == "S":
        values = _from_bytes(values, name)
    if values.dtype.kind in "OU":
        return values
    if len(values) == 0:
        return values.astype(np.int64)
    raise InvalidDataError(f"{name} ids must be whole numbers or strings, got {_kind(values)}")


def _from_objects(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Object columns (pandas strings, mixed types): all strings or all whole numbers."""
    kinds = set(map(type, values))
    if all(issubclass(kind, str) for kind in kinds):
        return values if kinds else values.astype(np.int64)
    if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        if min(values) < 0 or max(values) >= 2**63:
            return _from_integers(values, name)
        return values.astype(np.int64)
    if all(issubclass(kind, int | float | np.number) and kind is not bool for kind in kinds):
        return values.astype(np.float64)
    names = " and ".join(sorted(kind.__name__ for kind in kinds))
    raise InvalidDataError(
        f"{name} ids must all be strings or all be whole numbers, got {names}; "
        "drop missing ids and convert the rest to one type"
    )


def _from_bytes(values: NDArray[Any], name: str) -> NDArray[Any]:
    try:
        return np.strings.decode(values, "utf-8")
    except UnicodeDecodeError as error:
        raise InvalidDataError(
            f"{name} ids are bytes that are not UTF-8 ({error.object!r}); decode them to strings"
        ) from None


def _from_floats(values: NDArray[Any], name: str) -> Int:
    whole = np.isfinite(values) & (values == np.floor(values))
    if not whole.all():
        bad = values[np.argmin(whole)]
        cure = "drop the rows without an id" if np.isnan(bad) else "convert them to strings"
        raise InvalidDataError(f"{name} ids must be whole numbers or strings, got {bad}; {cure}")
    if len(values) and np.abs(values).max() > 2.0**53:
        raise InvalidDataError(
            f"{name} ids beyond 2**53 are not exact as floating-point numbers, got "
            f"{values[np.argmax(np.abs(values))]}; read them as integers or strings"
        )
    return values.astype(np.int64)


def _from_integers(values: NDArray[Any], name: str) -> Int:
    if len(values) and (lowest := values.min()) < 0:
        raise InvalidDataError(
            f"{name} ids must not be negative, got {lowest}; negative numbers usually "
            "mark missing values: drop these rows, or convert the ids to strings"
        )
    if len(values) and (highest := values.max()) >= 2**63:
        raise InvalidDataError(
            f"{name} ids must be below 2**63, got {highest}; convert the ids to strings"
        )
    return values.astype(np.int64, copy=False)


def _kind(values: NDArray[Any]) -> str:
    names = {"i": "whole numbers", "U": "strings"}
    return names.get(values.dtype.kind, f"of type {values.dtype}")


def checked_weights(weight: ArrayLike, n: int) -> Float32:
    """A new array of finite float32, one per interaction; -0 is 0, or the order of rows shows."""
    try:
        values = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(
            f"weights must be numbers: {error}; "
            + Message(
                "convert them first", "convert them, or count every row with --rating-column none"
            )
        ) from None
    _same_length(values, n, "weight")
    limit = float(np.finfo(np.float32).max)
    bad = ~(np.abs(values) <= limit)
    if bad.any():
        raise InvalidDataError(
            f"weights must be finite (and within float32), got {values[np.argmax(bad)]} in row "
            f"{int(np.argmax(bad))} ({int(bad.sum()):,} such rows); "
            + Message(
                "drop these rows or fill them in",
                "drop these rows or fill them in, or count every row with --rating-column none",
            )
        )
    return values.astype(np.float32) + np.float32(0.0)


def checked_timestamps(timestamp: ArrayLike, n: int) -> Int:
    """A new int64 array: numbers without their fraction, ``datetime64`` as seconds since 1970."""
    values = np.asarray(timestamp)
    if values.dtype.kind not in "iufM":
        values = _parsed_times(values)
    _same_length(values, n, "timestamp")
    if values.dtype.kind == "M":
        bad = np.isnat(values) | (values < np.datetime64(0, "s"))
    else:
        bad = ~((values >= 0) & (values < 2**63))
    if bad.any():
        raise InvalidDataError(
            f"timestamps must lie between 0 (1970) and 2**63 - 1, got {values[np.argmax(bad)]} in "
            f"row {int(np.argmax(bad))} ({int(bad.sum()):,} such rows); drop or shift these rows"
        )
    seconds = values.astype("datetime64[s]") if values.dtype.kind == "M" else values
    return seconds.astype(np.int64)


def _parsed_times(values: NDArray[Any]) -> NDArray[Any]:
    """Objects of one kind: numbers with gaps, or dates."""
    try:
        if values.dtype.kind == "O" and all(isinstance(v, int | float | None) for v in values.flat):
            return values.astype(np.float64)
        if values.dtype.kind == "O" and not any(isinstance(v, str) for v in values.flat):
            return np.array([_as_utc(v) for v in values.flat], dtype="datetime64[s]")
    except (TypeError, ValueError):
        pass  # the sentence below says it better
    raise InvalidDataError(
        f"timestamps must be whole numbers or dates (datetime64), got {values.flat[:1]}; "
        + Message(
            "parse them first",
            "write them as 2005-03-14 or in seconds, or do without: --time-column none",
        )
    )


def _as_utc(time: Any) -> Any:
    # numpy warns about time zones and would keep the number, which is UTC, anyway.
    if isinstance(time, datetime) and time.tzinfo is not None:
        return time.astimezone(UTC).replace(tzinfo=None)
    return time


def _same_length(values: NDArray[Any], n: int, name: str) -> None:
    if values.shape != (n,):
        raise InvalidArgumentError(name, f"shape {values.shape}", f"of shape ({n},) like user")
