"""Delimited text as people have it: the names of its columns first, then those that are wanted.

Ids stay text, exactly as they are written: ``007`` and ``7`` are two users, and an ISBN keeps its
zeros. Only blanks around them go.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from truerank.data.text.arrow_text import parse_csv
from truerank.data.text.column_text import as_numbers, trimmed, with_line_break
from truerank.data.text.delimited import (
    BLANKS,
    LINE_END,
    UNIT_SEPARATOR,
    SingleByte,
    Spaced,
    find_delimiter,
)
from truerank.data.text.file_streams import (
    START,
    check_encoding,
    find_encoding,
    not_written_in,
    open_utf8,
    read_start,
)
from truerank.errors import DataWarning, InvalidArgumentError, InvalidDataError, option

if TYPE_CHECKING:
    import pyarrow as pa

Role = Literal["id", "number", "any"]
"""Ids are text, numbers must be numbers, and the rest is what Arrow takes it for."""

_COMMENT = ("#", "%")
_BLOCK = 1 << 24
"""Bytes that Arrow parses at a time: smaller blocks take longer to join."""
_LOOKED_AT = 50
"""Rows that tell how wide a table is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A delimited text file that was looked at, but not read.

    Attributes:
        path: The file, plain or compressed.
        encoding: What it is written in.
        guessed: Whether that is a guess.
        delimiter: What divides its columns.
        names: Its columns; "0", "1", ... without a line of names.
        n_before: Lines to skip at the beginning: comments and blank ones.
        header: Whether the next line names the columns.
        uneven: Whether blanks divide columns in runs, or stand at the ends of lines.
    """

    path: Path
    encoding: str
    guessed: bool
    delimiter: str
    names: tuple[str, ...]
    n_before: int
    header: bool
    uneven: bool

    @classmethod
    def of(
        cls,
        path: str | Path,
        *,
        delimiter: str | None = None,
        header: bool = True,
        encoding: str | None = None,
        one_column: bool = False,
    ) -> Self:
        """Look at the beginning of a file; arguments as in :func:`~truerank.data.frames.read_csv`.

        ``one_column`` takes a file that nothing divides for one column.
        """
        if delimiter is not None and (not delimiter or set(delimiter) & set('"\r\n')):
            raise InvalidArgumentError("delimiter", delimiter, "at least one character, no quote")
        file = Path(path)
        start = read_start(file)
        written = check_encoding(encoding) if encoding else find_encoding(start, file)
        with open_utf8(file, written) as stream:
            text = bytes(stream.read(START)).decode("utf-8-sig", errors="replace")
        lines = LINE_END.split(text)
        n_before = _n_comments(lines)
        body = "\n".join(lines[n_before:])
        plain = [line for line in lines[n_before:] if not line.startswith(_COMMENT)]
        chosen = delimiter or find_delimiter(
            "\n".join(plain) if any(plain) else body, file, one_column=one_column
        )
        uneven = chosen == " " and re.search(r"(?m)^ |  | $|\t", body) is not None
        width = _width(lines[n_before], chosen) if n_before < len(lines) else 0
        while n_before and _is_row(lines[n_before - 1], chosen, width):
            n_before -= 1  # the # belongs to a name or an id
        rows = _rows("\n".join(lines[n_before:]), chosen, uneven=uneven)
        if len(text.encode()) >= START and len(rows) > 1:
            del rows[-1]  # cut off in the middle
        return cls(
            path=file,
            encoding=written,
            guessed=encoding is None,
            delimiter=chosen,
            names=_names(rows)
            if header
            else tuple(map(str, range(max(map(len, rows), default=0)))),
            n_before=n_before,
            header=header,
            uneven=uneven,
        )

    def read(self, roles: Mapping[str, Role] | None = None) -> pa.Table:
        """The named columns as they are needed, or all as Arrow takes them.

        Says with a :class:`DataWarning` what was guessed: the encoding, and that ids that differ
        only by blanks around them are the same.
        """
        import pyarrow as pa

        wanted = dict.fromkeys(self.names, "any") if roles is None else dict(roles)
        if self.guessed and self.encoding == "latin-1":
            warnings.warn(
                f"{self.path} is not UTF-8 and was read as Latin-1; say "
                + option("encoding")
                + " if it is something else",
                DataWarning,
                stacklevel=2,
            )
        if len(self.names) == 1:
            self._refuse_gaps()
        try:
            table = self._parsed(wanted)
        except pa.ArrowInvalid as error:
            if "invalid UTF8" in str(error):
                if not self.guessed or self.encoding != "utf-8":
                    raise not_written_in(self.path, self.encoding) from error
                return replace(self, encoding="latin-1").read(roles)
            # Only now, since asking about each row that does not fit takes one thread, not all.
            table = self._parsed(wanted, unfit=_skip_blank_lines)
        for at, name in enumerate(table.column_names):
            if wanted[name] == "id":
                if (broken := with_line_break(table.column(at))) is not None:
                    raise self._unclosed(broken, name)
                ids, merged = trimmed(table.column(at))
                table = table.set_column(at, name, ids)
                if merged:
                    warnings.warn(
                        f"{merged:,} ids of column {name!r} differ from others only by spaces "
                        "around them, and were taken for the same",
                        DataWarning,
                        stacklevel=2,
                    )
            elif wanted[name] == "number":
                numbers = as_numbers(table.column(at), name=name, delimiter=self.delimiter)
                table = table.set_column(at, name, numbers)
        return table

    def _parsed(
        self, wanted: Mapping[str, str], unfit: Callable[[Any], str] | None = None
    ) -> pa.Table:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        several = len(self.delimiter.encode()) > 1
        with open_utf8(self.path, self.encoding) as stream:
            source: Any = stream
            if several:
                source = SingleByte(stream, self.delimiter.encode())
            elif self.uneven:
                source = Spaced(stream, BLANKS)
            return parse_csv(
                source,
                read_options=arrow_csv.ReadOptions(
                    block_size=_BLOCK,
                    column_names=list(self.names),
                    skip_rows=self.n_before,
                    skip_rows_after_names=int(self.header),
                ),
                # Files with long delimiters come without quoting: a quote is text.
                parse_options=arrow_csv.ParseOptions(
                    delimiter=UNIT_SEPARATOR.decode() if several else self.delimiter,
                    quote_char=False if several or self.uneven else '"',
                    newlines_in_values=not (several or self.uneven),
                    invalid_row_handler=unfit,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types={n: pa.string() for n, role in wanted.items() if role == "id"},
                    include_columns=list(wanted),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )

    def _refuse_gaps(self) -> None:
        """In a single column a blank line is a missing value, and Arrow passes over it in silence.

        Blank lines before the table and after it are none of its rows.
        """
        gap = None
        for number, line in self._lines():
            if number <= self.n_before or line.strip():
                if gap is not None:
                    raise InvalidDataError(
                        f"line {gap} of {self.path} is empty, where a value should be; remove the "
                        "line, or write what is missing"
                    )
            elif gap is None:
                gap = number

    def _unclosed(self, broken: str, name: str) -> InvalidDataError:
        """What to say about an id that goes on in the next line."""
        first = broken.splitlines()[0]
        start = '"' + first.replace('"', '""')
        line = next((number for number, text in self._lines() if start in text), None)
        where = self.path if line is None else f"line {line} of {self.path}"
        shown = first if len(first) <= 40 else first[:40] + "..."
        return InvalidDataError(
            f"the id {shown!r} in column {name!r} goes on in the next line ({where}), probably "
            "because a quote was opened there and not closed; close or remove it"
        )

    def _lines(self) -> Iterator[tuple[int, str]]:
        """The lines of the text, numbered from 1."""
        with open_utf8(self.path, self.encoding) as stream:
            text: Any = io.TextIOWrapper(stream, encoding="utf-8", errors="replace")
            yield from enumerate(text, 1)


def _skip_blank_lines(row: Any) -> str:
    text = row.text.strip()
    return "skip" if not text or (row.actual_columns == 1 and text[0] in _COMMENT) else "error"


def _n_comments(lines: list[str]) -> int:
    """Lines before the first one that is neither blank nor a comment; if all are, only blanks."""
    for start in (("", *_COMMENT), ("",)):
        for k, line in enumerate(lines):
            if line.strip() and not line.startswith(start[1:]):
                return k
    return 0


def _is_row(line: str, delimiter: str, width: int) -> bool:
    """Whether what looks like a comment divides as rows do: ``#user_id,item_id``."""
    return (
        line.startswith(_COMMENT) and not line[1:2].isspace() and _width(line, delimiter) == width
    )


