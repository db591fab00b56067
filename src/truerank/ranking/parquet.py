"""Tables and counts of ranks as Parquet files: columns, and the header as JSON in the metadata."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from truerank.errors import FileFormatError, InvalidDataError, StorageError
from truerank.files import parse_header, readable_errors, written_whole
from truerank.ranking.counts import KEYS, SUMS, RankCounts
from truerank.ranking.header import FORMAT, Header
from truerank.ranking.table import RankTable

_KEY = b"truerank.ranktable"
_COUNTS_KEY = b"truerank.rankcounts"
_COLUMNS = {
    "user": "user_id",
    "item": "item_id",
    "rank": "rank",
    "n_sampled": "n_sampled",
    "n_items": "n_items",
    "weight": "weight",
    "n_scored": "n_scored",
}


def as_arrow(table: RankTable) -> pa.Table:
    """Columns under their names on disk, the header in the schema's metadata."""
    columns = {name: getattr(table, attribute) for attribute, name in _COLUMNS.items()}
    header = json.dumps({"format": FORMAT, **table.header.to_dict()}, sort_keys=True)
    return pa.table(columns).replace_schema_metadata({_KEY: header.encode()})


def write_table(table: RankTable, path: str | Path, *, force: bool = True) -> None:
    """Write under a temporary name, then rename."""
    with written_whole(path, force=force) as temporary:
        pq.write_table(as_arrow(table), temporary, compression="zstd")


def read_table(path: str | Path) -> RankTable:
    """Read and check everything: the format, its version, and the rules of each column."""
    file = Path(path)
    content = _read(file)
    if _COUNTS_KEY in (content.schema.metadata or {}):
        raise FileFormatError(
            f"{file} holds counts, not a rank table; read it with RankCounts.from_parquet(path)"
        )
    missing = [name for name in _COLUMNS.values() if name not in content.column_names]
    if _KEY not in (content.schema.metadata or {}) or missing:
        raise FileFormatError(
            f"{file} is a Parquet file but not a rank table of truerank (it has columns "
            f"{', '.join(content.column_names[:8])}"
            + (f", it lacks {', '.join(missing)}" if missing else "")
            + "); make one with RankTable.from_arrays(...).to_parquet(path)"
        )
    twice = next((n for n in _COLUMNS.values() if content.column_names.count(n) > 1), None)
    if twice is not None:
        raise FileFormatError(
            f"{file} has {content.column_names.count(twice)} columns called {twice!r}; write it "
            "again with one of them"
        )
    header = _header(file, content.schema.metadata[_KEY])
    columns = {}
    for attribute, name in _COLUMNS.items():
        if content.column(name).null_count:
            raise FileFormatError(f"{file} has missing values in column {name}; each row needs one")
        columns[attribute] = content.column(name).to_numpy(zero_copy_only=False)
    return RankTable.from_arrays(**columns, header=header)


# -------------------------------------------------------------------- counts


def counts_as_arrow(counts: RankCounts) -> pa.Table:
    """Columns under their own names, the header in the schema's metadata."""
    names = (*KEYS, *(() if counts.bucket is None else ("bucket",)), *SUMS)
    header = json.dumps({"format": FORMAT, **counts.header.to_dict()}, sort_keys=True)
    table = pa.table({name: getattr(counts, name) for name in names})
    return table.replace_schema_metadata({_COUNTS_KEY: header.encode()})


def write_counts(counts: RankCounts, path: str | Path, *, force: bool = True) -> None:
    """Write under a temporary name, then rename."""
    with written_whole(path, force=force) as temporary:
        pq.write_table(counts_as_arrow(counts), temporary, compression="zstd")


def read_counts(path: str | Path, header: Header | None = None) -> RankCounts:
    """Counts written by us, or by a database, which says nothing about where ranks come from."""
    file = Path(path)
    content = _read(file)
    metadata = content.schema.metadata or {}
    if _KEY in metadata:
        raise FileFormatError(
            f"{file} holds a rank table, not counts; read it with RankTable.from_parquet(path), "
            "and count it with RankCounts.from_table(table)"
        )
    if _COUNTS_KEY in metadata:
        header = _header(file, metadata[_COUNTS_KEY])
    try:
        return RankCounts.from_frame(content, header=header)
    except InvalidDataError as error:
        raise FileFormatError(f"{file} is not a file of rank counts: {error}") from error


def holds_counts(path: str | Path) -> bool:
    """Whether a Parquet file of ours says that it holds counts; False for any other file."""
    try:
        metadata = pq.read_schema(str(path)).metadata or {}
    except (pa.ArrowException, OSError):
        return False
    return _COUNTS_KEY in metadata


# -------------------------------------------------------------------- both


def _read(file: Path) -> pa.Table:
    try:
        with readable_errors(file), file.open("rb"):
            pass  # Python names the reason better, and pyarrow would take a folder for a data set
        # Opened by Arrow: its threads must not hold a file of Python's (data/text/arrow_text.py).
        with pa.OSFile(str(file)) as stream:
            return pq.ParquetFile(stream).read()
    except StorageError:
        raise
    except (pa.ArrowException, OSError) as error:  # a cut footer, a page that does not unpack
        raise FileFormatError(
            f"{file} is not a complete Parquet file: it is damaged or was cut short; "
            "write or copy it again"
        ) from error


def _header(file: Path, text: bytes) -> Header:
    try:
        values = parse_header(text)
    except ValueError as error:
        raise FileFormatError(f"{file} has a damaged header; write it again") from error
    version = values.pop("format", None)
    if not isinstance(version, int) or version > FORMAT:
        raise FileFormatError(
            f"{file} has format {version}, newer than the {FORMAT} known here; upgrade truerank"
        )
    try:
        return Header.from_dict(values)
    except FileFormatError as error:
        raise FileFormatError(f"{file}: {error}") from error
