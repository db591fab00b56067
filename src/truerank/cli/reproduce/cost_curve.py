"""``truerank reproduce cost-curve``: what one more resolved user costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truerank.cli.config import Config
from truerank.cli.options import Force
from truerank.cli.output import new_file, print_json, print_table, print_text, ready, remark
from truerank.cli.reproduce.options import AsJson, Cache, Candidates
from truerank.cli.reproduce.pairs import exact_pairs


def cost_curve_command(
    data: Annotated[str, typer.Option(metavar="NAME", help="Data set.")] = "demo",
    model: Annotated[
        str, typer.Option(metavar="NAME", help="Model, such as item-knn or als-45.")
    ] = "item-knn",
    ranks: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A table of ranks (Parquet) instead of --data and --model."
        ),
    ] = None,
    n0: Annotated[int, typer.Option(min=2, metavar="INT", help="First sample size.")] = 100,
    candidates: Candidates = "all",
    cache: Cache = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File for the figure: .png, .pdf or .svg.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Measure what each further user with an exact rank costs, and which n_max to choose."""
    from truerank.ranking import RankTable
    from truerank.report.figures import cost_curve_figure, figure_format, save_figure
    from truerank.reproduce.cost_curve import cost_curve

    if out is not None:
        figure_format(out)  # a mistake is seen before the work starts
        new_file(out, force=force, inputs=[ranks, config])
    if ranks is None:
        (pair,) = exact_pairs([data], [model], candidates, cache)
        table, title = pair.table, f"{pair.data}, {pair.model}"
    else:
        table, title = RankTable.from_parquet(ranks), ranks.name
    curve = cost_curve(table, n0=n0)
    if out is not None:
        figure = cost_curve_figure(
            curve.sizes, curve.cost, n_items=curve.n_items, n_max=curve.n_max, title=title
        )
        remark(f"figure: {save_figure(figure, ready(out))}")
    if as_json:
        print_json(curve.to_dict())
        return
    print_table(
        ("n", "first before %", "leave here %", "C: items per user resolved", "scored/user so far"),
        [
            (
                f"{n:,}",
                f"{100 * before:.2f}",
                f"{100 * leave:.2f}",
                f"{cost:,.0f}",
                f"{spent:,.0f}",
            )
            for n, before, leave, cost, spent in zip(
                curve.sizes, curve.first_before, curve.leave, curve.cost, curve.spent, strict=True
            )
        ],
    )
    for sentence in (f"{title}: {curve.source}.", *curve.advice):
        print_text(sentence)
