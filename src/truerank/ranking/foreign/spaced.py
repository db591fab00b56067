"""Text whose fields are divided by any white space, made readable for Arrow."""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from truerank.data.arrow_text import parse_csv
from truerank.data.frames import reading
from truerank.errors import FileFormatError

if TYPE_CHECKING:
    import pyarrow as pa

BLANKS = bytes.maketrans(b"\t\r", b"  ")
"""TREC's files: tabs and carriage returns are blanks like any other."""

NCF = bytes.maketrans(b"\t\r(,)", b"     ")
"""NCF's ``(user,item)``: the brackets and the comma are blanks as well."""


class Spaced(io.RawIOBase):
    r"""Reads a binary stream with one space between fields and none around them.

    Memory: one block.

    >>> Spaced(io.BytesIO(b"1 Q0\td7   3\r\n 2 Q0 d8 4 \n"), BLANKS).read()
    b'1 Q0 d7 3\n2 Q0 d8 4\n'
    """

    def __init__(self, source: IO[bytes] | Any, blanks: bytes, *, block: int = 1 << 22) -> None:
        self._source, self._blanks, self._block = source, blanks, block
        self._rest = b""  # the beginning of a line
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            fresh = self._source.read(self._block)
            text = self._rest + fresh
            end = text.rfind(b"\n") + 1 if fresh else len(text)
            self._rest = text[end:]
            self._ready = memoryview(self._even(text[:end]))
            if not fresh:
                break
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _even(self, text: bytes) -> bytes:
        text = text.translate(self._blanks)
        while b"  " in text:
            text = text.replace(b"  ", b" ")
        return text.replace(b" \n", b"\n").replace(b"\n ", b"\n").lstrip(b" ")


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
