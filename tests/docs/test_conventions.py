"""docs/conventions.md and the code name the same parameters, in both directions."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import truerank as tr
from truerank.deprecation import OLD_NAMES
from truerank.losses.parameters import PARAMETERS as OF_LOSSES
from truerank.models.names import MODELS, model_class, parameters_of
from truerank.ranking.design_spec import DESIGNS
from truerank.ranking.design_spec import _settings as design_settings

PAGE = Path(__file__).parents[2] / "docs" / "conventions.md"
VERBS = ("rank", "rank_pairs", "estimate", "rank_distribution", "compare", "plan", "search")
DATA = {"model", "split", "scorer", "users", "items", "table", "tables", "data", "parameters"}
"""What a verb is about, and what is handed on: no settings."""


def rows(title: str) -> list[list[str]]:
    """The cells of the table under a heading."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names(cell: str) -> list[str]:
    """The names in a cell."""
    return re.findall(r"`([a-z][a-z0-9_-]*)`", cell)


SHARED = {names(row[0])[0]: row for row in rows("Parameters that several models share")}
OWN = {names(row[0])[0]: set(names(row[1])) for row in rows("Parameters of one model")}
RENAMED = {
    (owner, names(old)[0]): names(new)[0]
    for old, new, of in rows("Old names")
    for owner in names(of)
}


def current(model: str) -> set[str]:
    """The parameters of a model."""
    return set(parameters_of(model_class(model)))


def owners(cell: str) -> set[str]:
    """The models in a cell; "all but" turns it round."""
    said = set(names(cell))
    return set(MODELS) - said if cell.startswith("all but") else said


def test_no_parameter_of_a_model_is_missing_and_none_is_made_up() -> None:
    used: defaultdict[str, set[str]] = defaultdict(set)
    for model in MODELS:
        for name in current(model):
            used[name].add(model)
    for name, having in used.items():
        if name in SHARED:
            assert owners(SHARED[name][4]) == having, name
        else:
            assert {m for m, own in OWN.items() if name in own} == having, name
    listed = set(SHARED).union(*OWN.values())
    assert listed == set(used)


def test_a_parameter_has_one_kind_of_default_in_every_model() -> None:
    """Numbers stay numbers and words stay words, wherever the name stands."""
    kinds: defaultdict[str, set[type]] = defaultdict(set)
    for model in MODELS:
        for name, value in parameters_of(model_class(model)).items():
            if value is not None:
                kinds[name].add(next(k for k in (bool, str, int, float) if isinstance(value, k)))
    assert {name: kind for name, kind in kinds.items() if len(kind) > 1} == {}


def test_parameters_of_losses() -> None:
    assert [names(row[0])[0] for row in rows("Parameters of losses")] == list(OF_LOSSES)


def test_parameters_of_designs() -> None:
    """Every setting of a design in words, with the designs that have it."""
    used: defaultdict[str, set[str]] = defaultdict(set)
    for kind in set(DESIGNS) - {"reference"}:
        for name in design_settings(kind):
            used[name].add(kind)
    listed = {names(row[0])[0]: set(names(row[3])) for row in rows("Parameters of designs")}
    assert listed == used


def parameters_of_verb(verb: str) -> set[str]:
    function: Any = getattr(tr, verb)
    function = getattr(function, "search", function)  # its room is called as well
    found = {name for name in inspect.signature(function).parameters if name not in DATA}
    return {RENAMED.get((verb, name), name) for name in found}


def test_no_shared_parameter_of_a_verb_is_missing() -> None:
    used: defaultdict[str, set[str]] = defaultdict(set)
    for verb in VERBS:
        for name in parameters_of_verb(verb):
            used[name].add(verb)
    table = rows("Parameters that several verbs share")
    listed = {names(row[0])[0]: set(names(row[2])) for row in table}
    shared = {name: verbs for name, verbs in used.items() if len(verbs) > 1}
    assert {name: verbs for name, verbs in shared.items() if listed.get(name) != verbs} == {}
    assert set(listed) <= set(used)


@pytest.mark.parametrize(("owner", "old"), RENAMED)
def test_old_names_are_those_that_the_code_takes(owner: str, old: str) -> None:
    if owner in VERBS:
        return
    assert getattr(model_class(owner), OLD_NAMES)[old] == RENAMED[owner, old]


def test_every_old_name_that_the_code_takes_is_in_the_table() -> None:
    taken = {
        (model, old): new
        for model in MODELS
        for old, new in getattr(model_class(model), OLD_NAMES, {}).items()
    }
    assert {pair: new for pair, new in taken.items() if RENAMED.get(pair) != new} == {}
