"""The recipe of the table of linear models, read from ``recipes/linear_table.toml``."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

from truerank.checks import check_one_of
from truerank.data import Interactions, load_dataset
from truerank.data.filters import active_users, at_least
from truerank.data.synthetic import generate
from truerank.errors import InvalidArgumentError
from truerank.metrics import Metric, as_metric
from truerank.reproduce.claims import Question
from truerank.split import Split, strong_generalization

LOW_RANK = ("lrr", "edlae", "closed-form-mf", "pure-svd")
"""Models whose ``dim`` is a rank, which follows the number of items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearRow:
    """One row of the table: a model and its grid, or what is learned around another row.

    Attributes:
        name: As printed.
        family: ``regression``, ``factorisation`` or ``learned-linear``.
        model: Name of the model; empty for a learned row.
        grid: Values to try of each parameter, by data set.
        base: Name of the row that a learned row starts from.
        learn: Settings of :class:`~truerank.models.LearnedLinear`; a list is a grid, and
            ``lambda_range_share`` is lambda_range as a part of the base's l2.
        published: The dissertation's numbers, by data set.
        note: What to know about it.
    """

    name: str
    family: str
    model: str = ""
    grid: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    base: str = ""
    learn: dict[str, Any] = field(default_factory=dict)
    published: dict[str, list[float]] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The whole table.

    Attributes:
        metrics: The columns.
        select_by: The metric that chooses hyper-parameters on the validation users.
        data: How each data set is filtered and split.
        rows: In the order of the table.
        questions: What is asked of the finished table.
    """

    metrics: tuple[str, ...]
    select_by: str
    data: dict[str, dict[str, Any]]
    rows: tuple[LinearRow, ...]
    questions: tuple[Question, ...]

    def row(self, name: str) -> LinearRow:
        """The row of this name."""
        rows = {row.name: row for row in self.rows}
        check_one_of("row", name, rows)
        return rows[name]

    def splits(self, data: str, interactions: Interactions | None = None) -> tuple[Split, Split]:
        """Two splits with one training part: test users, and validation users.

        Args:
            data: Name of the data set, which says how it is filtered and split.
            interactions: Other data in its place, such as generated ones, not filtered; a test
                and a validation group may be at most a tenth of their users.
        """
        check_one_of("data", data, self.data)
        how, rule = self.data[data], dict(self.data[data]["split"])
        if interactions is None:
            interactions = filtered(load_dataset(data), how)
        else:
            most = max(1, interactions.n_users // 10)
            for group in ("n_users", "n_validation_users"):
                rule[group] = min(rule[group], most)
        test, validation = (
            strong_generalization(interactions, role=role, **rule)
            for role in ("test", "validation")
        )
        return test, validation

    def generated(self, data: str, share: float = 1.0) -> tuple[Recipe, Interactions]:
        """Generated data of a set's shape, and the recipe for them.

        Users and items are a share of the set's; interactions per user are the set's (at most a
        quarter of the items), so that penalties, which follow how often an item is met, can stay.
        Ranks are cut with the items.

        Args:
            data: A data set of the recipe that has a shape.
            share: Of the users and items, at most 1, and with items enough for the metrics: a
                user, who has at most a quarter of them, must leave as many as the largest cutoff.
        """
        shapes = {name: how["shape"] for name, how in self.data.items() if "shape" in how}
        if data not in shapes:
            raise InvalidArgumentError("data", data, f"one of {', '.join(shapes)} to be generated")
        if not 0 < share <= 1:
            raise InvalidArgumentError("share", share, "above 0 and at most 1")
        shape = shapes[data]
        n_users, n_items = (round(share * shape[side]) for side in ("users", "items"))
        largest = max((as_metric(m) for m in (*self.metrics, self.select_by)), key=_cutoff)
        fewest_items = math.ceil(4 * _cutoff(largest) / 3)
        if n_items < fewest_items:
            least = math.ceil(1e4 * fewest_items / shape["items"]) / 1e4
            raise InvalidArgumentError(
                "share", share, f"at least {least:g} of {data}",
                f"{n_items:,} items, of which a user may have a quarter, leave too few to rank "
                f"for {largest}",
            )  # fmt: skip
        per_user = min(shape["interactions"] / shape["users"], n_items / 4)
        interactions = generate(n_users, n_items, interactions_per_user=per_user)
        rows = tuple(
            replace(row, grid={data: _cut(row.model, row.grid[data], share)}) if row.grid else row
            for row in self.rows
        )
        return replace(self, rows=rows), interactions


def _cutoff(metric: Metric) -> int:
    """The K of a metric, 0 where it has none."""
    return metric.k or 0


def _cut(model: str, grid: Mapping[str, list[Any]], share: float) -> dict[str, list[Any]]:
    """The grid with a share of every rank of a linear model, at least 1."""
    if model not in LOW_RANK:
        return dict(grid)
    return {
        name: [max(1, round(share * value)) for value in values] if name == "dim" else values
        for name, values in grid.items()
    }


def filtered(data: Interactions, how: Mapping[str, Any]) -> Interactions:
    """Ratings from a level on, as ones, of users who have enough of them."""
    if "at_least" in how:
        data = at_least(data, how["at_least"])
    return active_users(replace(data, weights=None), how["user_items"])


def combinations(grid: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every setting of a grid; a value that is not a list is fixed.

    >>> list(combinations({"l2": [1, 2], "dim": 5}))
    [{'l2': 1, 'dim': 5}, {'l2': 2, 'dim': 5}]
    """
    values = [value if isinstance(value, list) else [value] for value in grid.values()]
    for chosen in product(*values):
        yield dict(zip(grid, chosen, strict=True))


@cache
def linear_recipe() -> Recipe:
    """The recipe as it stands in the file."""
    text = files("truerank.reproduce") / "recipes" / "linear_table.toml"
    raw = tomllib.loads(text.read_text(encoding="utf-8"))
    return Recipe(
        metrics=tuple(raw["metrics"]),
        select_by=raw["select_by"],
        data=raw["data"],
        rows=tuple(LinearRow(**row) for row in raw["row"]),
        questions=tuple(Question(**question) for question in raw["question"]),
    )
