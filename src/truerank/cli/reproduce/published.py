"""``truerank reproduce published``: published numbers of models, reproduced."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truerank.cli.config import Config
from truerank.cli.options import Force
from truerank.cli.output import print_json, print_table, remark
from truerank.cli.reproduce.options import AsJson
from truerank.cli.reproduce.pairs import report_file, write_report

if TYPE_CHECKING:
    from truerank.reproduce.published_models import Found


def published_command(
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data", metavar="NAME", help="gowalla, yelp2018 or ml-1m-ncf; may be repeated."
        ),
    ] = None,
    row: Annotated[
        list[str] | None,
        typer.Option(
            "--row", metavar="NAME", help="A row of the table, such as EASE; may be repeated."
        ),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder that keeps finished rows.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for published.json.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    config: Config = None,  # noqa: ARG001  # read by the parser
) -> None:
    """Fit models with published settings on published splits, and compare with printed values."""
    from truerank.execution import Progress
    from truerank.reproduce.published_models import run, wanted_rows

    path = report_file(out, "published.json", force=force)
    rows = wanted_rows(data, row)
    found = []
    with Progress("fitting and ranking", total=len(rows)) as bar:
        for one in rows:
            found.append(run(one, cache))
            bar.advance()
    report = {"rows": [line.to_dict() for line in found]}
    write_report(path, report)
    if as_json:
        print_json(report)
        return
    _print(found)


def _print(found: list[Found]) -> None:
    print_table(
        ("data", "model", "source", "metric", "published", "here", "difference",
         "se, future users", "reached", "fit s"),
        [
            (
                line.row.data, line.row.name, line.row.source, metric, f"{there:.6g}",
                f"{here:.6f}", f"{here - there:+.6f}", f"{error:.4f}",
                "yes" if line.reached else "no", f"{line.seconds:,.0f}",
            )
            for line in found
            for metric, there, here, error in zip(
                line.metrics, line.row.published, line.means, line.std_errors, strict=True
            )
        ],
        left=4,
    )  # fmt: skip
    for line in found:
        settings = ", ".join(f"{k} {v}" for k, v in line.row.parameters.items())
        runs = "" if line.row.seeds is None else f"; mean of {len(line.row.seeds)} seeds"
        note = f"; {line.row.note}" if line.row.note else ""
        remark(f"{line.row.data}, {line.row.name}: {settings}{runs}{note}.")
