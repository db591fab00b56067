"""Tables for people and JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
    """An aligned table; the first ``left`` columns are text, the others numbers.

    Colours and lines on a terminal only; in a pipe, plain columns that can be pasted.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 160)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for position, head in enumerate(heads):
        table.add_column(head, justify="left" if position < left else "right")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def remark(sentence: str) -> None:
    """A remark on standard error: visible, but not part of the result."""
    sys.stderr.write(sentence + "\n")
