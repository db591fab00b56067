"""``truerank reproduce accuracy``: relative errors, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truerank.cli.config import Config
from truerank.cli.options import Force
from truerank.cli.output import print_json, print_table, print_text, remark
from truerank.cli.reproduce.options import (
    AsJson,
    Cache,
    Candidates,
    Data,
    Designs,
    Methods,
    Models,
    Repeats,
    Seed,
)
from truerank.cli.reproduce.pairs import exact_pairs, measured, report_file, write_report

if TYPE_CHECKING:
    from truerank.reproduce.accuracy import Accuracy


def accuracy(
    data: Data = None,
    model: Models = None,
    design: Designs = None,
    method: Methods = None,
    repeats: Repeats = 20,
    seed: Seed = 0,
    candidates: Candidates = "all",
    cache: Cache = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for accuracy.json.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    config: Config = None,  # noqa: ARG001  # read by the parser
) -> None:
    """Measure the relative error of Recall, NDCG and AP at 1 to 50, and the items scored for it."""
    from truerank.reproduce.accuracy import make_plan, means, measure, ratios

    plan = make_plan(design or [], method or [])
    path = report_file(out, "accuracy.json", force=force)
    pairs = exact_pairs(data, model, candidates, cache)
    lines, refusals = measured(
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
    write_report(path, report)
    for refusal in refusals:
        remark(refusal)
    if as_json:
        print_json(report)
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


def _print_lines(lines: Sequence[Accuracy]) -> None:
    """One table per pair, the dissertation's figure beside ours where it printed one."""
    from itertools import groupby

    for (data, model), group in groupby(lines, key=lambda line: (line.data, line.model)):
        rows = list(group)
        theirs = any(line.published for line in rows)
        heads = ["design", "method", "recall %", "ndcg %", "ap %", "scored/user"]
        note = next((line.published.note for line in rows if line.published), "")
        print_text(
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


def _percents(error: dict[str, float]) -> list[str]:
    return [f"{value:.2f}" for value in error.values()]
