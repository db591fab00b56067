"""Tables into arrays: pandas, polars and pyarrow frames, and the files they come from.

Every column passes through Arrow, so nulls, dates, categories and strings mean the same
whatever library the table came from.
"""

from __future__ import annotations

import itertools
import lzma
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from truerank.checks import nearest
from truerank.data.ids import IdType, is_text, with_id_type
from truerank.data.text.file_streams import not_written_in
from truerank.data.text.rating_columns import unread_ratings, warn_of_dislikes
from truerank.data.text.tables import Role, TextTable
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
    frame: Any,
    *,
    user: str,
    item: str,
    weight: str | None = None,
    timestamp: str | None = None,
    id_type: IdType | None = None,
) -> dict[str, Any]:
    """The named columns as arrays, under the argument names of ``from_arrays``.

    Memory: only these columns are converted; ids that are text stay in Arrow, each distinct one
    once and 4 bytes per row.

    Args:
        frame: A pandas or polars ``DataFrame``, or a pyarrow ``Table`` or ``RecordBatch``.
        user: Column of user ids.
        item: Column of item ids.
        weight: Column of weights, or None.
        timestamp: Column of integer times or dates, or None.
        id_type: What ids are to be; None leaves them as they are typed.

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
    columns: dict[str, Any] = {}
    for argument, name in wanted.items():
        column = arrow_column(table, own_name[name])
        if argument in ("user", "item") and column.null_count:
            raise InvalidDataError(
                f"{column.null_count:,} of {len(column):,} rows have no {argument} id (column "
                f"{name!r} is null); drop these rows first"
            )
        if argument in ("user", "item"):
            columns[argument] = with_id_type(column, id_type, argument)
        else:
            columns[argument] = to_numpy(column)
    if weight is None and (rating := unread_ratings(list(own_name), list(wanted.values()))):
        warn_of_dislikes(arrow_column(table, own_name[rating]), rating)
    return columns


def read_parquet(
    path: str | Path,
    *,
    user: str | None = None,
    item: str | None = None,
    weight: str | None = None,
    timestamp: str | None = None,
) -> pa.Table:
    """A Parquet file as a pyarrow table: the named columns, or all if none is named.

    Ratings that nobody named come with them, see :mod:`truerank.data.text.rating_columns`.
    """
    import pyarrow.parquet as pq

    wanted = _wanted(user=user, item=item, weight=weight, timestamp=timestamp)
    with reading(path, "Parquet"), pq.ParquetFile(path) as file:
        check_names(file.schema_arrow.names, wanted)
        columns = list(dict.fromkeys(wanted.values()))
        return file.read(columns=columns + _looked_at(file.schema_arrow.names, wanted) or None)


def read_csv(
    path: str | Path,
    *,
    user: str | None = None,
    item: str | None = None,
    weight: str | None = None,
    timestamp: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    encoding: str | None = None,
) -> pa.Table:
    """A delimited text file as a pyarrow table: the named columns, or all if none is named.

    Ratings that nobody named come with them, see :mod:`truerank.data.text.rating_columns`.

    Ids are text, exactly as they are written but for blanks around them; numbers may have a
    decimal comma; the rest is what Arrow takes it for. Empty fields and the usual marks (NA, NaN,
    null) are nulls unless quoted. Lines before the table that are blank or start with ``#`` or
    ``%`` are skipped.

    Args:
        path: The file, plain or compressed (.gz, .bz2, .xz, .zst, or a .zip of one file).
        user: Column of user ids.
        item: Column of item ids.
        weight: Column of weights.
        timestamp: Column of times.
        delimiter: One character, or several (``"::"``), or None: comma, tab, semicolon, pipe or
            ``::``, whichever divides the first lines most evenly, or else blanks.
        header: Whether the first line names the columns; without it they are "0", "1", ...
        encoding: What the file is written in, or None: UTF-8, UTF-16 by its first bytes, and
            Latin-1 where it is neither.
    """
    wanted = _wanted(user=user, item=item, weight=weight, timestamp=timestamp)
    with reading(path, "delimited text"):
        table = TextTable.of(path, delimiter=delimiter, header=header, encoding=encoding)
        check_names(list(table.names), wanted)
        roles = {name: ROLES[argument] for argument, name in wanted.items()}
        roles |= dict.fromkeys(_looked_at(table.names, wanted), "any")
        return table.read(roles or None)


ROLES: dict[str, Role] = {"user": "id", "item": "id", "weight": "number", "timestamp": "any"}
"""What the columns of a text file are read as."""


def _looked_at(names: Sequence[str], wanted: Mapping[str, str]) -> list[str]:
    """Ratings that nobody named are read as well, to see whether all rows are positives."""
    if not wanted or "weight" in wanted:
        return []
    rating = unread_ratings(names, list(wanted.values()))
    return [] if rating is None else [rating]


_UNPACKING = (lzma.LZMAError, zipfile.BadZipFile, zlib.error, EOFError)


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
    except UnicodeDecodeError as error:
        raise not_written_in(path, error.encoding) from error
    except (pa.ArrowException, OSError, UnicodeError, *_UNPACKING) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise FileFormatError(
            f"{path} is damaged or not a {what} file ({reason}); fetch or export it again"
        ) from error


def _wanted(**arguments: str | None) -> dict[str, str]:
    return {argument: name for argument, name in arguments.items() if name is not None}


_OF_THEIR_OWN = ("user", "item", "rank", "weight", "timestamp")
"""Arguments that need a column each; sizes may share one, where everything was ranked."""


def check_names(names: list[str], wanted: dict[str, str]) -> None:
    """Refuse columns that are missing, there twice, or asked to be two things; name the nearest."""
    for one, other in itertools.combinations((a for a in wanted if a in _OF_THEIR_OWN), 2):
        if wanted[one] == wanted[other]:
            raise InvalidDataError(
                f"column {wanted[one]!r} is named for both the {one} and the {other}, and cannot "
                f"be both; name another column for one of them, the columns are {_listed(names)}"
            )
    for argument, name in wanted.items():
        if names.count(name) > 1:
            raise InvalidDataError(
                f"the table has {names.count(name)} columns called {name!r}; rename all but one"
            )
        if name not in names:
            example = nearest(name, names, cutoff=0.3) or "..."
            headless = bool(names) and all(n.replace(".", "").isdigit() for n in names)
            raise InvalidDataError(
                f"there is no column {name!r}, the columns are {_listed(names)}; say which one it "
                f"is with {argument}={example!r}"
                + (", or header=False if the first line is data" if headless else "")
            )


def _listed(names: Iterable[str], most: int = 20) -> str:
    shown = [repr(name) for name in names]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if shown[most:] else "")


def eager(
    frame: Any, *, instead: str = "Interactions.from_arrays takes plain arrays and lists"
) -> Any:
    """The frame itself if it is pyarrow's, else wrapped by narwhals.

    Args:
        frame: A pandas, polars or pyarrow table.
        instead: What to use for anything else, in a sentence.
    """
    import pyarrow as pa

    if isinstance(frame, pa.Table | pa.RecordBatch):
        return frame
    if not hasattr(type(frame), "columns"):  # on the type: a lazy frame would compute its own
        raise InvalidArgumentError(
            "frame",
            type(frame).__name__,
            "a pandas, polars or pyarrow table",
            instead,
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
        kind = column.type
        column = column.unify_dictionaries() if pa.types.is_dictionary(kind) else column
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        text = is_text(column.type.value_type)
        if not text or column.dictionary.null_count:
            column = column.dictionary_decode()
    return column


def to_numpy(column: pa.Array) -> NDArray[Any]:
    """Numbers and text as numpy knows them."""
    import pyarrow as pa

    if is_text(column.type) or pa.types.is_dictionary(column.type):
        encoded = column
        if not pa.types.is_dictionary(column.type):
            encoded = column.cast(pa.large_string()).dictionary_encode()
        words = encoded.dictionary.to_numpy(zero_copy_only=False)
        codes = encoded.indices.fill_null(len(words)).to_numpy()
        strings: NDArray[Any] = np.append(words, [None])[codes]
        return strings
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values
