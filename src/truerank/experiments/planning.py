"""Predicted against observed: what :func:`truerank.plan` says, and what then happens.

The exact ranks of a real model are the truth. A pilot of some of its users, or its metric alone,
goes into the plan; then the designs of the plan are drawn again and again from the exact ranks,
and the root mean squared error about the metric of all users is what was to be predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from truerank.comparison.planning_errors import TRIALS, predict
from truerank.comparison.planning_laws import RankLaw, pilot_laws, typical_laws
from truerank.estimators import estimate
from truerank.estimators.simulate import simulate
from truerank.experiments.exact_ranks import ExactRanks
from truerank.metrics import Metric, as_metric
from truerank.ranking import Adaptive, Full, RankTable, Sampled, Users
from truerank.ranking.design_words import design_words
from truerank.ranking.designs import InnerDesign

TRIED: tuple[InnerDesign, ...] = (
    Sampled(n=100),
    Sampled(n=1_000),
    Adaptive(n0=100, n_max=3_200),
    Adaptive(),
    Adaptive(budget=2_000),
)
PILOT_SEED = 1_000_003
"""Of the pilot: other users and samples than those of the observed tables."""

FACTOR = 1.5
"""How far a prediction may be off, either way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCheck:
    """One design on one pair: both errors as parts of the metric's value.

    Attributes:
        data: Name of the data set.
        model: Name of the model.
        metric: In the notation ``recall@10``.
        source: ``pilot`` or ``expected``: what the plan was given.
        design: In words.
        predicted: Error by the plan.
        observed: Root mean squared error over the repeats.
        bias: Mean error over the repeats.
        repeats: How many.
        predicted_scored: Items scored per user by the plan.
        observed_scored: Items scored per user.
    """

    data: str
    model: str
    metric: str
    source: str
    design: str
    predicted: float
    observed: float
    bias: float
    repeats: int
    predicted_scored: float
    observed_scored: float

    @property
    def ratio(self) -> float:
        """Predicted over observed."""
        return self.predicted / self.observed if self.observed > 0 else float("nan")

    @property
    def within(self) -> bool:
        """Whether the prediction is right to :data:`FACTOR`."""
        return 1 / FACTOR <= self.ratio <= FACTOR

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {**asdict(self), "ratio": self.ratio}


def validate_plan(
    pair: ExactRanks,
    metric: str = "recall@10",
    *,
    designs: Sequence[InnerDesign] = TRIED,
    pilot_users: int | None = 2_000,
    sampled_users: int | None = 2_000,
    repeats: int = 20,
    trials: int = TRIALS,
    seed: int = 0,
    step: Callable[[], None] = lambda: None,
) -> list[PlanCheck]:
    """Predicted and observed errors of designs on one pair.

    Args:
        pair: The exact ranks.
        metric: The metric.
        designs: Ways to rank a user; each for all users and for ``sampled_users`` of them.
        pilot_users: Users of the pilot, ranked by ``Adaptive()``; None tells the plan the exact
            value of the metric instead, and nothing else.
        sampled_users: Users of the designs that sample users; None for none of these.
        repeats: Tables drawn per design.
        trials: Of the plan.
        seed: Of all of it.
        step: Called after each drawn table.
    """
    table, chosen = pair.table, as_metric(metric)
    truth = float(table.per_row(chosen).mean())
    laws = _laws(table, chosen, truth, pilot_users, seed)
    value = laws[0].moments(chosen)[0]
    few = None if sampled_users is None else min(sampled_users, len(table) // 2)
    lines = []
    for way in (Full(), *designs):
        found = predict(way, laws, chosen, n_users=len(table), trials=trials, seed=seed)
        for m in (len(table), few):
            if m is None or (m == len(table) and isinstance(way, Full)):
                continue  # ranking everything has no error to predict
            design = way if m == len(table) else Users(m, way)
            drawn = [_drawn(table, chosen, design, seed + r, step) for r in range(repeats)]
            off = np.array([estimated for estimated, _ in drawn]) / truth - 1.0
            predicted = value * np.sqrt(sum(found.parts(m, m / len(table))))
            lines.append(
                PlanCheck(
                    data=pair.data,
                    model=pair.model,
                    metric=str(chosen),
                    source="expected" if pilot_users is None else "pilot",
                    design=design_words(design),
                    predicted=float(predicted) / truth,
                    observed=float(np.sqrt((off**2).mean())),
                    bias=float(off.mean()),
                    repeats=repeats,
                    predicted_scored=found.per_row,
                    observed_scored=float(np.mean([cost for _, cost in drawn])),
                )
            )
    return lines


def _laws(
    table: RankTable, metric: Metric, truth: float, pilot_users: int | None, seed: int
) -> list[RankLaw]:
    """What the plan is allowed to know."""
    n_items = int(table.n_items.max())
    if pilot_users is None:
        return typical_laws(n_items, metric, truth)
    some = Users(min(pilot_users, len(table) // 2), Adaptive())
    pilot = simulate(table, some, seed=PILOT_SEED + seed)
    return pilot_laws(pilot, n_items, metric, seed=seed)


def _drawn(
    table: RankTable,
    metric: Metric,
    design: InnerDesign | Users,
    seed: int,
    step: Callable[[], None],
) -> tuple[float, float]:
    """Estimate and items scored per user, by one drawn table."""
    drawn = simulate(table, design, seed=seed)
    found = estimate(drawn, metric, n_boot=0, bounds=False)[0]
    step()
    return found.value, float(drawn.n_scored.mean())
