from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from truerank.reproduce.claims import Question, answers


@dataclass
class Row:
    name: str
    published: dict[str, list[float]]


@dataclass
class Line:
    row: Row
    users: np.ndarray

    def per_user(self, metric: str) -> np.ndarray:
        return self.users


@dataclass
class Recipe:
    questions: tuple[Question, ...]
    metrics: tuple[str, ...] = ("ndcg@20",)


def ask(better: np.ndarray, worse: np.ndarray, margin: float) -> Any:
    question = Question(claim="on par", better="a", worse="b", margin=margin)
    lines = [Line(Row("a", {}), better), Line(Row("b", {}), worse)]
    (answer,) = answers(Recipe((question,)), lines)
    return answer


USERS = np.random.default_rng(0).uniform(0.2, 0.6, 400)
NOISE = np.random.default_rng(1).normal(size=400)
NOISE -= NOISE.mean()


@pytest.mark.parametrize(
    ("lead", "margin", "words"),
    [
        (0.0, 0.0, "not shown"),
        (0.0, 0.03, "confirmed"),  # on par, though not ahead
        (-0.01, 0.03, "confirmed"),
        (-0.03, 0.03, "not shown"),
        (-0.05, 0.03, "refuted"),
        (0.02, 0.0, "confirmed"),
    ],
)
def test_on_par_means_ahead_of_a_little_less(lead: float, margin: float, words: str) -> None:
    answer = ask(USERS * (1 + lead) + 0.01 * NOISE, USERS, margin)
    assert answer.words == words
    assert answer.difference == pytest.approx(lead * USERS.mean())
    assert answer.lead == pytest.approx((lead + margin) * USERS.mean())


def test_a_row_equals_itself() -> None:
    assert ask(USERS, USERS, 0.0).words == "equal"
