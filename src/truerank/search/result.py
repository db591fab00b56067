"""What a search found: every trial, the best one, and which others it cannot be told apart from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from truerank.comparison import Verdict
from truerank.comparison.summary_text import listed
from truerank.data.interactions import Interactions
from truerank.deprecation import renamed_parameters
from truerank.errors import MissingExtraError
from truerank.search.candidates import Maker
from truerank.search.certainty import Certainty
from truerank.search.space import Between, Choices, Space, plain_text
from truerank.search.trial import Trial
from truerank.split import Split

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 40
"""Rows of the printed table, at most."""

NAMED = 5
"""Rivals that the sentence names, at most."""

FEWEST_FOR_EDGES = 3
"""Of two values, one is always at the edge."""


@renamed_parameters(level="confidence")
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SearchResult:
    """What :func:`truerank.search` found; printing it shows the table and the sentence.

    Attributes:
        trials: In the order they were made.
        best: The finished trial of largest value.
        level_with_best: Finished trials that the best cannot be told apart from, best first.
        not_compared: Finished trials whose tables were not kept: nothing is said about them.
        verdict: The comparison of the best with the others whose tables were kept; None if there
            are no others.
        model: Name of the model.
        metric: In the notation ``ndcg@10``.
        validation: The split that the trials were evaluated on.
        confidence: Of the comparison.
        exact: Whether ranks were exact by design.
        share_scored: Pairs scored, as a part of what ranking every trial in full would score.
        certainty: What the design cost the best value in certainty; None where nothing was
            sampled.
    """

    trials: tuple[Trial, ...]
    best: Trial
    level_with_best: tuple[Trial, ...]
    not_compared: tuple[Trial, ...]
    verdict: Verdict | None
    model: str
    metric: str
    validation: Split
    confidence: float
    exact: bool
    share_scored: float
    certainty: Certainty | None
    maker: Maker = field(repr=False)
    space: Space = field(repr=False)

    @property
    def best_parameters(self) -> dict[str, Any]:
        """The best setting."""
        return dict(self.best.parameters)

    def fit(self, train: Interactions) -> Any:
        """The model of the best setting, fitted on the whole training part."""
        return self.maker.fit(self.best.parameters, train)

    # ---------------------------------------------------------------- ways out

    @property
    def sentence(self) -> str:
        """Who is best, how sure that is, and what cheaper evaluation cost in certainty."""
        parts = (self._best_words(), self._edge_words(), self._cost_words(), _OPTIMISM)
        return " ".join(filter(None, parts))

    def _best_words(self) -> str:
        best = self.best
        said = (
            f"{self._name(best)} is best of {len(self.trials):,} trials of {self.model} on "
            f"{self.metric}: {best.value:.4f} ± {best.std_error:.4f} for future "
            f"users (from {best.n_users:,} validation users)"
        )
        pruned = sum(trial.status == "pruned" for trial in self.trials)
        parts = []
        if self.level_with_best:
            names = [self._name(trial) for trial in self.level_with_best[:NAMED]]
            more = len(self.level_with_best) - len(names)
            names += [f"{more} more"] if more else []
            parts.append(f"it cannot be told apart from {listed(names)}")
        elif self.verdict is not None:
            parts.append("it is ahead of all that finished")
        if pruned:
            parts.append(f"{pruned:,} were dropped early, significantly worse")
        if self.not_compared:
            parts.append(f"{len(self.not_compared):,} were not compared with it")
        failed = [trial for trial in self.trials if trial.status == "failed"]
        if failed:
            first = "" if len(failed) == 1 else "the first: "
            parts.append(f"{len(failed):,} failed ({first}{failed[0].note})")
        return "; ".join([said, *parts]) + "."

    def _edge_words(self) -> str:
        """Whether the best setting lies where the search ended."""
        found = []
        for name in self.space.searched:
            part = self.space.parts[name]
            values = _listed_values(part)
            numbers = [v for v in values if isinstance(v, int | float)]
            if len(numbers) < FEWEST_FOR_EDGES or len(numbers) < len(values):
                continue
            for edge, words in ((min(numbers), "smallest"), (max(numbers), "largest")):
                if self.best.parameters[name] == edge:
                    found.append(f"{name} is the {words} tried")
        return f"Its {listed(found)}: search further that way." if found else ""

    def _cost_words(self) -> str:
        if self.exact and self.share_scored > 0.995:
            return ""
        said = f"{self.share_scored:.1%} of the pairs were scored"
        return f"{said}; {self.certainty.words}." if self.certainty is not None else f"{said}."

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "sentence": self.sentence,
            "model": self.model,
            "metric": self.metric,
            "population": "infinite",  # standard errors are for future users
            "best": self.best.to_dict(),
            "level_with_best": [trial.number for trial in self.level_with_best],
            "not_compared": [trial.number for trial in self.not_compared],
            "trials": [trial.to_dict() for trial in self.trials],
            "validation": dict(self.validation.description),
            "share_scored": self.share_scored,
            "certainty": None if self.certainty is None else self.certainty.to_dict(),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per trial, as a pandas frame; parameters have columns of their own."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("pandas", "frames", "SearchResult.to_frame()") from None
        level = {trial.number for trial in (self.best, *self.level_with_best)}
        return pd.DataFrame(
            [
                {
                    "number": trial.number,
                    **trial.parameters,
                    "value": trial.value,
                    "std_error": trial.std_error,
                    "status": trial.status,
                    "level_with_best": trial.number in level,
                    "n_users": trial.n_users,
                    "n_scored": trial.n_scored,
                    "seconds": trial.seconds,
                    "note": trial.note,
                }
                for trial in self.trials
            ]
        )

    def __str__(self) -> str:
        from truerank.report.page import Cell, Table
        from truerank.report.text import text_table

        names = list(self.space.searched or self.space.parts)
        level = {trial.number for trial in self.level_with_best}
        ordered = sorted(self.trials, key=_rank_key)
        rows = [
            [
                Cell(str(trial.number)),
                *(Cell(plain_text(trial.parameters[name])) for name in names),
                Cell("" if math.isnan(trial.value) else f"{trial.value:.4f}"),
                Cell("" if math.isnan(trial.std_error) else f"{trial.std_error:.4f}"),
                Cell(f"{trial.n_users:,}"),
                Cell(f"{trial.seconds:.1f}"),
                Cell(self._remark(trial, level), note=_failure(trial)),
            ]
            for trial in ordered[:SHOWN]
        ]
        heads = ["trial", *names, self.metric, "± s.e., future users", "users", "seconds", ""]
        lines = [text_table(Table(heads, rows))]
        if len(ordered) > SHOWN:
            lines.append(f"... and {len(ordered) - SHOWN:,} more: see to_frame()")
        return "\n".join([*lines, "", self.sentence])

    def _remark(self, trial: Trial, level: set[int]) -> str:
        if trial.number == self.best.number:
            return "best"
        if trial.number in level:
            return "not told apart from the best"
        return "" if trial.status == "finished" else trial.status

    def _name(self, trial: Trial) -> str:
        label = self.space.label(trial.parameters)
        return f"({label})" if "," in label else label


_OPTIMISM = (
    "The value is that of the winner on the users it was chosen by, so it flatters: report the "
    "test part."
)


def _listed_values(part: Choices | Between) -> Choices:
    """The values a parameter could take, where they can be listed."""
    if isinstance(part, Between):
        return part.values() if part.steps else ()
    return part


def _failure(trial: Trial) -> str:
    return trial.note if trial.status == "failed" else ""


def _rank_key(trial: Trial) -> tuple[int, float, int]:
    """Finished before pruned before the rest, larger values first."""
    order = {"finished": 0, "repeated": 0, "pruned": 1, "failed": 2}[trial.status]
    return order, -trial.value if np.isfinite(trial.value) else math.inf, trial.number
