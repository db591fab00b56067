"""Streams out of plain, zipped and tarred files, and columns out of streams.

Nothing here needs the whole text in memory: a block of 4 MB is read, turned into typed columns,
and forgotten.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from truerank.data.registry.partial import storage_error
from truerank.data.text.arrow_text import parse_csv, whole_lines
from truerank.errors import FileFormatError, TruerankError

if TYPE_CHECKING:
    import pyarrow as pa

Arrays = dict[str, NDArray[Any]]
"""A data set as plain columns; the names are those of the npz layout in layout.py."""

BLOCK = 1 << 22
BLOCK_ROWS = 1 << 23


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever a damaged or foreign file raises into one sentence about it."""
    try:
        yield
    except TruerankError:
        raise
    except (gzip.BadGzipFile, zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError) as error:
        raise FileFormatError(
            f"{path} is damaged ({_first_line(error)}); remove it and get it again"
        ) from error
    except OSError as error:
        raise storage_error("read", path, error) from error
    except (ValueError, OverflowError) as error:  # ArrowInvalid is a ValueError
        raise FileFormatError(
            f"{path} does not have the format it should have ({_first_line(error)}); "
            "remove it and get it again"
        ) from error


def _first_line(error: Exception) -> str:
    text = (str(error) or type(error).__name__).splitlines()[0]
    return text if len(text) <= 160 else f"{text[:157]}..."


@contextmanager
def open_text(path: Path, member: str) -> Iterator[IO[bytes]]:
    """The bytes of a text file: the file itself, or the one called ``member`` in a zip."""
    with reading(path):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                names = [n for n in archive.namelist() if PurePosixPath(n).name == member]
                if not names:
                    raise FileFormatError(
                        f"{path} holds no {member}; remove it and get the right archive"
                    )
                with archive.open(min(names, key=len)) as stream:
                    yield stream
        else:
            with path.open("rb") as plain:
                yield plain


def open_members(path: Path, patterns: tuple[str, ...]) -> Iterator[IO[bytes]]:
    """Every file in an archive whose name fits a pattern; a tar in a tar is looked into.

    A tar is read as a stream, in its own order, so nothing is unpacked to disk. A file that is
    no archive is given as it is.
    """
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if _fits(name, patterns):
                    with archive.open(name) as stream:
                        yield stream
    elif path.name.endswith((".tar", ".tar.gz", ".tgz")):
        with tarfile.open(path, mode="r|*") as tar:
            yield from _tar_members(tar, patterns)
    else:
        with path.open("rb") as stream:
            yield stream


def _tar_members(tar: tarfile.TarFile, patterns: tuple[str, ...]) -> Iterator[IO[bytes]]:
    for member in tar:
        stream = tar.extractfile(member) if member.isfile() else None
        if stream is None:
            continue
        with stream:
            if member.name.endswith(".tar"):
                with tarfile.open(fileobj=stream, mode="r|") as inner:
                    yield from _tar_members(inner, patterns)
            elif _fits(member.name, patterns):
                yield stream


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(PurePosixPath(name).name, pattern) for pattern in patterns)


def batches(
    stream: IO[bytes],
    types: Mapping[str, str],
    *,
    delimiter: str,
    n_fields: int | None = None,
    header: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Typed columns of a delimited text, block by block.

    Args:
        stream: The text.
        types: Name and Arrow type of the leading columns, in file order.
        delimiter: One character, or ``::``.
        n_fields: Columns in the file, if more than those wanted.
        header: Whether to skip the first line.
    """
    import pyarrow as pa
    from pyarrow import csv

    spare = range(len(types), n_fields or len(types))
    names = [*types, *(f"column {i}" for i in spare)]
    parse = csv.ParseOptions(delimiter="\t" if delimiter == "::" else delimiter, quote_char=False)
    convert = csv.ConvertOptions(
        column_types={name: pa.type_for_alias(alias) for name, alias in types.items()},
        include_columns=list(types),
        null_values=[],
    )
    for number, text in enumerate(whole_lines(stream, block=BLOCK)):
        read = csv.ReadOptions(
            column_names=names,
            skip_rows=int(header and not number),
            block_size=len(text) + 1,
            use_threads=False,
        )
        lines = text.replace(b"::", b"\t") if delimiter == "::" else text
        table = parse_csv(
            io.BytesIO(lines), read_options=read, parse_options=parse, convert_options=convert
        )
        yield from table.to_batches()


def count_fields(path: Path, member: str, *, delimiter: str) -> int:
    """Columns of a delimited text, counted in its first line."""
    with open_text(path, member) as stream:
        return stream.readline().count(delimiter.encode()) + 1


class Column:
    """A column that grows to unknown length in large blocks.

    A list of small chunks would take twice the memory: their holes are of no use to anybody when
    the chunks are let go.
    """

    def __init__(self) -> None:
        self._blocks: list[NDArray[Any]] = []
        self._used = 0

    def extend(self, values: NDArray[Any]) -> None:
        """Add values at the end; a wider type than before is kept."""
        while len(values):
            last = self._blocks[-1] if self._blocks else None
            if last is None or self._used == len(last) or last.dtype != values.dtype:
                self._trim()
                last = np.empty(BLOCK_ROWS, dtype=values.dtype)
                self._blocks.append(last)
                self._used = 0
            taken = values[: len(last) - self._used]
            last[self._used : self._used + len(taken)] = taken
            self._used += len(taken)
            values = values[len(taken) :]

    def _trim(self) -> None:
        if self._blocks:
            self._blocks[-1] = self._blocks[-1][: self._used]

    def whole(self) -> NDArray[Any]:
        """The column as one array; its blocks are let go."""
        if not self._blocks:
            raise ValueError("it holds no rows")
        self._trim()
        whole = np.concatenate(self._blocks)
        self._blocks.clear()
        return whole
