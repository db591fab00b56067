"""An estimate: a number with its uncertainty, its origin, and what it cannot know."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from truerank.deprecation import renamed_parameters
from truerank.errors import InvalidArgumentError
from truerank.estimators.population import Population
from truerank.estimators.summary_text import estimate_text

NO_SPREAD = 1e-12
"""A standard error below this is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """What to know before trusting an estimate.

    Attributes:
        bounds: Smallest and largest value over all rank distributions that agree with the
            samples at the stated confidence, within the metric's limits; None if not computed.
        blind: Whether the samples alone hardly determine this metric, so that the estimate
            rests on smoothness.
        examined: Whether that was looked at; False for sampled ranks without bounds.
        suspicions: Why the ranks can hardly be what they are said to be; mostly nothing.
        scored: Mean number of items scored per row.
        notes: All of it in words.
    """

    bounds: tuple[float, float] | None = None
    blind: bool = False
    examined: bool = True
    suspicions: tuple[str, ...] = ()
    scored: float = float("nan")
    notes: tuple[str, ...] = ()

    @property
    def suspicious(self) -> bool:
        """Whether there are any suspicions; the notes hold them too."""
        return bool(self.suspicions)

    def __str__(self) -> str:
        return "; ".join(self.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The value of one metric by one method, with standard error, interval and diagnostics.

    Attributes:
        metric: In the notation ``ndcg@10``.
        value: The estimate.
        std_error: Standard deviation over resamples of the users; nan without resampling.
        n_users: Users it rests on.
        method: How it was obtained.
        population: Whose metric: that of future users (``infinite``), or of the users there are.
        n_population: How many there are; None for future users.
        limits: Smallest and largest value that the metric can have; intervals stay within.
        diagnostics: What to know before trusting it.
        replicates: Values over resamples of the users.
    """

    metric: str
    value: float
    std_error: float
    n_users: int
    method: str
    population: Population = "infinite"
    n_population: int | None = None
    limits: tuple[float, float] = (-math.inf, math.inf)
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    replicates: NDArray[np.float64] = field(
        default_factory=lambda: np.empty(0), repr=False, compare=False
    )

    @property
    def known(self) -> bool:
        """Whether nothing is left to chance: every user there is was ranked in full."""
        return (
            self.population == "finite"
            and self.method == "exact"
            and self.n_users == self.n_population
        )

    @renamed_parameters(level="confidence")
    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        r"""Percentiles over resamples of the users; normal where there are fewer than 100.

        It is about the metric of :attr:`population`, and cut at the metric's limits. How often it
        covers, method by method, is measured in docs/coverage.md. Not a number without resamples,
        and from one user, whose resamples are all alike.

        n users of one and the same value v have no spread, but future ones may: a part
        :math:`s = 1 - (\alpha/2)^{1/n}` of all users, which n users miss with probability
        :math:`\alpha/2`, could be at either limit of the metric, so the interval is
        :math:`v - s\,(v - \min)` to :math:`v + s\,(\max - v)`: for v = 0 the rule of three.
        """
        if not 0 < confidence < 1:
            raise InvalidArgumentError("confidence", confidence, "between 0 and 1")
        if math.isnan(self.std_error):
            return math.nan, math.nan
        future = self.population == "infinite"
        if future and self.std_error < NO_SPREAD and np.isfinite(self.limits).all():
            unseen = 1.0 - ((1.0 - confidence) / 2) ** (1.0 / self.n_users)
            ends = self.value + unseen * (np.array(self.limits) - self.value)
        elif len(self.replicates) >= 100:
            ends = np.quantile(self.replicates, [(1 - confidence) / 2, (1 + confidence) / 2])
        else:
            half = float(stats.norm.ppf(0.5 + confidence / 2)) * self.std_error
            ends = np.array([self.value - half, self.value + half])
        low, high = np.clip(ends, *self.limits)
        return float(low), float(high)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; what the samples alone tell comes before the value."""
        low, high = self.interval()
        return {
            "metric": self.metric,
            "bounds": self.diagnostics.bounds,
            "blind": self.diagnostics.blind,
            "examined": self.diagnostics.examined,
            "suspicious": self.diagnostics.suspicious,
            "value": self.value,
            "std_error": self.std_error,
            "low": low,
            "high": high,
            "population": self.population,
            "n_population": self.n_population,
            "method": self.method,
            "n_users": self.n_users,
            "notes": list(self.diagnostics.notes),
        }

    def __str__(self) -> str:
        return estimate_text(self)
