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
    """Run the whole job twice: on a small catalogue, and on one of 200,000 items.

    The truth by full ranking, and what cheaper evaluations make of it.

    Example:  truerank demo --out demo-output
    """
    from truerank.estimators.summary_text import MARK_NOTE
    from truerank.execution import Progress
    from truerank.reproduce.demo import make_folder, run_demo, write_results
    from truerank.reproduce.demo_worlds import embedded_split, large_world, small_world

    make_folder(out)
    split = embedded_split(seed)
    remark(str(split.train.summary()))
    worlds = {"small": small_world(split, seed=seed), "large": large_world(seed=seed)}
    found = {}
    total = sum(len(world.models) + 1 for world in worlds.values())
    with Progress("fitting, ranking, comparing", total=total) as bar:
        for name, world in worlds.items():
            found[name] = run_demo(world, seed=seed, step=bar.advance)
    reports = {name: write_results(one, out) for name, one in found.items()}
    if as_json:
        small, large = (
            {**one.to_dict(), "report": str(reports[name])} for name, one in found.items()
        )
        print_json({**small, "large": large})
        return
    for one in found.values():
        remark(one.world.about)
        print_table(*one.table(one.world.metrics[0]))
        remark(f"By the screened ranks: {one.verdict.sentence}")
        remark("")
    remark("full: every item ranked for every user, the truth of these users. naive: sampled ranks")
    remark("taken as they are. screened: bounds on the truth of these users, certified. The others:")
    remark("estimates ± standard errors for future users, of whom these are a sample.")
    if any(one.extrapolated for one in found.values()):
        remark(MARK_NOTE)
    remark("wrong pairs: how many pairs of models come out in the wrong order.")
    remark(f"Reports: {', '.join(str(report) for report in reports.values())}")
