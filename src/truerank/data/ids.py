"""What users and items are called: text or whole numbers, and how one becomes the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from truerank.errors import InvalidArgumentError, InvalidDataError, Message

if TYPE_CHECKING:
    import pyarrow as pa

IdType = Literal["text", "int"]
"""Ids as they are written, or as whole numbers, to which ``007`` and ``7`` are the same."""


def check_id_type(id_type: str | None) -> None:
    """Refuse what is not a type of ids."""
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
            f"{name} ids must be whole numbers "
            + Message("where id_type is 'int'", "with --id-type int")
            + f", got {bad!r}; leave "
            + Message("out id_type", "it out")
            + " to keep ids as they are written"
        ) from None
    return whole[column.indices.to_numpy()]


def signed(ids: NDArray[Any]) -> NDArray[Any]:
    """Unsigned whole numbers as int64, as ids are everywhere, or as text beyond it.

    Any other cast would wrap: 2**63 would become the id -2**63, of somebody else.

    >>> signed(np.array([7, 2**63 - 1], np.uint64)).tolist(), signed(np.array([2**63])).tolist()
    ([7, 9223372036854775807], ['9223372036854775808'])
    """
    if ids.dtype.kind != "u":
        return ids
    fits = not ids.size or int(ids.max()) < 2**63
    return ids.astype(np.int64 if fits else np.str_)


def in_one_type(columns: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """The same ids in one type: as they are if all are, else numbers as they are written.

    7 is then the same as ``"7"``, and another than ``"007"``.

    >>> [ids.tolist() for ids in in_one_type([np.array([7, 10]), np.array(["7", "007"])])]
    [['7', '10'], ['7', '007']]
    """
    columns = [signed(column) for column in columns]
    if len({column.dtype.kind == "i" for column in columns}) < 2:
        return columns
    return [column.astype(str) if column.dtype.kind == "i" else column for column in columns]


def _is_whole(word: str) -> bool:
    try:
        return -(2**63) <= int(word) < 2**63 and "_" not in word
    except ValueError:
        return False
