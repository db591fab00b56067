"""The dissertation's table of linear models, run: chosen on validation users, ranked on test users.

Every row is fitted on the same training users. A row with a grid takes the setting that is best
on the validation users; a learned row learns around the best setting of its base and is stopped by
the same users. The test users are ranked once per row, by the chosen model, in full.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from truerank.arrays import Float
from truerank.data import Interactions
from truerank.errors import InvalidArgumentError
from truerank.files import readable_errors, written_whole
from truerank.models.learned_linear import LearnedLinear
from truerank.models.linear.grid_of_spectrum import SHRINKAGES, SpectrumGrid
from truerank.models.linear.spectrum import Spectrum, decompose
from truerank.models.names import model_class
from truerank.ranking import Full, RankTable, rank
from truerank.reproduce.linear_recipe import LinearRow, Recipe, combinations, linear_recipe


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """A finished row.

    Attributes:
        row: What was asked for.
        setting: The chosen hyper-parameters.
        validation: Value of the selecting metric on the validation users.
        tried: How many settings were tried.
        epochs: Epochs until the best one, of a learned row; None otherwise.
        seconds: Of fitting and choosing.
        table: Exact ranks of the test users.
    """

    row: LinearRow
    setting: dict[str, Any]
    validation: float
    tried: int
    epochs: int | None
    seconds: float
    table: RankTable

    def per_user(self, metric: str) -> Float:
        """The metric of each test user."""
        return self.table.per_user(metric)[1]

    def value(self, metric: str) -> tuple[float, float]:
        """Mean over the test users, and its standard error."""
        values = self.per_user(metric)
        return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


class LinearTable:
    """Fits rows when they are asked for; bases and the decomposition are shared.

    Args:
        data: Name of the data set in the recipe.
        recipe: The table; that of the dissertation if not given.
        interactions: Other data in place of the named set, such as generated ones.
        cache: A folder where finished rows are kept; a later run goes on from there.
    """

    def __init__(
        self,
        data: str = "ml-1m",
        *,
        recipe: Recipe | None = None,
        interactions: Interactions | None = None,
        cache: Path | None = None,
    ) -> None:
        self.data, self.recipe, self.cache = data, recipe or linear_recipe(), cache
        self.test, self.validation = self.recipe.splits(data, interactions)
        self._bases: dict[str, Any] = {}

    def lines(
        self, names: Sequence[str] | None = None, *, step: Callable[[str], None] = lambda _: None
    ) -> Iterator[Line]:
        """Every row, or those named, in the order of the table."""
        for row in self.recipe.rows:
            if names is None or row.name in names:
                yield self.line(row)
                step(row.name)

    def line(self, row: LinearRow) -> Line:
        """A row, from the cache or made now."""
        kept = self._kept(row)
        if kept is not None:
            return kept
        start = time.perf_counter()
        setting, model, value, tried = self._best(row)
        line = Line(
            row=row,
            setting=setting,
            validation=value,
            tried=tried,
            epochs=model.best_epoch if isinstance(model, LearnedLinear) else None,
            seconds=time.perf_counter() - start,
            table=rank(model, self.test, Full(), progress=False),
        )
        self._keep(line)
        return line

    @cached_property
    def spectrum(self) -> Spectrum:
        """One decomposition of the training data, of the largest rank in the recipe."""
        ranks = [r.grid[self.data]["dim"] for r in self.recipe.rows if self._by_spectrum(r)]
        return decompose(self.test.train, max(max(values) for values in ranks))

    def learned(self, row: LinearRow, setting: dict[str, Any], **more: Any) -> LearnedLinear:
        """A learned row with these settings, learned."""
        base, settings = self._base(row.base), setting | more
        if "lambda_range_share" in settings:
            settings["lambda_range"] = settings.pop("lambda_range_share") * base.l2
        history = self.validation.fold_in or self.validation.train
        return LearnedLinear(**settings).fit(
            self.test.train,
            base=base,
            spectrum=self.spectrum if "lambda_range" in settings else None,
            validation=(history, self.validation.held_out),
        )

    def _best(self, row: LinearRow) -> tuple[dict[str, Any], Any, float, int]:
        """The best setting by the validation users, the first of equals; one model is held."""
        candidates = self._learned_rows(row) if row.base else self._ordinary(row)
        best, tried = next(candidates), 1
        for candidate in candidates:
            tried += 1
            if candidate[2] > best[2]:
                best = candidate
        return *best, tried

    def _learned_rows(self, row: LinearRow) -> Iterator[tuple[dict[str, Any], Any, float]]:
        for setting in combinations(row.learn):
            model = self.learned(row, setting)
            yield setting, model, float(model.values.max())

    def _ordinary(self, row: LinearRow) -> Iterator[tuple[dict[str, Any], Any, float]]:
        if self.data not in row.grid:
            raise InvalidArgumentError("row", row.name, f"one with a grid for {self.data}")
        for setting, model in self._models(row, list(combinations(row.grid[self.data]))):
            table = rank(model, self.validation, Full(), progress=False)
            yield setting, model, float(table.per_user(self.recipe.select_by)[1].mean())

    def _models(self, row: LinearRow, settings: list[dict[str, Any]]) -> Iterator[tuple[Any, Any]]:
        kind = model_class(row.model)
        if not self._by_spectrum(row):
            yield from ((s, kind(**s).fit(self.test.train)) for s in settings)
            return
        grid = SpectrumGrid(self.spectrum, self.test.train, kind.__name__)
        yield from ((s, grid.model(**s)) for s in settings)

    def _by_spectrum(self, row: LinearRow) -> bool:
        return bool(row.model) and model_class(row.model).__name__ in SHRINKAGES

    def _base(self, name: str) -> Any:
        """The chosen model of another row, fitted as its own class."""
        if name not in self._bases:
            row = self.recipe.row(name)
            model = model_class(row.model)(**self.line(row).setting)
            more = {"spectrum": self.spectrum} if row.model == "lrr" else {}
            self._bases[name] = model.fit(self.test.train, **more)
        return self._bases[name]

    def _path(self, row: LinearRow) -> Path | None:
        if self.cache is None:
            return None
        with readable_errors(self.cache):
            self.cache.mkdir(parents=True, exist_ok=True)
        name = "".join(c if c.isalnum() else "-" for c in row.name.lower())
        return self.cache / f"{self.data}-{name}.parquet"

    def _keep(self, line: Line) -> None:
        path = self._path(line.row)
        if path is None:
            return
        line.table.to_parquet(path)
        noted = {name: getattr(line, name) for name in _NOTED} | {
            "made_for": self._made_for(line.row)
        }
        with written_whole(path.with_suffix(".json"), force=True) as temporary:
            temporary.write_text(json.dumps(noted), encoding="utf-8")

    def _kept(self, row: LinearRow) -> Line | None:
        path = self._path(row)
        if path is None or not path.with_suffix(".json").is_file():
            return None
        noted = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        if noted.pop("made_for") != self._made_for(row):
            return None
        return Line(row=row, table=RankTable.from_parquet(path), **noted)

    def _made_for(self, row: LinearRow) -> str:
        """What a finished row depends on: the split, its settings, and its base's chosen one."""
        asked = {"grid": row.grid.get(self.data), "learn": row.learn, "model": row.model}
        if row.base:
            base = self.recipe.row(row.base)
            asked["base"] = {"model": base.model, "setting": self.line(base).setting}
        return json.dumps([self.test.fingerprint(), self.validation.fingerprint(), asked])


_NOTED = ("setting", "validation", "tried", "epochs", "seconds")
