r"""Ranks said to be exact that end far above the last place: were they ranks among a sample?

Exact ranks of many users thin out: below the largest of them there are few. Ranks among 100
sampled items, or in lists cut after 100, run up to 100 at full density and stop there.

The rule. Let :math:`M` be the largest rank of :math:`N` candidates, :math:`M \le N / 2`. For a
ratio :math:`q > 1`, :math:`a` rows have a rank above :math:`M / q^2` and :math:`b` of them one
above :math:`M / q`. Assume that the hazard of the logarithm of ranks, :math:`r\,P(R = r \mid R
\ge r)`, does not increase from :math:`M / q^2` to :math:`qM`: true of Zipf's law and of every
mixture of them. Then a rank above :math:`M / q` reaches :math:`q` times that with at least the
chance :math:`p` that one above :math:`M / q^2` had, and the chance of :math:`b` or more that far
and none beyond is at most

.. math::
    \sup_p \sum_{j \ge b} \binom{a}{j} p^j (1 - p)^{a - j} (1 - p)^j
    \le (a - b + 1) \binom{a}{b}
        \Big(\frac{b}{a + b}\Big)^b \Big(\frac{a}{a + b}\Big)^a.

:math:`M` is found in the data and several ratios are tried, so this is multiplied by :math:`N /
2` and by the number of ratios. An alarm is raised where the product is below one in a million: so
often at most is it false, for independent rows of that kind. A geometric distribution has a
lighter tail; of :math:`n` such rows :math:`b^2 / a \approx n^{1/4}`, which alarms once in some
forty tables of 6,000. Where the hazard of real exact ranks does increase it does so towards
:math:`N` (uniform ranks, tied blocks at their mean rank), and then :math:`M > N / 2`: of 20 models
on 8 public data sets none alarms. Tied blocks counted in the target's favour can, and so can a
catalogue whose larger half is never held out nor recommended: ranks that really end there.

A second rule assumes no shape: of a model that puts 95 in 100 targets into the first twentieth of
the catalogue, 200 rows in a row do so once in 28,000 tables. So many rows without one beyond are
suspected as well.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from truerank.arrays import Int
from truerank.data.id_order import distinct_ids
from truerank.errors import option
from truerank.ranking.counts import RankCounts
from truerank.ranking.designs import Foreign
from truerank.ranking.table import RankTable

FALSE_ALARMS = 1e-6
"""Largest chance of an alarm about exact ranks that thin out."""

SHORTEST = 10
"""Ranks that end above this one are those of an excellent model."""

RATIOS = (1.1, 1.25, 1.5, 2.0)
"""What is tried for q."""

FIRST_PART, MANY_ROWS = 20, 200
"""So many rows within this part of the catalogue are suspected whatever their shape."""


def suspicious_ceiling(rank: Int, n_items: Int, n_rows: Int | None = None) -> int | None:
    """The largest rank, if exact ranks would hardly end there; None where nothing is wrong.

    Args:
        rank: Ranks said to be exact.
        n_items: Candidates of each row; their median counts.
        n_rows: How many rows each stands for; 1 if not given.

    >>> sampled = np.arange(1, 101).repeat(5)
    >>> suspicious_ceiling(sampled, np.full(500, 12_929)), suspicious_ceiling(sampled, sampled * 2)
    (100, None)
    """
    if len(rank) == 0:
        return None
    rows = np.broadcast_to(np.int64(1), len(rank)) if n_rows is None else n_rows
    top, size = int(rank.max()), _median(n_items, n_rows)
    if not SHORTEST <= top <= size / 2:
        return None
    if int(rows.sum()) >= MANY_ROWS and top <= size / FIRST_PART:
        return top
    chances = []
    for q in RATIOS:
        a, b = (int(rows[rank > top / q**k].sum()) for k in (2, 1))
        chances.append(_log_chance(a, b))
    allowed = math.log(FALSE_ALARMS) - math.log(len(RATIOS) * size / 2)
    return top if min(chances) < allowed else None


def suspicions_about(ranks: RankTable | RankCounts) -> tuple[str, ...]:
    """Why ranks made elsewhere can hardly be what they are said to be; mostly nothing."""
    shared = _shared_ranks(ranks) if isinstance(ranks, RankTable) else ()
    return (*ceiling_notes(ranks), *shared)


def ceiling_notes(table: RankTable | RankCounts) -> tuple[str, ...]:
    """A warning about a table of ranks said to be exact, or nothing.

    What we ranked ourselves is known to be exact, and lists read as the top of a ranking are known
    to be cut: only ranks of unknown making are suspected.
    """
    design = table.header.design
    if not isinstance(design, Foreign) or design.lists is not None:
        return ()
    exact = table.is_exact
    rank, n_items = table.rank[exact], table.n_items[exact]
    n_rows = table.n_rows[exact] if isinstance(table, RankCounts) else None
    top = suspicious_ceiling(rank, n_items, n_rows)
    if top is None:
        return ()
    said = usual_length(top)
    many = len(rank) if n_rows is None else int(n_rows.sum())
    note = (
        f"suspicious: these ranks are said to be exact among {int(_median(n_items, n_rows)):,} "
        f"items, but none of {many:,} is above {top:,}, so they look like ranks among a "
        f"sample of about {said:,} candidates, or like lists cut at that length: if they "
        "are sampled say " + option("n_sampled", said) + ", or this value is wrong"
    )
    return (note,)


def _shared_ranks(table: RankTable) -> tuple[str, ...]:
    """Exact ranks that several held-out items of one user have in common: those of no list."""
    if not isinstance(table.header.design, Foreign) or table.n_users == len(table):
        return ()
    exact = table.is_exact
    user, rank = distinct_ids(table.user)[1][exact], table.rank[exact]
    order = np.lexsort((rank, user))
    user, rank = user[order], rank[order]
    shared = int(np.count_nonzero((np.diff(user) == 0) & (np.diff(rank) == 0)))
    if shared == 0:
        return ()
    said = (
        f"suspicious: {shared:,} of {len(rank):,} exact ranks are also the rank of another "
        "held-out item of the same user, but a list has one item at each place: items were ranked "
        "apart, or ties in their favour; rank each user's items in one list, or values of several "
        "items are too high"
    )
    return (said,)


def _median(values: Int, n_rows: Int | None) -> float:
    """The median over rows, of which an entry may stand for several."""
    if n_rows is None:
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(n_rows[order])
    middle = (upto[-1] - 1) // 2, upto[-1] // 2
    return float(values[order][np.searchsorted(upto, middle, side="right")].mean())


def usual_length(top: int) -> int:
    """The length of list that people would have used if the largest rank is this.

    1, 2 or 5 times a power of ten, or one more where the target came on top of the negatives; the
    largest rank itself if none of these is within 10 % above it.

    >>> usual_length(97), usual_length(101), usual_length(999), usual_length(137)
    (100, 101, 1000, 137)
    """
    power = 10 ** (len(str(top)) - 1)
    usual = [k * power + extra for k in (1, 2, 5, 10) for extra in (0, 1)]
    return min((n for n in usual if top <= n <= 1.1 * top), default=top)


def _log_chance(a: int, b: int) -> float:
    """Log of the bound above."""
    choose = float(gammaln(a + 1) - gammaln(b + 1) - gammaln(a - b + 1))
    p = b / (a + b)
    return math.log(a - b + 1) + choose + b * math.log(p) + a * math.log1p(-p)
