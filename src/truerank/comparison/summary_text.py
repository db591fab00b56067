"""The verdict in one sentence."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

from truerank.estimators.summary_text import from_whom, range_text

if TYPE_CHECKING:
    from truerank.comparison.verdict import Comparison, Verdict

POWER = 0.8
"""Chance to find the difference, behind the number of users that a sentence names."""


def sentence(verdict: Verdict) -> str:
    """Who is better by the first metric, with the numbers, and what speaks against it."""
    said = f"{headline(verdict)}{details(verdict)}."
    found = caution(verdict)
    return f"{said} Care: " + found + "." if found else said


def headline(verdict: Verdict) -> str:
    """Who is better by the first metric, or that nobody can say; no numbers, no full stop."""
    metric = verdict.metrics[0]
    if verdict.baseline is not None:
        return _against_baseline(verdict, metric, verdict.baseline)
    first, *others = verdict.models
    tied = _level_with_first(verdict)
    question = f"on {metric} for {verdict.about}"
    if tied and verdict.pair(metric, first, tied[0]).known:
        return f"{first} and {listed(tied)} are equal {question}"
    if tied:
        said = f"{first} cannot be told apart from {listed(tied)} {question} {_means(verdict)}"
    else:
        said = f"{first} is better than {_all(others)} {question}"
    rivals = tied or others
    if any(verdict.pair(metric, first, name).extrapolated for name in rivals):
        return f"{said}{', even' if tied else ', but only'} by extrapolation"
    return said


def _means(verdict: Verdict) -> str:
    """The users it was decided on."""
    if verdict.population == "infinite":
        return f"with a sample of {verdict.n_users:,} users"
    ranked = from_whom(verdict.population, verdict.n_population, verdict.n_users)
    return f"with {ranked} ranked"


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
    unsure = any(verdict.pair(metric, first, other).extrapolated for other in beaten)
    guess = ", by extrapolation" if unsure else ""
    behind = f"; {first} is ahead of {listed(beaten)}{guess}" if beaten else ""
    return said + _needed(verdict, row) + behind


def caution(verdict: Verdict) -> str:
    """The first reason not to trust the answer; empty if there is none."""
    rows = [row for row in verdict.comparisons if row.metric == verdict.metrics[0] and row.caveats]
    return rows[0].caveats if rows else ""


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
    guess = ", by extrapolation" if any(row.extrapolated for row in rows) else ""
    whom = f"for {verdict.about} {_means(verdict)}"
    return f"On {metric} {whom}{guess}, " + "; ".join(parts)


def _values(verdict: Verdict, row: Comparison, first: str) -> str:
    sign = 1.0 if row.a == first else -1.0
    low, high = sorted((sign * row.low, sign * row.high))
    ours, theirs = (row.value_a, row.value_b) if sign > 0 else (row.value_b, row.value_a)
    values = f"{ours:.4f} against {theirs:.4f}"
    change = f"a difference of {sign * row.difference:+.4f}"
    if row.known:
        return f"{values}, {change}, known exactly for {verdict.about}"
    if row.extrapolated and row.bounds is not None:
        ends = (row.bounds[0], row.bounds[1]) if sign > 0 else (-row.bounds[1], -row.bounds[0])
        values = (
            f"the samples alone allow a difference of {range_text(ends, signed=True)}; "
            f"extrapolated {values}"
        )
    return (
        f"{values}, {change} ({verdict.confidence:.0%} interval {low:+.4f} to {high:+.4f}, "
        f"adjusted {format_p(row.p_adjusted)})"
    )


def _needed(verdict: Verdict, row: Comparison) -> str:
    """How many users would show a difference of this size, if it is real."""
    if row.difference == 0 or not row.std_error > 0:
        return ""
    if row.extrapolated:  # more users would be extrapolated as far
        return ""
    if verdict.population == "finite":
        return "; ranking all of them in full would settle it"
    normal = NormalDist()
    reach = normal.inv_cdf(0.5 + verdict.confidence / 2) + normal.inv_cdf(POWER)
    needed = verdict.n_users * (reach * row.std_error / row.difference) ** 2
    if not verdict.n_users < needed < 1e9:
        return ""
    return f"; about {_rounded(needed):,} users would be needed to see a difference of this size"


def _rounded(number: float) -> int:
    """Two digits are all that such a number can mean."""
    return int(float(f"{number:.1e}"))


def format_p(p: float) -> str:
    """A p-value for people."""
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}" if p < 0.1 else f"p = {p:.2f}"


def listed(names: list[str]) -> str:
    """a; a and b; a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
