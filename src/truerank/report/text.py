"""Tables for a terminal: plain text in straight columns."""

from __future__ import annotations

import re
import unicodedata

from truerank.report.elements import clean
from truerank.report.notes import NoteLetters
from truerank.report.page import Cell, Table

STEERING = re.compile("[\r\u202a-\u202e\u2066-\u2069]")
"""Back to the start of the line, and marks that turn the writing around them (Unicode TR 9)."""


def text_table(table: Table) -> str:
    """The table in columns, with its caption above and its notes below.

    >>> print(text_table(Table(["model", "nDCG@10"], [[Cell("ease"), Cell("0.18", mark="*")]])))
    model  nDCG@10
    ─────  ───────
    ease     0.18*
    """
    letters = NoteLetters()
    rows = [[_cell(cell, letters) for cell in row] for row in table.rows]
    heads = [one_line(head) for head in table.heads]
    widths = [max(map(display_width, column)) for column in zip(heads, *rows, strict=True)]
    right = [table.numeric(column) for column in range(len(heads))]

    def line(cells: list[str]) -> str:
        padded = (pad(c, w, right=r) for c, w, r in zip(cells, widths, right, strict=True))
        return "  ".join(padded).rstrip()

    lines = [one_line(table.caption), ""] if table.caption else []
    lines += [line(heads), "  ".join("─" * width for width in widths), *map(line, rows)]
    notes = [one_line(note) for note in table.notes]
    notes += [f"[{letter}] {one_line(note)}" for letter, note in letters.notes()]
    return "\n".join([*lines, "", *notes] if notes else lines)


def _cell(cell: Cell, letters: NoteLetters) -> str:
    letter = letters.of(cell.note)
    return one_line(cell.text + cell.mark) + (f" [{letter}]" if letter else "")


def one_line(text: str) -> str:
    """The text on one line, without what a terminal would obey."""
    return for_terminal(" ".join(text.split()))


def for_terminal(text: str) -> str:
    r"""The text, its lines kept, with what a terminal would obey replaced by U+FFFD.

    >>> for_terminal("a\x1b[2Jb") == "a\ufffd[2Jb"
    True
    """
    return STEERING.sub("\ufffd", clean(text))


def display_width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(
        0
        if unicodedata.combining(char) or unicodedata.category(char) == "Cf"
        else 2
        if unicodedata.east_asian_width(char) in "WF"
        else 1
        for char in text
    )


def pad(text: str, width: int, *, right: bool) -> str:
    """The text filled with spaces to a width."""
    space = " " * max(0, width - display_width(text))
    return space + text if right else text + space
