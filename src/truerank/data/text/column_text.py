"""Columns of text files: ids that stay as they are written, and numbers as people write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from truerank.errors import InvalidDataError, Message

if TYPE_CHECKING:
    import pyarrow as pa

_WITH_COMMA = r"^[+-]?[0-9]+(,[0-9]+)?$"
_THOUSANDS = r"^[+-]?[1-9][0-9]{0,2},[0-9]{3}$"


def with_line_break(column: pa.ChunkedArray) -> str | None:
    """The first of the distinct ids that goes over several lines, as no id does."""
    import pyarrow.compute as pc

    words = pc.unique(column).drop_null()
    broken = words.filter(pc.match_substring_regex(words, "[\\r\\n]"))
    return broken[0].as_py() if len(broken) else None


def trimmed(column: pa.ChunkedArray) -> tuple[pa.DictionaryArray, int]:
    """Ids without the blanks around them, and how many distinct ids that made the same.

    Tables out of databases pad ids to a width, people write ``1, 10``; nobody means the blanks.
    An id of nothing but blanks is missing. Works on the distinct ids alone.

    Args:
        column: Text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = column.dictionary_encode().combine_chunks()
    words = pc.utf8_trim_whitespace(whole.dictionary)
    blank = pc.equal(words, "")
    if words.equals(whole.dictionary) and not pc.any(blank).as_py():
        return whole, 0
    words = pc.if_else(blank, pa.scalar(None, words.type), words)
    again = words.dictionary_encode()
    merged = len(words) - words.null_count - len(again.dictionary)
    codes = again.indices.take(whole.indices)
    return pa.DictionaryArray.from_arrays(codes, again.dictionary), merged


def as_numbers(column: pa.ChunkedArray, *, name: str, delimiter: str) -> pa.ChunkedArray:
    """Numbers with a decimal point, or with a comma where commas do not divide columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_boolean(kind):
        return column.cast(pa.int8())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind):
        return column
    if pa.types.is_string(kind):
        text = pc.utf8_trim_whitespace(column)
        fits = pc.match_substring_regex(text, _WITH_COMMA).fill_null(True)
        if delimiter != "," and pc.all(fits).as_py():
            some = pc.filter(text, pc.match_substring(text, ","))
            if pc.all(pc.match_substring_regex(some, _THOUSANDS)).as_py():
                raise InvalidDataError(
                    f"column {name!r} holds numbers such as {some[0].as_py()!r}, whose comma may "
                    "mark thousands or decimals; write decimals with a point, thousands without "
                    "a mark"
                )
            return pc.replace_substring(text, ",", ".").cast(pa.float64())
    raise InvalidDataError(
        f"column {name!r} should hold numbers, but holds {_no_number(column)!r}; convert it, or "
        + Message(
            "name another column with weight=",
            "name another column with --rating-column, or none to count every row",
        )
    )


def _no_number(column: pa.ChunkedArray) -> Any:
    """The first value that is not a number."""
    for value in column.drop_null():
        try:
            float(str(value))
        except ValueError:
            return str(value)
    return str(column[0])
