r"""What one more resolved user costs: the dissertation's way to choose n_max (``eq:ave_cost``).

Double the samples :math:`n_0, n_1, \dots` of every user whose target is still first. With
:math:`m_j` users whose rank leaves 1 at size :math:`n_j`,

.. math::  C_j = \frac{(M - \sum_{p<j} m_p)(n_j - n_{j-1})}{m_j}, \qquad C_0 = \frac{M n_0}{m_0}

is the number of items scored per user so resolved. It grows at least as fast as the sizes.
Ranking a remaining user against all :math:`N` candidates costs at most :math:`N` and resolves
that user for certain, so doubling further is worth it only while :math:`C_j \le N`: that is our
rule for n_max.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from truerank.arrays import Float, Int
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.estimators import rank_distribution
from truerank.estimators.grid import RankGrid
from truerank.estimators.likelihood import likelihood_matrix
from truerank.estimators.simulate import simulate
from truerank.plain_data import plain
from truerank.ranking import Adaptive, RankCounts, RankTable


@dataclass(frozen=True, slots=True, kw_only=True)
class CostCurve:
    """The curve, and what it recommends.

    Attributes:
        sizes: n_j.
        first_before: Part of users whose target was first at the size before (1 at n_0).
        leave: Part of all users whose rank leaves 1 at n_j.
        cost: C_j; inf where nobody leaves.
        spent: Items scored per user of the whole table, up to and with n_j.
        n_items: Number of candidates.
        n_max: Largest size with C_j at most n_items; n_0 if there is none.
        source: Where the counts come from, in words.
        advice: The recommendation in words.
    """

    sizes: Int
    first_before: Float
    leave: Float
    cost: Float
    spent: Float
    n_items: int
    n_max: int
    source: str
    advice: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        values: dict[str, Any] = plain(asdict(self))
        return values


def cost_curve(table: RankTable, *, n0: int = 100) -> CostCurve:
    """The curve of a table.

    Args:
        table: Exact ranks, or adaptive ones. A table of plain doubling (rank 1 goes on, nobody
            is dropped) gives the dissertation's counts, at its own sizes. From any other, the
            counts to expect are computed from the estimated distribution of ranks, exact ranks
            being their own.
        n0: First size, where the table does not say.
    """
    n_items = int(table.n_items.max())
    counted = _plain_levels(table)
    if counted is not None:
        sizes, reach = counted
        source = f"counted in {len(table):,} rows of plain doubling"
    else:
        if not 2 <= n0 < n_items:
            raise InvalidArgumentError("n0", n0, f"at least 2 and less than {n_items:,} candidates")
        sizes = Adaptive(n0=n0, n_max=n_items).stages(n_items).sizes[:-1]
        reach = np.append(1.0, _first_at(table, sizes, n_items))
        exact = table.all_exact
        source = f"expected from {len(table):,} {'exact' if exact else 'sampled'} ranks"
    steps = np.diff(sizes, prepend=0)
    at_risk, leave = reach[:-1], reach[:-1] - reach[1:]
    cost = np.divide(at_risk * steps, leave, out=np.full(len(sizes), np.inf), where=leave > 0)
    worth = np.flatnonzero(cost <= n_items)
    n_max = int(sizes[worth[-1]]) if len(worth) else int(sizes[0])
    spent = np.cumsum(at_risk * steps)
    return CostCurve(
        sizes=sizes,
        first_before=at_risk,
        leave=leave,
        cost=cost,
        spent=spent,
        n_items=n_items,
        n_max=n_max,
        source=source,
        advice=_advice(table, sizes, cost, spent, n_max, n_items),
    )


def _plain_levels(table: RankTable) -> tuple[Int, Float] | None:
    """Sizes, and the part of rows that reach each; a last entry for rows first at the end."""
    stages = table.header.stages
    if not isinstance(table.header.design, Adaptive) or stages is None:
        return None
    if (stages.max_rank[:-1] != 1).any() or (stages.continue_prob != 1.0).any():
        return None
    sizes = stages.sizes
    short = (table.n_items - int(table.header.replacement)) < sizes[-1]
    if short.any():  # their last size is their own
        sizes = sizes[sizes < table.n_items.min() - int(table.header.replacement)]
        if len(sizes) == 0:
            raise InvalidDataError("all samples of this table are as large as its candidates")
    reach = [float((table.n_sampled >= size).mean()) for size in sizes]
    ended_first = float(((table.n_sampled > sizes[-1]) | (table.rank == 1)).mean())
    return sizes, np.array([*reach, min(ended_first, reach[-1])])


def _first_at(table: RankTable, sizes: Int, n_items: int) -> Float:
    """Part of users whose target is first in a sample of each size."""
    edges, mass = rank_distribution(table)
    cells = RankCounts.from_arrays(1, sizes, n_items)
    return np.asarray(likelihood_matrix(cells, RankGrid(edges)) @ mass)


def _advice(
    table: RankTable, sizes: Int, cost: Float, spent: Float, n_max: int, n_items: int
) -> tuple[str, ...]:
    at = int(np.flatnonzero(sizes == n_max)[0])
    n0 = int(sizes[0])
    first = (
        f"Adaptive(n0={n0}, n_max={n_max}): up to n = {n_max:,} a user resolved costs at most "
        f"{cost[at]:,.0f} scored items, less than ranking that user against all {n_items:,}; it "
        f"spends {spent[at]:,.0f} items per user."
    )
    words = [first]
    if cost[at] > n_items:
        nothing = (
            f"No size is worth it: already at n = {n0:,} a user resolved costs {cost[at]:,.0f} "
            f"scored items, more than ranking against all {n_items:,}; use Full()."
        )
        words = [nothing]
    elif at + 1 < len(sizes) and np.isfinite(cost[at + 1]):
        words.append(
            f"The next size, n = {sizes[at + 1]:,}, would cost {cost[at + 1]:,.0f} per user "
            "resolved."
        )
    if table.all_exact:
        words.append(_own_schedule(table))
    else:
        words.append(
            "Adaptive() needs no n_max: it goes on to all candidates and keeps as many users as "
            "its budget allows."
        )
    return tuple(words)


def _own_schedule(table: RankTable) -> str:
    """What the default design does on these ranks."""
    drawn = simulate(table, Adaptive())
    stages = drawn.header.stages
    thinned = (
        []
        if stages is None
        else [
            (size, keep)
            for size, max_rank, keep in zip(
                stages.sizes[:-1].tolist(),
                stages.max_rank.tolist(),
                stages.continue_prob.tolist(),
                strict=False,
            )
            if keep < 1 and max_rank == 1
        ]
    )
    start = (
        f"Adaptive() needs no n_max: it spends {drawn.n_scored.mean():,.0f} items per user and "
        f"ranks {drawn.is_exact.mean():.1%} of the users exactly"
    )
    if not thinned:
        return start + "; every user whose target is first goes on to the end."
    size, keep = thinned[0]
    return start + (
        f"; all users whose target is first go on up to n = {size:,}, and from there a random "
        f"part ({keep:.0%} at n = {size:,})."
    )
