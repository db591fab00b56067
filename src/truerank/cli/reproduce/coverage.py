"""``truerank reproduce coverage``: how often intervals hold the truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truerank.cli.config import Config
from truerank.cli.options import Force
from truerank.cli.output import print_json, print_table, print_text, remark
from truerank.cli.reproduce.options import (
    AsJson,
    Cache,
    Candidates,
    Data,
    Designs,
    Methods,
    Models,
    Repeats,
    Seed,
)
from truerank.cli.reproduce.pairs import exact_pairs, measured, report_file, write_report

if TYPE_CHECKING:
    from truerank.reproduce.coverage import Coverage


def coverage(
    data: Data = None,
    model: Models = None,
    design: Designs = None,
    method: Methods = None,
    repeats: Repeats = 40,
    n_boot: Annotated[
        int, typer.Option(min=100, metavar="INT", help="Bootstrap resamples per interval.")
    ] = 200,
    seed: Seed = 0,
    candidates: Candidates = "all",
    cache: Cache = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for coverage.json.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    config: Config = None,  # noqa: ARG001  # read by the parser
) -> None:
    """Measure how often the 95 % intervals cover the truth, method by method."""
    from truerank.reproduce.accuracy import make_plan
    from truerank.reproduce.coverage import (
        DEFAULT_COVERAGE_PLAN,
        TARGETS,
        measure_coverage,
    )

    plan = make_plan(design or [], method or []) if design or method else DEFAULT_COVERAGE_PLAN
    path = report_file(out, "coverage.json", force=force)
    pairs = exact_pairs(data, model, candidates, cache)
    lines, refusals = measured(
        "measuring", pairs, plan, len(TARGETS) * repeats,
        lambda pair, step: measure_coverage(
            pair, plan, repeats=repeats, n_boot=n_boot, seed=seed, step=step
        ),
    )  # fmt: skip
    report = {
        "confidence": 0.95,
        "repeats": repeats,
        "n_boot": n_boot,
        "seed": seed,
        "candidates": candidates,
        "rows": [line.to_dict() for line in lines],
        "refusals": refusals,
    }
    write_report(path, report)
    for refusal in refusals:
        remark(refusal)
    if as_json:
        print_json(report)
        return
    _print_coverage(lines)
    noise = 100 * (0.95 * 0.05 / (repeats * len(pairs))) ** 0.5
    remark(
        f"Per cent of intervals that hold the truth, mean over {len(pairs)} pair(s), {repeats} "
        f"repeats each: a coverage of 95 has a standard error of {noise:.1f}."
    )


def _print_coverage(lines: Sequence[Coverage]) -> None:
    """Means over pairs, one table per truth."""
    from truerank.reproduce.coverage import TARGETS

    for target in TARGETS:
        chosen = [line for line in lines if line.target == target]
        keys = list(dict.fromkeys((line.design, line.method) for line in chosen))
        metrics = [name for name in chosen[0].covered if name.split("@")[1] in ("1", "10", "50")]
        rows = []
        for design, method in keys:
            group = [line for line in chosen if (line.design, line.method) == (design, method)]
            rows.append(
                (
                    design,
                    method,
                    _mean_percent([line.mean for line in group]),
                    *(
                        _mean_percent([line.covered[m] for line in group if m in line.covered])
                        for m in metrics
                    ),
                )
            )
        print_text(f"truth: the metric of {'the population' if target[0] == 'f' else 'these users'}"
                   f" ({target})")  # fmt: skip
        print_table(("design", "method", "all", *metrics), rows, left=2)


def _mean_percent(parts: list[float]) -> str:
    return f"{100 * sum(parts) / len(parts):.0f}"
