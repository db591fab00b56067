"""Text files with delimiters: finding out which one, and making one byte of several."""

from __future__ import annotations

import io
import re
from typing import IO, Any

from truerank.errors import FileFormatError

DELIMITERS = (",", "\t", ";", "|", "::")
UNIT_SEPARATOR = b"\x1f"
"""ASCII's own field delimiter, which no ordinary text contains."""


def find_delimiter(start: bytes, path: object) -> str:
    r"""The delimiter that divides the first lines most evenly into most fields.

    It must occur in every line; the same number of times in each is better than more often.
    Quoted fields do not count.

    >>> find_delimiter(b"1::1193::5\n1::661::3\n", "ratings.dat")
    '::'
    """
    lines = start.decode("utf-8", errors="replace").splitlines()
    lines = [re.sub(r'"[^"]*"', '""', line) for line in lines if line.strip()][:50]
    if len(lines) > 1 and not start.endswith((b"\n", b"\r")):
        del lines[-1]  # cut off in the middle, as far as we know
    if not lines:
        raise FileFormatError(f"{path} is empty; there is nothing to read in it")
    counts = {d: [line.count(d) for line in lines] for d in DELIMITERS}
    everywhere = [d for d in DELIMITERS if min(counts[d]) > 0]
    even = [d for d in everywhere if len(set(counts[d])) == 1]
    if not everywhere:
        raise FileFormatError(
            f"{path} has no comma, tab, semicolon, pipe or '::' in every one of its first lines; "
            "name what divides its columns with delimiter="
        )
    return max(even or everywhere, key=lambda d: min(counts[d]))


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
