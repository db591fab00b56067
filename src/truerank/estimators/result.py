"""An estimate: a number with its uncertainty, its origin, and what it cannot know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from truerank.errors import InvalidArgumentError


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """What to know before trusting an estimate.

    Attributes:
        bounds: Smallest and largest value over all rank distributions that agree with the
            samples at the stated confidence; None if not computed.
        blind: Whether the samples alone hardly determine this metric, so that the estimate
            rests on smoothness.
        scored: Mean number of items scored per row.
        notes: All of it in words.
    """

    bounds: tuple[float, float] | None = None
    blind: bool = False
    scored: float = float("nan")
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "; ".join(self.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The value of one metric by one method.

    Attributes:
        metric: In the notation ``ndcg@10``.
        value: The estimate.
        std_error: Standard deviation over resamples of the users; nan without resampling.
        n_users: Users it rests on.
        method: How it was obtained.
        diagnostics: What to know before trusting it.
        replicates: Values over resamples of the users.
    """

    metric: str
    value: float
    std_error: float
    n_users: int
    method: str
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    replicates: NDArray[np.float64] = field(
        default_factory=lambda: np.empty(0), repr=False, compare=False
    )

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Percentiles over resamples of the users; normal where there are fewer than 100.

        It covers the metric of the population that the users are a sample of; for a ``Users(m)``
        table that is the users there are. How often it does, method by method, is measured in
        docs/coverage.md.
        """
        if not 0 < level < 1:
            raise InvalidArgumentError("level", level, "between 0 and 1")
        if len(self.replicates) >= 100:
            low, high = np.quantile(self.replicates, [(1 - level) / 2, (1 + level) / 2])
            return float(low), float(high)
        half = float(stats.norm.ppf(0.5 + level / 2)) * self.std_error
        return self.value - half, self.value + half

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        low, high = self.interval()
        return {
            "metric": self.metric,
            "value": self.value,
            "std_error": self.std_error,
            "low": low,
            "high": high,
            "method": self.method,
            "n_users": self.n_users,
            "bounds": self.diagnostics.bounds,
            "blind": self.diagnostics.blind,
            "notes": list(self.diagnostics.notes),
        }

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"{self.metric} {self.value:.4f} ± {self.std_error:.4f} "
            f"[{low:.4f}, {high:.4f}] ({self.method}, {self.n_users:,} users)"
        )
