"""The dissertation's figures, read from ``recipes/accuracy.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A printed mean relative error of Recall@1..50.

    Attributes:
        where: Table in the dissertation.
        data: Its data set.
        model: Kind of model.
        design: Design in words.
        method: Our name of the method.
        value: Relative error in per cent.
        spread: Standard deviation over its repeats.
        size: Mean items scored per user, where printed.
        note: What differs in our setting; empty where nothing is known to.
    """

    where: str
    data: str
    model: str
    design: str
    method: str
    value: float
    spread: float
    size: float | None = None
    note: str = ""


def published_figure(
    data: str, model: str, design: str, method: str, *, candidates: str
) -> Published | None:
    """The printed figure for the same setting, if there is one.

    Args:
        data: Our data set; one that stands in for theirs carries a note.
        model: Kind of model.
        design: Design in words.
        method: Name of the method.
        candidates: They rank among all items.
    """
    recipe = _recipe()
    if candidates != recipe["candidates"]:
        return None
    note = ""
    for stand_in in recipe["stand_in"]:
        if stand_in["data"] == data:
            data, note = stand_in["published"], stand_in["note"]
    return next(
        (
            figure
            for figure in all_figures(note)
            if (figure.data, figure.model, figure.design, figure.method)
            == (data, model, design, method)
        ),
        None,
    )


def all_figures(note: str = "") -> Iterator[Published]:
    """Every printed figure."""
    for table in _recipe()["table"]:
        for row in table["rows"]:
            values = zip(table["methods"], row["published"], row["spread"], strict=True)
            for method, value, spread in values:
                yield Published(
                    where=table["where"],
                    data=row["data"],
                    model=row["model"],
                    design=table["design"],
                    method=method,
                    value=value,
                    spread=spread,
                    size=row["size"][0] if "size" in row else None,
                    note=note,
                )


@cache
def _recipe() -> dict[str, Any]:
    text = files("truerank.reproduce") / "recipes" / "accuracy.toml"
    return tomllib.loads(text.read_text(encoding="utf-8"))
