"""The application and its verbs."""

from __future__ import annotations

from typing import Annotated

import typer

from truerank.cli import compare, data, demo, doctor, estimate, fit, plan, rank, reproduce
from truerank.cli.config import Config
from truerank.cli.options import examples

app = typer.Typer(
    name="truerank",
    help="What a recommender's top-K metrics really are, without ranking everything.",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog=examples(
        "truerank demo",
        "truerank rank --data ml-1m --model ease --model popularity --design screened",
        "truerank compare ranks/ease.parquet ranks/popularity.parquet --html report.html",
    ),
)
app.command("demo")(demo.demo)
app.add_typer(data.app, name="data")
app.command("fit", epilog=examples(*fit.EXAMPLES))(fit.fit)
app.command("rank", epilog=examples(*rank.EXAMPLES))(rank.rank)
app.command("estimate", epilog=examples(*estimate.EXAMPLES))(estimate.estimate)
app.command("compare", epilog=examples(*compare.EXAMPLES))(compare.compare)
app.command("plan", epilog=examples(*plan.EXAMPLES))(plan.plan)
app.add_typer(reproduce.app, name="reproduce")
app.command("doctor", epilog=examples(*doctor.EXAMPLES))(doctor.doctor)


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
    config: Config = None,
) -> None:
    """What a recommender's top-K metrics really are, without ranking everything."""
