"""What is searched: for each parameter a list of values, or a range to draw from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from truerank.errors import InvalidArgumentError

Parameters = dict[str, Any]
"""One setting: plain values by name."""


@dataclass(frozen=True, slots=True)
class Between:
    """Any number from ``low`` to ``high``; for a grid, ``steps`` of them.

    Attributes:
        low: Smallest value.
        high: Largest value.
        log: Whether ratios matter rather than differences, as for penalties.
        whole: Whole numbers only.
        steps: How many a grid takes, both ends included; None where no grid is wanted.

    >>> Between(1, 100, log=True, steps=3).values()
    (1.0, 10.0, 100.0)
    >>> Between(1, 5, whole=True, steps=3).values()
    (1, 3, 5)
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False
    steps: int | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise InvalidArgumentError("high", self.high, f"finite and above low ({self.low:g})")
        if self.log and self.low <= 0:
            raise InvalidArgumentError("low", self.low, "positive where log=True")
        if self.whole and not (float(self.low).is_integer() and float(self.high).is_integer()):
            raise InvalidArgumentError("low", self.low, "whole like high where whole=True")
        if self.steps is not None and self.steps < 2:
            raise InvalidArgumentError("steps", self.steps, "at least 2, for both ends")

    def values(self) -> tuple[float, ...]:
        """The values of a grid."""
        if self.steps is None:
            raise InvalidArgumentError(
                "strategy", "grid", "random or optuna for a range without steps",
                f"or write Between({self.low:g}, {self.high:g}, steps=5), or a list of values",
            )  # fmt: skip
        at = np.linspace(0.0, 1.0, self.steps)
        return tuple(dict.fromkeys(self.at(float(u)) for u in at))

    def at(self, u: float) -> float:
        """The value at part ``u`` of the way, 0 to 1.

        >>> Between(1, 100, log=True).at(0.5), Between(1, 3, whole=True).at(0.99)
        (10.0, 3)
        """
        low, high = float(self.low), float(self.high)
        if u in (0.0, 1.0):  # the ends themselves, whatever rounding would make of them
            value = high if u else low
        elif self.log:
            value = math.exp(math.log(low) + u * (math.log(high) - math.log(low)))
            value = float(f"{value:.12g}")
        else:
            value = low + u * (high - low)
        return round(value) if self.whole else value

    def describe(self) -> dict[str, Any]:
        """Plain values, for the log."""
        kind = {"low": self.low, "high": self.high, "log": self.log, "whole": self.whole}
        return kind if self.steps is None else {**kind, "steps": self.steps}


Choices = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Space:
    """Every parameter with its choices or its range; one choice is a fixed parameter."""

    parts: dict[str, Choices | Between]

    @classmethod
    def of(cls, space: Mapping[str, Any]) -> Space:
        """Check and make plain.

        Args:
            space: Name of each parameter with a list (tuple, range, array) of values, a
                :class:`Between`, or one value that stays.

        >>> Space.of({"l2": [1, 10], "dim": 5}).grid()
        [{'l2': 1, 'dim': 5}, {'l2': 10, 'dim': 5}]
        """
        if not isinstance(space, Mapping) or not space:
            raise InvalidArgumentError(
                "space", space, "at least one parameter with its values",
                "for instance {'l2': [100, 300, 1000]}",
            )  # fmt: skip
        return cls({str(name): _part(str(name), given) for name, given in space.items()})

    @property
    def searched(self) -> tuple[str, ...]:
        """Names of the parameters that are not fixed."""
        return tuple(n for n, p in self.parts.items() if isinstance(p, Between) or len(p) > 1)

    def grid(self) -> list[Parameters]:
        """Every combination; the last parameter varies fastest."""
        values = [p.values() if isinstance(p, Between) else p for p in self.parts.values()]
        return [dict(zip(self.parts, point, strict=True)) for point in product(*values)]

    def size(self) -> float:
        """How many combinations there are; infinite with a range of real numbers."""
        total = 1.0
        for part in self.parts.values():
            if not isinstance(part, Between):
                total *= len(part)
            else:
                total *= part.high - part.low + 1 if part.whole else math.inf
        return total

    def draw(self, rng: np.random.Generator) -> Parameters:
        """One combination by chance, parameters independent of each other."""
        point: Parameters = {}
        for name, part in self.parts.items():
            if not isinstance(part, Between):
                point[name] = part[int(rng.integers(len(part)))]
            elif part.whole and not part.log:
                point[name] = int(rng.integers(int(part.low), int(part.high) + 1))
            else:
                point[name] = part.at(float(rng.random()))
        return point

    def largest(self, name: str) -> Any:
        """The largest value of a parameter; None, for "all", where it is among the choices."""
        part = self.parts[name]
        if isinstance(part, Between):
            return part.at(1.0)
        return None if None in part else max(part)

    def describe(self) -> dict[str, Any]:
        """Plain values, for the log."""
        return {
            n: p.describe() if isinstance(p, Between) else list(p) for n, p in self.parts.items()
        }

    def label(self, parameters: Parameters) -> str:
        """A setting in words, without what is fixed.

        >>> Space.of({"l2": [1.0, 2.5], "seed": 3}).label({"l2": 2.5, "seed": 3})
        'l2 = 2.5'
        """
        names = self.searched or tuple(self.parts)
        return ", ".join(f"{name} = {plain_text(parameters[name])}" for name in names)


def plain_text(value: Any) -> str:
    """A value for people: numbers as short as they can be."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _part(name: str, given: Any) -> Choices | Between:
    if isinstance(given, Between):
        return given
    several = isinstance(given, Sequence | range | np.ndarray) and not isinstance(given, str)
    values: Iterable[Any] = given if several else (given,)
    plain = tuple(dict.fromkeys(_plain(name, value) for value in values))
    if not plain:
        raise InvalidArgumentError(f"space[{name!r}]", [], "at least one value")
    return plain


def _plain(name: str, value: Any) -> Any:
    """A value as JSON has it, so that the log can be read back."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is not None and not isinstance(value, str | bool | int | float):
        hint = "make other objects inside a function: search(lambda size: Model(Thing(size)), ...)"
        if isinstance(value, Sequence | np.ndarray):
            hint = (
                "vectors are learned, not searched: LRR's lambda_i by "
                "tr.models.LearnedLinear(base='lrr', lambda_range=...), of which lambda_range "
                "can be searched"
            )
        raise InvalidArgumentError(
            f"space[{name!r}]", type(value).__name__, "numbers, texts, true or false", hint
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidArgumentError(f"space[{name!r}]", value, "finite")
    return value
