"""``truerank reproduce``: the measurements behind the claims, on your data or public ones."""

from __future__ import annotations

import typer

from truerank.cli.options import examples
from truerank.cli.reproduce.accuracy import accuracy
from truerank.cli.reproduce.cost_curve import cost_curve_command
from truerank.cli.reproduce.coverage import coverage
from truerank.cli.reproduce.linear import linear
from truerank.cli.reproduce.losses import losses
from truerank.cli.reproduce.published import published_command

app = typer.Typer(no_args_is_help=True, help="Measure what the documentation claims.")
app.command(epilog=examples("truerank reproduce accuracy --data ml-1m --model ease --repeats 10"))(
    accuracy
)
app.command(
    epilog=examples("truerank reproduce coverage --data ml-1m --model item-knn --repeats 40")
)(coverage)
app.command(
    "cost-curve",
    epilog=examples("truerank reproduce cost-curve --data ml-1m --model ease --out cost.png"),
)(cost_curve_command)
app.command(
    epilog=examples(
        "truerank reproduce linear --data ml-1m --cache rows",
        "truerank reproduce linear --data msd --generated 0.02",
    )
)(linear)
app.command(
    "published",
    epilog=examples("truerank reproduce published --data gowalla --row ItemKNN --cache rows"),
)(published_command)
app.command(
    epilog=examples(
        "truerank reproduce losses --data gowalla --row MINE+ --cache trainings",
        "truerank reproduce losses --curve temperature --cache trainings --out figures",
    )
)(losses)
