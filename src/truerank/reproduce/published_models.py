"""Published numbers of models, reproduced: ``recipes/published_models.toml``, run."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from truerank.checks import check_one_of
from truerank.data.registry.load import load_arrays
from truerank.estimators import Estimate, estimate
from truerank.files import readable_errors, written_whole
from truerank.models.names import model_class
from truerank.ranking import FixedNegatives, Full, rank
from truerank.split import Split, published


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """A model with a setting, on a data set with a published split.

    Attributes:
        name: As printed.
        data: Data set.
        model: Name of the model.
        parameters: What it is made with.
        published: The printed numbers, in the order of the protocol's metrics.
        source: Who printed them.
        within: The largest difference that counts as the same.
        better: Whether more than the printed number will do.
        seeds: Every seed is a run; the mean counts. None where nothing is random.
        note: How the setting was found.
    """

    name: str
    data: str
    model: str
    parameters: dict[str, Any] = field(default_factory=dict)
    published: tuple[float, ...]
    source: str
    within: float
    better: bool = False
    seeds: tuple[int, ...] | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came out of a row.

    Attributes:
        row: What was asked for.
        metrics: Names of the metrics.
        values: By run and metric.
        std_errors: For future users, of the first run.
        seconds: Of fitting, mean over runs.
    """

    row: PublishedRow
    metrics: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    std_errors: tuple[float, ...]
    seconds: float

    @property
    def means(self) -> tuple[float, ...]:
        """Mean over the runs, by metric."""
        return tuple(float(mean) for mean in np.mean(self.values, axis=0))

    @property
    def reached(self) -> bool:
        """Whether every metric is as near to the printed one as wanted, or better if it may be."""
        differences = np.subtract(self.means, self.row.published)
        near = np.abs(differences) <= self.row.within
        return bool((near | (differences > 0) if self.row.better else near).all())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "name": self.row.name,
            "data": self.row.data,
            "model": self.row.model,
            "parameters": self.row.parameters,
            "seeds": self.row.seeds,
            "metrics": self.metrics,
            "values": self.values,
            "std_errors": self.std_errors,
            "population": "infinite",
            "published": self.row.published,
            "source": self.row.source,
            "seconds": self.seconds,
            "reached": self.reached,
        }


def wanted_rows(
    data: list[str] | None = None, names: list[str] | None = None
) -> list[PublishedRow]:
    """Rows of the recipe, those of given data sets and names if any."""
    rows = [PublishedRow(**_tuples(row)) for row in _recipe()["row"]]
    for what, given, known in (
        ("data", data, [row.data for row in rows]),
        ("row", names, [row.name for row in rows]),
    ):
        for one in given or []:
            check_one_of(what, one, dict.fromkeys(known))
    return [
        row
        for row in rows
        if (data is None or row.data in data) and (names is None or row.name in names)
    ]


def run(row: PublishedRow, cache: Path | None = None) -> Found:
    """Fit and rank a row, or take it from the cache if it was run before.

    Memory: one fitted model and the exact ranks of its test pairs.
    """
    finished = kept(row, cache)
    if finished is not None:
        return finished
    metrics, path = _metrics(row), _kept_at(row, cache)
    split = published(row.data)
    runs, seconds = [], []
    for settings in _runs(row):
        start = time.perf_counter()
        model = model_class(row.model)(**settings).fit(split.train)
        seconds.append(time.perf_counter() - start)
        runs.append(_estimates(model, split, row.data, metrics))
    found = Found(
        row=row,
        metrics=metrics,
        values=tuple(tuple(float(e.value) for e in one) for one in runs),
        std_errors=tuple(float(e.std_error) for e in runs[0]),
        seconds=float(np.mean(seconds)),
    )
    if path is not None:
        noted = {name: getattr(found, name) for name in ("values", "std_errors", "seconds")}
        with written_whole(path) as temporary:
            temporary.write_text(json.dumps(noted), encoding="utf-8")
    return found


def kept(row: PublishedRow, cache: Path | None) -> Found | None:
    """What came out of a row before, if the cache has it."""
    path = _kept_at(row, cache)
    if path is None or not path.is_file():
        return None
    noted = json.loads(path.read_text(encoding="utf-8"))
    return Found(row=row, metrics=_metrics(row), **_tuples(noted))


def _metrics(row: PublishedRow) -> tuple[str, ...]:
    return tuple(_recipe()["protocol"][row.data]["metrics"])


def _runs(row: PublishedRow) -> Iterator[dict[str, Any]]:
    if row.seeds is None:
        yield row.parameters
    for seed in row.seeds or ():
        yield row.parameters | {"seed": seed}


def _estimates(model: Any, split: Split, data: str, metrics: tuple[str, ...]) -> list[Estimate]:
    """As the protocol of the data set has it; NCF's own metrics are those of its 100 candidates."""
    if _recipe()["protocol"][data]["split"] == "ncf":
        negatives = load_arrays(data)["test_negative"]
        ranks = rank(model, split, FixedNegatives(negatives), ties="pessimistic", progress=False)
        return estimate(ranks, list(metrics), method="naive")
    return estimate(rank(model, split, Full(), progress=False), list(metrics), method="exact")


def _kept_at(row: PublishedRow, cache: Path | None) -> Path | None:
    """A file for this row and no other: a changed setting has another name."""
    if cache is None:
        return None
    with readable_errors(cache):
        cache.mkdir(parents=True, exist_ok=True)
    settings = ",".join(f"{k}={v}" for k, v in sorted(row.parameters.items()))
    seeds = "" if row.seeds is None else ",seeds=" + "+".join(map(str, row.seeds))
    words = "".join(c if c.isalnum() or c in ".,=+" else "-" for c in settings + seeds)
    return cache / f"{row.data}-{row.model}-{words}.json"


def _tuples(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as tuples, also inside lists: rows do not change."""

    def frozen(value: Any) -> Any:
        return tuple(map(frozen, value)) if isinstance(value, list) else value

    return {name: frozen(value) for name, value in raw.items()}


@cache
def _recipe() -> dict[str, Any]:
    text = files("truerank.reproduce") / "recipes" / "published_models.toml"
    return tomllib.loads(text.read_text(encoding="utf-8"))
