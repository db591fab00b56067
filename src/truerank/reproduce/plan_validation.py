r"""Predicted against observed: what :func:`truerank.plan` says, and what then happens.

The exact ranks of a real model are the truth. The designs of a plan are drawn again and again from
them, and the root mean squared error about the metric of all users is what was to be predicted:
from a pilot of some of the users, ranked in full or by samples, or from the metric alone.

Both sides are simulated. :math:`t` tables know a root mean square to :math:`1/\sqrt{2t}`: 100
tables to 7 %, the plan's trials to 10 % and more where distributions differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from truerank.arrays import Float
from truerank.estimators.simulate import simulate
from truerank.metrics import Metric, as_metric
from truerank.planning.distributions import RankDistribution, typical_distributions
from truerank.planning.pilots import checked_pilot, pilot_distributions, pilot_value
from truerank.planning.predicted_error import TRIALS, predict
from truerank.planning.trials import auto_values
from truerank.ranking import Adaptive, Full, RankTable, Sampled, Users
from truerank.ranking.design_spec import format_design
from truerank.ranking.designs import InnerDesign
from truerank.reproduce.exact_ranks import ExactRanks

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
        source: What the plan was given: ``pilot, full``, or ``expected``.
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
    pilots: Sequence[InnerDesign | None] = (Full(),),
    pilot_users: int = 2_000,
    sampled_users: int | None = 2_000,
    repeats: int = 100,
    trials: int = TRIALS,
    seed: int = 0,
    step: Callable[[], None] = lambda: None,
) -> list[PlanCheck]:
    """Predicted and observed errors of designs on one pair.

    Args:
        pair: The exact ranks.
        metric: The metric.
        designs: Ways to rank a user; each for all users and for ``sampled_users`` of them.
        pilots: What the plan is given, one after the other, and held against the same tables: a
            pilot ranked in this way, or None for the exact value of the metric, nothing else.
        pilot_users: Users of a pilot; half of all where these are fewer than twice as many.
        sampled_users: Users of the designs that sample users, likewise; None for none of these.
        repeats: Tables drawn per design.
        trials: Of the plan.
        seed: Of all of it.
        step: Called after each drawn table.
    """
    table, chosen = pair.table, as_metric(metric)
    truth = float(table.per_row(chosen).mean())
    known = [_known(table, chosen, truth, way, pilot_users, seed) for way in pilots]
    few = None if sampled_users is None else min(sampled_users, len(table) // 2)
    lines: list[list[PlanCheck]] = [[] for _ in pilots]
    for way in (Full(), *designs):
        found = [
            predict(way, own.distributions, chosen, n_users=len(table), trials=trials, seed=seed)
            for own in known
        ]
        for m in (len(table), few):
            if m is None or (m == len(table) and isinstance(way, Full)):
                continue  # ranking everything has no error to predict
            design = way if m == len(table) else Users(m, way)
            drawn = [simulate(table, design, seed=seed + r) for r in range(repeats)]
            off = _estimates(drawn, chosen, step) / truth - 1.0
            for own, prediction, column in zip(known, found, lines, strict=True):
                error = own.value * np.sqrt(sum(prediction.parts(m, m / len(table))))
                column.append(
                    PlanCheck(
                        data=pair.data,
                        model=pair.model,
                        metric=str(chosen),
                        source=own.source,
                        design=format_design(design),
                        predicted=float(error) / truth,
                        observed=float(np.sqrt((off**2).mean())),
                        bias=float(off.mean()),
                        repeats=repeats,
                        predicted_scored=prediction.per_row,
                        observed_scored=float(np.mean([t.n_scored.mean() for t in drawn])),
                    )
                )
    return [line for column in lines for line in column]


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What the plan is allowed to know."""

    distributions: list[RankDistribution]
    value: float
    source: str


def _known(
    table: RankTable,
    metric: Metric,
    truth: float,
    way: InnerDesign | None,
    pilot_users: int,
    seed: int,
) -> _Known:
    n_items = int(table.n_items.max())
    if way is None:
        return _Known(typical_distributions(n_items, metric, truth), truth, "expected")
    some = Users(min(pilot_users, len(table) // 2), way)
    pilot = simulate(table, some, seed=PILOT_SEED + seed)
    sample = checked_pilot(pilot, n_items, metric)
    distributions = pilot_distributions(sample, n_items, metric, seed=seed)
    return _Known(distributions, pilot_value(sample, metric), f"pilot, {format_design(way)}")


def _estimates(tables: list[RankTable], metric: Metric, step: Callable[[], None]) -> Float:
    """The metric from each table, by ``auto`` or exactly."""
    if tables[0].all_exact:
        found = [float(t.per_row(metric).mean()) for t in tables]
        for _ in tables:
            step()
        return np.array(found)
    return auto_values(tables, metric, step=step)
