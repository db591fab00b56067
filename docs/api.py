"""The public names with the first lines of their docstrings; writes docs/api.md.

Run it with ``python docs/api.py``; tests/docs/test_api.py checks that the page is the one this
script writes and that every first line says something.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import truerank as tr

PAGE = Path(__file__).with_suffix(".md")
ROOMS = {
    "models": "Models",
    "losses": "Losses",
    "split": "Splits",
    "metrics": "Metrics",
    "data": "Data",
    "ranking": "Ranking",
    "estimators": "Estimators",
    "comparison": "Comparison",
    "planning": "Planning",
    "search": "Search",
    "execution": "Execution",
    "adapters": "Adapters",
}
"""The rooms that users reach as ``tr.room``, in the order of the page."""
MACHINERY = {"describe", "first_size", "levels", "stages", "imap", "take"}
"""Methods that the library calls, not its users."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A public name, as the page shows it."""

    name: str
    call: str
    line: str


def entries_of(module: ModuleType, prefix: str, names: list[str]) -> Iterator[Entry]:
    """The entries of a module's names: functions, classes with their methods, tables of names."""
    for name in sorted(names, key=lambda name: (name.lower(), name)):
        thing = getattr(module, name)
        full = f"{prefix}.{name}"
        if isinstance(thing, str) or (isinstance(thing, ModuleType) and not callable(thing)):
            continue
        if isinstance(thing, type):
            yield Entry(name=full, call=full, line=first_line(thing))
            for method, function in _methods(thing):
                line = first_line(function)
                if line:
                    call = f"{name}.{method}{_parameters(function)}"
                    yield Entry(name=f"{full}.{method}", call=call, line=line)
        elif callable(thing):
            function = getattr(thing, name) if isinstance(thing, ModuleType) else thing
            call = full + _parameters(function)
            yield Entry(name=full, call=call, line=first_line(function))
        elif isinstance(thing, Mapping | tuple | frozenset):
            line = "A table of names: " + ", ".join(f"`{key}`" for key in thing) + "."
            yield Entry(name=full, call=full, line=line)


def everything() -> dict[str, list[Entry]]:
    """The entries of the page, by heading."""
    # The room ``search`` can be called: it is the verb as well.
    face = [name for name in tr.__all__ if name not in ROOMS or callable(getattr(tr, name))]
    found = {"The public face": list(entries_of(tr, "tr", face))}
    for room, heading in ROOMS.items():
        module = import_module(f"truerank.{room}")
        names = list(module.__all__)
        if room == "losses":
            names += [loss for loss in tr.losses.LOSSES if loss not in names]
        shown = {entry.name.split(".", 1)[1] for entry in found["The public face"]}
        names = [name for name in names if name not in shown and name != room]
        found[f"{heading}: `tr.{room}`"] = list(entries_of(module, f"tr.{room}", names))
    return found


def first_line(thing: object) -> str:
    """The first sentence of a docstring of one's own; empty where there is none."""
    doc = inspect.getdoc(thing) or ""
    return " ".join(doc.strip().split("\n\n")[0].split())


def page() -> str:
    """The page, written anew from the docstrings."""
    parts = [_HEAD]
    for heading, entries in everything().items():
        if entries:
            rows = [f"| `{entry.call}` | {_plain(entry.line)} |" for entry in entries]
            parts.append(
                "\n".join([f"## {heading}\n", "| name | what you get |", "|---|---|", *rows])
            )
    return "\n\n".join(parts) + "\n"


def _methods(thing: type) -> Iterator[tuple[str, object]]:
    """What a class of ours defines itself and documents: methods, also of the class."""
    if thing.__module__.startswith(("truerank.models", "truerank.execution")):
        return  # the same few for all of them
    for name, value in vars(thing).items():
        if name.startswith("_") or name in MACHINERY:
            continue
        if isinstance(value, classmethod | staticmethod):
            yield name, getattr(thing, name)
        elif inspect.isfunction(value):
            yield name, value


def _parameters(function: object) -> str:
    """(positional, names, ...): what is keyword-only or has a default is in the docstring."""
    try:
        parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "()"
    shown = [
        p.name
        for p in parameters
        if p.name not in ("self", "cls")
        and p.default is p.empty
        and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    more = any(p.default is not p.empty or p.kind is p.KEYWORD_ONLY for p in parameters)
    return f"({', '.join([*shown, *(['...'] if more else [])])})"


def _plain(line: str) -> str:
    """Markdown for a table: roles become code, bars are escaped."""
    line = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", line).replace("``", "`")
    return line.replace("|", r"\|")


_HEAD = """\
# Reference: every public name

Written by `docs/api.py` from the first lines of the docstrings: do not edit. `help(name)` has the
parameters, the formulas and when each is valid. `tr` is `import truerank as tr`; three dots stand
for parameters that have a default or are keyword-only. Every model has `fit`, `fold_in`,
`score_all`, `score_pairs` and `save`. The house words are in the [glossary](glossary.md)."""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
