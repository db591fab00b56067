"""``truerank reproduce losses``: the dissertation's table of losses, its claims and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truerank.cli.config import Config
from truerank.cli.options import Force
from truerank.cli.output import new_file, print_json, print_table, ready, remark
from truerank.cli.reproduce.options import AsJson
from truerank.cli.reproduce.pairs import report_file, write_report
from truerank.errors import InvalidArgumentError

if TYPE_CHECKING:
    from truerank.reproduce.claims import Answer
    from truerank.reproduce.loss_recipe import LossRecipe
    from truerank.reproduce.loss_table import LossLine, LossTableRuns
    from truerank.reproduce.loss_trials import LossTrial


def losses(
    data: Annotated[
        str | None, typer.Option(metavar="NAME", help="gowalla (the default) or yelp2018.")
    ] = None,
    row: Annotated[
        list[str] | None,
        typer.Option("--row", metavar="NAME", help="A row such as MINE+; may be repeated."),
    ] = None,
    curve: Annotated[
        list[str] | None,
        typer.Option(
            "--curve",
            metavar="NAME",
            help="A figure instead of the table: negatives, positives, weight, temperature or "
            "sharing; may be repeated.",
        ),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder that keeps finished trainings.")
    ] = None,
    search: Annotated[
        bool,
        typer.Option(
            "--search", help="Search all settings again instead of using the recorded results."
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for losses.json and figures.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    config: Config = None,  # noqa: ARG001  # read by the parser
) -> None:
    """Train MF with every loss, each tuned on validation users, and test the claims.

    Every setting that was tried is in the recipe, and its result on the validation users in the
    record: the best one of each loss is trained on all training data and ranks the test users, in
    an hour on two cores. --search tries all of them again, which takes many hours.
    """
    from truerank.reproduce.loss_recipe import loss_recipe
    from truerank.reproduce.loss_table import LossTableRuns

    recipe = loss_recipe()
    chosen = [recipe.row(name) for name in row] if row else recipe.rows
    if curve:
        for option, value in (("--row", row[0] if row else None), ("--data", data)):
            if value is not None:
                raise InvalidArgumentError(
                    option, value, "left out with --curve, which has its own"
                )
        for name in curve:
            recipe.curve(name)  # a mistake is seen before the work starts
            if out is not None:
                new_file(out / f"{name}.png", force=force, inputs=())
        _draw(recipe, curve, cache, out, search=search, as_json=as_json)
        return
    path = report_file(out, "losses.json", force=force)
    table = LossTableRuns(data or "gowalla", cache=cache, known={} if search else None)
    report, lines, found = _table(table, [one.name for one in chosen])
    write_report(path, report)
    if as_json:
        print_json(report)
        return
    _print(recipe, table.data, lines, found)


def _table(
    table: LossTableRuns, names: list[str]
) -> tuple[dict[str, Any], list[LossLine], list[Answer]]:
    from truerank.execution import Progress
    from truerank.reproduce.claims import answers

    recipe = table.recipe
    rows = [recipe.row(name) for name in names]
    with Progress("trainings", total=sum(table.trainings(row) for row in rows)) as bar:
        lines = [table.line(row, bar.advance) for row in rows]
    found = answers(recipe, lines)
    report = {
        "data": table.data,
        "rows": [
            {
                "name": line.row.name,
                "setting": line.chosen.setting,
                "values": {metric: line.values(metric) for metric in recipe.metrics},
                "published": line.row.published.get(table.data),
                "tried": [_plain(trial) for trial in line.tried],
            }
            for line in lines
        ],
        "answers": [answer.to_dict() for answer in found],
    }
    return report, lines, found


def _print(recipe: LossRecipe, data: str, lines: list[LossLine], found: list[Answer]) -> None:
    from truerank.reproduce.loss_table import reached

    print_table(
        ("loss", *(f"{metric} ({who})" for metric in recipe.metrics for who in ("here", "printed")),
         "reached", "settings tried"),
        [
            (
                line.row.name,
                *_columns(recipe, data, line),
                "yes" if reached(line, data, recipe) else "no",
                f"{len(line.tried)}",
            )
            for line in lines
        ],
    )  # fmt: skip
    print_table(
        ("claim", "metric", "found", "difference ± se, future users", "p (Holm)"),
        [
            (a.question.claim, a.metric, a.words, f"{a.difference:+.4f} ± {a.std_error:.4f}",
             f"{a.p_adjusted:.2g}")
            for a in found
        ],
        left=3,
    )  # fmt: skip
    remark(
        f"{data}; mean of {len(recipe.seeds)} seeds ± half their range, settings chosen by "
        f"{recipe.select_by} on validation users and trained on everything; reached: at least "
        f"{1 - recipe.within:.0%} of the printed numbers."
    )


def _columns(recipe: LossRecipe, data: str, line: LossLine) -> list[str]:
    printed = line.row.published.get(data, [float("nan")] * len(recipe.metrics))
    columns = []
    for metric, there in zip(recipe.metrics, printed, strict=True):
        values = line.values(metric)
        spread = (max(values) - min(values)) / 2
        columns += [f"{sum(values) / len(values):.4f} ± {spread:.4f}", f"{there:.4f}"]
    return columns


def _draw(
    recipe: LossRecipe,
    names: list[str],
    cache: Path | None,
    out: Path | None,
    *,
    search: bool,
    as_json: bool,
) -> None:
    from truerank.execution import Progress
    from truerank.report.figures import save_figure
    from truerank.report.figures_losses import parameter_figure
    from truerank.reproduce.loss_table import LossTableRuns

    report = {}
    for name in names:
        curve = recipe.curve(name)
        table = LossTableRuns(curve.data, cache=cache, known={} if search else None)
        with Progress(f"curve of {name}", total=table.points(curve)) as bar:
            found = table.curve(curve, bar.advance)
        points = {
            loss: [(trial.setting[curve.parameter], trial.validation) for trial in trials]
            for loss, trials in found.items()
        }
        report[name] = {loss: [_plain(t) for t in trials] for loss, trials in found.items()}
        if out is not None:
            figure = parameter_figure(
                points, parameter=curve.parameter, metric=f"{recipe.select_by}, validation users",
                title=curve.data,
            )  # fmt: skip
            remark(f"figure: {save_figure(figure, ready(out / f'{name}.png'))}")
        if not as_json:
            print_table(
                ("loss", curve.parameter, f"validation {recipe.select_by}"),
                [(loss, f"{x:g}", f"{y:.5f}") for loss, line in points.items() for x, y in line],
            )
    if as_json:
        print_json(report)


def _plain(trial: LossTrial) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(trial)
