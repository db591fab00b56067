"""Print the tables of docs/planning.md: predicted against observed errors on real models.

    python docs/planning.py --data ml-1m --model ease-1500 --model als-32
    python docs/planning.py --data ml-1m --pilot full --pilot adaptive --pilot none

Several pilots are held against the same tables. Exact ranks are computed once and kept in a folder
(``--cache``).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from truerank.execution import Progress
from truerank.ranking import Users
from truerank.ranking.design_spec import parse_design
from truerank.ranking.designs import InnerDesign
from truerank.reproduce.exact_ranks import exact_ranks, found_data_sets
from truerank.reproduce.plan_validation import TRIED, PlanCheck, validate_plan

HEADS = ("data, model", "design", "predicted", "observed", "its bias", "ratio")


def main() -> None:
    """Validate, and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", action="append", help="data sets; those found if not given")
    parser.add_argument("--model", action="append", help="models; item-knn-200 if not given")
    parser.add_argument("--metric", default="recall@10")
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument(
        "--pilot", action="append", help='design of the pilot, "none" for no pilot; full'
    )
    parser.add_argument("--pilot-users", type=int, default=2_000)
    parser.add_argument("--cache", type=Path, help="folder of exact ranks")
    given = parser.parse_args()
    pilots = [_pilot(words) for words in given.pilot or ["full"]]
    lines: list[PlanCheck] = []
    for data in given.data or found_data_sets():
        for pair in exact_ranks(data, given.model or ["item-knn-200"], cache=given.cache):
            total = (2 * len(TRIED) + 1) * given.repeats
            with Progress(f"{data}, {pair.model}", total=total) as bar:
                lines += validate_plan(
                    pair,
                    given.metric,
                    pilots=pilots,
                    pilot_users=given.pilot_users,
                    repeats=given.repeats,
                    step=bar.advance,
                )
    sys.stdout.write(markdown(lines))


def _pilot(words: str) -> InnerDesign | None:
    if words == "none":
        return None
    design = parse_design(words)
    if isinstance(design, Users):
        sys.exit("--pilot is how each user is ranked; say how many by --pilot-users")
    return design


def markdown(lines: list[PlanCheck]) -> str:
    """For each source: how often the prediction holds, the same by design, and all lines."""
    sources = list(dict.fromkeys(line.source for line in lines))
    text = []
    for source in sources:
        own = [line for line in lines if line.source == source]
        designs = list(dict.fromkeys(line.design for line in own))
        summary = [_summary(d, [line for line in own if line.design == d]) for d in designs]
        rows = [
            (
                f"{line.data}, {line.model}",
                line.design,
                f"{line.predicted:.1%}",
                f"{line.observed:.1%}",
                f"{line.bias:+.1%}",
                f"{line.ratio:.2f}" if line.within else f"**{line.ratio:.2f}**",
            )
            for line in own
        ]
        heads = ("design", "within 1.5", "within 2", "too small", "geometric mean", "from, to")
        summary.append(_summary("all", own))
        text += [f"### {source}\n", _table(heads, summary), _table(HEADS, rows)]
    return "\n".join(text)


def _summary(name: str, lines: list[PlanCheck]) -> tuple[str, ...]:
    ratios = np.array([line.ratio for line in lines])
    return (
        name,
        f"{sum(line.within for line in lines)} of {len(lines)}",
        f"{np.sum((ratios >= 0.5) & (ratios <= 2.0))} of {len(lines)}",
        f"{sum(line.ratio < 1 and not line.within for line in lines)}",
        f"{np.exp(np.log(ratios).mean()):.2f}",
        f"{ratios.min():.2f} to {ratios.max():.2f}",
    )


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


if __name__ == "__main__":
    main()
