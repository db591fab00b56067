"""The recipe of the table of losses, read from ``recipes/loss_table.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from truerank.checks import check_one_of
from truerank.losses.parameters import PARAMETERS
from truerank.reproduce.claims import Question

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRow:
    """A loss, the settings that were tried with it, and what was printed of it.

    Attributes:
        name: As printed.
        loss: Name of the loss.
        fixed: Settings in common for all that were tried.
        tried: The settings that were tried, by data set; the best on validation users counts.
        published: The dissertation's numbers, by data set.
    """

    name: str
    loss: str
    fixed: dict[str, Any] = field(default_factory=dict)
    tried: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    published: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCurve:
    """One setting varied around others of some rows, on one data set.

    Attributes:
        name: Of the figure.
        parameter: What is varied.
        data: The data set.
        values: Those tried, by name of the row.
        around: The settings of the row that stay as they are; none if not given.
        fixed: Settings of all of the figure, which take less time than those of the table.
    """

    name: str
    parameter: str
    data: str
    values: dict[str, list[float]]
    around: dict[str, dict[str, Any]] = field(default_factory=dict)
    fixed: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRecipe:
    """The whole table.

    Attributes:
        metrics: The columns.
        select_by: The metric by which settings and epochs are chosen, on validation users.
        seeds: Runs of the chosen setting; the mean counts.
        within: The largest relative difference that counts as the same as printed.
        common: Settings of all rows.
        rows: In the order of the table.
        questions: What is asked of the finished table.
        curves: The figures.
    """

    metrics: tuple[str, ...]
    select_by: str
    seeds: tuple[int, ...]
    within: float
    common: dict[str, Any]
    rows: tuple[LossRow, ...]
    questions: tuple[Question, ...] = ()
    curves: tuple[LossCurve, ...] = ()

    def row(self, name: str) -> LossRow:
        """The row of this name."""
        return _named("row", name, {row.name: row for row in self.rows})

    def curve(self, name: str) -> LossCurve:
        """The figure of this name."""
        return _named("curve", name, {curve.name: curve for curve in self.curves})

    def settings(self, row: LossRow, setting: Mapping[str, Any]) -> dict[str, Any]:
        """What the model is made with: what all rows share, what the row fixes, and the setting."""
        chosen = self.common | row.fixed | dict(setting)
        parameters = {name: chosen.pop(name) for name in PARAMETERS if name in chosen}
        return chosen | {
            "loss": row.loss,
            "loss_params": parameters or None,
            "validation_metric": self.select_by,
        }


def _named(what: str, name: str, known: Mapping[str, T]) -> T:
    """The entry of this name, or a sentence that lists the names."""
    check_one_of(what, name, known)
    return known[name]


@cache
def loss_recipe() -> LossRecipe:
    """The recipe as it stands in the file."""
    text = files("truerank.reproduce") / "recipes" / "loss_table.toml"
    raw = tomllib.loads(text.read_text(encoding="utf-8"))
    return LossRecipe(
        metrics=tuple(raw["metrics"]),
        select_by=raw["select_by"],
        seeds=tuple(raw["seeds"]),
        within=raw["within"],
        common=raw["common"],
        rows=tuple(LossRow(**row) for row in raw["row"]),
        questions=tuple(Question(**question) for question in raw["question"]),
        curves=tuple(LossCurve(**curve) for curve in raw["curve"]),
    )
