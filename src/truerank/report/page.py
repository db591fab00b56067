"""What a report says, before it has a shape: sections of text, tables and charts.

A :class:`Page` is plain data. Whoever compares models fills it; the renderers of this room turn
it into HTML, LaTeX, Markdown or terminal text and compute nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from truerank.errors import InvalidArgumentError

ANCHOR = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
Style: TypeAlias = Literal["solid", "dashed", "points"]
Kind: TypeAlias = Literal["lines", "intervals", "steps", "scatter"]


@dataclass(frozen=True, slots=True)
class Series:
    """One named run of points; a NaN or infinite ``y`` is a gap.

    Attributes:
        name: What the legend says. Series of one chart that share a ``colour`` share the hue.
        x: Positions; in an ``"intervals"`` chart the point of each bar.
        y: Values; in an ``"intervals"`` chart not used and may be empty.
        low: Lower ends: of the band in ``"lines"``, of the bars in ``"intervals"`` (there along
            x), of the error bars in ``"scatter"``.
        high: Upper ends, as ``low``.
        style: ``"dashed"`` for what should not be trusted, ``"points"`` for no line.
        labels: One text per point: the row's name in ``"intervals"``, what hovering says elsewhere.
        flags: One remark per point, empty where there is none; a flagged point is drawn hollow.
        colour: Which hue, counted from 0; by default the position of the series in its chart.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float] = ()
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    style: Style = "solid"
    labels: Sequence[str] | None = None
    flags: Sequence[str] | None = None
    colour: int | None = None

    def __post_init__(self) -> None:
        # Arrays and lists alike become tuples of plain floats: nothing here depends on numpy.
        for name in ("x", "y", "low", "high"):
            given = getattr(self, name)
            if given is not None:
                numbers = tuple(math.nan if v is None else float(v) for v in given)
                object.__setattr__(self, name, numbers)
        for name in ("y", "low", "high", "labels", "flags"):
            given = getattr(self, name)
            if given is None or (name == "y" and not given):
                continue
            if len(given) != len(self.x):
                raise InvalidArgumentError(
                    f"{name} of the series {self.name!r}", len(given), f"{len(self.x)} long like x"
                )


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture of series with a title, a caption and its axes.

    ``"lines"`` joins points and shades ``low`` to ``high``; ``"steps"`` holds each value until
    the next x; ``"scatter"`` draws marks alone; ``"intervals"`` draws one horizontal bar per
    point, labelled by ``labels`` (or the series' name), ``low`` to ``high`` with a mark at ``x``
    (a NaN ``x`` draws the bar alone); equal labels of different series share a row. ``percent``
    prints the values (y; x in ``"intervals"``) as percentages.
    """

    title: str
    caption: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_log: bool = False
    y_log: bool = False
    kind: Kind = "lines"
    zero_line: bool = False
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its text, the value it sorts by, a remark, and a mark such as ``*``."""

    text: str
    sort: float | str | None = None
    note: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under heads.

    Columns from ``numeric_from`` on are aligned as numbers if there is a digit in them. ``notes``
    stand below the table, such as what a mark inside a cell's text means.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    numeric_from: int = 1
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.heads):
                raise InvalidArgumentError(
                    f"row {number} of the table", len(row), f"{len(self.heads)} cells like heads"
                )

    def numeric(self, column: int) -> bool:
        """Whether a column is aligned as numbers."""
        texts = (row[column].text for row in self.rows)
        return column >= self.numeric_from and any(map(str.isdigit, "".join(texts)))


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph, or a remark set apart when ``kind`` is ``"note"`` or ``"warning"``."""

    text: str
    kind: Literal["plain", "note", "warning"] = "plain"


@dataclass(frozen=True, slots=True)
class Code:
    """Commands or output, kept as written; ``label`` says what they do."""

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Details:
    """Parts folded under a summary that the reader may open."""

    summary: str
    parts: Sequence[Part]
    open: bool = False


Part: TypeAlias = Chart | Table | Text | Code | Details


@dataclass(frozen=True, slots=True)
class Section:
    """A numbered section; ``anchor`` is its address in the page (letters, digits, hyphens)."""

    title: str
    anchor: str
    paragraphs: Sequence[str] = ()
    parts: Sequence[Part] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report.

    Attributes:
        title: What was compared; the small line above the verdict and the title of the window.
        verdict: The answer in one sentence.
        lead: One or two sentences more.
        sections: The body, numbered in this order.
        data: The numbers behind the page, embedded as JSON; non-finite floats become null.
        footer: Who made it: version, seed, hashes.
        meta: Short facts under the lead, as (what, value): users, items, design, seed.
    """

    title: str
    verdict: str
    lead: str
    sections: Sequence[Section]
    data: Mapping[str, Any] = field(default_factory=dict)
    footer: str = ""
    meta: Sequence[tuple[str, str]] = ()

    def __post_init__(self) -> None:
        taken = {"main"}
        for section in self.sections:
            if not ANCHOR.fullmatch(section.anchor) or section.anchor in taken:
                raise InvalidArgumentError(
                    f"the anchor of the section {section.title!r}",
                    section.anchor,
                    "letters, digits and hyphens, and different from the others",
                )
            taken.add(section.anchor)
