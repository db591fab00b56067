"""Tables into arrays: pandas, polars and pyarrow frames, and the files they come from.

Every column passes through Arrow, so nulls, dates, categories and strings mean the same
whatever library the table came from.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from truerank.data.arrow_text import parse_csv
from truerank.data.delimited import UNIT_SEPARATOR, SingleByte, find_delimiter
from truerank.errors import (
    FileFormatError,
    InvalidArgumentError,
    InvalidDataError,
    MissingExtraError,
    StorageError,
    TruerankError,
)

if TYPE_CHECKING:
    import pyarrow as pa


def columns_of(
    frame: Any, *, user: str, item: str, weight: str | None = None, timestamp: str | None = None
) -> dict[str, NDArray[Any]]:
    """The named columns as numpy arrays, under the argument names of ``from_arrays``.

    Memory: only these columns are converted; strings become Python strings, each distinct
    one made once, at 8 bytes per row.

    Args:
        frame: A pandas or polars ``DataFrame``, or a pyarrow ``Table`` or ``RecordBatch``.
        user: Column of user ids.
        item: Column of item ids.
        weight: Column of weights, or None.
        timestamp: Column of integer times or dates, or None.

    >>> import pyarrow as pa
    >>> table = pa.table({"who": ["bo", "al"], "what": [3, 1]})
    >>> {k: v.tolist() for k, v in columns_of(table, user="who", item="what").items()}
    {'user': ['bo', 'al'], 'item': [3, 1]}
    """
    wanted = _wanted(user=user, item=item, weight=weight, timestamp=timestamp)
    table = eager(frame)
    names = getattr(table, "column_names", None) or list(table.columns)
    check_names([str(name) for name in names], wanted)
    own_name = {str(name): name for name in names}  # pandas also has numbers for names
    columns = {}
    for argument, name in wanted.items():
        column = arrow_column(table, own_name[name])
        if argument in ("user", "item") and column.null_count:
            raise InvalidDataError(
                f"{column.null_count:,} of {len(column):,} rows have no {argument} id (column "
                f"{name!r} is null); drop these rows first"
            )
        columns[argument] = to_numpy(column)
    return columns


def read_parquet(
    path: str | Path,
    *,
    user: str | None = None,
    item: str | None = None,
    weight: str | None = None,
    timestamp: str | None = None,
) -> pa.Table:
    """A Parquet file as a pyarrow table: the named columns only, or all if none is named."""
    import pyarrow.parquet as pq

    wanted = _wanted(user=user, item=item, weight=weight, timestamp=timestamp)
    with reading(path, "Parquet"), pq.ParquetFile(path) as file:
        check_names(file.schema_arrow.names, wanted)
        return file.read(columns=list(dict.fromkeys(wanted.values())) or None)


def read_csv(path: str | Path, *, delimiter: str | None = None, header: bool = True) -> pa.Table:
    """A delimited text file, plain or compressed (.gz, .bz2, .zst), as a pyarrow table.

    Types are guessed by Arrow from the text: ids that look like whole numbers become numbers
    (so 007 and 7 are the same), empty fields and the usual marks (NA, NaN, null) become nulls.

    Args:
        path: The file, in UTF-8.
        delimiter: One character, or several (``"::"``), or None: comma, tab, semicolon, pipe or
            ``::``, whichever divides the first lines most evenly.
        header: Whether the first line names the columns; without it they are "0", "1", ...
    """
    import pyarrow as pa
    from pyarrow import csv

    if delimiter is not None and (not delimiter or set(delimiter) & set('"\r\n')):
        raise InvalidArgumentError("delimiter", delimiter, "at least one character, no quote")
    with reading(path, "delimited text"):
        if delimiter is None:
            with pa.input_stream(str(path), compression="detect") as start:
                delimiter = find_delimiter(start.read(1 << 16), path)
        several = len(delimiter.encode()) > 1
        with pa.input_stream(str(path), compression="detect") as text:
            table = parse_csv(
                SingleByte(text, delimiter.encode()) if several else text,
                read_options=csv.ReadOptions(autogenerate_column_names=not header),
                # Files with long delimiters come without quoting: a quote is text.
                parse_options=csv.ParseOptions(
                    delimiter=UNIT_SEPARATOR.decode() if several else delimiter,
                    quote_char=False if several else '"',
                ),
                convert_options=csv.ConvertOptions(
                    strings_can_be_null=True, quoted_strings_can_be_null=False
                ),
            )
    return table if header else table.rename_columns([str(k) for k in range(table.num_columns)])


@contextmanager
def reading(path: str | Path, what: str) -> Iterator[None]:
    """Says in one sentence why a file cannot be read."""
    import pyarrow as pa

    try:
        with Path(path).open("rb"):
            pass  # Python names the reason better than Arrow does
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StorageError(f"cannot read {path}: {reason}; check the path") from error
    try:
        yield
    except TruerankError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise FileFormatError(
            f"{path} is damaged or not a {what} file ({reason}); fetch or export it again"
        ) from error


def _wanted(**arguments: str | None) -> dict[str, str]:
    return {argument: name for argument, name in arguments.items() if name is not None}


def check_names(names: list[str], wanted: dict[str, str]) -> None:
    """Refuse columns that are missing or there twice; name the nearest."""
    for argument, name in wanted.items():
        if names.count(name) > 1:
            raise InvalidDataError(
                f"the table has {names.count(name)} columns called {name!r}; rename all but one"
            )
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.3)
            example = near[0] if near else "..."
            headless = bool(names) and all(n.replace(".", "").isdigit() for n in names)
            raise InvalidDataError(
                f"there is no column {name!r}, the columns are {_listed(names)}; say which one it "
                f"is with {argument}={example!r}"
                + (", or header=False if the first line is data" if headless else "")
            )


def _listed(names: Iterable[str], most: int = 20) -> str:
    shown = [repr(name) for name in names]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if shown[most:] else "")


def eager(frame: Any) -> Any:
    """The frame itself if it is pyarrow's, else wrapped by narwhals."""
    import pyarrow as pa

    if isinstance(frame, pa.Table | pa.RecordBatch):
        return frame
    if not hasattr(type(frame), "columns"):  # on the type: a lazy frame would compute its own
        raise InvalidArgumentError(
            "frame",
            type(frame).__name__,
            "a pandas, polars or pyarrow table",
            "Interactions.from_arrays takes plain arrays and lists",
        )
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        raise MissingExtraError("narwhals", "frames", "reading pandas and polars frames") from None
    try:
        return nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        reason = " ".join(str(error).split())
        raise InvalidDataError(f"{reason}; rename all columns of a name but one") from None
    except TypeError:
        raise InvalidArgumentError(
            "frame",
            type(frame).__name__,
            "a pandas, polars or pyarrow table in memory",
            "collect or convert it first",
        ) from None


def arrow_column(table: Any, name: Any) -> pa.Array:
    """One column of any frame, as one Arrow array."""
    import pyarrow as pa

    try:
        column = (
            table.column(name)
            if isinstance(table, pa.Table | pa.RecordBatch)
            else (table.get_column(name).to_arrow())
        )
    except pa.ArrowException as error:
        raise InvalidDataError(
            f"column {name!r} mixes types ({str(error).splitlines()[0]}); convert it to one type"
        ) from error
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column


def to_numpy(column: pa.Array) -> NDArray[Any]:
    """Numbers and text as numpy knows them."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        encoded = column.cast(pa.large_string()).dictionary_encode()
        words = encoded.dictionary.to_numpy(zero_copy_only=False)
        codes = encoded.indices.fill_null(len(words)).to_numpy()
        strings: NDArray[Any] = np.append(words, [None])[codes]
        return strings
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values
