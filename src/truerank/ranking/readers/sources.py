"""A table in memory or in a file: its column names first, then only the columns wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from truerank.data.frames import arrow_column, check_names, eager, reading, to_numpy
from truerank.data.text.file_streams import read_start
from truerank.data.text.tables import Role, TextTable
from truerank.errors import InvalidDataError

PARQUET = b"PAR1"
"""What every Parquet file starts with."""


@dataclass(frozen=True, slots=True)
class TableSource:
    """Where a table is.

    Attributes:
        name: What to call it in a sentence.
        columns: Its column names.
        load: From column names to a frame that has at least these.
    """

    name: str
    columns: tuple[str, ...]
    load: Callable[[Mapping[str, Role]], Any]

    @classmethod
    def of(
        cls,
        source: Any,
        *,
        delimiter: str | None = None,
        header: bool = True,
        encoding: str | None = None,
    ) -> Self:
        """A pandas, polars or pyarrow frame, or the path of a Parquet or delimited text file.

        Text may be compressed (:func:`truerank.data.frames.read_csv`); its ids stay text. Its
        delimiter and encoding are found unless they are named.
        """
        if isinstance(source, str | Path):
            return cls._of_file(Path(source), delimiter, header, encoding)
        table = eager(source)
        names = getattr(table, "column_names", None) or list(table.columns)
        return cls("the table", tuple(str(name) for name in names), lambda _: table)

    @classmethod
    def _of_file(
        cls, path: Path, delimiter: str | None, header: bool, encoding: str | None
    ) -> Self:
        import pyarrow.parquet as pq

        if is_parquet(path):
            with reading(path, "Parquet"):
                columns = tuple(pq.read_schema(path).names)
            return cls(str(path), columns, lambda roles: _parquet(path, list(roles)))
        with reading(path, "delimited text"):
            table = TextTable.of(
                path, delimiter=delimiter, header=header, encoding=encoding, one_column=True
            )
        return cls(str(path), table.names, lambda roles: _text(table, roles))

    def arrays(self, wanted: Mapping[str, str]) -> dict[str, NDArray[Any]]:
        """Columns as numpy arrays under the argument names that asked for them.

        Memory: 8 bytes per row and column; strings also once each.
        """
        check_names(list(self.columns), dict(wanted))
        table = self.load({name: _role(argument) for argument, name in wanted.items()})
        names = getattr(table, "column_names", None) or list(table.columns)
        own_name = {str(name): name for name in names}  # pandas also has numbers for names
        arrays = {}
        for argument, name in wanted.items():
            column = arrow_column(table, own_name[name])
            if len(column) == 0:
                raise InvalidDataError(f"{self.name} has no rows; check how it was written")
            if column.null_count:
                row = column.is_null().index(True).as_py() + 1
                raise InvalidDataError(
                    f"{column.null_count:,} of {len(column):,} rows of {self.name} have no "
                    f"{argument} (column {name!r} is null), the first is row {row:,}; remove these "
                    "rows or write what is missing"
                )
            arrays[argument] = to_numpy(column)
        return arrays


def is_parquet(path: Path) -> bool:
    """Whether a file starts as Parquet files do, whatever it is called."""
    with reading(path, "table"), path.open("rb") as file:
        return file.read(len(PARQUET)) == PARQUET


def first_line(path: Path) -> str:
    """The first line of a text file, plain or compressed; empty where there is none."""
    with reading(path, "delimited text"):
        start = read_start(path).decode("utf-8", errors="replace")
    return next((line for line in start.splitlines() if line.strip()), "")


def as_numbers(name: str, values: NDArray[Any]) -> NDArray[np.float64]:
    """Real numbers as float64, or a sentence about what came instead."""
    if values.dtype.kind not in "fiub":
        raise InvalidDataError(
            f"{name} must be numbers, got values such as {values.flat[0]!r}; name the right column "
            f"with {name}=, or header=False if the first line is data"
        )
    return values.astype(np.float64)


def _parquet(path: Path, names: Sequence[str]) -> Any:
    import pyarrow.parquet as pq

    with reading(path, "Parquet"), pq.ParquetFile(path) as file:
        return file.read(columns=list(names))


def _text(table: TextTable, roles: Mapping[str, Role]) -> Any:
    with reading(table.path, "delimited text"):
        return table.read(roles)


def _role(argument: str) -> Role:
    return "id" if argument in ("user", "item") else "any"
