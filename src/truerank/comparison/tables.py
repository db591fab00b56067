"""The verdict as tables, for every renderer."""

from __future__ import annotations

from string import ascii_lowercase

from truerank.comparison.verdict import Verdict
from truerank.comparison.words import p_words
from truerank.estimators import Estimate
from truerank.report.page import Cell, Table

MARKS_CAPTION = "Superscripts name the models that a value is significantly above."


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
            cells.append(Cell(value_words(e), sort=e.value, mark=beaten.strip(",")))
        cells.append(_chance(verdict.best[verdict.metrics[0]][model], verdict.n_boot))
        scored = float(verdict.tables[model].n_scored.mean())
        cells.append(Cell(f"{scored:,.0f}", sort=scored))
        cells.append(Cell(_doubt(verdict, model)))
        rows.append(cells)
    heads = ["model", *verdict.metrics, f"best on {verdict.metrics[0]}", "scored/row", "trust"]
    caption = f"Estimate ± standard error over {verdict.n_users:,} users. {MARKS_CAPTION}"
    return Table(heads, rows, caption, numeric_from=1)


def comparisons_table(verdict: Verdict) -> Table:
    """One row per pair of models and metric."""
    rows = [
        [
            Cell(row.metric),
            Cell(row.a),
            Cell(row.b),
            Cell(
                f"{row.difference:+.4f} ± {row.std_error:.4f}",
                sort=row.difference,
                mark="*" if row.significant else "",
            ),
            Cell(f"{row.low:+.4f} to {row.high:+.4f}", sort=row.low),
            Cell(p_words(row.p_value)[2:].removeprefix("= "), sort=row.p_value),
            Cell(p_words(row.p_adjusted)[2:].removeprefix("= "), sort=row.p_adjusted),
            Cell(f"{row.effect_size:+.3f}", sort=row.effect_size),
            Cell(row.test),
            Cell(row.trust or "—", sort=float(bool(row.trust))),
        ]
        for row in verdict.comparisons
    ]
    heads = [
        "metric", "a", "b", "a - b", f"{verdict.level:.0%} interval", "p",
        f"p, {verdict.correction}", "effect", "test", "trust",
    ]  # fmt: skip
    caption = (
        f"* significant at {1 - verdict.level:.2g} after the correction ({verdict.correction}) "
        f"over all {len(verdict.comparisons)} rows. Trust: why not to rely on a row."
    )
    return Table(heads, rows, caption, numeric_from=3)


def value_words(e: Estimate) -> str:
    """Value and standard error."""
    return f"{e.value:.4f} ± {e.std_error:.4f}"


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


def _chance(p: float, n_boot: int) -> Cell:
    """Never quite 0 or 1: resamples are finite."""
    edge = 1 / n_boot
    text = f"> {1 - edge:.1%}" if p > 1 - edge else f"< {edge:.1%}" if p < edge else f"{p:.1%}"
    return Cell(text, sort=p)
