"""Tables for a paper: LaTeX with booktabs."""

from __future__ import annotations

import re
import unicodedata

from truerank.errors import InvalidArgumentError
from truerank.report.notes import NoteLetters
from truerank.report.page import Cell, Table
from truerank.report.text import one_line

# [ and * are braced because after \\ LaTeX would read them as its own.
WRITTEN = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''",
    "[": "{[}", "]": "{]}", "*": "{*}", "`": r"\textasciigrave{}",
    "−": "$-$", "±": r"$\pm$", "×": r"$\times$", "∞": r"$\infty$", "≤": r"$\le$", "≥": r"$\ge$",
    "†": r"\dag{}", "‡": r"\ddag{}", "…": r"\dots{}", "—": "---", "–": "--",
    "“": "``", "”": "''", "‘": "`", "’": "'",
}  # fmt: skip
LABEL = re.compile(r"[A-Za-z0-9:._-]+")


def latex_table(table: Table, *, caption: str, label: str) -> str:
    r"""The table as a ``table`` environment; needs ``\usepackage{booktabs}``.

    Marks of significance stand as superscripts, remarks as lettered notes below the table.

    Args:
        table: What to print; its own caption is not used.
        caption: Above the table, escaped like everything else.
        label: For ``\ref``: letters, digits and ``:._-``.
    """
    if not LABEL.fullmatch(label):
        raise InvalidArgumentError("label", label, "letters, digits and :._-", "try tab:models")
    letters = NoteLetters()
    rows = [[_cell(cell, letters) for cell in row] for row in table.rows]
    columns = "".join("r" if table.numeric(column) else "l" for column in range(len(table.heads)))
    lines = [
        r"\begin{table}[t]",
        r"  \centering",
        rf"  \caption{{{latex_text(caption)}}}",
        rf"  \label{{{label}}}",
        rf"  \begin{{tabular}}{{{columns}}}",
        r"    \toprule",
        _row([latex_text(head) for head in table.heads]),
        r"    \midrule",
        *map(_row, rows),
        r"    \bottomrule",
        r"  \end{tabular}",
    ]
    if letters.notes() or table.notes:
        lines.append(r"  \par\smallskip\raggedright\footnotesize")
        lines += [rf"  {latex_text(note)}\par" for note in table.notes]
        lines += [
            rf"  \textsuperscript{{{letter}}} {latex_text(note)}\par"
            for letter, note in letters.notes()
        ]
    return "\n".join([*lines, r"\end{table}"])


def latex_text(text: str) -> str:
    r"""Text that LaTeX prints as it is.

    >>> print(latex_text("50% of a_b & <c>"))
    50\% of a\_b \& \textless{}c\textgreater{}
    """
    return "".join(_written(char) for char in one_line(text))


def _written(char: str) -> str:
    if char in WRITTEN:
        return WRITTEN[char]
    kind, _, codes = unicodedata.decomposition(char).partition(" ")
    if kind in ("<super>", "<sub>"):  # ⁻⁷ and ₀, which fonts of papers often lack
        shown = "".join(_written(chr(int(code, 16))) for code in codes.split())
        return rf"\text{'super' if kind == '<super>' else 'sub'}script{{{shown}}}"
    return char


def _row(cells: list[str]) -> str:
    return f"    {' & '.join(cells)} \\\\"


def _cell(cell: Cell, letters: NoteLetters) -> str:
    raised = latex_text(cell.mark)
    letter = letters.of(cell.note)
    if letter:
        raised = f"{raised},{letter}" if raised else letter
    return latex_text(cell.text) + (rf"\textsuperscript{{{raised}}}" if raised else "")
