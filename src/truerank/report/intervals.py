"""Interval charts: one horizontal bar per row, its name on the left, its numbers on the right."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from truerank.report.elements import element, group, shortened, text_width
from truerank.report.layout import Layout
from truerank.report.marks import Place, answer, classes, flag_of, hue_of, mark
from truerank.report.page import Chart, Series
from truerank.report.scale import Scale, common_decimals, fixed, scale_of
from truerank.report.wording import Say, values_of, wording_of

LINE = 17.0  # height of one bar
LONGEST_NAME = 200.0
REMARK = "†"  # after the numbers of a flagged bar; the remark itself is in the table


@dataclass(frozen=True, slots=True)
class Bar:
    """One interval: a point of a series with its ends and its numbers in words."""

    series: Series
    position: int
    index: int
    low: float
    point: float
    high: float
    words: str


def rows_of(chart: Chart) -> dict[tuple[str, int], list[Bar]]:
    """The bars by row: equal labels of different series stand together, in order of appearance."""
    decimals = common_decimals(values_of(chart), percent=chart.percent)
    rows: dict[tuple[str, int], list[Bar]] = {}
    for position, series in enumerate(chart.series):
        seen: dict[str, int] = {}
        for index, point in enumerate(series.x):
            label = series.labels[index] if series.labels is not None else series.name
            seen[label] = seen.get(label, 0) + 1
            low = series.low[index] if series.low is not None else math.nan
            high = series.high[index] if series.high is not None else math.nan
            words = _words(chart, low, point, high, decimals)
            words += REMARK if flag_of(series, index) else ""
            bar = Bar(series, position, index, low, point, high, words)
            rows.setdefault((label, seen[label]), []).append(bar)
    return rows


def _words(chart: Chart, low: float, point: float, high: float, decimals: int) -> str:
    signed, percent = chart.zero_line, chart.percent
    said = [fixed(v, decimals, percent=percent, signed=signed) for v in (low, point, high)]
    if math.isnan(low) or math.isnan(high):
        return said[1]
    interval = f"{said[0]} to {said[2]}"
    return interval if math.isnan(point) else f"{said[1]} ({interval})"


def drawn_intervals(chart: Chart, layout: Layout) -> tuple[int, list[Markup]]:
    """The height of the chart and its elements."""
    rows = rows_of(chart)
    left, right = _room(rows, layout)
    say = wording_of(chart)
    across = scale_of(values_of(chart), left, right, log=chart.x_log, zero=chart.zero_line)
    top = 26.0 if chart.y_label else 8.0
    body: list[Markup] = []
    spoken: list[Markup] = []
    spans: list[tuple[float, float]] = []
    y = top
    for (label, _), bars in rows.items():
        body.append(_name(label, bars, y, left, layout))
        for bar in bars:
            # For a hand, the numbers stand above their bar; for a desk, beside it.
            at = y + (30.0 if layout.compact else 7.0 + LINE / 2)
            words_at = y + 16.0 if layout.compact else at + 4.0
            spans.append((at - 9.0, at + 9.0))
            body.append(_bar(bar, at, across))
            body.append(
                element("text", bar.words, x=layout.width, y=words_at, class_="numbers end")
            )
            spoken.append(_answer(chart, bar, label, at, across, say))
            y += 34.0 if layout.compact else LINE
        y += 8.0 if layout.compact else 13.0
    if not layout.compact:
        spans = [(top, y + 4.0)]
    axes = list(_axis(chart, across, spans, y + 4.0, layout))
    return int(y + 46), [*axes, *body, group(spoken, class_="answers")]


def _room(rows: dict[tuple[str, int], list[Bar]], layout: Layout) -> tuple[float, float]:
    """Where the bars begin and end, between names and numbers."""
    if layout.compact:
        return 14.0, layout.width - 20.0
    numbers = max((text_width(b.words, layout.font) for r in rows.values() for b in r), default=0.0)
    names = (text_width(label, layout.font, bold=True) for label, _ in rows)
    return min(max(names, default=0.0), LONGEST_NAME) + 28.0, layout.width - numbers - 24.0


def _name(label: str, bars: list[Bar], y: float, left: float, layout: Layout) -> Markup:
    if layout.compact:
        room = layout.width - 12.0 - text_width(bars[0].words, layout.font)
        short = shortened(label, room, layout.font, bold=True)
        return element("text", short, x=0, y=y + 16, class_="row")
    middle = y + 7.0 + LINE * len(bars) / 2
    short = shortened(label, LONGEST_NAME, layout.font, bold=True)
    return element("text", short, x=left - 28.0, y=middle + 4, class_="row end")


def _bar(bar: Bar, y: float, across: Scale) -> Markup:
    parts: list[Markup] = []
    low, high = _edge(bar.low, across), _edge(bar.high, across)
    if low is not None and high is not None:
        parts.append(element("line", x1=low, x2=high, y1=y, y2=y, class_="bar"))
        for value, x in ((bar.low, low), (bar.high, high)):
            if math.isfinite(value):  # an open end has no cap
                parts.append(element("line", x1=x, x2=x, y1=y - 4, y2=y + 4, class_="cap"))
    point = across.place(bar.point)
    if point is not None:
        hollow = bool(flag_of(bar.series, bar.index)) or bar.series.style == "dashed"
        shape = hue_of(bar.series, bar.position)
        parts.append(mark(shape, point, y, 4.6, hollow=hollow))
    return group(parts, class_=classes(bar.series, bar.position))


def _edge(value: float, across: Scale) -> float | None:
    if math.isinf(value):
        return across.end if value > 0 else across.start
    return across.place(value)


def _answer(chart: Chart, bar: Bar, label: str, y: float, across: Scale, say: Say) -> Markup:
    known = [v for v in (bar.point, bar.low, bar.high) if across.place(v) is not None]
    x = across.place(known[0]) if known else None
    if x is None:
        return Markup("")
    place = Place(bar.index, x, y)
    css = classes(bar.series, bar.position)
    said = answer(chart, bar.series, place, label, say)
    return group([said], class_=css, data_name=bar.series.name)


def _axis(
    chart: Chart, across: Scale, spans: list[tuple[float, float]], bottom: float, layout: Layout
) -> Iterator[Markup]:
    """Ticks at the bottom and lines through the spans, which for a hand leave out the text."""
    ticks = across.ticks(4 if layout.compact else 6, percent=chart.percent, signed=chart.zero_line)
    for tick in ticks:
        x = across.place(tick.value) or 0.0
        css = "zero" if tick.value == 0 and chart.zero_line else "grid"
        for top, end in spans:
            yield element("line", x1=x, x2=x, y1=top, y2=end, class_=css)
        yield element("text", tick.label, x=x, y=bottom + 17, class_="tick middle")
    if chart.y_label:
        heading = shortened(chart.y_label, layout.width, layout.font)
        yield element("text", heading, x=0, y=13, class_="label")
    label = shortened(chart.x_label, across.end, layout.font)
    yield element("text", label, x=across.end, y=bottom + 36, class_="label end")
