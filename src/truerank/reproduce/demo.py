"""The demonstration: five models, the truth, and what four cheaper evaluations make of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from truerank.comparison import Verdict, compare
from truerank.data import load_dataset
from truerank.estimators import Estimate, Sample, estimate
from truerank.estimators import prepare as prepare_ranks
from truerank.estimators.summary_text import format_estimate
from truerank.files import readable_errors
from truerank.models import EASE, IALS, SLIM, ItemKNN, Popularity
from truerank.ranking import Adaptive, Design, Full, RankTable, Sampled, Users, rank
from truerank.split import Split, leave_one_out

METRICS = ("recall@10", "ndcg@10")

MODELS: dict[str, Any] = {
    "popularity": Popularity(),
    "item-kNN": ItemKNN(k=20),
    "iALS": IALS(dim=32, epochs=10),
    "EASE": EASE(l2=200.0),
    "SLIM": SLIM(l1=1.0, l2=20.0),
}

USERS_SHARE = 0.15
"""Part of the users that the user-sampled evaluation ranks: about the cost of Adaptive()."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One way to evaluate: a design and a method.

    Attributes:
        name: For tables.
        design: Key of the design; evaluations with the same key share one ranking.
        method: Of the estimates.
    """

    name: str
    design: str
    method: str


EVALUATIONS = (
    Evaluation(name="full", design="full", method="exact"),
    Evaluation(name="naive, n = 100", design="sampled", method="naive"),
    Evaluation(name="corrected, n = 100", design="sampled", method="auto"),
    Evaluation(name="adaptive", design="adaptive", method="auto"),
    Evaluation(name="some users", design="users", method="exact"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Showcase:
    """All that the demonstration found.

    Attributes:
        estimates: ``estimates[evaluation][model][metric]``.
        tables: ``tables[design][model]``.
        seconds: What ranking all models took, by design.
        verdict: The comparison by the adaptive design.
    """

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
        rows = [
            [model, *(_cell(e, self.estimates[e.name][model][metric]) for e in EVALUATIONS)]
            for model in self.estimates["full"]
        ]
        rows += [
            ["scored per user", *(f"{self.scored_per_user(e):,.0f}" for e in EVALUATIONS)],
            ["seconds", *(f"{self.seconds[e.design]:.2f}" for e in EVALUATIONS)],
            ["mean error", "—", *(f"{self.error(e, metric):.1%}" for e in EVALUATIONS[1:])],
            ["wrong pairs", "—", *(str(self.wrong_pairs(e, metric)) for e in EVALUATIONS[1:])],
            ["winner", *(self.winner(e, metric) for e in EVALUATIONS)],
        ]
        return [metric, *(e.name for e in EVALUATIONS)], rows

    @property
    def extrapolated(self) -> bool:
        """Whether a number of the tables is."""
        rows = (row for models in self.estimates.values() for row in models.values())
        return any(e.diagnostics.blind for row in rows for e in row.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "evaluations": {
                e.name: {
                    "scored_per_user": self.scored_per_user(e),
                    "seconds": self.seconds[e.design],
                    "error": {
                        metric: self.error(e, metric) for metric in METRICS
                    },
                    "wrong_pairs": {metric: self.wrong_pairs(e, metric) for metric in METRICS},
                    "winner": {metric: self.winner(e, metric) for metric in METRICS},
                    "estimates": {
                        model: {metric: found.to_dict() for metric, found in row.items()}
                        for model, row in self.estimates[e.name].items()
                    },
                }
                for e in EVALUATIONS
            },
            "verdict": self.verdict.to_dict(),
        }  # fmt: skip


def prepare(seed: int) -> Split:
    """The embedded data, the latest item of every user held out."""
    return leave_one_out(load_dataset("demo", seed=seed), by="latest", seed=seed)


def designs(split: Split) -> dict[str, Design]:
    """The four designs; how many users are sampled depends on how many there are."""
    held_out = len(np.unique(split.held_out.users))
    return {
        "full": Full(),
        "sampled": Sampled(n=100),
        "adaptive": Adaptive(),
        "users": Users(m=max(1, round(USERS_SHARE * held_out)), inner=Full()),
    }


def run_demo(split: Split, *, seed: int = 0, step: Callable[[], None] = lambda: None) -> Showcase:
    """Fit, rank and estimate; ``step`` is called once per model, and once for the verdict."""
    tables: dict[str, dict[str, RankTable]] = {name: {} for name in designs(split)}
    seconds = dict.fromkeys(tables, 0.0)
    for model, unfitted in MODELS.items():
        fitted = unfitted.fit(split.train)
        for name, design in designs(split).items():
            start = time.perf_counter()
            tables[name][model] = rank(fitted, split, design, seed=seed, progress=False)
            seconds[name] += time.perf_counter() - start
        step()
    samples = {
        name: {model: prepare_ranks(table) for model, table in row.items()}
        for name, row in tables.items()
    }
    estimates = {
        e.name: {model: _estimates(sample, e, seed) for model, sample in samples[e.design].items()}
        for e in EVALUATIONS
    }
    verdict = compare(samples["adaptive"], METRICS, seed=seed, progress=False)
    for model, row in estimates["adaptive"].items():  # looked at once, by the verdict
        for metric, found in row.items():
            seen = verdict.estimates[model][metric].diagnostics
            row[metric] = replace(found, diagnostics=seen)
    step()
    return Showcase(estimates=estimates, tables=tables, seconds=seconds, verdict=verdict)


def make_folder(folder: Path) -> None:
    """Before anything is computed: a folder that cannot be made costs nobody a minute."""
    with readable_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)


def write_results(found: Showcase, folder: Path, *, force: bool = True) -> Path:
    """Every rank table as Parquet and the report as HTML; the path of the report."""
    make_folder(folder)
    for design, row in found.tables.items():
        for model, table in row.items():
            table.to_parquet(folder / f"{_slug(model)}-{design}.parquet", force=force)
    return found.verdict.to_html(folder / "report.html", force=force)


def _estimates(sample: Sample, evaluation: Evaluation, seed: int) -> dict[str, Estimate]:
    bounds = evaluation.name == "corrected, n = 100"
    found = estimate(sample, list(METRICS), evaluation.method, seed=seed, bounds=bounds)
    return {e.metric: e for e in found}


def _cell(evaluation: Evaluation, e: Estimate) -> str:
    if evaluation.name == "full":  # the truth of these users
        return f"{e.value:.4f}"
    return format_estimate(e)


def _slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())
