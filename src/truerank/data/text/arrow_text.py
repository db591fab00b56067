"""Text is handed to Arrow here, and nothing of Python's with it.

Arrow reads ahead and parses in threads of its own, and these may let go of what they hold a moment
after the result is there. If that is an object of Python's (a stream, or memory of ``bytes``) and
the interpreter ends in that moment, the whole process ends with "terminate called without an
active exception". So whoever makes text in Python makes it in the calling thread, and Arrow gets
memory of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 1 << 20


def parse_csv(source: IO[bytes] | pa.NativeFile, *, read_options: Any = None, **how: Any) -> Any:
    r"""``pyarrow.csv.read_csv`` of an open stream, of whatever kind.

    Memory: a plain file that Arrow has opened is read block by block; of anything else the text
    is held once.

    >>> import io
    >>> parse_csv(io.BytesIO(b"user,item\n1,2\n")).to_pydict()
    {'user': [1], 'item': [2]}
    """
    from pyarrow import csv

    options = read_options or csv.ReadOptions()
    if getattr(how.get("parse_options"), "invalid_row_handler", None) is not None:
        options.use_threads = False  # it is Python's: rows are then parsed in this thread
    return csv.read_csv(arrow_stream(source), read_options=options, **how)


def arrow_stream(source: IO[bytes] | pa.NativeFile) -> pa.NativeFile:
    """A stream whose bytes are Arrow's: the file that Arrow has opened, or a copy of the rest."""
    import pyarrow as pa

    if isinstance(source, pa.OSFile | pa.MemoryMappedFile):
        return source
    with pa.BufferOutputStream() as memory:
        while block := source.read(_BLOCK):
            memory.write(block)
        return pa.BufferReader(memory.getvalue())


def whole_lines(stream: IO[bytes], *, block: int) -> Iterator[bytes]:
    r"""The text in blocks that end where a line does. Memory: one block, and the longest line.

    >>> import io
    >>> list(whole_lines(io.BytesIO(b"a\nb\nc"), block=3))
    [b'a\n', b'b\n', b'c']
    """
    rest: list[bytes] = []  # of a line that has not ended
    while fresh := stream.read(block):
        end = fresh.rfind(b"\n") + 1
        if end:
            yield b"".join([*rest, fresh[:end]])
            rest.clear()
        rest.append(fresh[end:])
    if last := b"".join(rest):
        yield last
