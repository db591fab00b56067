"""``truerank data``: what data sets there are, and what is in them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from truerank.cli import options
from truerank.cli.output import print_json, print_table, print_text, remark

app = typer.Typer(no_args_is_help=True, help="Public data sets: list, describe, fetch.")


@app.command("list")
def list_sets(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """All known data sets and where they were found.

    Example:  truerank data list
    """
    from truerank.data.registry.load import available

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
    name: Annotated[
        str, typer.Argument(metavar="NAME|FILE", help="A data set by name, demo, or a file.")
    ],
    user_column: options.UserColumn = None,
    item_column: options.ItemColumn = None,
    time_column: options.TimeColumn = None,
    weight_column: options.WeightColumn = None,
    rating_column: options.RatingColumn = None,
    min_rating: options.MinRating = None,
    id_type: options.IdKind = None,
    duplicates: options.Duplicates = None,
    header: options.Header = True,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    as_json: options.AsJson = False,
) -> None:
    """Load a data set (fetching it if need be) or read a file, and summarise it.

    Example:  truerank data show demo
    """
    from truerank.cli.source import Source
    from truerank.data import load_dataset

    source = Source(data=name).but(
        user_column=user_column, item_column=item_column, time_column=time_column,
        weight_column=weight_column, rating_column=rating_column, min_rating=min_rating,
        id_type=id_type, duplicates=duplicates, header=header, delimiter=delimiter,
        encoding=encoding,
    )  # fmt: skip
    if not source.is_file and name != "demo":
        from truerank.data.registry.load import describe

        remark(f"licence: {describe(name).licence}")
    asked = source.to_dict().keys() - {"data", "split"}
    data = source.interactions if source.is_file or asked else load_dataset(name)
    summary = data.summary()
    if as_json:
        print_json(summary.to_dict())
    else:
        print_text(str(summary))
    if source.columns:
        remark(f"columns: {source.columns}")
