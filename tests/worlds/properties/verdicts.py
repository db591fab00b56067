"""What must hold of comparisons."""

from __future__ import annotations

import json
import math

import truerank as tr

from ..world import World
from .holding import SLACK, hold

FEWEST = 5
"""So many users all differ one way with a chance of 1 in 16: sampled ranks give no interval."""


def compare_gives_a_verdict(world: World) -> None:
    """Two models by one design: a sentence, a frame, JSON, tables, and ordered numbers."""
    tables = {"one": world.table, "other": world.rank(world.design, world.rival)}
    metrics = world.safe_metrics(*tables.values())[:2]
    verdict = tr.compare(
        tables, metrics, n_boot=100, bounds=len(world.users) < 200,
        population=world.plan.population,
    )  # fmt: skip
    hold(verdict.sentence.endswith("."), f"no sentence: {verdict.sentence!r}")
    hold(len(verdict.to_frame()) == len(verdict.comparisons), "the frame lacks rows")
    json.loads(verdict.to_json())
    hold(verdict.to_markdown() and verdict.to_latex(), "no tables")
    for row in verdict.comparisons:
        hold(0 <= row.p_value <= row.p_adjusted <= 1, f"p {row.p_value}, {row.p_adjusted}")
        hold(abs(row.difference) <= 1 + SLACK, f"difference {row.difference}")
        ordered = -1 - SLACK <= row.low <= row.high <= 1 + SLACK
        few = row.n_users <= FEWEST and math.isnan(row.low) and math.isnan(row.high)
        said = f"interval of the difference {row.low} to {row.high}, {row.n_users} users"
        hold(ordered or few, said)


def no_model_beats_itself(world: World) -> None:
    """The same table twice is never better than itself."""
    tables = {"a": world.table, "b": world.table}
    metrics = world.safe_metrics(world.table)[:1]
    verdict = tr.compare(
        tables, metrics, n_boot=100, bounds=False, population=world.plan.population
    )
    for row in verdict.comparisons:
        hold(row.difference == 0, f"{row.metric}: differs from itself by {row.difference}")
        hold(not row.significant, f"{row.metric}: better than itself, p = {row.p_value}")


def users_all_has_the_verdict_of_full(world: World) -> None:
    """compare() says the same of Full() and of Users(m = all), whose metric it may be."""
    metric = world.safe_metrics(world.full)[0]
    verdicts = []
    for design in (tr.Full(), tr.Users(world.n_held_out_users)):
        tables = {"a": world.rank(design), "b": world.rank(design, world.rival)}
        verdicts.append(tr.compare(tables, metric, n_boot=100, population=world.plan.population))
    full, all_users = (verdict.comparisons[0] for verdict in verdicts)
    for name in ("difference", "std_error", "low", "high", "p_value", "significant"):
        a, b = getattr(full, name), getattr(all_users, name)
        same = a == b or (math.isnan(a) and math.isnan(b))
        hold(same, f"{name} of the difference: {a} by Full(), {b} by Users(m = all)")
    same = verdicts[0].sentence == verdicts[1].sentence
    hold(same, f"{verdicts[0].sentence!r} by Full(), {verdicts[1].sentence!r} by Users(m = all)")
