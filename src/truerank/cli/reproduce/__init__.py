"""``truerank reproduce``: the measurements behind the claims, on your data or public ones."""

from __future__ import annotations

import typer

from truerank.cli.options import examples
from truerank.cli.reproduce.accuracy import accuracy
from truerank.cli.reproduce.cost_curve import cost_curve_command
from truerank.cli.reproduce.coverage import coverage

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
