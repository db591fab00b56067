"""``truerank demo``: the main job on embedded data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truerank.cli.output import print_json, print_table, remark


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and rank tables.")] = Path(
        "demo-output"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Seed of data, split and samples.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Embedded data, three models, ranked in full, by a sample, and adaptively.

    Example:  truerank demo --out demo-output
    """
    from truerank.execution import Progress
    from truerank.experiments.demo import DESIGNS, HEADS, MODELS, prepare, run_demo, write_report

    split = prepare(seed)
    remark(str(split.train.summary()))
    rows = []
    with Progress("fitting and ranking", total=len(MODELS) * len(DESIGNS)) as bar:
        for row in run_demo(split, seed=seed):
            rows.append(row)
            bar.advance()
    report = write_report(rows, split, out)
    if as_json:
        print_json({"rows": [row.to_dict() for row in rows], "report": str(report)})
        return
    print_table(HEADS, [row.cells() for row in rows], left=2)
    remark("naive: the metric on the ranks as they are; estimated: the metric of the catalogue.")
    remark(f"Report: {report}")
