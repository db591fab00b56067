"""The verdict as a page: what the report says, in which order."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from truerank.comparison.report_data import (
    Curve,
    blind_by_model,
    curves,
    families,
    has_distribution,
    rank_density,
)
from truerank.comparison.summary_text import caution, details, headline, listed
from truerank.comparison.tables import comparisons_table, is_known, models_table
from truerank.comparison.verdict import Verdict
from truerank.ranking import RankTable, Users
from truerank.report.page import Cell, Chart, Code, Details, Page, Section, Series, Table, Text
from truerank.version import __version__

MOST_BARS = 30
"""Pairs drawn in one chart; of more only those with the best model."""


def page_of(verdict: Verdict) -> Page:
    """Everything that the report shows, of what was fitted for the verdict.

    Where users have several held-out items, ndcg at another K weighs them differently: those
    points of its curve need fits of their own, which the samples keep.
    """
    asked = families(verdict)
    blind = blind_by_model(verdict) if asked else {}
    drawn = {family: curves(verdict, family, blind) for family in asked}
    sections = [_models(verdict), _differences(verdict)]
    if drawn:
        sections.append(_curves(verdict, drawn))
    sections += [_distributions(verdict), _bounds(verdict), _costs(verdict), _origin(verdict)]
    first = next(iter(verdict.tables.values()))
    return Page(
        title=f"{listed(list(verdict.models))}: {', '.join(verdict.metrics)}",
        verdict=f"{headline(verdict)}.",
        lead=_lead(verdict),
        sections=sections,
        data=verdict.to_dict()
        | {"curves": {name: [_plain(c) for c in found] for name, found in drawn.items()}}
        | {"headers": {name: table.header.to_dict() for name, table in verdict.tables.items()}},
        footer=f"truerank {__version__}; the numbers are in this file as JSON.",
        meta=(
            ("users", f"{verdict.n_users:,}"),
            ("about", verdict.about),
            ("candidates", _span(first.n_items)),
            ("models", str(len(verdict.models))),
            ("correction", verdict.correction),
            ("resamples", f"{verdict.n_boot:,}"),
            ("seed", str(verdict.seed)),
        ),
    )


def _lead(verdict: Verdict) -> str:
    numbers = details(verdict).removeprefix(": ")
    numbers = f"{numbers[:1].upper()}{numbers[1:]}. " if numbers else ""
    care = f" Care: {caution(verdict)}." if caution(verdict) else ""
    return f"{numbers}{_certainty(verdict)}{care}"


def _certainty(verdict: Verdict) -> str:
    sampled = [name for name, t in verdict.tables.items() if not t.all_exact]
    if is_known(verdict):
        return f"Every rank of {verdict.about} is exact: nothing was estimated."
    if not sampled:
        return "Every rank is exact; the only uncertainty is which users there are."
    some = "Ranks" if len(sampled) == len(verdict.models) else f"Ranks of {listed(sampled)}"
    return (
        f"{some} come from samples of the catalogue; values are estimates of what full ranking "
        "would give, and intervals come from resampling users."
    )


def _models(verdict: Verdict) -> Section:
    groups = [
        f"On {metric}, {listed(list(group))} cannot be told apart."
        for metric, found in verdict.groups.items()
        for group in found
        if len(group) > 1
    ]
    return Section("The models", "models", groups, [models_table(verdict)])


def _differences(verdict: Verdict) -> Section:
    charts = []
    for metric in verdict.metrics:
        rows = [row for row in verdict.comparisons if row.metric == metric]
        if len(rows) > MOST_BARS:  # the table has them all
            rows = [row for row in rows if verdict.models[0] in (row.a, row.b)]
        series = Series(
            metric,
            x=[row.difference for row in rows],
            low=[row.low for row in rows],
            high=[row.high for row in rows],
            labels=[f"{row.a} − {row.b}" for row in rows],
            flags=[row.caveats for row in rows],
        )
        charts.append(
            Chart(
                f"Differences on {metric}",
                f"{verdict.confidence:.0%} intervals for {verdict.about}, each for itself; a bar "
                "that crosses zero may be chance. Hollow: see the caveats.",
                f"difference in {metric}", "", [series], kind="intervals", zero_line=True,
            )
        )  # fmt: skip
    return Section("The differences", "differences", (), [*charts, comparisons_table(verdict)])


def _curves(verdict: Verdict, drawn: dict[str, list[Curve]]) -> Section:
    charts = []
    naive = False
    for family, found in drawn.items():
        series = []
        blind = any(any(curve.blind) for curve in found)
        for hue, curve in enumerate(found):
            series.append(
                Series(
                    curve.model, curve.k, curve.value.tolist(),
                    low=curve.low.tolist(), high=curve.high.tolist(), colour=hue,
                    flags=["extrapolated" if blind else "" for blind in curve.blind],
                )
            )  # fmt: skip
            if curve.naive is not None and np.isfinite(curve.naive).any():
                naive = True
                series.append(
                    Series(
                        f"{curve.model}, naive", curve.k, curve.naive.tolist(),
                        style="dashed", colour=hue,
                    )
                )  # fmt: skip
        charts.append(
            Chart(
                f"{family} at every K",
                f"Bands: {verdict.confidence:.0%} intervals for {verdict.about}."
                + (" Hollow: extrapolated, the samples are blind to that K." if blind else "")
                + (" Dashed: the sampled ranks taken as they are." if naive else ""),
                "K", f"{family}@K", series, x_log=True,
            )
        )  # fmt: skip
    why = ("The naive curves are the metric of the sample, not of the catalogue.",) if naive else ()
    return Section("Over K", "curves", why, charts)


def _distributions(verdict: Verdict) -> Section:
    series = []
    for model in verdict.models:
        if has_distribution(verdict.samples[model], verdict.method):
            x, y = rank_density(verdict.samples[model], verdict.method)
            series.append(Series(model, x.tolist(), y.tolist()))
    if not series:
        why = f"The method {verdict.method} tells values of metrics, and no distribution of ranks."
        return Section("Rank distributions", "distributions", (), [Text(why)])
    chart = Chart(
        "Where the held-out items rank",
        "Share of held-out items per factor of ten in rank.",
        "rank among all candidates", "share per decade", series, x_log=True, kind="steps",
        percent=True,
    )  # fmt: skip
    return Section("Rank distributions", "distributions", (), [chart])


def _bounds(verdict: Verdict) -> Section:
    """What the samples alone allow, without believing that ranks are spread smoothly."""
    charts: list[Any] = []
    for metric in verdict.metrics:
        found = [verdict.estimates[model][metric] for model in verdict.models]
        ends = [e.diagnostics.bounds or (e.value, e.value) for e in found]
        if all(low == high for low, high in ends):
            continue
        charts.append(
            Chart(
                f"What the samples alone say about {metric}",
                "From the smallest to the largest value that any distribution of ranks allows, "
                "given these samples; the mark is the estimate.",
                metric, "",
                [
                    Series(
                        metric,
                        x=[e.value for e in found],
                        low=[low for low, _ in ends],
                        high=[high for _, high in ends],
                        labels=list(verdict.models),
                        flags=["in the blind spot" if e.diagnostics.blind else "" for e in found],
                    )
                ],
                kind="intervals",
            )
        )  # fmt: skip
    notes = {
        note
        for row in verdict.estimates.values()
        for e in row.values()
        for note in e.diagnostics.notes
        if e.diagnostics.blind
    }
    parts = [*charts, *(Text(note, "warning") for note in sorted(notes)[:6])]
    if not parts:
        parts = [Text("Every metric is determined by the ranks: there is nothing to bound.")]
    return Section("What cannot be known", "bounds", (), parts)


def _costs(verdict: Verdict) -> Section:
    metric = verdict.metrics[0]
    series = []
    for model in verdict.models:
        e = verdict.estimates[model][metric]
        scored = float(verdict.tables[model].n_scored.mean())
        error = e.std_error / e.value if e.value > 0 else float("nan")
        series.append(Series(model, [scored], [error]))
    full = float(np.mean([t.n_items.mean() for t in verdict.tables.values()]))
    chart = Chart(
        f"Cost against error on {metric}",
        f"Relative standard error for {verdict.about}; full ranking would score {full:,.0f} items "
        "per row.",
        "items scored per row", "relative standard error", series,
        x_log=True, kind="scatter", percent=True,
    )  # fmt: skip
    return Section("Cost against error", "cost", (), [chart])


def _origin(verdict: Verdict) -> Section:
    heads = (
        "model",
        "design",
        "seed",
        "replacement",
        "ties",
        "candidates",
        "rows",
        "data",
        "split",
    )
    rows = [
        [
            Cell(name),
            Cell(format_design(table)),
            Cell("—" if table.header.seed is None else str(table.header.seed)),
            Cell("yes" if table.header.replacement else "no"),
            Cell(table.header.ties),
            Cell(table.header.candidates),
            Cell(f"{len(table):,}", sort=len(table)),
            Cell((table.header.data or "—")[:12], note=table.header.data or ""),
            Cell((table.header.split or "—")[:12], note=table.header.split or ""),
        ]
        for name, table in verdict.tables.items()
    ]
    names = " ".join(f'"{name}=<file of {name}>"' for name in verdict.tables)
    flags = " ".join(f"--metric {metric}" for metric in verdict.metrics)
    command = (
        f"truerank compare {names} {flags} --method {verdict.method} "
        f"--correction {verdict.correction} --confidence {verdict.confidence} "
        f"--seed {verdict.seed} --population {verdict.population} --html report.html"
    )
    machine = f"truerank {__version__}, numpy {np.__version__}, Python {platform.python_version()}"
    notes = [
        [Cell(model), Cell(metric), Cell(note)]
        for model, row in verdict.estimates.items()
        for metric, e in row.items()
        for note in e.diagnostics.notes
    ]
    parts: list[Any] = [
        Table(heads, rows, "Where the ranks come from.", numeric_from=len(heads)),
        Code(command, "The same again"),
        Text(machine),
    ]
    if notes:
        table = Table(("model", "metric", "note"), notes, "Diagnostics.", numeric_from=3)
        parts.append(Details("Diagnostics of every estimate", [table]))
    return Section("How it was made", "origin", (), parts)


def format_design(table: RankTable) -> str:
    """The design of a table for people."""
    design = table.header.design
    values = [
        f"{name} = {value:,}" if isinstance(value, int) else f"{name} = {value}"
        for name, value in design.describe().items()
        if value is not None
        and not isinstance(value, dict | list)
        and name not in ("kind", "replacement")
    ]
    words = f"{design.kind}, {', '.join(values)}" if values else design.kind
    return f"{words}; {design.inner.kind}" if isinstance(design, Users) else words


def _span(values: Any) -> str:
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _plain(curve: Curve) -> dict[str, Any]:
    return {
        "model": curve.model,
        "k": curve.k,
        "value": curve.value.tolist(),
        "low": curve.low.tolist(),
        "high": curve.high.tolist(),
        "naive": None if curve.naive is None else curve.naive.tolist(),
        "blind": curve.blind,
    }
