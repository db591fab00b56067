"""The columns of a RankTable: what each may hold, and how it is read from what people have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.data.ids import signed
from truerank.errors import InvalidArgumentError, InvalidDataError

if TYPE_CHECKING:
    from truerank.ranking.table import RankTable

COLUMNS = ("user", "item", "rank", "n_sampled", "n_items", "weight", "n_scored")

WEIGHTS = (1e-100, 1e100)
"""Least and most weight of a row beside 0: squares of sums of them stay within float64."""


def as_whole(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """A copy as int64; floats are taken if they are whole.

    >>> as_whole("rank", [1.0, 7.0])
    array([1, 7])
    """
    array = np.asarray(values)
    if array.dtype.kind == "f":
        whole = (array == np.floor(array)) & (np.abs(array) < 2.0**63)
        if not np.all(whole):
            raise InvalidDataError(f"{name} must be whole numbers, got {array[~whole].flat[0]}")
    elif array.dtype.kind not in "iu":
        raise InvalidDataError(f"{name} must be whole numbers, got values of type {array.dtype}")
    elif array.dtype.kind == "u" and array.size and array.max() >= 2**63:
        raise InvalidDataError(f"{name} must be whole numbers below 2**63, got {array.max()}")
    return array.astype(np.int64)


def as_weights(values: ArrayLike) -> NDArray[np.float64]:
    """A copy as float64; text is no number, even where it looks like one.

    >>> as_weights([1, 0.5])
    array([1. , 0.5])
    """
    try:
        array = np.asarray(values)
        kind = array.dtype.kind
        is_text = kind == "O" and any(isinstance(v, str | bytes) for v in array.flat)
        if kind in "biufO" and not is_text:
            return array.astype(np.float64)
        got = f"values of type {array.dtype}, the first of them {array.flat[0]}"
    except (TypeError, ValueError, OverflowError, IndexError) as error:
        got = f"values that are not numbers: {error}"
    raise InvalidDataError(f"weight must be numbers, got {got}; convert them first")


def as_ids(name: str, values: ArrayLike) -> NDArray[Any]:
    """External ids: whole numbers, as text where they are beyond int64, or strings."""
    array = np.asarray(values)
    if array.dtype.kind in "OT":
        listed = array.tolist()
        array = np.asarray(listed)
        if array.ndim == 1 and array.dtype.kind in "Of" and {type(v) for v in listed} == {int}:
            array = np.asarray([str(v) for v in listed])  # numpy would round, or has no such type
    if array.size and array.dtype.kind not in "iuU":
        raise InvalidDataError(
            f"{name} ids must be whole numbers or strings, got values of type {array.dtype}"
        )
    return signed(array)


def spread(name: str, values: NDArray[Any], n: int) -> NDArray[Any]:
    """One value per row; a single one stands for all."""
    if values.ndim > 1 or values.size not in (1, n):
        raise InvalidArgumentError(
            name, f"shape {values.shape}", f"a scalar or of shape ({n},) like the other columns"
        )
    return np.ascontiguousarray(np.broadcast_to(values.reshape(-1), (n,)))


def check_columns(table: RankTable) -> None:
    """The rules that every row obeys; the first row that does not is named."""
    n = len(table.rank)
    for name in COLUMNS:
        if getattr(table, name).shape != (n,):
            raise InvalidArgumentError(
                name, f"shape {getattr(table, name).shape}", f"of shape ({n},) like rank"
            )
    check_ranks(table.rank, table.n_sampled, table.n_items)
    refuse_rows(
        ~np.isfinite(table.weight) | (table.weight < 0),
        "weight {} must be finite and not negative",
        table.weight,
    )
    least, most = WEIGHTS
    refuse_rows(
        (table.weight != 0) & ((table.weight < least) | (table.weight > most)),
        f"weight {{}} must be 0 or from {least:g} to {most:g}, beyond which sums and products of "
        "weights are lost; multiply all weights by one number, which changes no estimate",
        table.weight,
    )
    refuse_rows(table.n_scored < 0, "n_scored {} must not be negative", table.n_scored)


def check_ranks(
    rank: NDArray[np.int64], n_sampled: NDArray[np.int64], n_items: NDArray[np.int64]
) -> None:
    """Ranks are 1-based, among a sample that holds the target, of a catalogue as large at least."""
    refuse_rows(rank < 1, "rank {} must be at least 1: ranks are 1-based", rank)
    refuse_rows(
        rank > n_sampled,
        "rank {} is larger than n_sampled {}; n_sampled counts the target too, so 99 negatives "
        "make 100",
        rank,
        n_sampled,
    )
    refuse_rows(
        n_sampled > n_items,
        "n_sampled {} is larger than n_items {}; n_items is the size of the catalogue the "
        "sample was drawn from",
        n_sampled,
        n_items,
    )


def refuse_rows(bad: NDArray[np.bool_], sentence: str, *columns: NDArray[Any]) -> None:
    """Name the first row that breaks a rule, if there is one."""
    if bad.any():
        row = int(np.argmax(bad))
        values = (column[row] for column in columns)
        raise InvalidDataError(f"row {row}: {sentence.format(*values)}")


def has_repeats(user: NDArray[Any], item: NDArray[Any]) -> bool:
    """Whether a (user, item) pair occurs twice."""
    order = np.lexsort((item, user))
    user, item = user[order], item[order]
    return bool(((user[1:] == user[:-1]) & (item[1:] == item[:-1])).any())
