"""The dissertation's table of losses, run: chosen on validation users, ranked once on the test.

Every setting of a row is trained once, and stopped, by a part of the *training* data: a tenth of
the users have a fifth of their items held out (:mod:`truerank.training.validation`). The setting
with the best value is trained on all of the training data, for as many epochs at the same rates,
with every seed of the recipe; only these models see the test. What is known of a trial, from the
record or from a cache, is not found out again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from truerank.arrays import Float
from truerank.errors import FileFormatError, InvalidArgumentError
from truerank.files import readable_errors, written_whole
from truerank.models.mf import MF
from truerank.ranking import Full, RankTable, rank
from truerank.reproduce.loss_recipe import LossCurve, LossRecipe, LossRow, loss_recipe
from truerank.reproduce.loss_trials import LossTrial, recorded_trials, trial_key
from truerank.split import Split, published


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossLine:
    """A finished row.

    Attributes:
        row: What was asked for.
        tried: Every setting, in the order of the recipe.
        chosen: The best of them on the validation users.
        tables: Exact ranks of the test users by models trained with it on everything, by seed.
    """

    row: LossRow
    tried: tuple[LossTrial, ...]
    chosen: LossTrial
    tables: tuple[RankTable, ...]

    def per_user(self, metric: str) -> Float:
        """The metric of each test user, mean over seeds."""
        by_seed = [table.per_user(metric)[1] for table in self.tables]
        return np.asarray(np.mean(by_seed, axis=0))

    def values(self, metric: str) -> tuple[float, ...]:
        """The metric with each seed."""
        return tuple(float(table.per_user(metric)[1].mean()) for table in self.tables)


def reached(line: LossLine, data: str, recipe: LossRecipe) -> bool:
    """Whether every metric is at most the recipe's part below the printed number, or above it."""
    means = np.array([np.mean(line.values(metric)) for metric in recipe.metrics])
    printed = np.array(line.row.published.get(data, [np.nan] * len(means)))
    return bool((means >= (1.0 - recipe.within) * printed).all())


