"""What a design costs: pairs to be scored, and seconds by a rate given or measured here."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from truerank.errors import InvalidArgumentError
from truerank.planning.numbers import is_finite
from truerank.ranking import FactorScorer, Full, Sampled, rank_pairs
from truerank.ranking.designs import InnerDesign
from truerank.rng import Stream, stream

MEASURED_ITEMS = 100_000
MEASURED_DIMENSIONS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Pairs scored per second.

    Attributes:
        full: Where all items are ranked for a user: one matrix product.
        sampled: Where single items are looked up: bound by memory.
        measured: Whether measured here, with factors of 64 dimensions.
    """

    full: float
    sampled: float
    measured: bool = False

    def seconds(self, design: InnerDesign, pairs: float) -> float:
        """Time to score so many pairs in the manner of the design."""
        return pairs / (self.full if isinstance(design, Full) else self.sampled)


def scored_pairs(design: InnerDesign, *, n_users: int, n_items: int, per_row: float) -> float:
    """Pairs scored for the users, each with one held-out item.

    The pilot of an adaptive design with a budget costs nothing besides: its samples are part of the
    table.

    >>> scored_pairs(Sampled(n=100), n_users=1_000, n_items=10**6, per_row=100.0)
    100000.0
    """
    return float(n_users) * (n_items if isinstance(design, Full) else per_row)


def rates_of(pairs_per_second: float | tuple[float, float] | None, n_items: int) -> Rates:
    """The rates that somebody gave, one or (full, sampled), or those of this machine."""
    if pairs_per_second is None:
        return measured_rates(n_items)
    given = pairs_per_second
    pair = given if isinstance(given, tuple) else (given, given)
    if len(pair) != 2 or not all(is_finite(rate) and rate > 0 for rate in pair):
        raise InvalidArgumentError(
            "pairs_per_second", pairs_per_second, "a positive number, or two: (full, sampled)"
        )
    return Rates(full=float(pair[0]), sampled=float(pair[1]))


def measured_rates(n_items: int) -> Rates:
    """The rates of this machine's kernels on random factors, in about a second.

    At most 100,000 items of 64 dimensions: look-ups in a much larger catalogue are slower, by up
    to a half, because fewer of them are in a cache.
    """
    items = min(n_items, MEASURED_ITEMS)
    generator = stream(0, Stream.PILOT)
    factors = generator.standard_normal((1024 + items, MEASURED_DIMENSIONS), dtype=np.float32)
    scorer = FactorScorer(factors[:1024], factors[1024:])
    n = min(1000, items)
    return Rates(
        full=_rate(scorer, 256, Full()), sampled=_rate(scorer, 1024, Sampled(n)), measured=True
    )


def _rate(scorer: FactorScorer, n_users: int, design: Full | Sampled) -> float:
    target = np.zeros(n_users, np.int64)
    rank_pairs(scorer, np.arange(8), target[:8], design, progress=False)  # compiled, warm
    start = time.perf_counter()
    table = rank_pairs(scorer, np.arange(n_users), target, design, progress=False)
    return float(table.n_scored.sum() / max(time.perf_counter() - start, 1e-9))
