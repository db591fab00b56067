r"""Which cutoffs K the samples cannot see, in words, and what would show them.

A target of rank K + 1 among N is first among n - 1 uniform rivals with probability about
:math:`e^{-nK/N}`. While :math:`nK/N` is small, ranks on both sides of K look alike: recall@K is in
the *blind spot* of this n, and an estimate of it rests on smoothness. At :math:`nK/N = \ln 20 = 3`
a target just outside the top K is first only once in twenty, so

.. math::  n \ge 3\,\frac NK

is the rule of thumb for K to be seen. It is no more than that: how far the bounds close depends on
the number of users and on the ranks themselves. The factor that calls a K blind was set on seven
models of five data sets (K = 5, 10, 20, 50), where at this n the upper bound of recall@K
was 1.4 to 4.7 times the lower one. On 27 other models 88 of 108 cases were seen; of the 20 that
were not, 12 had only 1,877 users, and in the others the ratio was 5.1 to 6.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from truerank.arrays import Float
from truerank.errors import InvalidArgumentError, Message
from truerank.estimators.bounds.identification import CompatibleSet, clopper_pearson, compatible_set
from truerank.estimators.bounds.remedies import larger_sample
from truerank.estimators.problem import Problem
from truerank.estimators.summary_text import short_number
from truerank.metrics import Metric, parse
from truerank.ranking.designs import Foreign, RecordedDesign
from truerank.ranking.stages import Stages

FACTOR = 5.0
"""A K is blind if the upper bound of recall@K is more than this many times the lower one ..."""

NOISE = 2.0
"""... and the bounds are this much wider than exact ranks of as many rows would leave them."""

SEEN = math.log(20.0)
"""n K / N from which on K is seen."""

HITS = 25
"""Users in the top K whose exact ranks bring the bounds within the factor (100 of 108 cases)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blindness:
    """What the samples alone say about recall at one blind K.

    Attributes:
        k: The cutoff.
        low: Smallest recall@K compatible with the samples.
        high: Largest.
        value: The estimate.
        n_needed: Sample size from which on K should be seen, by the rule of thumb.
        users_needed: Users whose exact ranks should do instead; None if there are not as many.
        sees: Whether the samples are that large already, so that only users are lacking.
        larger: What to change about the samples, for the design that was used.
    """

    k: int
    low: float
    high: float
    value: float
    n_needed: int
    users_needed: int | None
    sees: bool
    larger: str

    def __str__(self) -> str:
        known = (
            f"recall@{self.k} is only known to lie in [{short_number(self.low)}, "
            f"{short_number(self.high)}] from these samples alone"
        )
        if self.sees:
            return f"{known}; more users should resolve it, larger samples hardly"
        remedy = self.larger
        if self.users_needed is not None:
            m = self.users_needed
            remedy += f" or exact ranks of {m:,} users, "
            remedy += Message(f"Users({m}, Full()),", f"'users m={m}',")
        return f"{known}; the estimate extrapolates by smoothness; " + remedy + " should resolve it"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindSpot:
    """The cutoffs asked about, and which of them are blind.

    Attributes:
        asked: All K, ascending.
        blind: Those in the blind spot.
        examples: Bounds and remedies, where a bound was computed.
        note: A sentence if no distribution explains the counts.
    """

    asked: tuple[int, ...]
    blind: tuple[int, ...]
    examples: tuple[Blindness, ...]
    note: str

    @property
    def sentences(self) -> list[str]:
        """In words; empty if there is nothing to say."""
        words = [self.note] if self.note else []
        if self.blind:
            words.append(f"recall@K is in the blind spot of these samples for K = {_runs(self)}")
            words.append(str(self.examples[0]))
        return words


def blind_spot(
    problem: Problem,
    shares: Float,
    *,
    ks: Iterable[int] = range(1, 51),
    example: int = 10,
    confidence: float = 0.95,
    stages: Stages | None = None,
    n_effective: float | None = None,
    value: Callable[[Metric], float] | None = None,
    allowed: CompatibleSet | None = None,
    design: RecordedDesign | None = None,
) -> BlindSpot:
    """Find the K whose recall the samples alone do not tell.

    Both bounds of recall@K grow with K. So the bounds of two cutoffs often decide all between
    them, and only where they do not is another pair of linear programmes solved.

    Args:
        problem: Cells and grid.
        shares: Parts of one, one for each cell.
        ks: Cutoffs to test.
        example: The blind K to put into words first; the nearest blind one if it is not.
        confidence: Confidence of the bounds.
        stages: As in :func:`~truerank.estimators.bounds.identification.compatible_set`.
        n_effective: As there.
        value: The estimate's own value of recall@K, at which a K is judged; the smallest that the
            samples allow if not given.
        allowed: The compatible set, if it is at hand.
        design: The table's design, for advice that fits it.
    """
    asked = tuple(sorted({int(k) for k in ks if k <= problem.grid.n_items}))
    if not asked or asked[0] < 1:
        raise InvalidArgumentError("ks", asked, "at least one cutoff from 1 to n_items")
    n_rows = float(problem.n_rows if n_effective is None else n_effective)
    if allowed is None:
        allowed = compatible_set(
            problem, shares, confidence=confidence, stages=stages, n_effective=n_effective
        )
    test = _BlindTest(problem, allowed, n_rows, value, design or Foreign())
    blind = tuple(test.blind(asked))
    shown = []
    if blind:
        first = min(blind, key=lambda k: (abs(k - example), k))
        test.bounds(first)
        shown = sorted(set(test.known) & set(blind), key=lambda k: (k != first, k))
    return BlindSpot(
        asked=asked,
        blind=blind,
        examples=tuple(test.describe(k, problem) for k in shown),
        note=allowed.note,
    )


