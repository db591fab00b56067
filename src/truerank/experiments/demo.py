"""The demonstration: embedded data, two models, three ways to rank them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from truerank.data import load_dataset
from truerank.files import readable_errors, written_whole
from truerank.models import ItemKNN, Popularity
from truerank.ranking import Adaptive, Design, Full, RankTable, Sampled, rank
from truerank.split import Split, leave_one_out

METRICS = ("recall@10", "ndcg@10")

DESIGNS: dict[str, Design] = {
    "full": Full(),
    "sampled, n = 100": Sampled(n=100),
    "adaptive": Adaptive(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRow:
    """One line of the table: a model under a design.

    ``naive`` holds each metric computed on the ranks as they are: the truth under the full
    design, and something else under any other.
    """

    model: str
    design: str
    scored_per_user: float
    seconds: float
    exact_ranks: float
    naive: dict[str, float]
    ranks: RankTable

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "model": self.model,
            "design": self.design,
            "scored_per_user": self.scored_per_user,
            "seconds": self.seconds,
            "exact_ranks": self.exact_ranks,
            **self.naive,
        }


def prepare(seed: int) -> Split:
    """The embedded data, the latest item of every user held out."""
    return leave_one_out(load_dataset("demo", seed=seed), by="latest", seed=seed)


def run_demo(split: Split, *, seed: int = 0) -> Iterator[DemoRow]:
    """Fit, rank and measure; a row at a time, so that it can be shown as it grows."""
    for model in (Popularity(), ItemKNN(k=50)):
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
                    metric: float(np.mean(ranks.per_row(metric, naive=True)))
                    for metric in METRICS
                },
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
    heads = ("model", "design", "items scored per user", "seconds", *METRICS)
    lines = [
        "# truerank demo",
        "",
        str(split.train.summary()),
        "",
        "| " + " | ".join(heads) + " |",
        "|" + "---|" * len(heads),
    ]
    for row in rows:
        values = " | ".join(f"{value:.4f}" for value in row.naive.values())
        lines.append(
            f"| {row.model} | {row.design} | {row.scored_per_user:,.0f} | {row.seconds:.2f} "
            f"| {values} |"
        )
    lines += [
        "",
        "Under the full design the metrics are those of the catalogue. Under the others they are",
        "what the sampled ranks say on their face, which is not the same thing.",
        "",
    ]
    return "\n".join(lines)
