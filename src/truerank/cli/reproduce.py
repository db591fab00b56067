"""``truerank reproduce``: the measurements behind the claims, on your data or public ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from truerank.cli.output import print_json, print_table, remark

if TYPE_CHECKING:
    from truerank.experiments.accuracy import Accuracy, Plan
    from truerank.experiments.coverage import Coverage
    from truerank.experiments.exact_ranks import Candidates as Candidate
    from truerank.experiments.exact_ranks import ExactRanks

Line = TypeVar("Line")

app = typer.Typer(no_args_is_help=True, help="Measure what the documentation claims.")

Data = Annotated[
    list[str] | None,
    typer.Option("--data", help="Data set; may be repeated. Default: those that are found here."),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="popularity, item-knn, ease, als or bpr, with a size if wanted: als-45. May be "
        "repeated. Default: all that fit.",
    ),
]
Designs = Annotated[
    list[str] | None,
    typer.Option(
        "--design",
        help="Such as 'adaptive', 'reference', 'sampled n=100 replacement'. May be repeated.",
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        help="Method of tr.estimate, or 'dissertation' for its seven. May be repeated.",
    ),
]
Repeats = Annotated[int, typer.Option(min=1, help="Simulated tables per design.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the first repeat.")]
Candidates = Annotated[
    str, typer.Option(help="Rank among 'all' items, or those 'unseen' in training.")
]
Cache = Annotated[
    Path | None, typer.Option(help="Folder that keeps exact ranks. Default: the system's caches.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def accuracy(
    data: Data = None,
    model: Models = None,
    design: Designs = None,
    method: Methods = None,
    repeats: Repeats = 20,
    seed: Seed = 0,
    candidates: Candidates = "all",
    cache: Cache = None,
    out: Annotated[Path | None, typer.Option(help="Folder for accuracy.json.")] = None,
    as_json: AsJson = False,
) -> None:
    """Relative error of Recall, NDCG and AP at 1..50, and the items scored for it.

    Example:  truerank reproduce accuracy --data ml-1m --model ease --repeats 10
    """
    from truerank.experiments.accuracy import make_plan, means, measure, ratios

    plan = make_plan(design or [], method or [])
    folder = _folder(out)
    pairs = _pairs(data, model, candidates, cache)
    lines, refusals = _measured(
        "measuring", pairs, plan, repeats,
        lambda pair, step: measure(pair, plan, repeats=repeats, seed=seed, step=step),
    )  # fmt: skip
    overall, against = means(lines), ratios(lines)
    report: dict[str, Any] = {
        "repeats": repeats,
        "seed": seed,
        "candidates": candidates,
        "rows": [line.to_dict() for line in lines],
        "means": [mean.to_dict() for mean in overall],
        "ratios": [one.to_dict() for one in against],
        "refusals": refusals,
    }
    _write(folder, "accuracy.json", report)
    for refusal in refusals:
        remark(refusal)
    if as_json:
        print_json(_no_nan(report))
        return
    _print_lines(lines)
    if len(pairs) > 1:
        print_table(
            ("mean over pairs", "method", "pairs", "recall %", "ndcg %", "ap %", "scored/user"),
            [
                (m.design, m.method, str(m.pairs), *_percents(m.error), f"{m.scored:,.0f}")
                for m in overall
            ],
            left=2,
        )
    if against:
        print_table(
            (
                "parts of the reference's mean",
                "method",
                "recall",
                "ndcg",
                "ap",
                "scored",
                "largest",
            ),
            [
                (
                    one.design,
                    one.method,
                    *(f"{part:.2f}" for part in one.error.values()),
                    f"{one.scored:.2f}",
                    f"{one.worst_scored:.2f}",
                )
                for one in against
            ],
            left=2,
        )
        remark(
            f"{against[0].pairs} pair(s), {repeats} repeats. Reference: the dissertation's "
            "adaptive MLE, n0 = 100, n_max = 3200, with replacement, 50 EM steps. Largest: the "
            "largest part of the scored items on a single pair."
        )


@app.command()
def coverage(
    data: Data = None,
    model: Models = None,
    design: Designs = None,
    method: Methods = None,
    repeats: Repeats = 40,
    n_boot: Annotated[int, typer.Option(min=100, help="Resamples behind each interval.")] = 200,
    seed: Seed = 0,
    candidates: Candidates = "all",
    cache: Cache = None,
    out: Annotated[Path | None, typer.Option(help="Folder for coverage.json.")] = None,
    as_json: AsJson = False,
) -> None:
    """How often the 95 % intervals hold the truth, method by method.

    Example:  truerank reproduce coverage --data ml-1m --model item-knn --repeats 40
    """
    from truerank.experiments.accuracy import make_plan
    from truerank.experiments.coverage import (
        DEFAULT_COVERAGE_PLAN,
        TARGETS,
        measure_coverage,
    )

    plan = make_plan(design or [], method or []) if design or method else DEFAULT_COVERAGE_PLAN
    folder = _folder(out)
    pairs = _pairs(data, model, candidates, cache)
    lines, refusals = _measured(
        "measuring", pairs, plan, len(TARGETS) * repeats,
        lambda pair, step: measure_coverage(
            pair, plan, repeats=repeats, n_boot=n_boot, seed=seed, step=step
        ),
    )  # fmt: skip
    report = {
        "level": 0.95,
        "repeats": repeats,
        "n_boot": n_boot,
        "seed": seed,
        "candidates": candidates,
        "rows": [line.to_dict() for line in lines],
        "refusals": refusals,
    }
    _write(folder, "coverage.json", report)
    for refusal in refusals:
        remark(refusal)
    if as_json:
        print_json(_no_nan(report))
        return
    _print_coverage(lines)
    noise = 100 * (0.95 * 0.05 / (repeats * len(pairs))) ** 0.5
    remark(
        f"Per cent of intervals that hold the truth, mean over {len(pairs)} pair(s), {repeats} "
        f"repeats each: a coverage of 95 has a standard error of {noise:.1f}."
    )


@app.command("cost-curve")
def cost_curve_command(
    data: Annotated[str, typer.Option(help="Data set.")] = "demo",
    model: Annotated[str, typer.Option(help="Model, such as item-knn or als-45.")] = "item-knn",
    ranks: Annotated[
        Path | None, typer.Option(help="A rank table (Parquet) instead of data and model.")
    ] = None,
    n0: Annotated[int, typer.Option(min=2, help="First sample size.")] = 100,
    candidates: Candidates = "all",
    cache: Cache = None,
    out: Annotated[
        Path | None, typer.Option(help="File for the figure: .png, .pdf or .svg.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What one more resolved user costs at each sample size, and the n_max to choose.

    Example:  truerank reproduce cost-curve --data ml-1m --model ease --out cost.png
    """
    from truerank.experiments.cost_curve import cost_curve
    from truerank.ranking import RankTable
    from truerank.report.figures import cost_curve_figure, figure_format, save_figure

    if out is not None:
        figure_format(out)  # a mistake is seen before the work starts
    if ranks is None:
        (pair,) = _pairs([data], [model], candidates, cache)
        table, title = pair.table, f"{pair.data}, {pair.model}"
    else:
        table, title = RankTable.from_parquet(ranks), ranks.name
    curve = cost_curve(table, n0=n0)
    if out is not None:
        figure = cost_curve_figure(
            curve.sizes, curve.cost, n_items=curve.n_items, n_max=curve.n_max, title=title
        )
        remark(f"figure: {save_figure(figure, out)}")
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
        typer.echo(sentence)


