"""Predictions held against what happens, on a made-up model whose truth is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from truerank.comparison.planning_laws import typical_laws
from truerank.experiments.exact_ranks import ExactRanks
from truerank.experiments.planning import PlanCheck, validate_plan
from truerank.metrics import parse


@pytest.fixture(scope="module")
def pair() -> ExactRanks:
    law = typical_laws(2_000, parse("recall@10"), 0.2)[2]
    table = law.draw(2_400, np.random.default_rng(1))
    return ExactRanks(data="made-up", model="law", table=table, path=Path("nowhere"))


@pytest.mark.parametrize("pilot_users", [800, None], ids=["pilot", "expected"])
def test_each_design_for_all_users_and_for_some(pair: ExactRanks, pilot_users: int | None) -> None:
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    lines = validate_plan(
        pair, designs=[tr.Sampled(n=200)], pilot_users=pilot_users, sampled_users=600,
        repeats=10, trials=8, step=step,
    )  # fmt: skip
    assert [line.design for line in lines] == [
        "users m=600 full", "sampled n=200", "users m=600 sampled n=200"
    ]  # fmt: skip
    assert steps == 30
    some = lines[0]
    value = pair.table.per_row("recall@10").mean()
    exact = np.sqrt((1 - value) / value / 600 * 0.75)
    # The pilot's own value is off by 7 % at one standard error, the observed spread by 22 %.
    assert some.predicted == pytest.approx(exact, rel=0.2)
    assert some.observed == pytest.approx(exact, rel=0.7)
    for line in lines:
        assert 0.3 < line.ratio < 3
        assert line.predicted_scored == line.observed_scored


def test_within_a_factor_either_way() -> None:
    given = {
        "data": "d", "model": "m", "metric": "recall@10", "source": "pilot", "design": "full",
        "bias": 0.0, "repeats": 20, "predicted_scored": 1.0, "observed_scored": 1.0,
    }  # fmt: skip
    for predicted, within in ((0.06, False), (0.07, True), (0.14, True), (0.16, False)):
        line = PlanCheck(predicted=predicted, observed=0.1, **given)
        assert line.within is within
        assert line.to_dict()["ratio"] == pytest.approx(predicted / 0.1)
