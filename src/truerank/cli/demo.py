"""``truerank demo``: the main job on embedded data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truerank.cli.output import print_json, print_table, remark


def demo(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the report and the tables of ranks.")
    ] = Path("demo-output"),
    seed: Annotated[int, typer.Option(min=0, metavar="INT", help="Random seed.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run the whole job on generated data: five models, the truth, and cheaper evaluations of it.

    Example:  truerank demo --out demo-output
    """
    from truerank.estimators.summary_text import MARK_NOTE
    from truerank.execution import Progress
    from truerank.reproduce.demo import (
        METRICS,
        MODELS,
        make_folder,
        prepare,
        run_demo,
        write_results,
    )

    make_folder(out)
    split = prepare(seed)
    remark(str(split.train.summary()))
    with Progress("fitting, ranking, comparing", total=len(MODELS) + 1) as bar:
        found = run_demo(split, seed=seed, step=bar.advance)
    report = write_results(found, out)
    if as_json:
        print_json({**found.to_dict(), "report": str(report)})
        return
    for metric in METRICS:
        heads, rows = found.table(metric)
        print_table(heads, rows)
    if found.extrapolated:
        remark(MARK_NOTE)
    remark("full: every item ranked for every user, the truth. naive: the sampled ranks taken as")
    remark("they are. The others are estimates of the truth, ± standard errors for future users,")
    remark("of whom these are a sample.")
    remark("wrong pairs: of 10 pairs of models, how many come out in the wrong order.")
    remark("")
    remark(f"By the adaptive ranks: {found.verdict.sentence}")
    remark(f"Report: {report}")
