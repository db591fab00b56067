"""The verdict: every model, every difference, and one sentence about who is better."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truerank.comparison.differences import KNOWN
from truerank.comparison.summary_text import sentence
from truerank.deprecation import renamed_parameters
from truerank.errors import MissingExtraError
from truerank.estimators import Estimate, Sample
from truerank.estimators.population import Population
from truerank.estimators.summary_text import whose
from truerank.plain_data import plain
from truerank.ranking import RankTable

if TYPE_CHECKING:
    import pandas as pd


@renamed_parameters(trust="caveats")
@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The difference of two models on one metric, with its interval, test and caveats.

    Attributes:
        metric: In the notation ``ndcg@10``.
        a: The first model.
        b: The second.
        bounds: Smallest and largest difference that the samples alone allow, each model for
            itself; None if not computed.
        extrapolated: Whether a value is, because its samples are blind to the metric.
        value_a: The estimate of the first.
        value_b: That of the second.
        difference: ``value_a - value_b``.
        std_error: Of the difference, over users, with the samples that both models share.
        low: Lower end of the difference's interval at the verdict's confidence, not adjusted.
        high: Upper end.
        p_value: Two-sided, of no difference; 0 or 1 where the difference is known.
        p_adjusted: The same, corrected for all comparisons of the verdict.
        effect_size: Standardised difference; its kind is the test's.
        significant: Whether ``p_adjusted`` is below 1 - confidence.
        test: Name of the test; ``known`` where every user there is was ranked in full.
        n_users: Users behind it.
        population: Whose difference: that of future users (``infinite``), or of the users there
            are (``finite``).
        n_population: How many there are; None for future users.
        caveats: Why not to rely on this row; empty if nothing speaks against it.
    """

    metric: str
    a: str
    b: str
    bounds: tuple[float, float] | None
    extrapolated: bool
    value_a: float
    value_b: float
    difference: float
    std_error: float
    low: float
    high: float
    p_value: float
    p_adjusted: float
    effect_size: float
    significant: bool
    test: str
    n_users: int
    population: Population
    n_population: int | None
    caveats: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values; ``trust`` is what ``caveats`` was called, until the next release."""
        return {**asdict(self), "trust": self.caveats}

    @property
    def known(self) -> bool:
        """Whether nothing is left to chance: every user there is was ranked in full."""
        return self.test == KNOWN


@renamed_parameters(level="confidence")
@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Which models differ, by how much, how surely: what :func:`truerank.compare` found.

    Attributes:
        models: Names, best first by the first metric.
        metrics: In the order asked for.
        estimates: ``estimates[model][metric]``.
        comparisons: Every pair of models on every metric.
        best: ``best[metric][model]``: in which part of the resamples of users the model came
            first. A probability in so far as the resamples stand for what users there may be.
        groups: ``groups[metric]``: largest sets of models that cannot be told apart, best first.
            They may overlap: being indistinguishable is not transitive.
        confidence: Of the intervals; 1 - confidence is the size of the tests.
        correction: For several comparisons.
        method: Of the estimates.
        baseline: The model that the others were compared with; None for all pairs.
        population: Whose metrics, differences and chances these are: future users' (``infinite``)
            or those of the users there are (``finite``).
        n_population: How many there are; None for future users.
        n_users: Users compared.
        n_boot: Resamples.
        seed: Of the resamples.
        tables: The tables compared, on common rows.
        samples: The same, with what was fitted to them.
    """

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    estimates: Mapping[str, Mapping[str, Estimate]]
    comparisons: tuple[Comparison, ...]
    best: Mapping[str, Mapping[str, float]]
    groups: Mapping[str, tuple[tuple[str, ...], ...]]
    confidence: float
    correction: str
    method: str
    baseline: str | None
    population: Population
    n_population: int | None
    n_users: int
    n_boot: int
    seed: int
    tables: Mapping[str, RankTable] = field(repr=False)
    samples: Mapping[str, Sample] = field(repr=False)

    @property
    def about(self) -> str:
        """Whose metric it is about, in words: ``future users`` or ``these 2,946 users``."""
        return whose(self.population, self.n_population)

    @property
    def sentence(self) -> str:
        """Who is better by the first metric, or that nobody can say, and what would help."""
        return sentence(self)

    def pair(self, metric: str, one: str, other: str) -> Comparison:
        """The comparison of two models, whichever way round it was made."""
        for row in self.comparisons:
            if row.metric == metric and {row.a, row.b} == {one, other}:
                return row
        raise KeyError((metric, one, other))

    # ---------------------------------------------------------------- ways out

    def to_frame(self) -> pd.DataFrame:
        """One row per comparison, as a pandas frame.

        Column ``trust`` is the old name of ``caveats``; it goes with the next release.
        """
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("pandas", "frames", "Verdict.to_frame()") from None
        return pd.DataFrame([row.to_dict() for row in self.comparisons])[list(_COLUMNS)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "sentence": self.sentence,
            "population": self.population,
            "n_population": self.n_population,
            "models": list(self.models),
            "metrics": list(self.metrics),
            "estimates": {
                model: {metric: e.to_dict() for metric, e in row.items()}
                for model, row in self.estimates.items()
            },
            "comparisons": [row.to_dict() for row in self.comparisons],
            "best": {metric: dict(row) for metric, row in self.best.items()},
            "groups": {metric: [list(g) for g in row] for metric, row in self.groups.items()},
            "confidence": self.confidence,
            "level": self.confidence,  # its old name, for one release
            "correction": self.correction,
            "method": self.method,
            "baseline": self.baseline,
            "n_users": self.n_users,
            "n_boot": self.n_boot,
            "seed": self.seed,
        }

    def to_json(self) -> str:
        """The same as text; what is not a number (nan) becomes null."""
        return json.dumps(plain(self.to_dict()), indent=2, ensure_ascii=False)

    def to_markdown(self) -> str:
        """The table of models and metrics, with the sentence above it and its caption below."""
        from truerank.comparison.tables import models_table
        from truerank.report.markdown import markdown_table, paragraph

        table = models_table(self)
        sentence, caption = paragraph(self.sentence), paragraph(table.caption)
        return f"{sentence}\n\n{markdown_table(table)}\n\n{caption}"

    def to_latex(self, *, label: str = "tab:truerank") -> str:
        """The table of models and metrics with booktabs; superscripts mark what it beats."""
        from truerank.comparison.tables import models_table
        from truerank.report.latex import latex_table

        table = models_table(self)
        return latex_table(table, caption=f"{self.sentence} {table.caption}", label=label)

    def to_html(self, path: str | Path, *, force: bool = False) -> Path:
        """One self-contained file: tables, curves, bounds, costs, and how it was made."""
        from truerank.comparison.page import page_of
        from truerank.report.html import write_html

        write_html(page_of(self), Path(path), force=force)
        return Path(path)

    def __str__(self) -> str:
        return self.to_markdown()


_COLUMNS = (
    "metric", "a", "b", "difference", "std_error", "low", "high", "p_value", "p_adjusted",
    "significant", "value_a", "value_b", "extrapolated", "effect_size", "test", "n_users",
    "population", "n_population", "caveats", "trust",
)  # fmt: skip