class LossTableRuns:
    """Trains rows when they are asked for.

    Memory: the training of a model. The cache holds a few numbers of every trial, and the ranks by
    the models that were trained on everything.

    Args:
        data: A data set with a published split.
        recipe: The table; that of the dissertation if not given.
        split: Another split in the place of the published one.
        cache: A folder where finished trainings are kept, so that a later run goes on from there;
            a temporary one if not given.
        workers: Threads of a training.
        known: Trials by their keys that need not be made again; the record if not given.
    """

    def __init__(
        self,
        data: str,
        *,
        recipe: LossRecipe | None = None,
        split: Split | None = None,
        cache: Path | None = None,
        workers: int | None = None,
        known: Mapping[str, LossTrial] | None = None,
    ) -> None:
        self.data, self.workers = data, workers
        self.known = recorded_trials() if known is None else known
        self.recipe = recipe or loss_recipe()
        self.split = split or published(data)
        if cache is None:
            cache = Path(tempfile.mkdtemp(prefix="truerank-"))
            weakref.finalize(self, shutil.rmtree, cache)  # gone with the table
        self.cache = cache
        with readable_errors(cache):
            cache.mkdir(parents=True, exist_ok=True)
        self._fingerprint = self.split.fingerprint()

    def trainings(self, row: LossRow) -> int:
        """How many trainings the row takes: of settings that nothing is known of, and of seeds."""
        first = self.recipe.seeds[0]
        new = [one for one in self._tried(row) if self._found(row, one, first) is None]
        return len(new) + len(self.recipe.seeds)

    def line(self, row: LossRow, step: Callable[[], None] = lambda: None) -> LossLine:
        """Choose on the validation users, train on everything, and rank the test users."""
        tried = self.search(row, step)
        best = max(tried, key=lambda trial: trial.validation)
        if not best.rates:  # an old record: only another training tells them
            best = self._train(row, best.setting, best.seed)
        tables = []
        for seed in self.recipe.seeds:
            tables.append(self.ranks(row, best, seed))
            step()
        return LossLine(row=row, tried=tried, chosen=best, tables=tuple(tables))

    def search(
        self, row: LossRow, step: Callable[[], None] = lambda: None
    ) -> tuple[LossTrial, ...]:
        """Every setting of the row, evaluated on the validation users; the test stays out of it."""
        return tuple(
            self.trial(row, setting, self.recipe.seeds[0], step) for setting in self._tried(row)
        )

    def points(self, curve: LossCurve) -> int:
        """How many trainings the figure takes."""
        seed = self.recipe.seeds[0]
        return sum(self._found(row, one, seed) is None for row, one in self._points(curve))

    def curve(
        self, curve: LossCurve, step: Callable[[], None] = lambda: None
    ) -> dict[str, list[LossTrial]]:
        """The trials of a figure, by row."""
        found: dict[str, list[LossTrial]] = {name: [] for name in curve.values}
        for row, setting in self._points(curve):
            found[row.name].append(self.trial(row, setting, self.recipe.seeds[0], step))
        return found

    def _points(self, curve: LossCurve) -> list[tuple[LossRow, dict[str, Any]]]:
        return [
            (
                self.recipe.row(name),
                curve.around.get(name, {}) | curve.fixed | {curve.parameter: value},
            )
            for name, values in curve.values.items()
            for value in values
        ]

    def trial(
        self,
        row: LossRow,
        setting: Mapping[str, Any],
        seed: int,
        step: Callable[[], None] = lambda: None,
    ) -> LossTrial:
        """What this setting comes to; ``step`` is called if it had to be trained."""
        found = self._found(row, setting, seed)
        if found is not None:
            return found
        trial = self._train(row, setting, seed)
        step()
        return trial

    def _train(self, row: LossRow, setting: Mapping[str, Any], seed: int) -> LossTrial:
        model = MF(**self.recipe.settings(row, setting), seed=seed)
        start = time.perf_counter()
        model.fit(self.split.train, workers=self.workers)
        trial = LossTrial(
            setting=dict(setting),
            seed=seed,
            validation=float(np.nanmax(model.validations)),
            best_epoch=model.best_epoch,
            epochs=len(model.losses),
            rates=tuple(model.rates[: model.best_epoch].tolist()),
            seconds=time.perf_counter() - start,
        )
        with written_whole(self._path(row, setting, seed)) as temporary:
            temporary.write_text(trial.to_json(), encoding="utf-8")
        return trial

    def ranks(self, row: LossRow, trial: LossTrial, seed: int) -> RankTable:
        """Train what was chosen on everything, with this seed, and rank the test users."""
        path = self._path(row, trial.setting, trial.seed)
        course = hashlib.sha256(json.dumps(trial.rates).encode()).hexdigest()[:8]
        ranks = path.with_name(f"{path.stem}-{course}-{seed}.parquet")
        if ranks.is_file():
            return RankTable.from_parquet(ranks)
        settings = self.recipe.settings(row, trial.setting) | {
            "learning_rate": list(trial.rates), "epochs": trial.best_epoch, "validation_share": 0.0,
        }  # fmt: skip
        model = MF(**settings, seed=seed).fit(self.split.train, workers=self.workers)
        table = rank(model, self.split, Full(), progress=False)
        table.to_parquet(ranks)
        return table

    def key(self, row: LossRow, setting: Mapping[str, Any], seed: int) -> str:
        """By which a trial is known."""
        return trial_key(self._fingerprint, self.recipe.settings(row, setting), seed)

    def _tried(self, row: LossRow) -> list[dict[str, Any]]:
        if self.data not in row.tried:
            raise InvalidArgumentError(
                "data", self.data, f"one of {', '.join(row.tried)} for {row.name}"
            )
        return row.tried[self.data]

    def _found(self, row: LossRow, setting: Mapping[str, Any], seed: int) -> LossTrial | None:
        """The trial, if it was made before."""
        path = self._path(row, setting, seed)
        if path.is_file():
            found: LossTrial | None = _read_trial(path)
        else:
            found = self.known.get(self.key(row, setting, seed))
        # The same training may be known by other words, such as a curve's.
        return found and replace(found, setting=dict(setting))

    def _path(self, row: LossRow, setting: Mapping[str, Any], seed: int) -> Path:
        """A file for these settings on this split and nothing else."""
        return self.cache / f"{self.data}-{row.loss}-{self.key(row, setting, seed)}.json"


def _read_trial(path: Path) -> LossTrial:
    try:
        return LossTrial.of(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(
            f"{path} does not hold a finished training; remove it, and it is made again"
        ) from error
