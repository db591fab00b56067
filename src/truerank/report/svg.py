"""Charts as SVG: a frame with axes, the marks in it, and words for those who cannot see it.

Each chart is drawn twice, wide and for a phone, because type that shrinks with a picture cannot
be read; the style sheet shows the one that fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from truerank.report.elements import (
    coordinate,
    element,
    group,
    isolated,
    shortened,
    text_width,
)
from truerank.report.intervals import drawn_intervals
from truerank.report.layout import COMPACT, WIDE, Layout
from truerank.report.marks import Place, answers, classes, drawn_series, runs_of
from truerank.report.page import Chart, Series
from truerank.report.scale import Scale, Tick, drawable, scale_of

__all__ = ["COMPACT", "WIDE", "Layout", "chart_svg"]

LEADER = 22.0  # from the end of a line to its name
LABELLED_LINES = 8  # more names at the line ends than this would crowd out the lines


@dataclass(frozen=True, slots=True)
class Frame:
    """The inner rectangle of a chart and its two scales."""

    left: float
    right: float
    top: float
    bottom: float
    across: Scale
    up: Scale


def chart_svg(chart: Chart, *, key: str, layout: Layout = WIDE) -> Markup:
    """The chart as one ``<svg>`` element.

    Args:
        chart: What to draw. A chart without drawable points has axes and says so.
        key: Makes the identifiers unique in the page.
        layout: How large, for a desk or for a hand.
    """
    if chart.kind == "intervals":
        height, parts = drawn_intervals(chart, layout)
    else:
        height, parts = layout.height, _plane(chart, layout)
    title = element("title", chart.title, id=f"{key}-title")
    words = f"{chart.caption} {_described(chart)}".strip()
    desc = element("desc", words, id=f"{key}-desc")
    return element(
        "svg", title, desc, *parts,
        viewBox=f"0 0 {layout.width} {height}", class_=f"chart {layout.name}",
        xmlns="http://www.w3.org/2000/svg",
        role="img", aria_labelledby=f"{key}-title", aria_describedby=f"{key}-desc",
        data_axis=chart.x_label, data_by="x" if chart.kind in ("lines", "steps") else "point",
    )  # fmt: skip


def _described(chart: Chart) -> str:
    names = ", ".join(isolated(s.name) for s in chart.series)
    kind = {"intervals": "Intervals", "scatter": "Points"}.get(chart.kind, "Lines")
    axes = f"{chart.x_label} across" + (" (logarithmic)" if chart.x_log else "")
    if chart.kind != "intervals":
        axes += f", {chart.y_label} up" + (" (logarithmic)" if chart.y_log else "")
    return f"{kind}: {names or 'none'}; {axes}. The numbers are in the table below the chart."


def _plane(chart: Chart, layout: Layout) -> list[Markup]:
    """Everything in a chart with two axes."""
    ends = _end_labels(chart, layout)
    frame = _frame(chart, layout, ends)
    ticks_up = frame.up.ticks(5, percent=chart.percent)
    parts = [*_axes(chart, layout, frame, ticks_up)]
    drawn = list(enumerate(chart.series))
    # Dashed lines lie below the solid ones: what is to be trusted is on top.
    for position, series in sorted(drawn, key=lambda one: one[1].style != "dashed"):
        parts.append(drawn_series(chart, series, position, frame.across, frame.up))
    parts += _line_ends(frame, ends, layout)
    if chart.kind == "scatter":
        parts += _point_labels(chart, frame, layout)
    if not any(runs_of(s, frame.across, frame.up) for s in chart.series):
        middle = (frame.left + frame.right) / 2, (frame.top + frame.bottom) / 2
        parts.append(_text("nothing to draw", *middle, "tick middle"))
    parts.append(element("line", class_="cross", y1=frame.top, y2=frame.bottom, x1=0, x2=0))
    parts.append(
        group([answers(chart, s, i, frame.across, frame.up) for i, s in drawn], class_="answers")
    )
    return parts


def _frame(chart: Chart, layout: Layout, ends: list[tuple[int, Series]]) -> Frame:
    xs = [x for s in chart.series for x in s.x]
    ys = [v for s in chart.series for v in (*s.y, *(s.low or ()), *(s.high or ()))]
    scatter = chart.kind == "scatter"
    top, bottom = 30.0, layout.height - 44.0
    if scatter and chart.y_log:
        ys = [v * f for v in ys if drawable(v) for f in (0.7, 1.4)]
    up = scale_of(ys, bottom, top, log=chart.y_log, zero=chart.zero_line, whole_steps=5)
    labels = [t.label for t in up.ticks(5, percent=chart.percent)]
    left = 12.0 + max((text_width(t, layout.font) for t in labels), default=0.0)
    names = [text_width(_end_name(s, layout), layout.font, bold=True) for _, s in ends]
    right = layout.width - (LEADER + max(names) if names else 14.0)
    if scatter and chart.x_log:
        xs = [v * f for v in xs if drawable(v) for f in (0.6, 1.7)]
    steps = 6 if scatter else 0
    across = scale_of(xs, left, right, log=chart.x_log, whole_steps=steps)
    return Frame(left, right, top, bottom, across, up)


def _axes(chart: Chart, layout: Layout, frame: Frame, ticks_up: list[Tick]) -> Iterator[Markup]:
    for tick in ticks_up:
        y = frame.up.place(tick.value) or 0.0
        css = "zero" if tick.value == 0 and chart.zero_line else "grid"
        yield element("line", x1=frame.left, x2=frame.right, y1=y, y2=y, class_=css)
        yield _text(tick.label, frame.left - 8, y + 4, "tick end")
    yield element(
        "line", x1=frame.left, x2=frame.right, y1=frame.bottom, y2=frame.bottom, class_="axis"
    )
    busy = -1e9
    for tick in frame.across.ticks(5 if layout.compact else 8):
        x = frame.across.place(tick.value) or 0.0
        yield element("line", x1=x, x2=x, y1=frame.bottom, y2=frame.bottom + 5, class_="axis")
        half = text_width(tick.label, layout.font) / 2
        if busy + 6 < x - half and x + half <= layout.width + 8:
            yield _text(tick.label, x, frame.bottom + 19, "tick middle")
            busy = x + half
    label_up = shortened(chart.y_label, layout.width, layout.font)
    yield _text(label_up, 0.0, 13.0, "label")
    label_across = shortened(chart.x_label, frame.right, layout.font)
    yield _text(label_across, frame.right, layout.height - 6.0, "label end")


def _end_labels(chart: Chart, layout: Layout) -> list[tuple[int, Series]]:
    """The series named at the end of their lines: the trusted ones, on a desk, if not too many."""
    if layout.compact or chart.kind != "lines":
        return []
    ends = [(i, s) for i, s in enumerate(chart.series) if s.style == "solid" and len(s.x)]
    return ends if len(ends) <= LABELLED_LINES else []


def _end_name(series: Series, layout: Layout) -> str:
    return shortened(series.name, 120.0, layout.font, bold=True)


def _line_ends(frame: Frame, ends: list[tuple[int, Series]], layout: Layout) -> Iterator[Markup]:
    last: list[tuple[float, int, Series]] = []
    for position, series in ends:
        runs = runs_of(series, frame.across, frame.up)
        if runs:
            last.append((runs[-1][-1].y, position, series))
    last.sort(key=lambda one: (one[0], one[1]))
    heights = _apart([y for y, _, _ in last], layout.font + 3.0, frame.top, frame.bottom)
    for y, (at, position, series) in zip(heights, last, strict=True):
        corners = f"{coordinate(frame.right + 3)} {coordinate(at)}L"
        corners += f"{coordinate(frame.right + LEADER - 6)} {coordinate(y)}"
        leader = element("path", d=f"M{corners}", class_="leader")
        name = _text(_end_name(series, layout), frame.right + LEADER - 2, y + 4, "name")
        yield group([leader, name], class_=classes(series, position))


def _apart(wanted: list[float], gap: float, top: float, bottom: float) -> list[float]:
    """Heights near the wanted ones (ascending), at least ``gap`` apart, inside the frame.

    Names that would overlap form a block around the mean of their wishes; blocks that come to
    overlap are joined in turn.
    """
    blocks: list[tuple[float, int]] = []  # first height, how many

    def first(middle: float, count: int) -> float:
        return max(top, min(middle - gap * (count - 1) / 2, bottom - gap * (count - 1)))

    for y in wanted:
        start, count = first(y, 1), 1
        while blocks and blocks[-1][0] + gap * blocks[-1][1] > start:
            above, number = blocks.pop()
            middle = (above + gap * (number - 1) / 2) * number + (
                start + gap * (count - 1) / 2
            ) * count
            count += number
            start = first(middle / count, count)
        blocks.append((start, count))
    return [start + gap * i for start, count in blocks for i in range(count)]


def _point_labels(chart: Chart, frame: Frame, layout: Layout) -> Iterator[Markup]:
    """Names beside points where there is room; the others answer the pointer."""
    points: list[tuple[Series, int, Place]] = [
        (s, i, p)
        for i, s in enumerate(chart.series)
        for run in runs_of(s, frame.across, frame.up)
        for p in run
    ]
    taken = [(p.x - 6, p.y - 6, p.x + 6, p.y + 6) for _, _, p in points]
    for series, position, place in points:
        name = series.labels[place.index] if series.labels is not None else ""
        if not name:
            continue
        name = shortened(name, 150.0, layout.font, bold=True)
        wide = text_width(name, layout.font, bold=True)
        half = wide / 2
        for css, x, y, start in (
            ("name", place.x + 9, place.y + 4, place.x + 9),
            ("name end", place.x - 9, place.y + 4, place.x - 9 - wide),
            ("name middle", place.x, place.y - 10, place.x - half),
            ("name middle", place.x, place.y + 19, place.x - half),
            ("name", place.x + 7, place.y - 7, place.x + 7),
            ("name", place.x + 7, place.y + 16, place.x + 7),
        ):
            box = (start, y - layout.font, start + wide, y + 3)
            inside = box[0] >= frame.left and box[2] <= layout.width and box[1] >= frame.top - 8
            if inside and box[3] <= frame.bottom and not any(_overlap(box, b) for b in taken):
                taken.append(box)
                yield group([_text(name, x, y, css)], class_=classes(series, position))
                break


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _text(text: str, x: float, y: float, css: str) -> Markup:
    return element("text", text, x=x, y=y, class_=css)
