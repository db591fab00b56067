"""What a design costs: pairs to be scored, and seconds by a rate given or measured here."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from truerank.errors import InvalidArgumentError
from truerank.planning.numbers import is_finite
from truerank.ranking import FactorScorer, Full, Sampled, Screened, rank_pairs
from truerank.ranking.designs import InnerDesign
from truerank.ranking.user_blocks import BUCKETS, blocks_for
from truerank.rng import Stream, stream

MEASURED_ITEMS = 100_000
MEASURED_DIMENSIONS = 64
MEASURED_TOGETHER = 256
"""Users who share their rivals where the rate of a screen is measured."""

SMALL_BLOCK = 50.0
"""What a block takes besides its users' products, in users: it reads all it meets from memory."""

SHARED_OF_FULL = 0.6
"""Rate of a screen where only that of full ranking is given: measured, roughly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Pairs scored per second.

    Attributes:
        full: Where all items are ranked for a user: one matrix product.
        sampled: Where single items are looked up: bound by memory.
        shared: Where blocks of about 256 users share their rivals: products of parts of the items.
        measured: Whether measured here, with factors of 64 dimensions.
    """

    full: float
    sampled: float
    shared: float
    measured: bool = False

    def seconds(
        self, design: InnerDesign, pairs: float, *, n_users: int, n_items: int, in_full: float = 0.0
    ) -> float:
        """Time to score so many pairs in the manner of the design.

        Where rivals are shared and that is faster, small blocks of users are slower, and items
        are looked up to be put in order, as many as there are: a rough allowance.

        Args:
            design: How each user is ranked.
            pairs: Pairs in all.
            n_users: Users who are ranked.
            n_items: Items of the catalogue.
            in_full: Those of the pairs that a screen scores at its end, among all items.
        """
        if isinstance(design, Full):
            return pairs / self.full
        n_blocks = _blocks(design, n_users)
        if n_blocks is None:
            return pairs / self.sampled
        if self.shared <= self.sampled:  # scores are called one by one
            return in_full / self.full + (pairs - in_full) / self.shared
        alone = 1.0 + SMALL_BLOCK * n_blocks / n_users
        screen = (pairs - in_full) / self.shared * alone / (1.0 + SMALL_BLOCK / MEASURED_TOGETHER)
        return in_full / self.full + screen + n_items / self.sampled


def _blocks(design: InnerDesign, n_users: int) -> int | None:
    """Blocks of users that share their rivals; None where nobody does."""
    shared = getattr(design, "shared", None)
    if shared is not None:
        return blocks_for(n_users, shared)
    return BUCKETS if isinstance(design, Screened) else None


def scored_pairs(design: InnerDesign, *, n_users: int, n_items: int, per_row: float) -> float:
    """Pairs scored for the users, each with one held-out item.

    The pilot of a design with a budget costs nothing besides: its samples are part of the table.
    Who comes to the end of a screen is ranked anew among all items, which is part of ``per_row``.

    >>> scored_pairs(Sampled(n=100), n_users=1_000, n_items=10**6, per_row=100.0)
    100000.0
    """
    return float(n_users) * (n_items if isinstance(design, Full) else per_row)


def rates_of(
    pairs_per_second: float | tuple[float, float] | tuple[float, float, float] | None, n_items: int
) -> Rates:
    """The rates that somebody gave, or those of this machine.

    One is that of a scorer that is called pair by pair; two are (full, sampled), of which the rate
    of a screen is guessed; three are (full, sampled, shared).

    >>> rates_of((2e8, 2e7), 1_000).shared, rates_of(50, 1_000).shared
    (120000000.0, 50.0)
    """
    if pairs_per_second is None:
        return measured_rates(n_items)
    given = pairs_per_second
    rates = given if isinstance(given, tuple) else (given, given, given)
    if len(rates) not in (2, 3) or not all(is_finite(rate) and rate > 0 for rate in rates):
        raise InvalidArgumentError(
            "pairs_per_second", pairs_per_second,
            "a positive number, or (full, sampled) or (full, sampled, shared)",
        )  # fmt: skip
    full, sampled = float(rates[0]), float(rates[1])
    guess = full if full <= sampled else max(sampled, SHARED_OF_FULL * full)
    return Rates(full=full, sampled=sampled, shared=float(rates[2]) if len(rates) == 3 else guess)


def measured_rates(n_items: int) -> Rates:
    """The rates of this machine's kernels on random factors, in about a second.

    At most 100,000 items of 64 dimensions: look-ups in a much larger catalogue are slower, by up
    to a half, because fewer of them are in a cache.
    """
    items = min(n_items, MEASURED_ITEMS)
    generator = stream(0, Stream.PILOT)
    factors = generator.standard_normal((2048 + items, MEASURED_DIMENSIONS), dtype=np.float32)
    scorer = FactorScorer(factors[:2048], factors[2048:])
    part = Sampled(max(2, items // 8), shared=MEASURED_TOGETHER)
    return Rates(
        full=_rate(scorer, 256, Full()),
        sampled=_rate(scorer, 1024, Sampled(min(1000, items))),
        shared=_rate(scorer, 2048, part),
        measured=True,
    )


def _rate(scorer: FactorScorer, n_users: int, design: Full | Sampled) -> float:
    target = np.zeros(n_users, np.int64)
    rank_pairs(scorer, np.arange(8), target[:8], design, progress=False)  # compiled, warm
    start = time.perf_counter()
    table = rank_pairs(scorer, np.arange(n_users), target, design, progress=False)
    return float(table.n_scored.sum() / max(time.perf_counter() - start, 1e-9))
