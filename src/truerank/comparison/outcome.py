"""What a statistical test says about two models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SMALLEST_P = float(np.finfo(np.float64).tiny)
"""Stands for every p that a double cannot hold: a p-value is never 0 here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of one two-sided test of model a against model b.

    Attributes:
        name: The test, a key of :data:`truerank.comparison.named_tests.TESTS`.
        statistic: What the test computes; each test says what that is.
        p_value: Two-sided, in (0, 1]: never 0 and never nan.
        difference: Mean of a minus mean of b, whatever the test compares.
        std_error: Standard error of ``difference``; nan where one user leaves it unknown, which
            the note then says.
        effect_size: How large the difference is in units that do not depend on the number of
            users; each test says which. Positive where a is better.
        n: Users (of both models together in an unpaired test).
        note: What to know before trusting it; empty if nothing.
    """

    name: str
    statistic: float
    p_value: float
    difference: float
    std_error: float
    effect_size: float
    n: int
    note: str = ""

    def __str__(self) -> str:
        words = f"{self.difference:+.4g} ± {self.std_error:.2g}, p = {self.p_value:.2g}"
        return f"{self.name}: {words} (n = {self.n:,}{f'; {self.note}' if self.note else ''})"


def never_zero(p: float) -> tuple[float, str]:
    """A computed p in (0, 1], with a note where it was too small for a double.

    >>> never_zero(0.03)
    (0.03, '')
    """
    if p < SMALLEST_P:
        return SMALLEST_P, f"p is below {SMALLEST_P:.0e}, the smallest number that can be told"
    return min(float(p), 1.0), ""


def joined(*notes: str) -> str:
    """Several notes as one, without the empty ones."""
    return "; ".join(note for note in notes if note)
