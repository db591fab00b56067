"""The verdict as tables, for every renderer."""

from __future__ import annotations

from string import ascii_lowercase

from truerank.comparison.summary_text import format_p
from truerank.comparison.verdict import Comparison, Verdict
from truerank.estimators.summary_text import (
    MARK,
    MARK_NOTE,
    format_estimate,
    from_whom,
    range_text,
)
from truerank.report.page import Cell, Table

MARKS_CAPTION = "Superscripts name the models that a value is significantly above."
KNOWN_CAPTION = "Superscripts name the models that a value is above."


def letters(verdict: Verdict) -> dict[str, str]:
    """A short name for each model: a, b, c, ..., or numbers if there are many."""
    if len(verdict.models) <= len(ascii_lowercase):
        return dict(zip(verdict.models, ascii_lowercase, strict=False))
    return {model: f"{i}," for i, model in enumerate(verdict.models, start=1)}


def models_table(verdict: Verdict) -> Table:
    """One row per model: estimates, what they are above, chance of being best, cost."""
    short = letters(verdict)
    rows = []
    for model in verdict.models:
        cells = [Cell(f"{model} ({short[model].strip(',')})")]
        for metric in verdict.metrics:
            e = verdict.estimates[model][metric]
            beaten = "".join(
                short[other] for other in verdict.models if _above(verdict, metric, model, other)
            )
            cells.append(Cell(format_estimate(e), sort=e.value, mark=beaten.strip(",")))
        chance = verdict.best[verdict.metrics[0]][model]
        cells.append(Cell(chance_text(verdict, chance), sort=chance))
        scored = float(verdict.tables[model].n_scored.mean())
        cells.append(Cell(f"{scored:,.0f}", sort=scored))
        cells.append(Cell(_doubt(verdict, model)))
        rows.append(cells)
    heads = ["model", *verdict.metrics, f"best on {verdict.metrics[0]}", "scored/row", "caveats"]
    source = from_whom(verdict.population, verdict.n_population, verdict.n_users)
    caption = f"Estimate ± standard error for {verdict.about}, from {source}. {MARKS_CAPTION}"
    if is_known(verdict):
        caption = f"Values known exactly for {verdict.about}. {KNOWN_CAPTION}"
    blind = any(e.diagnostics.blind for row in verdict.estimates.values() for e in row.values())
    return Table(heads, rows, caption, numeric_from=1, notes=(MARK_NOTE,) if blind else ())


def comparisons_table(verdict: Verdict) -> Table:
    """One row per pair of models and metric."""
    rows = [
        [
            Cell(row.metric),
            Cell(row.a),
            Cell(row.b),
            Cell(difference_text(row), sort=row.difference, mark="*" if row.significant else ""),
            Cell(interval_text(row), sort=row.low),
            Cell(_p(row, row.p_value), sort=row.p_value),
            Cell(_p(row, row.p_adjusted), sort=row.p_adjusted),
            Cell(f"{row.effect_size:+.3f}", sort=row.effect_size),
            Cell(row.test),
            Cell(row.caveats or "—", sort=float(bool(row.caveats))),
        ]
        for row in verdict.comparisons
    ]
    heads = [
        "metric", "a", "b", "a - b", f"{verdict.confidence:.0%} interval", "p",
        f"p, {verdict.correction}", "effect", "test", "caveats",
    ]  # fmt: skip
    caption = (
        f"Differences for {verdict.about}. * significant at {1 - verdict.confidence:.2g} after the "
        f"correction ({verdict.correction}) over all {len(verdict.comparisons)} rows. Caveats: why "
        "not to rely on a row."
    )
    if is_known(verdict):
        caption = f"Differences known exactly for {verdict.about}. * not zero."
    guessed = any(row.extrapolated for row in verdict.comparisons)
    return Table(heads, rows, caption, numeric_from=3, notes=(MARK_NOTE,) if guessed else ())


def is_known(verdict: Verdict) -> bool:
    """Whether nothing was estimated: every user there is was ranked in full."""
    return all(e.known for row in verdict.estimates.values() for e in row.values())


def difference_text(row: Comparison) -> str:
    """Difference and standard error, behind what the samples alone allow where it is a guess."""
    if row.known:
        return f"{row.difference:+.4f}"
    if row.extrapolated and row.bounds is not None:
        known = range_text(row.bounds, signed=True)
        return f"{known}; {row.difference:+.4f}{MARK} ± {row.std_error:.4f}"
    return f"{row.difference:+.4f} ± {row.std_error:.4f}"


def interval_text(row: Comparison) -> str:
    """The interval of a difference; none where it is known."""
    return "—" if row.known else f"{row.low:+.4f} to {row.high:+.4f}"


def chance_text(verdict: Verdict, p: float) -> str:
    """A chance of being best: never quite 0 or 1, since resamples are finite, unless known."""
    if is_known(verdict):
        return f"{p:.0%}"
    edge = 1 / verdict.n_boot
    return f"> {1 - edge:.1%}" if p > 1 - edge else f"< {edge:.1%}" if p < edge else f"{p:.1%}"


def _p(row: Comparison, p: float) -> str:
    return "—" if row.known else format_p(p)[2:].removeprefix("= ")


def _above(verdict: Verdict, metric: str, model: str, other: str) -> bool:
    if other == model:
        return False
    for row in verdict.comparisons:
        if row.metric == metric and row.significant and {row.a, row.b} == {model, other}:
            return (row.difference > 0) == (row.a == model)
    return False


def _doubt(verdict: Verdict, model: str) -> str:
    blind = [name for name, e in verdict.estimates[model].items() if e.diagnostics.blind]
    if verdict.estimates[model][verdict.metrics[0]].method == "naive":
        return "naive: not the catalogue's metric"
    return f"blind spot: {', '.join(blind)}" if blind else "—"
