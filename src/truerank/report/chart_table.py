"""The numbers of a chart as a table, for those who read rather than look."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from truerank.report.marks import flag_of
from truerank.report.page import Cell, Chart, Series, Table
from truerank.report.scale import number
from truerank.report.wording import Say, interval_words, wording_of

MOST_ROWS = 25


def chart_table(chart: Chart) -> Table:
    """The chart's numbers: one row per x for lines, one row per point otherwise."""
    if chart.kind in ("lines", "steps"):
        return _by_x(chart)
    return _by_point(chart)


def chart_data(chart: Chart) -> dict[str, Any]:
    """All numbers of a chart, to be embedded as JSON."""
    return {
        "title": chart.title,
        "kind": chart.kind,
        "x": chart.x_label,
        "y": chart.y_label,
        "series": [
            {
                "name": s.name,
                "x": list(s.x),
                "y": list(s.y),
                "low": None if s.low is None else list(s.low),
                "high": None if s.high is None else list(s.high),
                "labels": None if s.labels is None else list(s.labels),
                "flags": None if s.flags is None else list(s.flags),
            }
            for s in chart.series
        ],
    }


def _by_x(chart: Chart) -> Table:
    points = [{x: i for i, x in enumerate(s.x)} for s in chart.series]
    all_x = sorted({x for p in points for x in p if not math.isnan(x)})
    shown, say = _thinned(all_x), wording_of(chart)
    caption = f"The numbers of “{chart.title}”"
    if len(shown) < len(all_x):
        caption += (
            f": {len(shown)} of {len(all_x)} points; all of them are in the JSON of this page"
        )
    rows = [
        [Cell(number(x), sort=x)]
        + [
            _value(s, p[x], say) if x in p else Cell("")
            for s, p in zip(chart.series, points, strict=True)
        ]
        for x in shown
    ]
    return Table([chart.x_label, *(s.name for s in chart.series)], rows, caption, numeric_from=0)


def _value(series: Series, i: int, say: Say) -> Cell:
    value = series.y[i] if len(series.y) else math.nan
    text = say(value)
    if series.low is not None and series.high is not None:
        interval = interval_words(say, series.low[i], series.high[i])
        kept_together = interval.replace(" ", "\N{NO-BREAK SPACE}")
        text += f" ({kept_together})" if interval else ""
    return Cell(text, sort=value, note=flag_of(series, i))


def _thinned(values: list[float]) -> list[float]:
    """At most about ``MOST_ROWS`` of them, at round positions, with the first and the last."""
    if len(values) <= MOST_ROWS:
        return values
    steps = (f * 10**p for p in range(12) for f in (1, 2, 5))
    step = next(s for s in steps if s * (MOST_ROWS - 2) >= len(values))
    last = len(values) - 1
    return [v for i, v in enumerate(values) if i in (0, last) or (i + 1) % step == 0]


def _by_point(chart: Chart) -> Table:
    plane = chart.kind == "scatter"
    ends = any(s.low is not None and s.high is not None for s in chart.series)
    heads = ["point" if plane else chart.y_label or "row", "series", chart.x_label]
    heads += [chart.y_label] if plane else []
    heads += ["low", "high"] if ends else []
    say = wording_of(chart)
    rows = []
    for series in chart.series:
        for i, x in enumerate(series.x):
            label = series.labels[i] if series.labels is not None else series.name
            row = [Cell(label, note=flag_of(series, i)), Cell(series.name)]
            row.append(Cell(number(x) if plane else say(x), sort=x))
            if plane:
                row.append(_said(series.y or None, i, say))
            if ends:
                row += [_said(series.low, i, say), _said(series.high, i, say)]
            rows.append(row)
    return Table(heads, rows, f"The numbers of “{chart.title}”", numeric_from=2)


def _said(values: Sequence[float] | None, i: int, say: Say) -> Cell:
    value = math.nan if values is None else values[i]
    return Cell(say(value), sort=value)
