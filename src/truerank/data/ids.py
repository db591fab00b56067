"""What users and items are called: text or whole numbers, and how one becomes the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from truerank.errors import InvalidArgumentError, InvalidDataError

if TYPE_CHECKING:
    import pyarrow as pa

IdType = Literal["text", "int"]
"""Ids as they are written, or as whole numbers, to which ``007`` and ``7`` are the same."""

WIDEST = 1 << 32
"""Bytes that the distinct ids of one kind may take; each takes what the longest one does."""


def check_id_type(id_type: str | None) -> None:
    """Refuse what is no type of ids."""
    if id_type is not None and id_type not in get_args(IdType):
        raise InvalidArgumentError("id_type", id_type, "'text', 'int' or None")


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is one of those that hold text."""
    import pyarrow as pa

    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()
    )


def with_id_type(column: pa.Array, id_type: IdType | None, name: str) -> Any:
    """A column of ids as text in Arrow or as numbers in numpy; None leaves it as it is typed.

    Only distinct ids are converted.

    >>> import pyarrow as pa
    >>> with_id_type(pa.array(["7", "007"]), "int", "user").tolist()
    [7, 7]
    """
    import pyarrow as pa

    check_id_type(id_type)
    text = pa.types.is_dictionary(column.type) or is_text(column.type)
    if id_type == "text" and pa.types.is_integer(column.type):
        column, text = column.cast(pa.string()), True
    if not text:
        values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return values
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.large_string()).dictionary_encode()
    if id_type != "int":
        return column
    try:
        whole = column.dictionary.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        bad = next(word for word in column.dictionary.to_pylist() if not _is_whole(word))
        raise InvalidDataError(
            f"{name} ids must be whole numbers where id_type is 'int', got {bad!r}; leave out "
            "id_type to keep ids as they are written"
        ) from None
    return whole[column.indices.to_numpy()]


def encode_text(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.str_]]:
    """Each id's place among the sorted distinct ones, and those; text in Arrow, without nulls."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.large_string()).dictionary_encode()
    codes = column.indices.to_numpy()
    used = np.bincount(codes, minlength=len(column.dictionary)) > 0
    words = column.dictionary.to_numpy(zero_copy_only=False)[used]
    _check_width(words)
    # A dictionary that somebody else made may name a word twice, or one that does not occur.
    distinct, place = np.unique(words.astype(str), return_inverse=True)
    where = np.zeros(len(used), dtype=np.int64)
    where[used] = place
    return where[codes], distinct


def in_one_type(columns: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """The same ids in one type: as they are if all are, else numbers as they are written.

    7 is then the same as ``"7"``, and another than ``"007"``.

    >>> [ids.tolist() for ids in in_one_type([np.array([7, 10]), np.array(["7", "007"])])]
    [['7', '10'], ['7', '007']]
    """
    kinds = {column.dtype.kind in "iu" for column in columns}
    if len(kinds) < 2:
        return columns
    return [column.astype(str) if column.dtype.kind in "iu" else column for column in columns]


def _check_width(words: NDArray[Any]) -> None:
    longest = max(map(len, words), default=0)
    if 4 * longest * len(words) > WIDEST:
        raise InvalidDataError(
            f"the longest of {len(words):,} ids has {longest:,} characters ("
            f"{str(max(words, key=len))[:40]!r}...), and room for as many in each would take "
            f"{4 * longest * len(words) / 1e9:,.0f} GB; shorten the ids, or number them"
        )


def _is_whole(word: str) -> bool:
    try:
        return -(2**63) <= int(word) < 2**63 and "_" not in word
    except ValueError:
        return False
