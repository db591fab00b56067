"""From values to places on a picture: linear and logarithmic scales, their ticks, their words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LARGEST = 1e300  # beyond it a span overflows; such a value is a gap, like NaN
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Tick:
    """A value worth a mark on an axis, and what is written there."""

    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps ``low``..``high`` onto the pixels ``start``..``end``."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, value: float | None) -> float | None:
        """Where a value is drawn; None where it cannot be."""
        if not drawable(value, log=self.log):
            return None
        low, high, at = self.low, self.high, float(value or 0.0)
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self, count: int, *, percent: bool = False, signed: bool = False) -> list[Tick]:
        """About ``count`` ticks inside the scale."""
        step = nice_step(self.high - self.low, count)
        values = log_values(self, count) if self.log else multiples(step, self.low, self.high)
        if not percent and max(map(abs, values), default=0.0) >= 1e6:
            return [Tick(v, short(v)) for v in values]
        if self.log:
            return [Tick(v, number(v, percent=percent)) for v in values]
        decimals = decimals_for(step * (100 if percent else 1))
        return [
            Tick(v, fixed(v, decimals, percent=percent, signed=signed and v != 0)) for v in values
        ]


def drawable(value: float | None, *, log: bool = False) -> bool:
    """Whether a value has a place on a scale: finite, and positive on a logarithmic one."""
    return value is not None and abs(value) < LARGEST and not (log and value <= 0)


def scale_of(
    values: Iterable[float],
    start: float,
    end: float,
    *,
    log: bool = False,
    zero: bool = False,
    whole_steps: int = 0,
) -> Scale:
    """A scale that holds all drawable values.

    Args:
        values: What must fit; values that cannot be drawn are passed over.
        start: Pixel of the low end.
        end: Pixel of the high end.
        log: Logarithmic.
        zero: Zero must be on a linear scale. It is also there when it costs little room.
        whole_steps: Widen a linear scale to whole steps, about this many; 0 keeps it tight.
    """
    kept = [float(v) for v in values if drawable(v, log=log)]
    if not kept:
        return Scale(1.0 if log else 0.0, 10.0 if log else 1.0, start, end, log)
    low, high = min(kept), max(kept)
    if log:
        if high <= low * (1 + 1e-9):
            low, high = low / 2, high * 2
        return Scale(low, high, start, end, log=True)
    if zero or 0 <= low <= 0.5 * high:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = 0.5 * abs(high) or 0.5
        low, high = low - room, high + room
    if whole_steps:
        step = nice_step(high - low, whole_steps)
        low = step * math.floor(low / step + 1e-9)
        high = step * math.ceil(high / step - 1e-9)
    return Scale(low, high, start, end)


def nice_step(span: float, count: int) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that needs at most ``count`` steps."""
    power = 10.0 ** math.floor(math.log10(span / count))
    for factor in (1.0, 2.0, 2.5, 5.0):
        if span <= factor * power * count * (1 + 1e-9):
            return factor * power
    return 10.0 * power


def multiples(step: float, low: float, high: float) -> list[float]:
    """The multiples of ``step`` from ``low`` to ``high``."""
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def log_values(scale: Scale, count: int) -> list[float]:
    """Powers of ten, thinned when there are many; 1-2-5 or linear ticks when there are few."""
    first, last = math.log10(scale.low), math.log10(scale.high)
    powers = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
    every = max(1, math.ceil(len(powers) / count))
    if every > 1:
        return [10.0**p for p in powers if p % every == 0]
    fine = [f * 10.0**p for p in range(math.floor(first), math.ceil(last) + 1) for f in (1, 2, 5)]
    inside = [v for v in fine if scale.low * (1 - 1e-9) <= v <= scale.high * (1 + 1e-9)]
    if 2 <= len(inside) <= count + 1:
        return inside
    if len(powers) >= 2:
        return [10.0**p for p in powers]
    return multiples(nice_step(scale.high - scale.low, count), scale.low, scale.high)


def decimals_for(step: float) -> int:
    """Decimals that tell multiples of ``step`` apart."""
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return decimals if abs(round(step, decimals) - step) < 1e-6 * step else decimals + 1


def common_decimals(values: Sequence[float], *, percent: bool = False) -> int:
    """Decimals for a column: three digits of its spread."""
    kept = [v for v in values if drawable(v)]
    spread = (max(kept) - min(kept) if kept else 0.0) or max(map(abs, kept), default=0.0) or 1.0
    return min(12, max(0, 2 - math.floor(math.log10(spread * (100 if percent else 1)))))


def fixed(value: float, decimals: int, *, percent: bool = False, signed: bool = False) -> str:
    """A value with so many decimals: ``+1.20%``; an em dash for what is not a number."""
    if not drawable(value):
        return _no_number(value)
    scaled = value * 100 if percent else value
    if abs(scaled) >= 1e15 or decimals > 9:
        return number(value, percent=percent)
    text = f"{scaled:{'+' if signed else ''},.{decimals}f}"
    if float(text.replace(",", "")) == 0:
        text = text.lstrip("+-")
    return text.replace("-", "−") + ("%" if percent else "")


def number(value: float, *, percent: bool = False, digits: int = 4) -> str:
    """A value for people, to so many significant digits: ``1,234``, ``0.03219``, ``2 × 10⁻⁷``."""
    if not drawable(value):
        return _no_number(value)
    scaled, unit = (value * 100, "%") if percent else (value, "")
    if scaled == 0:
        return f"0{unit}"
    if 1e-4 <= abs(scaled) < 1e15:
        power = math.floor(math.log10(abs(scaled)))
        text = f"{scaled:,.{min(18, max(0, digits - 1 - power))}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        text = _by_powers(scaled, digits)
    return text.replace("-", "−") + unit


def short(value: float) -> str:
    """A large value with its unit, for axes: ``500k``, ``20M``."""
    for unit, sign in ((1e6, "M"), (1e3, "k")):
        if unit <= abs(value) < 1e3 * unit:
            return number(value / unit) + sign
    return number(value) if abs(value) < 1e9 else _by_powers(value, digits=4)


def _by_powers(value: float, digits: int) -> str:
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    ten = "10" + str(int(exponent)).translate(SUPERSCRIPTS)
    return ten if mantissa == "1" else f"{mantissa} × {ten}"


def _no_number(value: float) -> str:
    if math.isnan(value):
        return "—"
    return "∞" if value > 0 else "−∞"
