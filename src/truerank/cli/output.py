"""What a command prints and writes: tables for people, JSON for programs, files never lost.

Names come from files that other people made, and a terminal obeys some of what may be in them. So
everything that is printed is printed here, and passes :func:`~truerank.report.text.for_terminal`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from truerank.errors import InvalidArgumentError
from truerank.files import check_target, readable_errors
from truerank.plain_data import plain


def print_json(value: Any) -> None:
    """One JSON document on standard output; null stands for a number that could not be had.

    What a terminal would obey is written as an escape of JSON, so that no name is changed.
    """
    from truerank.report.elements import FORBIDDEN
    from truerank.report.text import STEERING

    text = json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)
    for unsafe in (FORBIDDEN, STEERING):
        text = unsafe.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    sys.stdout.write(text + "\n")


def print_text(text: str) -> None:
    """One line, or several, on standard output."""
    from truerank.report.text import for_terminal

    sys.stdout.write(for_terminal(text.rstrip("\n")) + "\n")


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """An aligned table; the first ``left`` columns are text, the others numbers.

    Lines and bold heads on a terminal only; in a pipe, plain columns that can be pasted. Text is
    folded where the terminal is narrow, numbers are never cut.
    """
    heads = [_one_line(head) for head in heads]
    rows = [[_one_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        sys.stdout.write(_plain_table(heads, rows, left) + "\n")
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    widths = _widths(heads, rows)
    least = sum(min(w, _LEAST_TEXT) if j < left else w for j, w in enumerate(widths))
    if least + 3 * len(widths) > console.width:
        sys.stdout.write(_plain_table(heads, rows, left) + "\n")
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for position, head in enumerate(heads):
        if position < left:
            table.add_column(Text(head), overflow="fold")
        else:
            table.add_column(Text(head), justify="right", no_wrap=True, min_width=widths[position])
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def _one_line(text: str) -> str:
    """As :func:`~truerank.report.text.one_line`, but blanks that align a column stay."""
    from truerank.report.text import for_terminal

    return for_terminal(" ".join(text.splitlines()))


_LEAST_TEXT = 12
"""Narrower columns of text are no longer read."""


def _widths(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(row[j]) for row in (heads, *rows)) for j in range(len(heads))]


def _plain_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> str:
    widths = _widths(heads, rows)
    lines = [
        "  ".join(
            cell.ljust(width) if j < left else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (heads, ["-" * width for width in widths], *rows)
    ]
    return "\n".join(lines)


def marked(number: str, *, guess: bool, among: bool) -> str:
    """A number with the mark of an extrapolation, or with room for it among marked ones."""
    from truerank.estimators.summary_text import MARK

    return number + (MARK if guess else " " if among else "")


def remark(sentence: str) -> None:
    """A remark on standard error: visible, but not part of the result."""
    from truerank.report.text import for_terminal

    sys.stderr.write(for_terminal(sentence) + "\n")


@contextmanager
def working(label: str) -> Iterator[None]:
    """A moving sign on a terminal, for work that cannot count its own steps."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(_one_line(label))):
        yield


def new_file(path: Path, *, force: bool, inputs: Iterable[str | Path | None]) -> Path:
    """A file that may be written, checked before the work starts; nothing is made yet.

    Args:
        path: The file.
        force: Whether it may replace one that is there.
        inputs: What the same command reads, which nothing may replace; None for nothing.
    """
    spare_inputs(path, inputs)
    check_target(path, force=force)
    with readable_errors(path.parent):
        nearest = next(folder for folder in path.absolute().parents if folder.exists())
        if not nearest.is_dir():
            raise NotADirectoryError
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise PermissionError
    return path


def spare_inputs(path: Path, inputs: Iterable[str | Path | None]) -> None:
    """Refuse to write where the command reads, whatever links or names lead there."""
    for given in inputs:
        with suppress(OSError):  # one that is not there cannot be lost
            if given is None or not path.samefile(given):
                continue
            raise InvalidArgumentError(
                "the output", str(path), "another file than what is read",
                f"it is the same file as {given}, and even --force does not replace an input",
            )  # fmt: skip


def ready(path: Path) -> Path:
    """The same file when its time has come: its folder is made."""
    with readable_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    return path
