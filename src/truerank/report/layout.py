"""The two sizes a chart is drawn in, in CSS pixels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """A width, the height of a chart with two axes, and the size of its type."""

    name: str
    width: int
    height: int
    font: float
    compact: bool = False


WIDE = Layout("wide", 736, 380, 13.0)
COMPACT = Layout("compact", 340, 300, 12.0, compact=True)
