"""``truerank reproduce linear``: the dissertation's table of linear models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truerank.cli.config import Config
from truerank.cli.options import Force
from truerank.cli.output import print_json, print_table, remark
from truerank.cli.reproduce.options import AsJson
from truerank.cli.reproduce.pairs import report_file, write_report


def linear(
    data: Annotated[
        str, typer.Option(metavar="NAME", help="ml-1m, ml-20m, netflix or msd.")
    ] = "ml-1m",
    generated: Annotated[
        float | None,
        typer.Option(
            metavar="FLOAT",
            help="Generate data of the set's shape instead, with this share of its users and "
            "items: above 0 and at most 1.",
        ),
    ] = None,
    row: Annotated[
        list[str] | None,
        typer.Option("--row", metavar="NAME", help="A row such as EASE; may be repeated."),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder that keeps finished rows.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for linear.json.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    config: Config = None,  # noqa: ARG001  # read by the parser
) -> None:
    """Fit linear models and the models learned around them for new users, and test the claims."""
    from truerank.execution import Progress
    from truerank.reproduce.claims import answers
    from truerank.reproduce.linear_recipe import linear_recipe
    from truerank.reproduce.linear_table import LinearTable

    path = report_file(out, "linear.json", force=force)
    recipe, interactions = linear_recipe(), None
    for name in row or []:
        recipe.row(name)  # a mistake is seen before the work starts
    if generated is not None:
        recipe, interactions = recipe.generated(data, generated)
    table = LinearTable(data, recipe=recipe, interactions=interactions, cache=cache)
    with Progress("rows of the table", total=len(row or recipe.rows)) as bar:
        lines = list(table.lines(row, step=lambda _: bar.advance()))
    found = answers(recipe, lines)
    said = data if generated is None else f"generated data, {generated:g} of the shape of {data}"
    report = {
        "data": said,
        "population": "infinite",  # standard errors are for future users
        "rows": [
            {
                "name": line.row.name,
                "setting": line.setting,
                "tried": line.tried,
                "values": {metric: line.value(metric) for metric in recipe.metrics},
                "published": line.row.published,
            }
            for line in lines
        ],
        "answers": [answer.to_dict() for answer in found],
    }
    write_report(path, report)
    if as_json:
        print_json(report)
        return
    print_table(
        ("model", *recipe.metrics),
        [
            (line.row.name, *("{:.4f} ± {:.4f}".format(*line.value(m)) for m in recipe.metrics))
            for line in lines
        ],
    )
    print_table(
        ("claim", "found", "difference ± se, future users", "p (Holm)"),
        [
            (a.question.claim, a.words, f"{a.difference:+.4f} ± {a.std_error:.4f}",
             f"{a.p_adjusted:.2g}")
            for a in found
            if a.metric == recipe.select_by
        ],
        left=2,
    )  # fmt: skip
    remark(
        f"{said}; settings chosen and claims tested by {recipe.select_by}; ± standard errors for "
        "future users, of whom the test users are a sample."
    )
