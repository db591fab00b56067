"""``truerank compare``: which model is really better."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truerank.cli import options
from truerank.cli.config import Config
from truerank.cli.inputs import found
from truerank.cli.mistakes import chosen_confidence
from truerank.cli.output import (
    marked,
    new_file,
    print_json,
    print_table,
    print_text,
    ready,
    remark,
)
from truerank.errors import InvalidArgumentError, for_cli

if TYPE_CHECKING:
    from truerank.comparison.verdict import Comparison, Verdict

EXAMPLES = (
    "truerank compare ranks/ease.parquet ranks/item-knn.parquet ranks/popularity.parquet",
    "truerank compare ours=a.parquet theirs=b.parquet -m ndcg@10,recall@50 --html report.html",
    "truerank compare ranks/*.parquet --baseline popularity --latex > table.tex",
)


def compare(
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]RANKS...",
            show_default=False,
            help="Two or more tables of ranks, each with a name if the file name should not be it.",
        ),
    ],
    metric: options.Metrics = None,
    method: options.Method = "auto",
    test: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Test: auto, mcnemar, paired-t, wilcoxon, sign, bootstrap, permutation, "
            "two-proportion-z, two-sample-t or, for sampled ranks, z. auto takes a paired test "
            "that fits the ranks.",
        ),
    ] = "auto",
    correction: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="For multiple comparisons: holm, bonferroni, benjamini-hochberg or none.",
        ),
    ] = "holm",
    confidence: options.Confidence = 0.95,
    level: options.OldLevel = None,
    align: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="If the tables have different rows: 'refuse', or compare the 'common' ones.",
        ),
    ] = "refuse",
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="Compare every other model with this one only: fewer tests, more power.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", show_default=False, help="Write an HTML report."),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table instead.")] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a Markdown table instead.")
    ] = False,
    population: options.Population = "infinite",
    n_boot: Annotated[
        int, typer.Option(min=100, metavar="INT", help="Bootstrap resamples of the users.")
    ] = 1000,
    seed: options.Seed = 0,
    n_items: options.NItems = None,
    n_sampled: options.NSampled = None,
    rank_column: options.RankColumn = None,
    user_column: options.UserColumn = None,
    item_column: options.ItemColumn = None,
    replacement: options.Replacement = False,
    zero_based: options.ZeroBased = False,
    header: options.Header = True,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
    config: Config = None,
) -> None:
    """Compare models on the same users: differences, significance tests, and one sentence.

    Ranks may be exact or sampled; sampled ones are estimated, and resampled jointly.
    """
    from truerank.cli.inputs import RankOptions, fitting_metrics
    from truerank.comparison.compare_models import compare as compare_tables
    from truerank.metrics import as_metric

    confidence = chosen_confidence(confidence, level)
    if sum((latex, markdown, as_json)) > 1:
        raise InvalidArgumentError(
            "output", "several", "one of --latex, --markdown and --json", "run it once for each"
        )
    metrics = [str(as_metric(name)) for name in options.split_commas(metric)]
    named = name_tables(tables)
    if html is not None:
        new_file(html, force=force, inputs=[*named.values(), config])
    said = RankOptions(
        n_items=n_items, n_sampled=n_sampled, rank_column=rank_column, user_column=user_column,
        item_column=item_column, replacement=replacement, zero_based=zero_based, header=header,
        delimiter=delimiter, encoding=encoding,
    )  # fmt: skip
    read = {name: said.read(path) for name, path in named.items()}
    metrics = fitting_metrics(metrics, bool(metric), read.values())
    verdict = compare_tables(
        read, metrics, method=method, test=test, correction=correction, confidence=confidence,
        align=align, baseline=baseline, n_boot=n_boot, seed=seed,  # type: ignore[arg-type]
        population=population,  # type: ignore[arg-type]
    )  # fmt: skip
    if html is not None:
        verdict.to_html(ready(html), force=force)
    if as_json:
        print_json(verdict.to_dict())
    elif latex:
        print_text(verdict.to_latex())
    elif markdown:
        print_text(verdict.to_markdown())
    else:
        print_text(for_cli(verdict.sentence))
        _print_models(verdict)
        _print_pairs(verdict)
    if html is not None:
        remark(f"report: {html}")


def name_tables(given: list[str]) -> dict[str, Path]:
    """Tables by name: said before ``=``, or the name of the file.

    >>> name_tables(["ours=runs/a.parquet", "runs/b.parquet"])
    {'ours': PosixPath('runs/a.parquet'), 'b': PosixPath('runs/b.parquet')}
    """
    named: dict[str, Path] = {}
    for text in given:
        name, said, path = text.partition("=")
        if not said or Path(text).is_file():
            name, path = Path(text).stem, text
        if not name or not path:
            raise InvalidArgumentError("ranks", text, "written as name=file, or a file alone")
        if name in named:
            raise InvalidArgumentError(
                "ranks", text, "named once", f"{name!r} is taken: say another-name={path}"
            )
        named[name] = Path(path)
    if len(named) < 2:
        only = found(next(iter(named.values())))
        raise InvalidArgumentError(
            "ranks", len(named), "two tables or more", f"for one model: truerank estimate {only}"
        )
    return named


def _print_models(verdict: Verdict) -> None:
    """One table per metric: values, chances, and who cannot be told from whom."""
    from truerank.comparison.tables import chance_text
    from truerank.estimators.summary_text import CERTIFIED, MARK_NOTE

    blind = False
    for metric in verdict.metrics:
        order = sorted(verdict.models, key=lambda m: -verdict.estimates[m][metric].value)
        groups = verdict.groups.get(metric, ())
        blind_here = any(verdict.estimates[m][metric].diagnostics.blind for m in order)
        blind = blind or blind_here
        known = ["samples alone"] * blind_here  # what is known comes first
        interval = f"{verdict.confidence:.0%} interval, {verdict.about}"
        heads = [metric, *known, "value", "± se", interval, "best", "group"]
        rows: list[tuple[str, ...]] = []
        for model in order:
            one = verdict.estimates[model][metric]
            low, high = one.interval(verdict.confidence)
            letters = [chr(ord("a") + k) for k, group in enumerate(groups) if model in group]
            rows.append(
                (
                    model,
                    *([_ends(one.diagnostics.bounds or (one.value, one.value))] * blind_here),
                    marked(f"{one.value:.4f}", guess=one.diagnostics.blind, among=blind_here),
                    f"{one.std_error:.4f}",
                    "known exactly" if one.known else f"{low:.4f} .. {high:.4f}",
                    chance_text(verdict, verdict.best[metric][model]),
                    "".join(letters),
                )
            )
        print_text("")
        shown = len(heads) if groups else len(heads) - 1
        print_table(heads[:shown], [row[:shown] for row in rows])
    if blind:
        print_text(MARK_NOTE)
    print_text("")
    share = "; models that share a letter cannot be told apart" if verdict.groups else ""
    remark(f"best: in which part of the resamples of users the model came first{share}")
    for model in verdict.models:
        for metric in verdict.metrics:
            for note in verdict.estimates[model][metric].diagnostics.notes:
                if note.startswith(CERTIFIED):
                    remark(f"{model}: {for_cli(note)}")


def _print_pairs(verdict: Verdict) -> None:
    for metric in verdict.metrics:
        shown = [row for row in verdict.comparisons if row.metric == metric]
        guessed = any(row.extrapolated for row in shown)
        interval = f"{verdict.confidence:.0%} interval, {verdict.about}"
        print_table(
            (
                metric, *["samples alone"] * guessed, "difference", "± se", interval, "p",
                "differ?",
            ),
            [
                (
                    f"{row.a} - {row.b}",
                    *([_ends(row.bounds, signed=True) if row.bounds else ""] * guessed),
                    marked(f"{row.difference:+.4f}", guess=row.extrapolated, among=guessed),
                    f"{row.std_error:.4f}",
                    "known exactly" if row.known else f"{row.low:+.4f} .. {row.high:+.4f}",
                    "" if row.known else _p(row.p_adjusted),
                    _differ(row) + ("*" if row.caveats else ""),
                )
                for row in shown
            ],
        )  # fmt: skip
        print_text("")
    tests = ", ".join(dict.fromkeys(row.test for row in verdict.comparisons if not row.known))
    if tests:
        remark(f"p: {tests} test over {verdict.n_users:,} users, corrected by {verdict.correction}")
    questioned = [row for row in verdict.comparisons if row.caveats]
    about: dict[str, dict[str, None]] = {}
    for row in questioned:
        for caveat in for_cli(row.caveats).split("; "):
            about.setdefault(caveat, {})[f"{row.a} - {row.b}"] = None
    pairs = {f"{row.a} - {row.b}" for row in verdict.comparisons}
    for caveat, where in about.items():
        # A caveat that names its model needs no list of pairs.
        named = len(where) == len(pairs) or any(model in caveat for model in verdict.models)
        remark(f"* {caveat}" + ("" if named else f" ({', '.join(where)})"))


def _differ(row: Comparison) -> str:
    return "yes" if row.significant else "no" if row.known else "not shown"


def _ends(bounds: tuple[float, float], *, signed: bool = False) -> str:
    low, high = (f"{end:+.4f}" if signed else f"{end:.4f}" for end in bounds)
    return f"{low} .. {high}"


def _p(value: float) -> str:
    return "" if value != value else "< 0.0001" if value < 1e-4 else f"{value:.4f}"
