"""Predictions held against what happens, on a made-up model whose truth is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from truerank.estimators.simulate import simulate
from truerank.metrics import parse
from truerank.planning.distributions import typical_distributions
from truerank.reproduce.exact_ranks import ExactRanks
from truerank.reproduce.plan_validation import PlanCheck, validate_plan


@pytest.fixture(scope="module")
def pair() -> ExactRanks:
    distribution = typical_distributions(2_000, parse("recall@10"), 0.2)[2]
    table = distribution.draw(2_400, np.random.default_rng(1))
    return ExactRanks(data="made-up", model="distribution", table=table, path=Path("nowhere"))


def test_each_design_for_all_users_and_for_some_by_every_pilot(pair: ExactRanks) -> None:
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    lines = validate_plan(
        pair, designs=[tr.Sampled(n=200)], pilots=[tr.Full(), tr.Adaptive(), None],
        pilot_users=800, sampled_users=600, repeats=20, trials=8, step=step,
    )  # fmt: skip
    assert steps == 60  # the tables are drawn once for all pilots
    sources = ["pilot, full", "pilot, adaptive", "expected"]
    designs = ["users m=600 full", "sampled n=200", "users m=600 sampled n=200"]
    assert [(x.source, x.design) for x in lines] == [(s, d) for s in sources for d in designs]
    value = pair.table.per_row("recall@10").mean()
    exact = np.sqrt((1 - value) / value / 600 * 0.75)
    for line in lines:
        # 20 tables know their root mean square to 16 %, 8 to 32 trials theirs to 25 % or less:
        # a ratio of 3 is 3.7 standard deviations away.
        assert 1 / 3 < line.ratio < 3
        assert line.predicted_scored == line.observed_scored
        same = [x for x in lines if x.design == line.design]
        assert len({x.observed for x in same}) == 1
        assert len({x.predicted for x in same}) == 3
        if line.design == "users m=600 full":
            # A pilot of 800 knows a value of .2 to 7 %, the error of others to half of that.
            assert line.predicted == pytest.approx(exact, rel=0.25)
            assert line.observed == pytest.approx(exact, rel=4 * 0.16)


def test_observed_errors_are_those_of_estimate(pair: ExactRanks) -> None:
    """The tables share a likelihood; each by itself gives the same."""
    (line,) = validate_plan(
        pair, designs=[tr.Adaptive()], pilots=[None], sampled_users=None, repeats=3, trials=2
    )
    truth = pair.table.per_row("recall@10").mean()
    off = [
        tr.estimate(simulate(pair.table, tr.Adaptive(), seed=seed), "recall@10", n_boot=0)[0].value
        / truth
        - 1
        for seed in range(3)
    ]
    assert line.observed == pytest.approx(np.sqrt(np.mean(np.square(off))), rel=1e-6)
    assert line.bias == pytest.approx(np.mean(off), rel=1e-6)


def test_within_a_factor_either_way() -> None:
    given = {
        "data": "d", "model": "m", "metric": "recall@10", "source": "pilot", "design": "full",
        "bias": 0.0, "repeats": 20, "predicted_scored": 1.0, "observed_scored": 1.0,
    }  # fmt: skip
    for predicted, within in ((0.06, False), (0.07, True), (0.14, True), (0.16, False)):
        line = PlanCheck(predicted=predicted, observed=0.1, **given)
        assert line.within is within
        assert line.to_dict()["ratio"] == pytest.approx(predicted / 0.1)
