"""``search``: which hyper-parameters are best, and how sure that is."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from truerank.data.interactions import Interactions
from truerank.deprecation import renamed_parameters
from truerank.errors import InvalidArgumentError, InvalidDataError, TruerankError
from truerank.execution import Progress
from truerank.metrics import MetricLike, as_metric
from truerank.ranking import Full, RankTable
from truerank.ranking.designs import Design
from truerank.rng import checked_seed
from truerank.search.candidates import Maker, SharedFits
from truerank.search.conclusion import concluded
from truerank.search.examination import Examination, sharing, usual_metric
from truerank.search.log import SearchLog
from truerank.search.race import Race
from truerank.search.result import SearchResult
from truerank.search.space import Between, Parameters
from truerank.search.strategies import Strategy, make_strategy
from truerank.search.trial import Trial, best_of, setting_key
from truerank.search.validation_split import Validation, validation_split
from truerank.split import Split

__all__ = ["Between", "SearchResult", "Trial", "search"]

KEPT = 50
"""Trials whose tables are kept where nothing else is said."""


@renamed_parameters(level="confidence")
def search(
    model: Any,
    space: Mapping[str, Any],
    data: Interactions | Split,
    *,
    metric: MetricLike | None = None,
    strategy: Literal["grid", "random", "optuna"] = "grid",
    n_trials: int | None = None,
    design: Design | None = None,
    validation: Validation = None,
    prune: float = 0.0,
    method: str = "auto",
    candidates: Literal["unseen", "all"] = "unseen",
    confidence: float = 0.95,
    keep: int = KEPT,
    log: str | Path | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> SearchResult:
    """The best setting of a model by validation users, and those that it cannot be told from.

    The test part of a split is never looked at. All trials meet the same users and the same
    sampled rivals, and the same seed gives the same result. LRR, ClosedFormMF and PureSVD are
    fitted from one decomposition with any strategy (:mod:`truerank.models.linear.grid_of_spectrum`)
    and so is EASE where that pays (:mod:`truerank.models.linear.ease_by_spectrum`).

    Args:
        model: A class of :mod:`truerank.models`, its name (``"ease"``), or any function of the
            parameters that gives something with ``fit(interactions)``.
        space: For each parameter a list of values, a :class:`Between`, or one fixed value.
        data: Training data, or a split, of which ``train`` is used.
        metric: Larger is better; nDCG@100 if not given, or nDCG at as many as every validation
            user has candidates.
        strategy: ``grid``, every combination; ``random``; or ``optuna`` (extra ``tune``).
        n_trials: For random and optuna, 20 if not given.
        design: Whom to rank against; ``Full()`` if not given. Sampled designs are cheaper, and
            the result says what that cost in certainty.
        validation: A split of the training part, or a function that makes one; if not given, one
            of the kind of the test split
            (:func:`truerank.search.validation_split.validation_split`).
        prune: Drop trials early that some of the users show to be worse. It is the largest
            probability of dropping the best one, for instance 0.05; 0 drops nothing
            (:mod:`truerank.search.race`).
        method: Of the estimates from sampled ranks.
        candidates: As for :func:`truerank.rank`.
        confidence: Of the set of trials that cannot be told apart from the best.
        keep: Rank tables of so many of the best trials are kept and compared with the winner.
            Memory: 8 bytes per held-out pair and table (24 for an adaptive design).
        log: A file for what is done, which a later call with the same arguments goes on from.
        seed: Of the validation split, the draws and the strategy.
        progress: Show a bar; only on a terminal if not given.

    >>> from truerank.data import load_dataset
    >>> from truerank.models import ItemKNN
    >>> found = search(ItemKNN, {"k": [5, 50]}, load_dataset("demo"), metric="recall@20")
    >>> found.best_parameters, len(found.trials)
    ({'k': 50}, 2)
    """
    maker = Maker.of(model)
    parts = maker.space(space)
    maker.check(parts)
    chosen = make_strategy(strategy, parts, n_trials, checked_seed(seed))
    if not 0 < confidence < 1:
        raise InvalidArgumentError("confidence", confidence, "between 0 and 1")
    if keep < 1:
        raise InvalidArgumentError("keep", keep, "at least 1")
    asked = None if metric is None else as_metric(metric)
    if strategy == "grid":
        for parameters in parts.grid():
            maker.new(parameters)  # a value that the model refuses is refused before any fit
    split = validation_split(data, validation, seed)
    wanted = usual_metric(split, candidates) if asked is None else asked
    examination = Examination(
        validation=split, metric=wanted, design=design or Full(), method=method,
        candidates=candidates, seed=seed,
    )  # fmt: skip
    race = Race.of(examination, prune, chosen.n_trials)
    identity = {
        "model": maker.name,
        "space": parts.describe(),
        "metric": str(wanted),
        "strategy": strategy,
        "design": examination.design.describe(),
        "method": method,
        "candidates": candidates,
        "prune": prune,
        "seed": int(seed),
        "data": split.train.fingerprint(),
        "validation split": split.fingerprint(),
    }
    if prune > 0:  # the threshold depends on it
        identity["n_trials"] = chosen.n_trials
    fits = SharedFits(maker, parts, split.train, every=strategy == "grid")
    run = _Run(race, fits, keep, SearchLog(Path(log), identity) if log else None)
    with _BestSoFar("searching", chosen.n_trials, enabled=progress) as bar:
        trials = run.all(chosen, bar)
    if best_of(trials) is None:
        raise InvalidDataError(
            f"none of the {len(trials):,} trials finished; the first failed because "
            f"{trials[0].note}"
        )
    return concluded(trials, run.tables, race, maker, parts, confidence=confidence)


class _BestSoFar(Progress):
    """A bar whose label says how good the best trial is."""

    def show(self, trials: list[Trial], metric: str) -> None:
        """One more trial is done."""
        best = best_of(trials)
        if best is not None:
            self.label = f"searching, best {metric} {best.value:.4f}"
        self.advance()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=self.label)


class _Run:
    """The trials of one search and the tables of the best of them."""

    def __init__(self, race: Race, fits: SharedFits, keep: int, log: SearchLog | None) -> None:
        self.race, self.fits, self.keep, self.log = race, fits, keep, log
        self.tables: dict[int, RankTable] = {}
        self.trials: list[Trial] = []

    def all(self, strategy: Strategy, bar: _BestSoFar) -> list[Trial]:
        """What the log has, then the rest."""
        logged = self.log.read() if self.log is not None else []
        while (parameters := strategy.ask(self.trials)) is not None:
            number = len(self.trials)
            if number < len(logged):
                trial = self._logged(logged, number, parameters)
            else:
                trial = self._new(number, parameters)
                if self.log is not None:
                    if number in self.tables:
                        self.log.save_table(number, self.tables[number])
                    self.log.append(trial)
            self.trials.append(trial)
            strategy.tell(trial)
            if number >= len(logged) - 1:
                self._forget()
            bar.show(self.trials, str(self.race.examination.metric))
        return self.trials

    def _logged(self, logged: list[Trial], number: int, parameters: Parameters) -> Trial:
        trial = logged[number]
        if trial.parameters != parameters and self.log is not None:
            raise InvalidDataError(
                f"trial {number} of {self.log.path} has other parameters than this search would "
                "try, so another version of a package made it; choose another log"
            )
        if trial.status == "finished" and self.log is not None and number in self._best(logged):
            table = self.log.load_table(number)
            if table is None:  # somebody removed it: the same trial makes the same table
                scorer = self.race.examination.scorer(self.fits.fit(parameters))
                table = self.race.run(scorer, None)[0]
                self.log.save_table(number, table)
            self._keep(number, table)
        return trial

    def _new(self, number: int, parameters: Parameters) -> Trial:
        for earlier in self.trials:
            if earlier.key == setting_key(parameters):
                note = earlier.note or f"the same as trial {earlier.number}"
                return replace(
                    earlier, number=number, status="repeated", n_scored=0, seconds=0.0, note=note
                )
        return self._finish(number, parameters)

    def _finish(self, number: int, parameters: Parameters) -> Trial:
        """Fit and examine, against the best so far."""
        start = time.perf_counter()
        common: dict[str, Any] = {"number": number, "parameters": parameters}
        try:
            scorer = self.race.examination.scorer(self.fits.fit(parameters))
        except TruerankError as error:
            spent = time.perf_counter() - start
            return Trial(**common, status="failed", note=str(error), seconds=spent)
        leader = best_of(self.trials)
        rivals = None if leader is None else self.tables[leader.number]
        table, whole = self.race.run(scorer, rivals)
        found = self.race.examination.measure(table)
        note = ""
        if whole:
            self._keep(number, table)
        elif leader is not None:
            note = f"worse than trial {leader.number} on {found.n_users:,} users"
        return Trial(
            **common,
            status="finished" if whole else "pruned",
            value=found.value,
            std_error=found.std_error,
            n_users=found.n_users,
            n_scored=int(table.n_scored.sum()),
            note=note,
            seconds=time.perf_counter() - start,
        )

    def _keep(self, number: int, table: RankTable) -> None:
        other = next(iter(self.tables.values()), None)
        self.tables[number] = table if other is None else sharing(table, other)

    def _forget(self) -> None:
        """Tables of all but the best trials go."""
        for number in set(self.tables) - set(self._best(self.trials)):
            del self.tables[number]
            if self.log is not None:
                self.log.drop_table(number)

    def _best(self, trials: list[Trial]) -> list[int]:
        finished = [trial for trial in trials if trial.status == "finished"]
        ordered = sorted(finished, key=lambda trial: (-trial.value, trial.number))
        return [trial.number for trial in ordered[: self.keep]]
