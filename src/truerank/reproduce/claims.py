"""What a finished table says about printed claims: paired tests, corrected for their number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from truerank.arrays import Float
from truerank.comparison.corrections import adjust
from truerank.comparison.named_tests import run_test

LEVEL = 0.05
"""Size of all tests together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A claim as a comparison of two rows of a table.

    Attributes:
        claim: In words.
        better: The row that is said to be better.
        worse: The other.
        margin: The part of the other's mean by which it may be behind: 0 for "better", a small
            part for "on par", since no test can show that two are equal.
    """

    claim: str
    better: str
    worse: str
    margin: float = 0.0


class Asked(Protocol):
    """A recipe: what is asked, on which metrics."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The columns of the table."""

    @property
    def questions(self) -> tuple[Question, ...]:
        """What is asked of it."""


class Printed(Protocol):
    """A row: its name, and what was printed of it."""

    @property
    def name(self) -> str:
        """As questions call it."""

    @property
    def published(self) -> Mapping[str, Sequence[float]]:
        """The printed numbers in the order of the metrics, by data set."""


class Tested(Protocol):
    """A finished row."""

    @property
    def row(self) -> Printed:
        """What was asked for."""

    def per_user(self, metric: str) -> Float:
        """The metric of each user; the same users in every row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A question, answered on one metric: better minus worse, paired by user.

    Attributes:
        question: What was asked.
        metric: In the notation ``ndcg@100``.
        difference: Mean difference.
        std_error: Its standard error for future users, of whom the test users are a sample.
        lead: Mean of better minus (1 - margin) worse, which is what is tested.
        p_adjusted: Of its paired t test, by Holm over all questions and metrics.
        published: The printed difference, by data set.
    """

    question: Question
    metric: str
    difference: float
    std_error: float
    lead: float
    p_adjusted: float
    published: dict[str, float]

    @property
    def words(self) -> str:
        """``confirmed``, ``refuted``, ``equal`` or ``not shown``."""
        if self.difference == 0 and self.std_error == 0:
            return "equal"
        if self.p_adjusted >= LEVEL:
            return "not shown"
        return "confirmed" if self.lead > 0 else "refuted"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "claim": self.question.claim,
            "metric": self.metric,
            "difference": self.difference,
            "std_error": self.std_error,
            "population": "infinite",
            "p_adjusted": self.p_adjusted,
            "words": self.words,
        }


def answers(recipe: Asked, lines: Iterable[Tested], *, correction: str = "holm") -> list[Answer]:
    """The recipe's questions about these lines, where both rows are there, by paired t tests."""
    by_name = {line.row.name: line for line in lines}
    asked = [
        (question, metric)
        for question in recipe.questions
        for metric in recipe.metrics
        if question.better in by_name and question.worse in by_name
    ]
    if not asked:
        return []
    outcomes, tested = [], []
    for question, metric in asked:
        a, b = (by_name[name].per_user(metric) for name in (question.better, question.worse))
        outcomes.append(run_test("paired-t", a, b))
        tested.append(run_test("paired-t", a, (1.0 - question.margin) * b))
    adjusted = adjust([test.p_value for test in tested], correction)
    return [
        Answer(
            question=question,
            metric=metric,
            difference=outcome.difference,
            std_error=outcome.std_error,
            lead=test.difference,
            p_adjusted=float(p),
            published=_published(
                recipe.metrics.index(metric),
                by_name[question.better].row,
                by_name[question.worse].row,
            ),
        )
        for (question, metric), outcome, test, p in zip(
            asked, outcomes, tested, adjusted, strict=True
        )
    ]


def _published(column: int, better: Printed, worse: Printed) -> dict[str, float]:
    return {
        data: better.published[data][column] - worse.published[data][column]
        for data in better.published
        if data in worse.published
    }