def _pairs(
    data: list[str] | None, models: list[str] | None, candidates: str, cache: Path | None
) -> list[ExactRanks]:
    """Exact ranks of what was asked for, fitted where they are not kept yet."""
    from truerank.data import load_dataset
    from truerank.errors import InvalidArgumentError
    from truerank.execution import Progress
    from truerank.experiments.exact_ranks import exact_ranks, found_data_sets
    from truerank.experiments.fitted import ModelName, available_models

    rule: Candidate = "all" if candidates == "all" else "unseen"
    if candidates != rule:
        raise InvalidArgumentError("candidates", candidates, "'all' or 'unseen'")
    for model in models or []:
        ModelName.parse(model)
    names = {name: models or available_models(load_dataset(name).n_items)
             for name in data or found_data_sets()}  # fmt: skip
    pairs = []
    with Progress("exact ranks", total=sum(map(len, names.values()))) as bar:
        for name, wanted in names.items():
            pairs += exact_ranks(name, list(wanted), candidates=rule, cache=cache, done=bar.advance)
    return pairs


def _measured(
    label: str,
    pairs: list[ExactRanks],
    plan: Plan,
    repeats: int,
    measure: Callable[[ExactRanks, Callable[[], None]], tuple[list[Line], list[str]]],
) -> tuple[list[Line], list[str]]:
    """All lines and refusals, under a progress bar that counts estimates."""
    from truerank.execution import Progress

    lines: list[Line] = []
    refusals: list[str] = []
    estimates = repeats * sum(len(methods) for _, methods in plan)
    with Progress(label, total=len(pairs) * estimates) as bar:
        for pair in pairs:
            more, refused = measure(pair, bar.advance)
            lines += more
            refusals += refused
    return lines, refusals


