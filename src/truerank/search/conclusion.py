r"""Which trials the winner cannot be told apart from.

The winner :math:`w` is compared with each other trial on the users and samples they share. Trial
:math:`i` stays in the set unless its p-value times :math:`J - 1` is below 1 - ``confidence``,
:math:`J` being all trials that were evaluated. The winner was chosen by the same data, but the
truly best trial leaves the set only if *some* trial beats it significantly, one of :math:`J - 1`
events; so the set holds the truly best trial (if it was compared) with probability at least
``confidence``. Holm's steps would not have that property here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from truerank.comparison import Verdict, compare
from truerank.comparison.compare_models import FEWEST_RESAMPLES
from truerank.ranking import RankTable
from truerank.search.candidates import Maker
from truerank.search.certainty import certainty_of
from truerank.search.examination import N_BOOT, Examination
from truerank.search.race import Race
from truerank.search.result import SearchResult
from truerank.search.space import Space
from truerank.search.trial import Trial, best_of


def concluded(
    trials: list[Trial],
    tables: dict[int, RankTable],
    race: Race,
    maker: Maker,
    space: Space,
    *,
    confidence: float,
) -> SearchResult:
    """The result of these trials.

    Args:
        trials: All of them, at least one finished.
        tables: Ranks of the best ones by number, the winner's among them.
        race: How they were examined.
        maker: Of the model.
        space: What was searched.
        confidence: Of the comparison.
    """
    best = best_of(trials)
    if best is None:
        raise ValueError("no trial finished")
    names = _names(sorted(tables), trials, space)
    verdict = _verdict(tables, names, best, race.examination, confidence)
    evaluated = sum(trial.status in ("finished", "pruned") for trial in trials)
    apart = told_apart(verdict, evaluated - 1, confidence)
    ordered = sorted(
        (t for t in trials if t.status == "finished" and t.number != best.number),
        key=lambda trial: (-trial.value, trial.number),
    )
    exam = race.examination
    full = len(trials) - sum(trial.status in ("repeated", "failed") for trial in trials)
    return SearchResult(
        trials=tuple(trials),
        best=best,
        level_with_best=tuple(
            t for t in ordered if t.number in names and names[t.number] not in apart
        ),
        not_compared=tuple(t for t in ordered if t.number not in names),
        verdict=verdict,
        model=maker.short_name,
        metric=str(exam.metric),
        validation=exam.validation,
        confidence=confidence,
        exact=exam.exact,
        share_scored=sum(trial.n_scored for trial in trials) / max(1, full * exam.all_pairs),
        certainty=certainty_of(tables[best.number], exam),
        maker=maker,
        space=space,
    )


def _names(numbers: list[int], trials: list[Trial], space: Space) -> dict[int, str]:
    """Settings in words; with the number where two have the same words."""
    labels = {number: space.label(trials[number].parameters) for number in numbers}
    often = Counter(labels.values())
    return {n: f"{label} (trial {n})" if often[label] > 1 else label for n, label in labels.items()}


def _verdict(
    tables: dict[int, RankTable],
    names: dict[int, str],
    best: Trial,
    exam: Examination,
    confidence: float,
) -> Verdict | None:
    if len(tables) < 2:
        return None
    named = {
        name: replace(tables[n], header=replace(tables[n].header, model=name))
        for n, name in names.items()
    }
    # Exact ranks have their test from the users' values; resamples only say how often each wins.
    exact = all(table.all_exact for table in tables.values())
    return compare(
        named, exam.metric, method=exam.method, correction="bonferroni", confidence=confidence,
        baseline=names[best.number], n_boot=FEWEST_RESAMPLES if exact else N_BOOT,
        seed=exam.seed, bounds=False, progress=False,
    )  # fmt: skip


def told_apart(verdict: Verdict | None, n_others: int, confidence: float) -> set[str]:
    """Names of the trials that are significantly worse than the baseline, the winner."""
    rows = verdict.comparisons if verdict is not None else ()
    return {row.a for row in rows if row.difference < 0 and row.p_value * n_others < 1 - confidence}
