"""Print the tables of docs/planning.md: predicted against observed errors on real models.

    python docs/planning.py --data ml-1m --model ease-1500 --model als-32

Exact ranks are computed once and kept in a folder (``--cache``).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from truerank.execution import Progress
from truerank.experiments.exact_ranks import exact_ranks, found_data_sets
from truerank.experiments.planning import TRIED, PlanCheck, validate_plan

HEADS = ("data, model", "design", "predicted", "observed", "its bias", "ratio")


def main() -> None:
    """Validate, and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", action="append", help="data sets; those found if not given")
    parser.add_argument("--model", action="append", help="models; item-knn-200 if not given")
    parser.add_argument("--metric", default="recall@10")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--pilot", type=int, default=2_000, help="users; 0 for no pilot")
    parser.add_argument("--cache", type=Path, help="folder of exact ranks")
    given = parser.parse_args()
    lines: list[PlanCheck] = []
    for data in given.data or found_data_sets():
        for pair in exact_ranks(data, given.model or ["item-knn-200"], cache=given.cache):
            total = (2 * len(TRIED) + 1) * given.repeats
            with Progress(f"{data}, {pair.model}", total=total) as bar:
                lines += validate_plan(
                    pair,
                    given.metric,
                    pilot_users=given.pilot or None,
                    repeats=given.repeats,
                    step=bar.advance,
                )
    sys.stdout.write(markdown(lines))


def markdown(lines: list[PlanCheck]) -> str:
    """One table of all lines, and one of how often the prediction holds, by design."""
    rows = [
        (
            f"{line.data}, {line.model}",
            line.design,
            f"{line.predicted:.1%}",
            f"{line.observed:.1%}",
            f"{line.bias:+.1%}",
            f"{line.ratio:.2f}" if line.within else f"**{line.ratio:.2f}**",
        )
        for line in lines
    ]
    designs = list(dict.fromkeys(line.design for line in lines))
    summary = []
    for design in designs:
        own = [line for line in lines if line.design == design]
        ratios = np.array([line.ratio for line in own])
        summary.append(
            (
                design,
                f"{sum(line.within for line in own)} of {len(own)}",
                f"{np.exp(np.log(ratios).mean()):.2f}",
                f"{ratios.min():.2f} to {ratios.max():.2f}",
            )
        )
    heads = ("design", "within 1.5", "ratio, geometric mean", "from, to")
    return _table(heads, summary) + "\n" + _table(HEADS, rows)


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


if __name__ == "__main__":
    main()
