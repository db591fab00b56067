"""The demonstration: embedded data, three models, three ways to rank them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from truerank.data import load_dataset
from truerank.estimators import Estimate, estimate
from truerank.files import readable_errors, written_whole
from truerank.models import EASE, ItemKNN, Popularity
from truerank.ranking import Adaptive, Design, Full, RankTable, Sampled, rank
from truerank.split import Split, leave_one_out

METRICS = ("recall@10", "ndcg@10")

DESIGNS: dict[str, Design] = {
    "full": Full(),
    "sampled, n = 100": Sampled(n=100),
    "adaptive": Adaptive(),
}


MODELS = (Popularity(), ItemKNN(k=50), EASE(l2=100.0))

HEADS = (
    "model",
    "design",
    "scored/user",
    "seconds",
    *(head for metric in METRICS for head in (f"{metric} naive", "estimated")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRow:
    """One line of the table: a model under a design.

    ``naive`` holds each metric computed on the ranks as they are: the truth under the full
    design, and something else under any other. ``estimates`` are what the catalogue's metrics
    really are, as far as these ranks can tell.
    """

    model: str
    design: str
    scored_per_user: float
    seconds: float
    exact_ranks: float
    naive: dict[str, float]
    estimates: dict[str, Estimate]
    ranks: RankTable

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "model": self.model,
            "design": self.design,
            "scored_per_user": self.scored_per_user,
            "seconds": self.seconds,
            "exact_ranks": self.exact_ranks,
            "naive": self.naive,
            "estimates": {name: e.to_dict() for name, e in self.estimates.items()},
        }

    def cells(self) -> list[str]:
        """The line as text."""
        numbers = [
            text
            for metric in METRICS
            for text in (
                f"{self.naive[metric]:.4f}",
                f"{self.estimates[metric].value:.4f} ± {self.estimates[metric].std_error:.4f}",
            )
        ]
        return [
            self.model,
            self.design,
            f"{self.scored_per_user:,.0f}",
            f"{self.seconds:.2f}",
            *numbers,
        ]


def prepare(seed: int) -> Split:
    """The embedded data, the latest item of every user held out."""
    return leave_one_out(load_dataset("demo", seed=seed), by="latest", seed=seed)


def run_demo(split: Split, *, seed: int = 0) -> Iterator[DemoRow]:
    """Fit, rank and measure; a row at a time, so that it can be shown as it grows."""
    for model in MODELS:
        fitted = model.fit(split.train)
        for name, design in DESIGNS.items():
            start = time.perf_counter()
            ranks = rank(fitted, split, design, seed=seed)
            seconds = time.perf_counter() - start
            yield DemoRow(
                model=type(model).__name__,
                design=name,
                scored_per_user=float(ranks.n_scored.mean()),
                seconds=seconds,
                exact_ranks=float(ranks.is_exact.mean()),
                naive={
                    metric: float(np.mean(ranks.per_row(metric, naive=True))) for metric in METRICS
                },
                estimates=dict(
                    zip(METRICS, estimate(ranks, METRICS, seed=seed, bounds=False), strict=True)
                ),
                ranks=ranks,
            )


def write_report(rows: list[DemoRow], split: Split, folder: Path) -> Path:
    """The table as Markdown and every rank table as Parquet; the path of the report."""
    with readable_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for row in rows:
        slug = f"{row.model}-{row.design.split(',')[0]}".lower()
        row.ranks.to_parquet(folder / f"{slug}.parquet")
    report = folder / "report.md"
    with written_whole(report) as temporary:
        temporary.write_text(markdown(rows, split), encoding="utf-8")
    return report


def markdown(rows: list[DemoRow], split: Split) -> str:
    """The report of the demonstration."""
    lines = [
        "# truerank demo",
        "",
        "    " + str(split.train.summary()).replace("\n", "\n    "),
        "",
        "| " + " | ".join(HEADS) + " |",
        "|" + "---|" * len(HEADS),
        *("| " + " | ".join(row.cells()) + " |" for row in rows),
        "",
        "*naive*: the metric on the ranks as they are, right under the full design only.",
        "*estimated*: the metric of the catalogue, with its standard error.",
        "",
    ]
    return "\n".join(lines)
