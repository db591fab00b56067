"""What a set of interactions looks like, in numbers people compare data sets by."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from truerank.arrays import Indices, Int
from truerank.data.interactions import Interactions


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Sizes, activity and concentration; printed as a table.

    Attributes:
        n_users: Users in the vocabulary.
        n_items: Items in the vocabulary.
        n_interactions: Distinct (user, item) pairs.
        density: Pairs observed, of all there could be.
        per_user: ``median``, ``mean`` and ``max`` of interactions per user.
        per_item: The same per item.
        top_1_share: Share of the interactions that the most popular 1 % of items have.
        top_10_share: The same for 10 %.
        gini: Gini coefficient of item popularity: 0 if all are equal, near 1 if one has all.
        users_without: Users with no interaction.
        items_without: Items with no interaction.
        time_span: First and last timestamp, or None.
        weight_range: Lowest and highest weight, or None.
        n_dropped: Pairs that were left out because their rating did not make them positives.
    """

    n_users: int
    n_items: int
    n_interactions: int
    density: float
    per_user: dict[str, float]
    per_item: dict[str, float]
    top_1_share: float
    top_10_share: float
    gini: float
    users_without: int
    items_without: int
    time_span: tuple[int, int] | None = None
    weight_range: tuple[float, float] | None = None
    n_dropped: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        rows = [
            ("users", f"{self.n_users:,}", _without(self.users_without)),
            ("items", f"{self.n_items:,}", _without(self.items_without)),
            ("interactions", f"{self.n_interactions:,}", f"density {self.density:.3%}"),
            ("per user", f"{self.per_user['median']:,g}", _spread(self.per_user)),
            ("per item", f"{self.per_item['median']:,g}", _spread(self.per_item)),
            ("top 1 % of items", f"{self.top_1_share:.1%}", "of the interactions"),
            ("top 10 % of items", f"{self.top_10_share:.1%}", "of the interactions"),
            ("Gini of popularity", f"{self.gini:.3f}", "0 even, 1 all on one item"),
        ]
        if self.n_dropped:
            rows.insert(3, ("left out", f"{self.n_dropped:,}", "rated too low to be positives"))
        if self.weight_range is not None:
            low, high = self.weight_range
            rows.append(("weights", f"{low:g}", f"to {high:g}"))
        if self.time_span is not None:
            first, last = (_date(t) for t in self.time_span)
            rows.append(("time", first, f"to {last}"))
        left = max(len(name) for name, _, _ in rows)
        middle = max(len(value) for _, value, _ in rows)
        return "\n".join(
            f"{name:<{left}}  {value:>{middle}}  {remark}".rstrip() for name, value, remark in rows
        )


def summarise(data: Interactions) -> Summary:
    r"""Counts and concentration of the interactions.

    With item counts :math:`c_1 \le \dots \le c_n` (items without interactions included),

    .. math::  G = \frac{2 \sum_i i\,c_i}{n \sum_i c_i} - \frac{n + 1}{n}.

    The top 1 % of items is :math:`\lceil n / 100 \rceil` of them. Memory: 16 bytes per item and
    per user.

    >>> print(summarise(Interactions.from_arrays([1, 1, 2], [7, 8, 8])))
    users                     2
    items                     2
    interactions              3  density 75.000%
    per user                1.5  median, mean 1.5, max 2
    per item                1.5  median, mean 1.5, max 2
    top 1 % of items      66.7%  of the interactions
    top 10 % of items     66.7%  of the interactions
    Gini of popularity    0.167  0 even, 1 all on one item
    """
    users, items = data.user_counts, np.sort(data.item_counts)
    n, total = len(items), max(len(data), 1)
    times, weights = data.timestamps, data.weights
    filled = len(data) > 0
    return Summary(
        n_users=data.n_users,
        n_items=data.n_items,
        n_interactions=len(data),
        density=len(data) / (data.n_users * data.n_items),
        per_user=_location(users),
        per_item=_location(items),
        top_1_share=float(items[-_top(n, 100) :].sum() / total),
        top_10_share=float(items[-_top(n, 10) :].sum() / total),
        gini=gini(items),
        users_without=int((users == 0).sum()),
        items_without=int((items == 0).sum()),
        time_span=(int(times.min()), int(times.max())) if filled and times is not None else None,
        weight_range=(float(weights.min()), float(weights.max()))
        if filled and weights is not None
        else None,
        n_dropped=data.n_dropped,
    )


def gini(counts: Indices) -> float:
    """The Gini coefficient of non-negative counts; see :func:`summarise` for the formula.

    >>> gini(np.array([5, 5, 5])), gini(np.array([0, 0, 0, 8]))
    (0.0, 0.75)
    """
    ordered = np.sort(counts).astype(np.float64)
    n, total = len(ordered), ordered.sum()
    if total == 0:
        return 0.0
    return float(2 * (np.arange(1, n + 1) @ ordered) / (n * total) - (n + 1) / n)


def _top(n: int, parts: int) -> int:
    return -(-n // parts)


def _location(counts: Int) -> dict[str, float]:
    return {
        "median": float(np.median(counts)),
        "mean": float(counts.mean()),
        "max": float(counts.max()),
    }


def _without(n: int) -> str:
    return f"{n:,} without interactions" if n else ""


def _spread(location: dict[str, float]) -> str:
    return f"median, mean {location['mean']:,.1f}, max {location['max']:,.0f}"


def _date(time: int) -> str:
    """A day if the number looks like seconds since 1970 (years 1990 to 2099), else the number."""
    if 631_152_000 <= time < 4_102_444_800:
        return str(np.datetime64(time, "s").astype("datetime64[D]"))
    return f"{time:,}"
