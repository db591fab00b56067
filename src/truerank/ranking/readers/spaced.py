"""Text whose fields are divided by any white space, made readable for Arrow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from truerank.data.frames import reading
from truerank.data.text.arrow_text import parse_csv
from truerank.data.text.delimited import BLANKS, Spaced
from truerank.errors import FileFormatError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BLANKS", "NCF", "Spaced", "field_count", "read_spaced"]

NCF = bytes.maketrans(b"\t\r(,)", b"     ")
"""NCF's ``(user,item)``: the brackets and the comma are blanks as well."""


def field_count(path: Path, blanks: bytes, what: str) -> int:
    """Fields in the first line."""
    import pyarrow as pa

    with reading(path, what), pa.input_stream(str(path), compression="detect") as stream:
        start = stream.read(1 << 16).translate(blanks).lstrip()
    if not start:
        raise FileFormatError(f"{path} is empty; there is nothing to read in it")
    return len(start.split(b"\n", 1)[0].split())


def read_spaced(
    path: Path, names: list[str], types: dict[str, Any], *, blanks: bytes, what: str
) -> pa.Table:
    """The typed columns of a file without a header; None is the type that Arrow sees."""
    import pyarrow as pa
    from pyarrow import csv

    with reading(path, what), pa.input_stream(str(path), compression="detect") as text:
        table: pa.Table = parse_csv(
            Spaced(text, blanks),
            read_options=csv.ReadOptions(column_names=names),
            parse_options=csv.ParseOptions(delimiter=" ", quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types={name: kind for name, kind in types.items() if kind is not None},
                include_columns=list(types),
                null_values=[],
            ),
        )
    return table