def is_blind(
    allowed: CompatibleSet, bounds: tuple[float, float], *, value: float, n_rows: float
) -> bool:
    """Whether these bounds of a metric from 0 to 1 say so little that its estimate extrapolates.

    The ends are more than ``FACTOR`` apart, and that is not for want of users: exact ranks of as
    many rows would leave an interval (at the same confidence) less than half as wide.
    """
    low, high = bounds
    total = np.array([n_rows])
    alpha = (1.0 - allowed.confidence) / len(allowed.low)
    exact_low, exact_high = clopper_pearson(min(max(value, 0.0), 1.0) * total, total, alpha)
    noise = float(exact_high[0] - exact_low[0])
    return high > FACTOR * low and high - low > NOISE * noise


class _BlindTest:
    """Bounds of recall@K, computed once each and only where they are needed."""

    def __init__(
        self,
        problem: Problem,
        allowed: CompatibleSet,
        n_rows: float,
        estimated: Callable[[Metric], float] | None,
        design: RecordedDesign,
    ) -> None:
        self.grid, self.allowed, self.n_rows = problem.grid, allowed, n_rows
        self.estimated, self.design = estimated, design
        self.known: dict[int, tuple[float, float]] = {}

    def bounds(self, k: int) -> tuple[float, float]:
        if k not in self.known:
            self.known[k] = self.allowed.bounds([_recall(k)])[0]
        return self.known[k]

    def value(self, k: int) -> float:
        if self.estimated is None:
            return self.bounds(k)[0]
        return min(max(self.estimated(_recall(k)), 0.0), 1.0)

    def is_blind(self, k: int, low: float, high: float) -> bool:
        return is_blind(self.allowed, (low, high), value=self.value(k), n_rows=self.n_rows)

    def blind(self, ks: tuple[int, ...]) -> list[int]:
        """The blind ones among ascending cutoffs."""
        ends = {ks[0], ks[-1]}
        found = [k for k in sorted(ends) if self.is_blind(k, *self.bounds(k))]
        between = list(ks[1:-1])
        if not between:
            return found
        (low_1, high_1), (low_2, high_2) = self.bounds(ks[0]), self.bounds(ks[-1])
        # Recall@K of each K between lies in [low_1, low_2] and [high_1, high_2] at its ends.
        if all(self.is_blind(k, low_2, high_1) for k in between):
            return sorted({*found, *between})
        if not any(self.is_blind(k, low_1, high_2) for k in between):
            return found
        middle = len(ks) // 2
        return sorted({*self.blind(ks[: middle + 1]), *self.blind(ks[middle:])})

    def describe(self, k: int, problem: Problem) -> Blindness:
        low, high = self.bounds(k)
        value = self.value(k)
        n_items = self.grid.n_items
        needed = min(n_items, _round_up(SEEN * (n_items - 1) / k + 1))
        users = _round_up(HITS / value) if value > 0 else math.inf
        return Blindness(
            k=k,
            low=low,
            high=high,
            value=value,
            n_needed=needed,
            users_needed=int(users) if users <= self.n_rows else None,
            sees=int(problem.cells.n_sampled.min()) >= needed,
            larger=larger_sample(self.design, needed),
        )


def _recall(k: int) -> Metric:
    return parse(f"recall@{k}")


def _round_up(number: float) -> int:
    """Up to two leading digits.

    >>> _round_up(2947.1), _round_up(99.2), _round_up(3.0)
    (3000, 100, 3)
    """
    unit: int = 10 ** max(0, math.floor(math.log10(max(number, 1.0))) - 1)
    return math.ceil(number / unit) * unit


def _runs(spot: BlindSpot) -> str:
    """Cutoffs in words: 1-9, 11; neighbours in the list that was asked are joined."""
    words, places = [], [spot.asked.index(k) for k in spot.blind]
    start = 0
    for i in range(1, len(places) + 1):
        if i == len(places) or places[i] != places[i - 1] + 1:
            first, last = spot.blind[start], spot.blind[i - 1]
            words.append(str(first) if first == last else f"{first}-{last}")
            start = i
    return ", ".join(words)