def _width(line: str, delimiter: str) -> int:
    return len(next(iter(_rows(line, delimiter, uneven=False)), ()))


def _rows(text: str, delimiter: str, *, uneven: bool) -> list[list[str]]:
    """The first rows, divided."""
    if uneven:
        return [row for line in LINE_END.split(text) if (row := line.split())][:_LOOKED_AT]
    if len(delimiter.encode()) > 1:
        lines = [line.split(delimiter) for line in LINE_END.split(text)]
        return [row for row in lines if row != [""]][:_LOOKED_AT]
    rows = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if any(cell.strip() for cell in row):
                rows.append(row)
            if len(rows) == _LOOKED_AT:
                break
    except csv.Error:
        pass  # what there is before it will do
    return rows


def _names(rows: list[list[str]]) -> tuple[str, ...]:
    """The first row, with as many names as the rows below have fields where it is clear why.

    Some programs end every row with a delimiter but not the names; R writes a column of row
    numbers without a name. Other differences are left for the reader of rows to refuse.
    """
    if not rows:
        return ()
    first, *others = ([cell.strip() for cell in row] for row in rows)
    if first and first[0][:1] in _COMMENT:
        first[0] = first[0][1:].strip()
    widths = {len(row) for row in others}
    if widths == {len(first) + 1}:
        return (*first, "") if all(row[-1] == "" for row in others) else ("", *first)
    if widths == {len(first) - 1} and first[-1] == "":
        return tuple(first[:-1])
    return tuple(first)
