"""How the values of one chart are said: with the same decimals, so that they can be compared."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from truerank.report.page import Chart
from truerank.report.scale import common_decimals, drawable, fixed, number

Say: TypeAlias = Callable[[float], str]


def values_of(chart: Chart) -> list[float]:
    """The values of a chart with the ends of their intervals."""
    return [
        v
        for s in chart.series
        for v in (*(s.x if chart.kind == "intervals" else s.y), *(s.low or ()), *(s.high or ()))
    ]


def wording_of(chart: Chart) -> Say:
    """The way to say a value of this chart.

    Four digits of the spread of all values; significant digits on a logarithmic axis, and for
    values too small for those decimals.
    """
    log = chart.x_log if chart.kind == "intervals" else chart.y_log
    decimals = common_decimals(values_of(chart), percent=chart.percent) + 1
    least = 10.0 ** (1 - decimals) / (100 if chart.percent else 1)
    signed = chart.zero_line and chart.kind == "intervals"

    def say(value: float) -> str:
        if log or (drawable(value) and 0 < abs(value) < least):
            return number(value, percent=chart.percent, digits=4 if log else 2)
        return fixed(value, decimals, percent=chart.percent, signed=signed)

    return say


def interval_words(say: Say, low: float, high: float) -> str:
    """An interval in words, or nothing where an end is not known."""
    if math.isnan(low) or math.isnan(high):
        return ""
    return f"{say(low)} to {say(high)}"
