"""The demonstration: models, the truth, and what cheaper evaluations make of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from truerank.comparison import Verdict, compare
from truerank.estimators import Estimate, Sample, estimate
from truerank.estimators import prepare as prepare_ranks
from truerank.estimators.summary_text import format_estimate
from truerank.files import readable_errors
from truerank.ranking import RankTable, Users
from truerank.reproduce.demo_worlds import Evaluation, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Showcase:
    """All that the demonstration found in a world.

    Attributes:
        world: The world.
        estimates: ``estimates[evaluation][model][metric]``.
        tables: ``tables[design][model]``.
        seconds: What ranking all models took, by design.
        verdict: The comparison by the screened ranks.
    """

    world: World
    estimates: dict[str, dict[str, dict[str, Estimate]]]
    tables: dict[str, dict[str, RankTable]]
    seconds: dict[str, float]
    verdict: Verdict

    def scored_per_user(self, evaluation: Evaluation) -> float:
        """Items scored per user of the population, over the models."""
        tables = self.tables[evaluation.design].values()
        everybody = next(iter(self.tables["full"].values())).n_users
        return float(np.mean([table.n_scored.sum() / everybody for table in tables]))

    def error(self, evaluation: Evaluation, metric: str) -> float:
        """Mean relative error against the full ranking, over the models."""
        truth, found = self.estimates["full"], self.estimates[evaluation.name]
        ratios = [found[m][metric].value / truth[m][metric].value - 1 for m in truth]
        return float(np.mean(np.abs(ratios)))

    def winner(self, evaluation: Evaluation, metric: str) -> str:
        """The model with the largest value."""
        found = self.estimates[evaluation.name]
        return max(found, key=lambda model: found[model][metric].value)

    def wrong_pairs(self, evaluation: Evaluation, metric: str) -> int:
        """Pairs of models that come out in the other order than under the full ranking."""
        truth, found = self.estimates["full"], self.estimates[evaluation.name]

        def gap(values: dict[str, dict[str, Estimate]], pair: tuple[str, str]) -> float:
            return values[pair[0]][metric].value - values[pair[1]][metric].value

        return sum(gap(truth, pair) * gap(found, pair) < 0 for pair in combinations(truth, 2))

    def table(self, metric: str) -> tuple[list[str], list[list[str]]]:
        """Heads and rows: models by evaluations, then cost, error and winner."""
        ways = self.world.evaluations
        rows = [
            [model, *(_cell(e, self.estimates[e.name][model][metric]) for e in ways)]
            for model in self.estimates["full"]
        ]
        rows += [
            ["scored per user", *(f"{self.scored_per_user(e):,.0f}" for e in ways)],
            ["seconds", *(f"{self.seconds[e.design]:.2f}" for e in ways)],
            ["mean error", "—", *(f"{self.error(e, metric):.1%}" for e in ways[1:])],
            ["wrong pairs", "—", *(str(self.wrong_pairs(e, metric)) for e in ways[1:])],
            ["winner", *(self.winner(e, metric) for e in ways)],
        ]
        return [metric, *(e.name for e in ways)], rows

    @property
    def extrapolated(self) -> bool:
        """Whether a number of the tables is."""
        rows = (row for models in self.estimates.values() for row in models.values())
        return any(e.diagnostics.blind for row in rows for e in row.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        metrics = self.world.metrics
        return {
            "evaluations": {
                e.name: {
                    "scored_per_user": self.scored_per_user(e),
                    "seconds": self.seconds[e.design],
                    "error": {metric: self.error(e, metric) for metric in metrics},
                    "wrong_pairs": {metric: self.wrong_pairs(e, metric) for metric in metrics},
                    "winner": {metric: self.winner(e, metric) for metric in metrics},
                    "estimates": {
                        model: {metric: found.to_dict() for metric, found in row.items()}
                        for model, row in self.estimates[e.name].items()
                    },
                }
                for e in self.world.evaluations
            },
            "verdict": self.verdict.to_dict(),
        }


def run_demo(world: World, *, seed: int = 0, step: Callable[[], None] = lambda: None) -> Showcase:
    """Rank and estimate; ``step`` is called once per model, and once for the verdict."""
    tables: dict[str, dict[str, RankTable]] = {name: {} for name in world.designs}
    seconds = dict.fromkeys(tables, 0.0)
    for model, made in world.models.items():
        ranked_by = made()
        for name, design in world.designs.items():
            if not isinstance(design, Users):  # what is loaded or compiled once is not timed
                ranked_by(Users(m=10, inner=design))
            start = time.perf_counter()
            tables[name][model] = ranked_by(design)
            seconds[name] += time.perf_counter() - start
        step()
    samples = {
        name: {model: prepare_ranks(table) for model, table in row.items()}
        for name, row in tables.items()
    }
    estimates = {
        e.name: {
            model: _estimates(sample, e, world.metrics, seed)
            for model, sample in samples[e.design].items()
        }
        for e in world.evaluations
    }
    verdict = compare(samples["screened"], world.metrics, seed=seed, progress=False)
    for model, row in estimates["screened"].items():  # looked at once, by the verdict
        for metric, found in row.items():
            seen = verdict.estimates[model][metric].diagnostics
            row[metric] = replace(found, diagnostics=seen)
    step()
    return Showcase(
        world=world, estimates=estimates, tables=tables, seconds=seconds, verdict=verdict
    )


def make_folder(folder: Path) -> None:
    """Before anything is computed: a folder that cannot be made costs nobody a minute."""
    with readable_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)


def write_tables(found: Showcase, folder: Path) -> None:
    """Every rank table as Parquet."""
    make_folder(folder)
    for design, row in found.tables.items():
        for model, table in row.items():
            file = folder / f"{found.world.prefix}{_slug(model)}-{design}.parquet"
            table.to_parquet(file, force=True)


def write_report(found: Showcase, folder: Path) -> Path:
    """The verdict as HTML; the path of the report."""
    make_folder(folder)
    return found.verdict.to_html(folder / "report.html", force=True)


def _estimates(
    sample: Sample, evaluation: Evaluation, metrics: tuple[str, ...], seed: int
) -> dict[str, Estimate]:
    bounds = evaluation.name.startswith("corrected")
    found = estimate(sample, list(metrics), evaluation.method, seed=seed, bounds=bounds)
    return {e.metric: e for e in found}


def _cell(evaluation: Evaluation, e: Estimate) -> str:
    if evaluation.name == "full":  # the truth of these users
        return f"{e.value:.4f}"
    if evaluation.name == "screened" and e.diagnostics.bounds is not None:  # for sure, of the same
        return "{:.4f} to {:.4f}".format(*e.diagnostics.bounds)
    return format_estimate(e)


def _slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())
