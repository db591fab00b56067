"""The order of users and items: by number where every id is one, else by letters.

Indices, and with them all that is drawn by seed, follow this order. It does not depend on the type
of the ids: 2 stands before 10 whether a file called them numbers or text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Int
from truerank.data.ids import in_one_type
from truerank.errors import InvalidDataError

if TYPE_CHECKING:
    import pyarrow as pa


_WHOLE = "^(0|[1-9][0-9]*)$"
"""A whole number as numbers are written: 007 is a name."""

WIDEST = 1 << 32
"""Bytes that the distinct ids of one kind may take; each takes what the longest one does."""


def id_order(words: pa.Array) -> Int:
    """Where each of the sorted ids stands now: text in Arrow, without nulls.

    >>> import pyarrow as pa
    >>> id_order(pa.array(["10", "9"])).tolist(), id_order(pa.array(["10", "9", "x"])).tolist()
    ([1, 0], [0, 1, 2])
    """
    numbers = _as_numbers(words)
    if numbers is not None:
        return np.argsort(numbers)
    return np.argsort(words.to_numpy(zero_copy_only=False).astype(str))


def order_keys(ids: NDArray[Any]) -> NDArray[Any]:
    """What ids are ordered by: numbers where all of them are, else the ids with their letters.

    >>> order_keys(np.array(["10", "9"])).tolist(), order_keys(np.array(["10", "x"])).tolist()
    ([10, 9], ['10', 'x'])
    """
    if ids.dtype.kind in "iu":
        return ids
    import pyarrow as pa

    numbers = _as_numbers(pa.array(ids, type=pa.large_string()))
    return ids if numbers is None else numbers


def _as_numbers(words: pa.Array) -> Int | None:
    """Text as whole numbers, if all of it is that."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pc.all(pc.match_substring_regex(words, _WHOLE)).as_py():
        return None
    try:
        return np.asarray(words.cast(pa.int64()).to_numpy())
    except pa.ArrowInvalid:
        return None  # beyond 2**63 there are no whole numbers here either


def encode_text(column: pa.Array) -> tuple[Int, NDArray[np.str_]]:
    """Each id's place among the distinct ones in their order, and those; no nulls."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.large_string()).dictionary_encode()
    codes = column.indices.to_numpy()
    used = np.bincount(codes, minlength=len(column.dictionary)) > 0
    # A dictionary that somebody else made may name a word twice, or one that does not occur.
    words = column.dictionary.cast(pa.large_string()).filter(used).dictionary_encode()
    _check_width(words.dictionary)
    order = id_order(words.dictionary)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    where = np.zeros(len(used), dtype=np.int64)
    where[used] = place[words.indices.to_numpy()]
    return where[codes], words.dictionary.take(order).to_numpy(zero_copy_only=False).astype(str)


def distinct_ids(ids: NDArray[Any]) -> tuple[NDArray[Any], Int]:
    """The distinct ids in their order, and each id's place among them.

    >>> [found.tolist() for found in distinct_ids(np.array(["10", "9", "10"]))]
    [['9', '10'], [1, 0, 1]]
    """
    if ids.dtype.kind in "iu":
        distinct, place = np.unique(ids, return_inverse=True)
        return distinct, place
    import pyarrow as pa

    place, words = encode_text(pa.array(ids, type=pa.large_string()))
    return words, place


def find_ids(known: NDArray[Any], wanted: NDArray[Any]) -> Int:
    """The place of each wanted id among the known ones, in any order; -1 where it is not there.

    Numbers are not there among text: :func:`truerank.data.ids.in_one_type` makes them so.

    >>> find_ids(np.array(["9", "10"]), np.array(["10", "11"])).tolist()
    [1, -1]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if (known.dtype.kind in "iu") != (wanted.dtype.kind in "iu"):
        return np.full(len(wanted), -1)
    known, wanted = in_one_type([known, wanted])
    kind = pa.int64() if known.dtype.kind == "i" else pa.large_string()
    place = pc.index_in(pa.array(wanted, type=kind), value_set=pa.array(known, type=kind))
    return np.asarray(place.fill_null(-1).to_numpy(), dtype=np.int64)


def _check_width(words: pa.Array) -> None:
    import pyarrow.compute as pc

    lengths = pc.utf8_length(words)
    longest = pc.max(lengths).as_py() or 0
    if 4 * longest * len(words) > WIDEST:
        first = words[pc.index(lengths, longest).as_py()].as_py()
        raise InvalidDataError(
            f"the longest of {len(words):,} ids has {longest:,} characters ({first[:40]!r}...), "
            "and room for as many in each would take "
            f"{4 * longest * len(words) / 1e9:,.0f} GB; shorten the ids, or number them"
        )
