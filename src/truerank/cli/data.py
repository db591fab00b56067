"""``truerank data``: what data sets there are, and what is in them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from truerank.cli.output import print_json, print_table, remark

app = typer.Typer(no_args_is_help=True, help="Public data sets: list, describe, fetch.")


@app.command("list")
def list_sets(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """All known data sets and where they were found.

    Example:  truerank data list
    """
    from truerank.data.registry import available

    rows = available()
    if as_json:
        print_json([{**asdict(row), "path": row.path and str(row.path)} for row in rows])
        return
    print_table(
        ("name", "where", "title", "licence"),
        [(row.name, row.where, row.title, row.licence) for row in rows],
        left=4,
    )


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Name of a data set, or demo.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Load a data set (fetching it if need be) and summarise it.

    Example:  truerank data show demo
    """
    from truerank.data import load_dataset

    if name != "demo":
        from truerank.data.registry import describe

        remark(f"licence: {describe(name).licence}")
    summary = load_dataset(name).summary()
    if as_json:
        print_json(summary.to_dict())
    else:
        typer.echo(str(summary))
