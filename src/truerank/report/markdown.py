"""Tables in Markdown, readable as text too."""

from __future__ import annotations

import re

from truerank.report.notes import NoteLetters
from truerank.report.page import Cell, Table
from truerank.report.text import display_width, one_line, pad

SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
AT_START = re.compile(r"^(\d*)([-+=#.)])")
"""What makes a line a list, a heading or a rule."""


def markdown_table(table: Table) -> str:
    r"""The table as GitHub Markdown: names escaped, columns aligned, marks and notes raised.

    >>> print(markdown_table(Table(["model", "nDCG@10"], [[Cell("a|b"), Cell("0.18", mark="*")]])))
    | model |           nDCG@10 |
    | :---- | ----------------: |
    | a\|b  | 0.18<sup>\*</sup> |
    """
    letters = NoteLetters()
    rows = [[_cell(cell, letters) for cell in row] for row in table.rows]
    heads = [escaped(head) for head in table.heads]
    widths = [max(3, *map(display_width, column)) for column in zip(heads, *rows, strict=True)]
    right = [table.numeric(column) for column in range(len(heads))]
    rule = [
        "-" * (width - 1) + ":" if at_right else ":" + "-" * (width - 1)
        for width, at_right in zip(widths, right, strict=True)
    ]
    lines = [
        "| "
        + " | ".join(pad(c, w, right=r) for c, w, r in zip(cells, widths, right, strict=True))
        + " |"
        for cells in (heads, rule, *rows)
    ]
    notes = [f"{paragraph(note)}  " for note in table.notes]
    notes += [f"<sup>{letter}</sup> {escaped(note)}  " for letter, note in letters.notes()]
    return "\n".join([*lines, "", *notes] if notes else lines)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    safe = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return SPECIAL.sub(r"\\\1", safe)


def paragraph(text: str) -> str:
    r"""Text that Markdown shows as it is where it starts a line.

    >>> print(paragraph("# 1 beats *2*"))
    \# 1 beats \*2\*
    """
    return AT_START.sub(r"\1\\\2", escaped(text))


def _cell(cell: Cell, letters: NoteLetters) -> str:
    raised = escaped(cell.mark)
    letter = letters.of(cell.note)
    if letter:
        raised = f"{raised},{letter}" if raised else letter
    return escaped(cell.text) + (f"<sup>{raised}</sup>" if raised else "")
