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
    from truerank.reproduce.demo import make_folder, run_demo, write_report, write_tables
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
    for one in found.values():
        write_tables(one, out)
    report = write_report(found["small"], out)
    if as_json:
        large = found["large"].to_dict()
        print_json({**found["small"].to_dict(), "large": large, "report": str(report)})
        return
    for one in found.values():
        remark(one.world.about)
        print_table(*one.table(one.world.metrics[0]))
        remark(f"By the screened ranks: {one.verdict.sentence}")
        remark("")
    remark("full: every item ranked for every user, the truth of these users. naive: the sampled")
    remark("ranks taken as they are. screened: between these values lies the truth of these users,")
    remark("certified. The others: estimates for future users ± standard errors.")
    if any(one.extrapolated for one in found.values()):
        remark(MARK_NOTE)
    remark("wrong pairs: how many pairs of models come out in the wrong order.")
    remark(f"Report of the small catalogue: {report}")
