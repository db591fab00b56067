"""A text file as a stream of UTF-8, whatever its compression and encoding."""

from __future__ import annotations

import codecs
import lzma
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from truerank.errors import FileFormatError, InvalidArgumentError

if TYPE_CHECKING:
    import pyarrow as pa

START = 1 << 16
"""How many bytes of a file are looked at to find out what it is."""

_PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
}
"""How compressed files start; names say less, since people rename files."""

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@contextmanager
def open_utf8(path: Path, encoding: str) -> Iterator[pa.NativeFile]:
    """The text as UTF-8: unpacked (.gz, .bz2, .xz, .zst, a .zip of one file) and recoded."""
    import pyarrow as pa

    with _unpacked(path) as stream:
        if codecs.lookup(encoding).name == "utf-8":
            yield stream
        else:
            yield pa.transcoding_input_stream(stream, encoding, "utf-8")


def read_start(path: Path) -> bytes:
    """The first bytes of the unpacked text, as they are written."""
    with _unpacked(path) as stream:
        return bytes(stream.read(START))


def is_zipped_text(path: Path) -> bool:
    """Whether a file is a zip that holds one text file, no arrays and no model."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        names = _files(archive)
    return "header.json" not in names and not any(name.endswith(".npy") for name in names)


def find_encoding(start: bytes, path: Path) -> str:
    r"""UTF-8 or UTF-16 or UTF-32 by what a file starts with, else Latin-1.

    Every file can be read as Latin-1, and what is different in it stays different; where it was
    Windows-1252 or another one-byte encoding, some letters look wrong.

    >>> find_encoding("Bücher".encode("latin-1"), Path("loans.csv"))
    'latin-1'
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if start.startswith(mark):
            return encoding
    if b"\0" in start:
        half = len(start) // 2
        for first, encoding in ((0, "utf-16-be"), (1, "utf-16-le")):
            if start[first::2].count(0) > 0.8 * half:
                return encoding
        raise FileFormatError(
            f"{path} is not a text file: it holds zero bytes; export the table as CSV or Parquet"
        )
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)  # the last character may be cut
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def check_encoding(encoding: str) -> str:
    """The encoding, if Python knows it."""
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise InvalidArgumentError(
            "encoding", encoding, "one that Python knows", "such as utf-8, latin-1 or cp1251"
        ) from None


def not_written_in(path: str | Path, encoding: str) -> FileFormatError:
    """What to say about text that is something else than was said or found."""
    return FileFormatError(
        f"{path} is not written in {encoding}; leave out the encoding to have it found, or say "
        "what it is written in, such as latin-1"
    )


@contextmanager
def _unpacked(path: Path) -> Iterator[pa.NativeFile]:
    import pyarrow as pa

    with path.open("rb") as file:
        start = file.read(8)
    packed = next((how for magic, how in _PACKED.items() if start.startswith(magic)), None)
    if packed == "xz":
        with lzma.open(path) as inside:
            yield _native(inside)
    elif packed == "zip":
        with zipfile.ZipFile(path) as archive, archive.open(_only_file(archive, path)) as inside:
            yield _native(inside)
    else:
        with pa.input_stream(str(path), compression=packed) as stream:
            yield stream


def _native(stream: IO[bytes] | Any) -> pa.NativeFile:
    import pyarrow as pa

    return pa.PythonFile(stream, mode="r")


def _files(archive: zipfile.ZipFile) -> list[str]:
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    return [name for name in names if not name.startswith("__MACOSX/")]


def _only_file(archive: zipfile.ZipFile, path: Path) -> str:
    names = _files(archive)
    if len(names) != 1:
        some = ", ".join(names[:4]) + (", ..." if names[4:] else "")
        raise FileFormatError(
            f"{path} holds {len(names)} files ({some or 'none'}); unpack it and name the one that "
            "is wanted"
        )
    return names[0]
