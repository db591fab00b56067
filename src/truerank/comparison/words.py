"""The verdict in one sentence."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truerank.comparison.verdict import Comparison, Verdict

POWER = 0.8
"""Chance to find the difference, behind the number of users that a sentence names."""


def sentence(verdict: Verdict) -> str:
    """Who is better by the first metric, with the numbers, and what speaks against it."""
    said = f"{headline(verdict)}{details(verdict)}."
    found = caution(verdict)
    return f"{said} Care: {found}." if found else said


def headline(verdict: Verdict) -> str:
    """Who is better by the first metric, or that nobody can say; no numbers, no full stop."""
    metric = verdict.metrics[0]
    if verdict.baseline is not None:
        return _against_baseline(verdict, metric, verdict.baseline)
    first, *others = verdict.models
    tied = _level_with_first(verdict)
    if tied:
        return (
            f"{first} cannot be told apart from {listed(tied)} on {metric} "
            f"with {verdict.n_users:,} users"
        )
    return f"{first} is better than {_all(others)} on {metric}"


def details(verdict: Verdict) -> str:
    """The numbers of the closest rival, what would help, and who is beaten."""
    if verdict.baseline is not None:
        return ""
    metric, (first, *others) = verdict.metrics[0], verdict.models
    tied = _level_with_first(verdict)
    row = verdict.pair(metric, first, (tied or others)[0])
    said = f": {_values(verdict, row, first)}"
    if not tied:
        return said
    beaten = [other for other in others if other not in tied]
    behind = f"; {first} is ahead of {listed(beaten)}" if beaten else ""
    return said + _needed(verdict, row) + behind


def caution(verdict: Verdict) -> str:
    """The first reason not to trust the answer; empty if there is none."""
    rows = [row for row in verdict.comparisons if row.metric == verdict.metrics[0] and row.trust]
    return rows[0].trust if rows else ""


def _level_with_first(verdict: Verdict) -> list[str]:
    first, *others = verdict.models
    metric = verdict.metrics[0]
    return [name for name in others if not verdict.pair(metric, first, name).significant]


def _all(others: list[str]) -> str:
    return others[0] if len(others) == 1 else f"all {len(others)} others"


def _against_baseline(verdict: Verdict, metric: str, baseline: str) -> str:
    rows = [row for row in verdict.comparisons if row.metric == metric]
    better = [row.a for row in rows if row.significant and row.difference > 0]
    worse = [row.a for row in rows if row.significant and row.difference < 0]
    level = [row.a for row in rows if not row.significant]
    parts = [
        f"{listed(names)} {words} {baseline}"
        for names, words in (
            (better, "better than" if len(better) > 1 else "is better than"),
            (worse, "worse than" if len(worse) > 1 else "is worse than"),
            (level, "cannot be told apart from"),
        )
        if names
    ]
    return f"On {metric}, " + "; ".join(parts) + f" ({verdict.n_users:,} users)"


def _values(verdict: Verdict, row: Comparison, first: str) -> str:
    sign = 1.0 if row.a == first else -1.0
    low, high = sorted((sign * row.low, sign * row.high))
    ours, theirs = (row.value_a, row.value_b) if sign > 0 else (row.value_b, row.value_a)
    return (
        f"{ours:.4f} against {theirs:.4f}, a difference of {sign * row.difference:+.4f} "
        f"({verdict.level:.0%} interval {low:+.4f} to {high:+.4f}, "
        f"adjusted {p_words(row.p_adjusted)})"
    )


def _needed(verdict: Verdict, row: Comparison) -> str:
    """How many users would show a difference of this size, if it is real."""
    if row.difference == 0 or not row.std_error > 0:
        return ""
    normal = NormalDist()
    reach = normal.inv_cdf(0.5 + verdict.level / 2) + normal.inv_cdf(POWER)
    needed = verdict.n_users * (reach * row.std_error / row.difference) ** 2
    if not verdict.n_users < needed < 1e9:
        return ""
    return f"; about {_rounded(needed):,} users would be needed to see a difference of this size"


def _rounded(number: float) -> int:
    """Two digits are all that such a number can mean."""
    return int(float(f"{number:.1e}"))


def p_words(p: float) -> str:
    """A p-value for people."""
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}" if p < 0.1 else f"p = {p:.2f}"


def listed(names: list[str]) -> str:
    """a; a and b; a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
