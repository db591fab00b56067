"""What is drawn inside a chart: lines, steps, bands, marks, and what answers a pointer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from truerank.report.elements import coordinate, element, group, isolated
from truerank.report.page import Chart, Series
from truerank.report.scale import Scale, drawable, number
from truerank.report.wording import Say, interval_words, wording_of

HUES = 8
SHAPES = ("circle", "square", "triangle", "diamond", "wedge")
# 8 hues and 5 shapes share no factor: forty series differ in one or the other.
MARK_EVERY = 96.0  # pixels between marks on a line
ANSWER_EVERY = 3.0  # pixels between places that answer a pointer


@dataclass(frozen=True, slots=True)
class Place:
    """A point of a series on the picture."""

    index: int
    x: float
    y: float


def hue_of(series: Series, position: int) -> int:
    """Which hue and shape a series has."""
    return position if series.colour is None else series.colour


def classes(series: Series, position: int) -> str:
    """The CSS classes of a series: its hue and its style."""
    return f"series h{hue_of(series, position) % HUES} {series.style}"


def runs_of(series: Series, across: Scale, up: Scale) -> list[list[Place]]:
    """The drawable points in runs; whatever cannot be drawn parts two runs."""
    runs: list[list[Place]] = [[]]
    for index, (x, y) in enumerate(zip(series.x, series.y, strict=False)):
        at_x, at_y = across.place(x), up.place(y)
        if at_x is None or at_y is None:
            runs.append([])
        else:
            runs[-1].append(Place(index, at_x, at_y))
    return [run for run in runs if run]


def line_path(run: Sequence[Place], *, steps: bool) -> str:
    """The path through a run: straight, or each value held until the next."""
    first, *rest = run
    path = [f"M{coordinate(first.x)} {coordinate(first.y)}"]
    for place in rest:
        if steps:
            path.append(f"H{coordinate(place.x)}V{coordinate(place.y)}")
        else:
            path.append(f"L{coordinate(place.x)} {coordinate(place.y)}")
    return "".join(path)


def bands(series: Series, across: Scale, up: Scale) -> Iterator[Markup]:
    """The area from ``low`` to ``high``, one polygon per run."""
    if series.low is None or series.high is None:
        return
    edges: list[tuple[float, float, float]] = []
    ends = [*zip(series.x, series.low, series.high, strict=True), (math.nan,) * 3]
    for x, low, high in ends:
        at_x, at_low, at_high = across.place(x), up.place(low), up.place(high)
        if at_x is not None and at_low is not None and at_high is not None:
            edges.append((at_x, at_low, at_high))
            continue
        if len(edges) > 1:
            around = [(x, top) for x, _, top in edges]
            around += [(x, bottom) for x, bottom, _ in reversed(edges)]
            points = " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in around)
            yield element("polygon", points=points, class_="band")
        edges = []


def mark(shape: int, x: float, y: float, radius: float = 4.0, *, hollow: bool = False) -> Markup:
    """One mark; shapes follow the hues, so that colour is never alone."""
    kind, css = SHAPES[shape % len(SHAPES)], "mark hollow" if hollow else "mark"
    if kind == "circle":
        return element("circle", cx=x, cy=y, r=radius, class_=css)
    corners = {
        "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
        "triangle": ((0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)),
        "diamond": ((0.0, -1.3), (1.2, 0.0), (0.0, 1.3), (-1.2, 0.0)),
        "wedge": ((0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)),
    }[kind]
    points = " ".join(
        f"{coordinate(x + radius * dx)},{coordinate(y + radius * dy)}" for dx, dy in corners
    )
    return element("polygon", points=points, class_=css)


def flag_of(series: Series, index: int) -> str:
    """The remark on a point, if there is one."""
    return series.flags[index] if series.flags is not None else ""


def marked_places(
    series: Series, runs: list[list[Place]], position: int, *, every_point: bool
) -> Iterator[Place]:
    """Where marks stand: on every point when asked, on flags, else now and then along the line."""
    for run in runs:
        following = run[0].x + (position * 17) % MARK_EVERY
        for place in run:
            due = place.x >= following
            if due:
                following = place.x + MARK_EVERY
            if every_point or due or len(run) == 1 or flag_of(series, place.index):
                yield place


def drawn_series(chart: Chart, series: Series, position: int, across: Scale, up: Scale) -> Markup:
    """Band, line and marks of one series."""
    runs = runs_of(series, across, up)
    only_points = chart.kind == "scatter" or series.style == "points"
    parts: list[Markup] = []
    if only_points:
        parts += _error_bars(series, across, up)
    else:
        parts += bands(series, across, up)
        for run in runs:
            path = line_path(run, steps=chart.kind == "steps")
            parts.append(element("path", d=path, class_="line"))
    shape = hue_of(series, position)
    for place in marked_places(series, runs, position, every_point=only_points):
        hollow = series.style == "dashed" or bool(flag_of(series, place.index))
        size = 5.0 if only_points else 3.4
        parts.append(mark(shape, place.x, place.y, size, hollow=hollow))
    return group(parts, class_=classes(series, position))


def _error_bars(series: Series, across: Scale, up: Scale) -> Iterator[Markup]:
    if series.low is None or series.high is None:
        return
    for x, low, high in zip(series.x, series.low, series.high, strict=True):
        at, bottom, top = across.place(x), up.place(low), up.place(high)
        if at is not None and bottom is not None and top is not None:
            yield element("line", x1=at, x2=at, y1=bottom, y2=top, class_="bar")


def answers(chart: Chart, series: Series, position: int, across: Scale, up: Scale) -> Markup:
    """Unseen circles that say their value: by ``<title>``, or better by the script."""
    circles, last, say = [], -math.inf, wording_of(chart)
    for place in (p for run in runs_of(series, across, up) for p in run):
        if chart.kind != "scatter" and abs(place.x - last) < ANSWER_EVERY:
            continue
        last = place.x
        circles.append(answer(chart, series, place, number(series.x[place.index]), say))
    return group(circles, class_=classes(series, position), data_name=series.name)


def answer(chart: Chart, series: Series, place: Place, where: str, say: Say) -> Markup:
    """One circle that answers: where it stands, its value and interval, its remark."""
    i = place.index
    values = series.x if chart.kind == "intervals" else series.y
    value = say(values[i])
    if series.low is not None and series.high is not None:
        interval = interval_words(say, series.low[i], series.high[i])
        value = f"{value} ({interval})" if interval else value
    label = series.labels[i] if series.labels is not None else ""
    if chart.kind == "intervals":
        label = where
    remark = flag_of(series, i)
    if chart.kind == "intervals":
        said = f"{isolated(where)}: {value}"
    else:
        named = isolated(series.name) + (f", {isolated(label)}" if label else "")
        said = f"{named}: {value} at {chart.x_label} {where}"
    title = element("title", said + (f". {remark}" if remark else ""))
    return element(
        "circle", title, cx=place.x, cy=place.y, r=8, class_="answer",
        data_where=where, data_value=value, data_label=label or None, data_remark=remark or None,
    )  # fmt: skip


def swatch(chart: Chart, series: Series, position: int) -> Markup:
    """The little picture of a series for the legend."""
    parts, width = [], 30
    if chart.kind == "scatter" or series.style == "points":
        width = 12
    elif chart.kind == "intervals":
        parts.append(element("path", d="M1 7H29", class_="bar"))
        parts.append(element("path", d="M1 3V11M29 3V11", class_="cap"))
    else:
        parts.append(element("path", d="M1 7H29", class_="line"))
    if chart.kind != "intervals" or any(map(drawable, series.x)):
        hollow = series.style == "dashed"
        parts.append(mark(hue_of(series, position), width / 2, 7.0, 3.6, hollow=hollow))
    return element(
        "svg", group(parts, class_=classes(series, position)),
        viewBox=f"0 0 {width} 14", width=width, height=14, aria_hidden="true", focusable="false",
    )  # fmt: skip