def _print_lines(lines: Sequence[Accuracy]) -> None:
    """One table per pair, the dissertation's figure beside ours where it printed one."""
    from itertools import groupby

    for (data, model), group in groupby(lines, key=lambda line: (line.data, line.model)):
        rows = list(group)
        theirs = any(line.published for line in rows)
        heads = ["design", "method", "recall %", "ndcg %", "ap %", "scored/user"]
        note = next((line.published.note for line in rows if line.published), "")
        typer.echo(
            f"{data}, {model}: {rows[0].n_users:,} users, {rows[0].n_items:,} candidates"
            + (f"; published: all users (ours are {note})" if note else "")
        )
        print_table(
            heads + ["published recall %", "published scored"] * theirs,
            [
                (
                    line.design,
                    line.method,
                    *(f"{line.error[m]:.2f} ± {line.spread[m]:.2f}" for m in line.error),
                    f"{line.scored:,.0f}",
                    *(_published(line) if theirs else ()),
                )
                for line in rows
            ],
            left=2,
        )


def _published(line: Accuracy) -> tuple[str, str]:
    if line.published is None:
        return "", ""
    size = line.published.size
    return (
        f"{line.published.value:.2f} ± {line.published.spread:.2f}",
        "" if size is None else f"{size:,.0f}",
    )


def _print_coverage(lines: Sequence[Coverage]) -> None:
    """Means over pairs, one table per truth."""
    from truerank.experiments.coverage import TARGETS

    for target in TARGETS:
        chosen = [line for line in lines if line.target == target]
        keys = list(dict.fromkeys((line.design, line.method) for line in chosen))
        metrics = [name for name in chosen[0].covered if name.split("@")[1] in ("1", "10", "50")]
        rows = []
        for design, method in keys:
            group = [line for line in chosen if (line.design, line.method) == (design, method)]
            rows.append(
                (
                    design,
                    method,
                    _mean_percent([line.mean for line in group]),
                    *(
                        _mean_percent([line.covered[m] for line in group if m in line.covered])
                        for m in metrics
                    ),
                )
            )
        typer.echo(f"truth: the metric of {'the population' if target[0] == 'f' else 'these users'}"
                   f" ({target})")  # fmt: skip
        print_table(("design", "method", "all", *metrics), rows, left=2)


def _mean_percent(parts: list[float]) -> str:
    return f"{100 * sum(parts) / len(parts):.0f}"


def _folder(out: Path | None) -> Path | None:
    """Made before the work starts, so that a mistake is seen at once."""
    from truerank.files import readable_errors

    if out is not None:
        with readable_errors(out):
            out.mkdir(parents=True, exist_ok=True)
    return out


def _write(folder: Path | None, name: str, report: dict[str, Any]) -> None:
    import json

    from truerank.files import written_whole

    if folder is None:
        return
    with written_whole(folder / name) as temporary:
        temporary.write_text(json.dumps(_no_nan(report), indent=2) + "\n", encoding="utf-8")
    remark(f"report: {folder / name}")


def _no_nan(value: Any) -> Any:
    """JSON has no nan: None stands for a number that could not be had."""
    if isinstance(value, dict):
        return {key: _no_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_no_nan(item) for item in value]
    return None if isinstance(value, float) and value != value else value


def _percents(error: dict[str, float]) -> list[str]:
    return [f"{value:.2f}" for value in error.values()]
