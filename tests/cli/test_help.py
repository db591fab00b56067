"""Help texts: every page, command and option they name is there, and nothing is forgotten."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import truerank as tr
from truerank.cli.app import app
from truerank.cli.split_spec import SPLITS
from truerank.comparison.corrections import CORRECTIONS
from truerank.comparison.differences import RESAMPLED_TESTS
from truerank.comparison.named_tests import TESTS
from truerank.estimators.methods.table import METHODS
from truerank.numerics.ties import TIE_RULES
from truerank.ranking.design_spec import DESIGNS

ROOT = Path(__file__).parents[2]
METAVARS = {
    "INT", "FLOAT", "SPEC", "NAME", "FILE", "FOLDER", "RULE", "TYPE", "TEXT", "NAME@K",
    "NAME|FILE", "FILE|SPEC", "FILE|FOLDER", "NAME=VALUE", "RANKS", "RANKS...", "[NAME=]RANKS...",
}  # fmt: skip


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command, groups included, by what is typed."""
    yield " ".join(("truerank", *path)), command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))
VERBS = {name: verb for name, verb in COMMANDS.items() if not hasattr(verb, "commands")}


def texts(command: Any) -> list[str]:
    helps = [getattr(p, "help", None) for p in command.params]
    return [text for text in (command.help, command.epilog, *helps) if text]


def option_names(command: Any) -> set[str]:
    return {name for p in command.params for name in (*p.opts, *p.secondary_opts)}


EVERYWHERE = {name for command in COMMANDS.values() for name in option_names(command)} | {"--help"}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_help_text_names_is_there(name: str) -> None:
    for text in texts(COMMANDS[name]):
        for page in re.findall(r"\bdocs/[\w./-]*|[\w./-]+\.(?:md|py|html)\b", text):
            assert (ROOT / page).exists() or page == "report.html", f"{name}: no page {page}"
        for option in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text):
            assert option in EVERYWHERE, f"{name}: no option {option}"
        for verb in re.findall(r"\btruerank ((?:data |reproduce )?[a-z-]+)", text):
            assert f"truerank {verb}" in COMMANDS, f"{name}: no command {verb}"


@pytest.mark.parametrize("name", VERBS)
def test_every_option_is_explained_in_the_same_way(name: str) -> None:
    for parameter in VERBS[name].params:
        if parameter.hidden:
            continue
        said = f"{name} {parameter.opts[0]}"
        assert parameter.help, f"{said} has no help"
        assert parameter.help.endswith("."), f"{said}: a sentence ends with a full stop"
        flag = getattr(parameter, "is_flag", False)
        assert flag or parameter.metavar in METAVARS, f"{said}: metavar {parameter.metavar}"


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_says_what_it_does(name: str) -> None:
    first = (VERBS[name].help or "").split("\n\n")[0]
    assert first.rstrip().endswith(".")
    assert len(first) < 120


@pytest.mark.parametrize(
    ("verb", "option", "known"),
    [
        ("estimate", "--method", METHODS),
        ("compare", "--method", METHODS),
        ("compare", "--test", [*TESTS, *RESAMPLED_TESTS, "auto"]),
        ("compare", "--correction", CORRECTIONS),
        ("compare", "--align", ["refuse", "common"]),
        ("rank", "--ties", TIE_RULES),
        ("rank", "--design", DESIGNS),
        ("rank", "--split", SPLITS),
        ("rank", "--candidates", ["unseen", "all"]),
        ("rank", "--design", [f.name for f in dataclasses.fields(tr.Screened)[:4]]),
        ("plan", "--try", ["full", "sampled", "adaptive", "screened"]),
        ("plan", "--population", ["infinite", "finite"]),
    ],
)
def test_choices_are_listed_whole(verb: str, option: str, known: Any) -> None:
    (parameter,) = (p for p in VERBS[f"truerank {verb}"].params if option in p.opts)
    words = re.findall(r"[\w-]+", parameter.help)
    assert [name for name in known if name not in words] == []


CALLED = {"metrics": "metric", "table": "ranks", "executor": "workers", "designs": "try"}
"""Where the command line has another word for a parameter."""
PYTHON_ONLY = {
    tr.estimate: {"paired", "parameters"},
    tr.compare: {"bounds", "progress"},
    tr.plan: {"trials", "progress"},
    tr.rank: {"trained_elsewhere", "progress"},
}


@pytest.mark.parametrize("function", PYTHON_ONLY, ids=lambda f: f.__name__)
def test_every_parameter_of_a_python_verb_can_be_typed(function: Callable[..., Any]) -> None:
    """Those that cannot are listed above, so that a new one is not forgotten."""
    verb = VERBS[f"truerank {function.__name__}"]
    typed = {p.opts[0].removeprefix("--").replace("-", "_") for p in verb.params if not p.hidden}
    wanted = set(inspect.signature(function).parameters) - PYTHON_ONLY[function]
    assert {CALLED.get(name, name) for name in wanted} - typed == set()
