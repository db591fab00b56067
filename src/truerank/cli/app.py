"""The application and its verbs."""

from __future__ import annotations

from typing import Annotated

import typer

from truerank.cli import data, demo, reproduce

app = typer.Typer(
    name="truerank",
    help="What a recommender's top-K metrics really are, without ranking everything.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("demo")(demo.demo)
app.add_typer(data.app, name="data")
app.add_typer(reproduce.app, name="reproduce")


def _version(wanted: bool) -> None:
    if wanted:
        from truerank.version import __version__

        typer.echo(f"truerank {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What a recommender's top-K metrics really are, without ranking everything."""
