"""``truerank estimate``: metrics of the whole catalogue from ranks, sampled or exact."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truerank.cli import options
from truerank.cli.config import Config
from truerank.cli.mistakes import chosen_confidence
from truerank.cli.output import marked, print_json, print_table, print_text, remark
from truerank.errors import for_cli

if TYPE_CHECKING:
    from truerank.estimators import Estimate
    from truerank.ranking import RankCounts, RankTable

EXAMPLES = (
    "truerank estimate ranks/ease.parquet",
    "truerank estimate ranks/ease.parquet --metric recall@10,ndcg@10 --metric mrr --method mle",
    "truerank estimate published-ranks.csv --n-items 9836 --n-sampled 100 --rank-column position",
)


def estimate(
    ranks: Annotated[
        list[Path],
        typer.Argument(
            metavar="RANKS...",
            show_default=False,
            help="Tables written by truerank rank, or CSV or Parquet files of ranks made elsewhere "
            "(with --n-items and --n-sampled).",
        ),
    ],
    metric: options.Metrics = None,
    method: options.Method = "auto",
    confidence: options.Confidence = 0.95,
    level: options.OldLevel = None,
    bounds: Annotated[
        bool,
        typer.Option(
            "--bounds/--no-bounds",
            help="Compute what the samples alone determine, without extrapolation.",
        ),
    ] = True,
    n_boot: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="INT",
            help="Bootstrap resamples of the users. Default: depends on the method.",
        ),
    ] = None,
    population: options.Population = "infinite",
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
    as_json: options.AsJson = False,
    config: Config = None,  # noqa: ARG001  # read by the parser
) -> None:
    """Estimate metrics over the whole catalogue from (sampled) ranks, with their uncertainty."""
    from truerank.cli.inputs import RankOptions, fitting_metrics, found

    confidence = chosen_confidence(confidence, level)
    for path in ranks:
        found(path)  # before anything is loaded that takes time
    from truerank import estimate as estimates_of
    from truerank.estimators.population import checked_population
    from truerank.execution import Progress
    from truerank.metrics import as_metric

    metrics = [str(as_metric(name)) for name in options.split_commas(metric)]
    said = RankOptions(
        n_items=n_items, n_sampled=n_sampled, rank_column=rank_column, user_column=user_column,
        item_column=item_column, replacement=replacement, zero_based=zero_based, header=header,
        delimiter=delimiter, encoding=encoding,
    )  # fmt: skip
    users = checked_population(population)
    tables = {path: said.read_any(path) for path in ranks}
    metrics = fitting_metrics(metrics, bool(metric), tables.values())
    results: dict[Path, list[Estimate]] = {}
    with Progress("estimating", total=len(tables)) as bar:
        for path, table in tables.items():
            results[path] = estimates_of(
                table, metrics, method, n_boot=n_boot, seed=seed, bounds=bounds,
                confidence=confidence, population=users,
            )  # fmt: skip
            bar.advance()
    if as_json:
        print_json([_as_dict(path, tables[path], results[path], confidence) for path in results])
        return
    for path, found_here in results.items():
        print_text(f"{path}: {_described(tables[path])}")
        _print(found_here, confidence)


def _as_dict(
    path: Path, table: RankTable | RankCounts, results: list[Estimate], confidence: float
) -> dict[str, Any]:
    rows = []
    for result in results:
        low, high = result.interval(confidence)
        rows.append({**result.to_dict(), "low": low, "high": high})
    return {
        "table": str(path),
        "model": table.header.model,
        "n_rows": _rows(table),
        "n_users": table.n_users,
        "n_items": int(table.n_items.max()),
        "scored_per_row": float(table.n_scored.sum() / _rows(table)),
        "confidence": confidence,
        "level": confidence,  # its old name, for one release
        "estimates": rows,
    }


def _rows(table: RankTable | RankCounts) -> int:
    """Rows of a table, or those that were counted."""
    n_rows = getattr(table, "n_rows", None)
    return len(table) if n_rows is None else int(n_rows.sum())


def _exact_rows(table: RankTable | RankCounts) -> int:
    return int((getattr(table, "n_rows", 1) * table.is_exact).sum())


def _described(table: RankTable | RankCounts) -> str:
    exact = _exact_rows(table) / max(1, _rows(table))
    sizes = (int(table.n_sampled.min()), int(table.n_sampled.max()))
    among = f"{sizes[0]:,}" if sizes[0] == sizes[1] else f"{sizes[0]:,} to {sizes[1]:,}"
    how = (
        f"exact among {int(table.n_items.max()):,} items"
        if exact == 1
        else f"among {among} of {int(table.n_items.max()):,} items"
        + (f", {exact:.0%} of them exact" if exact else "")
    )
    return f"{_rows(table):,} ranks of {table.n_users:,} users, {how}"


def _print(results: list[Estimate], confidence: float) -> None:
    from truerank.estimators.summary_text import MARK_NOTE, whose

    bounded = any(result.diagnostics.bounds for result in results)
    blind = any(result.diagnostics.blind for result in results)
    about = whose(results[0].population, results[0].n_population)
    known = ["samples alone"] * bounded  # before the value: what is known comes first
    heads = ["metric", "method", *known, "value", "± se", f"{confidence:.0%} interval, {about}"]
    rows = []
    for result in results:
        low, high = result.interval(confidence)
        resampled = result.std_error == result.std_error
        interval = f"{low:.4f} .. {high:.4f}" if resampled else ""
        limits = result.diagnostics.bounds
        rows.append(
            [
                result.metric,
                result.method,
                *([f"{limits[0]:.4f} .. {limits[1]:.4f}" if limits else ""] * bounded),
                marked(f"{result.value:.4f}", guess=result.diagnostics.blind, among=blind),
                f"{result.std_error:.4f}" if resampled else "",
                "known exactly" if result.known else interval,
            ]
        )
    print_table(heads, rows, left=2)
    if blind:
        print_text(MARK_NOTE)
    notes: dict[str, list[str]] = {}
    for result in results:
        for note in result.diagnostics.notes:
            if not note.startswith("from these samples alone"):  # the table says it
                notes.setdefault(note, []).append(result.metric)
    for note, metrics in notes.items():
        about = "" if len(metrics) == len(results) else f"{', '.join(metrics)}: "
        remark(f"note: {about}{for_cli(note)}")
