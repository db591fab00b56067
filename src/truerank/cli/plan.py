"""``truerank plan``: how much to score for the certainty that is wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from truerank.cli import options
from truerank.cli.config import Config
from truerank.cli.mistakes import chosen_confidence
from truerank.cli.output import print_json, print_text
from truerank.errors import InvalidArgumentError, for_cli

EXAMPLES = (
    "truerank plan --n-items 10000000 --n-users 1000000 --expected 0.1 --rel-error 0.02",
    "truerank plan --pilot ranks/ease.parquet --metric ndcg@10 --detect 0.005",
    "truerank plan --pilot ranks/ease.parquet --rel-error 0.03 --try screened --try adaptive",
)


def plan(
    n_items: Annotated[
        int | None,
        typer.Option(
            min=2, metavar="INT", help="Number of items in the catalogue. Default: the pilot's."
        ),
    ] = None,
    n_users: Annotated[
        int | None,
        typer.Option(min=1, metavar="INT", help="Number of users. Default: the pilot's."),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME@K",
            autocompletion=options.metric_names,
            help="The metric to estimate.",
        ),
    ] = "recall@10",
    expected: Annotated[
        float | None,
        typer.Option(metavar="FLOAT", help="Rough guess of the metric's value, such as 0.1."),
    ] = None,
    pilot: Annotated[
        Path | None,
        typer.Option(metavar="RANKS", help="A small table of ranks, instead of --expected."),
    ] = None,
    rel_error: Annotated[
        float | None,
        typer.Option(
            metavar="FLOAT",
            help="Root mean squared error to reach, relative to the value: 0.02 for 2 %.",
        ),
    ] = None,
    abs_error: Annotated[
        float | None,
        typer.Option(metavar="FLOAT", help="Root mean squared error to reach, such as 0.002."),
    ] = None,
    detect: Annotated[
        float | None,
        typer.Option(metavar="FLOAT", help="Difference between two models to detect: 0.005."),
    ] = None,
    correlation: Annotated[
        float,
        typer.Option(
            metavar="FLOAT", help="For --detect: correlation of the two models' values over users."
        ),
    ] = 0.5,
    power: Annotated[
        float, typer.Option(metavar="FLOAT", help="For --detect: probability of detecting it.")
    ] = 0.8,
    confidence: options.Confidence = 0.95,
    level: options.OldLevel = None,
    population: options.Population = "infinite",
    pairs_per_second: Annotated[
        str | None,
        typer.Option(
            metavar="FLOAT",
            help="Scoring speed of the model, if known: one number where it is called pair by "
            "pair; for products in full, sampled and, if known, in a screen: 2e8,2e7,1e8. Default: "
            "measured on random factors.",
        ),
    ] = None,
    tried: Annotated[
        list[str] | None,
        typer.Option(
            "--try",
            metavar="SPEC",
            autocompletion=options.design_kinds,
            show_default=False,
            help="A way to rank each user, beside full: 'sampled n=100', adaptive, screened, "
            "'screened budget=5000'. May be repeated. Default: several that suit the catalogue, "
            "and none but full where that is precise enough within 10 seconds.",
        ),
    ] = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    config: Config = None,  # noqa: ARG001  # read by the parser
) -> None:
    """Compare designs by expected error and cost before anything is scored."""
    from truerank.cli.inputs import RankOptions, expect
    from truerank.metrics import as_metric

    confidence = chosen_confidence(confidence, level)
    wanted = str(as_metric(metric))
    given = [name for name, value in (("--rel-error", rel_error), ("--abs-error", abs_error),
                                      ("--detect", detect)) if value is not None]  # fmt: skip
    if len(given) != 1:
        raise InvalidArgumentError(
            "the goal", " and ".join(given) or None, "one of --rel-error, --abs-error and --detect"
        )
    table = None
    if pilot is not None:
        from truerank.ranking import RankTable

        if expect(pilot, "ranks") != "ranks":
            RankOptions().refuse_counts(pilot)
            raise InvalidArgumentError("--pilot", str(pilot), "a table of truerank rank")
        table = RankTable.from_parquet(pilot)
        n_items = n_items or int(table.n_items.max())
        n_users = n_users or table.header.n_population or table.n_users
    elif expected is None:
        raise InvalidArgumentError(
            "--expected", None, "given where there is no --pilot", "a rough value: --expected 0.1"
        )
    for name, value in (("--n-items", n_items), ("--n-users", n_users)):
        if value is None:
            raise InvalidArgumentError(name, None, "given where there is no --pilot")
    from truerank.planning.plan_design import plan as make_plan
    from truerank.ranking.design_spec import parse_design

    designs: Any = None if not tried else [parse_design(words) for words in tried]

    made = make_plan(
        n_items or 0, n_users or 0, wanted, expected=expected, pilot=table,
        rel_error=rel_error, abs_error=abs_error, detect=detect, correlation=correlation,
        power=power, confidence=confidence, pairs_per_second=_speeds(pairs_per_second),
        seed=seed, designs=designs, population=population,  # type: ignore[arg-type]
    )  # fmt: skip
    if as_json:
        print_json(made.to_dict())
    else:
        print_text(for_cli(str(made)))


def _speeds(text: str | None) -> Any:
    """One number, or several with commas as a tuple; what is none is left to the library."""
    if text is None:
        return None
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        raise InvalidArgumentError(
            "--pairs-per-second", text, "a number, or two or three with commas such as 2e8,2e7,1e8"
        ) from None
    return numbers[0] if len(numbers) == 1 else tuple(numbers)
