"""Text files with delimiters: finding out which one, and making one byte of several."""

from __future__ import annotations

import io
import re
from typing import IO, Any

from truerank.errors import FileFormatError, option

DELIMITERS = (",", "\t", ";", "|", "::")
LINE_END = re.compile("\r\n|\n|\r")
_QUOTED = re.compile(r'(?<![^\s,;|:])"(?:[^"]|"")*"(?![^\s,;|:])')
"""A field in quotes, line ends included; the quote of 6" pipes opens none."""
UNIT_SEPARATOR = b"\x1f"
"""ASCII's own field delimiter, which no ordinary text contains."""


def find_delimiter(start: str, path: object, *, one_column: bool = False) -> str:
    r"""The delimiter that divides the first lines most evenly into most fields.

    It must occur in every line; the same number of times in each is better than more often.
    Blanks divide only where nothing else does: words in a title are no columns. Quoted fields do
    not count. Where nothing divides it is a comma if ``one_column`` is right, else an error.

    >>> find_delimiter("1::1193::5\n1::661::3\n", "ratings.dat")
    '::'
    """
    lines = [line for line in LINE_END.split(_QUOTED.sub('""', start)) if line.strip()]
    if len(lines) > 1 and not start.endswith(("\n", "\r")):
        del lines[-1]  # cut off in the middle, as far as we know
    if not lines:
        raise FileFormatError(f"{path} is empty; there is nothing to read in it")
    counts = {d: [line.count(d) for line in lines[:50]] for d in DELIMITERS}
    everywhere = [d for d in DELIMITERS if min(counts[d]) > 0]
    even = [d for d in everywhere if len(set(counts[d])) == 1]
    if everywhere:
        return max(even or everywhere, key=lambda d: min(counts[d]))
    if all(len(line.split()) > 1 for line in lines[:50]):
        return " "
    if one_column:
        return ","
    raise FileFormatError(
        f"{path} has no comma, tab, semicolon, pipe, '::' or space in every one of its first "
        "lines; name what divides its columns with " + option("delimiter")
    )


class SingleByte(io.RawIOBase):
    r"""Reads a binary stream with each delimiter of several bytes replaced by one byte, 0x1F.

    Replaces from left to right, however the stream falls into blocks. Memory: one block.

    >>> SingleByte(io.BytesIO(b"a::b:c:::d"), b"::").read()
    b'a\x1fb:c\x1f:d'
    """

    def __init__(self, source: IO[bytes] | Any, delimiter: bytes, *, block: int = 1 << 20) -> None:
        self._source, self._delimiter, self._block = source, delimiter, block
        self._rest = b""  # too short to know whether a delimiter begins here
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            fresh = self._source.read(self._block)
            if UNIT_SEPARATOR in fresh:
                raise FileFormatError("the file contains the control character 0x1F; remove it")
            *whole, last = (self._rest + fresh).split(self._delimiter)
            keep = len(self._delimiter) - 1 if fresh else 0
            at = max(len(last) - keep, 0)
            self._rest = last[at:]
            self._ready = memoryview(UNIT_SEPARATOR.join([*whole, last[:at]]))
            if not fresh:
                break
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


BLANKS = bytes.maketrans(b"\t\r", b"  ")
"""Tabs and carriage returns are blanks like any other."""


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
