"""The dissertation's table of losses, run: chosen on validation users, ranked once on the test.

Every setting of a row is trained once, and stopped, by a part of the *training* data: a tenth of
the users have a fifth of their items held out (:mod:`truerank.models.mf.validation`). The setting
with the best value is trained on all of the training data, for as many epochs at the same rates,
with every seed of the recipe; only these models see the test.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from truerank.errors import InvalidArgumentError
from truerank.experiments.loss_recipe import LossCurve, LossRecipe, LossRow, loss_recipe
from truerank.files import readable_errors, written_whole
from truerank.models.mf import MF
from truerank.models.saving import load
from truerank.ranking import Full, RankTable, rank
from truerank.split import Split, published


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One training.

    Attributes:
        setting: What was tried, beyond what the row has in common.
        seed: Of the training.
        validation: The best value on the validation users.
        best_epoch: Where it was reached.
        epochs: How many there were.
        seconds: They took.
    """

    setting: dict[str, Any]
    seed: int
    validation: float
    best_epoch: int
    epochs: int
    seconds: float


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
    tried: tuple[Trial, ...]
    chosen: Trial
    tables: tuple[RankTable, ...]

    def per_user(self, metric: str) -> NDArray[np.float64]:
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


class LossTable:
    """Trains rows when they are asked for.

    Memory: a model and the training of another. The cache holds every judged model (for gowalla
    and dim 64 about 18 MB each) and the ranks of those trained on everything.

    Args:
        data: A data set with a published split.
        recipe: The table; that of the dissertation if not given.
        split: Another split in the place of the published one.
        cache: A folder where finished trainings are kept, so that a later run goes on from there;
            a temporary one if not given.
        workers: Threads of a training.
    """

    def __init__(
        self,
        data: str,
        *,
        recipe: LossRecipe | None = None,
        split: Split | None = None,
        cache: Path | None = None,
        workers: int | None = None,
    ) -> None:
        self.data, self.workers = data, workers
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
        """How many trainings the row takes at most."""
        return len(self._tried(row)) + len(self.recipe.seeds)

    def line(self, row: LossRow, step: Callable[[], None] = lambda: None) -> LossLine:
        """Choose on the validation users, train on everything, and rank the test users."""
        tried = []
        for setting in self._tried(row):
            tried.append(self.trial(row, setting, self.recipe.seeds[0]))
            step()
        best = max(tried, key=lambda trial: trial.validation)
        tables = []
        for seed in self.recipe.seeds:
            tables.append(self.ranks(row, best, seed))
            step()
        return LossLine(row=row, tried=tuple(tried), chosen=best, tables=tuple(tables))

    def curve(
        self, curve: LossCurve, step: Callable[[], None] = lambda: None
    ) -> dict[str, list[Trial]]:
        """The trials of a figure, by row."""
        found: dict[str, list[Trial]] = {}
        for name, values in curve.values.items():
            row = self.recipe.row(name)
            found[name] = []
            for value in values:
                setting = curve.around.get(name, {}) | curve.fixed | {curve.parameter: value}
                found[name].append(self.trial(row, setting, self.recipe.seeds[0]))
                step()
        return found

    def trial(self, row: LossRow, setting: Mapping[str, Any], seed: int) -> Trial:
        """Train with this setting, or find that it was done before."""
        path = self._path(row, setting, seed)
        if path.is_file():
            return Trial(**json.loads(path.read_text(encoding="utf-8")))
        model = MF(**self.recipe.settings(row, setting), seed=seed)
        start = time.perf_counter()
        model.fit(self.split.train, workers=self.workers)
        trial = Trial(
            setting=dict(setting),
            seed=seed,
            validation=float(np.nanmax(model.validations)),
            best_epoch=model.best_epoch,
            epochs=len(model.losses),
            seconds=time.perf_counter() - start,
        )
        model.save(path.with_suffix(".model"), force=True)
        with written_whole(path) as temporary:
            temporary.write_text(json.dumps(asdict(trial)), encoding="utf-8")
        return trial

    def ranks(self, row: LossRow, trial: Trial, seed: int) -> RankTable:
        """Train what was chosen on everything, with this seed, and rank the test users."""
        path = self._path(row, trial.setting, trial.seed)
        ranks = path.with_name(f"{path.stem}-{seed}.parquet")
        if ranks.is_file():
            return RankTable.from_parquet(ranks)
        judged = cast(MF, load(path.with_suffix(".model")))
        model = judged.refit(self.split.train, seed=seed, workers=self.workers)
        table = rank(model, self.split, Full(), progress=False)
        table.to_parquet(ranks)
        return table

    def _tried(self, row: LossRow) -> list[dict[str, Any]]:
        if self.data not in row.tried:
            raise InvalidArgumentError(
                "data", self.data, f"one of {', '.join(row.tried)} for {row.name}"
            )
        return row.tried[self.data]

    def _path(self, row: LossRow, setting: Mapping[str, Any], seed: int) -> Path:
        """A file for these settings on this split and nothing else."""
        asked = [self._fingerprint, self.recipe.settings(row, setting), seed]
        key = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]
        return self.cache / f"{self.data}-{row.loss}-{key}.json"
