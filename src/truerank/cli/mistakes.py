"""A user's mistake as one sentence, in the words of the command line."""

from __future__ import annotations

import difflib
import re
from typing import Any

import typer

from truerank.errors import InvalidArgumentError

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""The parser's own errors; typer shows only the most special of them."""

_HERE = {
    "align='common'": "--align common",
    "candidates=": "--candidates",
    "rank both with the same ties=": "rank both with the same --ties",
    "say what a repeat means with duplicates='first', 'last', 'sum' or 'max'":
        "say what a repeat means with --duplicates first, last, sum or max",
    "pass timestamp= when making them": "name their column with --time-column",
    "use tr.estimate, or naive=True for the value on the samples": "use another --method",
    "compare different models with tr.compare instead": "use truerank compare",
    "Full()": "full",
    "Adaptive()": "adaptive",
    "pass force=True": "pass --force",
    "pass zero_based=True": "pass --zero-based",
    "(bounds=False)": "(--no-bounds)",
    "population='infinite'": "--population infinite",
    "population='finite'": "--population finite",
    "(correlation=)": "(--correlation)",
    "name the column of ranks with rank=": "name the column of ranks with --rank-column",
    "min_rating=": "--min-rating",
    "name another column with weight=":
        "name another column with --rating-column, or none to count every row",
    "drop these rows or fill them in":
        "drop these rows or fill them in, or count every row with --rating-column none",
    "convert them first": "convert them, or count every row with --rating-column none",
    "parse them first":
        "write them as 2005-03-14 or in seconds, or do without: --time-column none",
    "say encoding= if": "say --encoding if",
    "with delimiter=": "with --delimiter",
    "where id_type is 'int'": "with --id-type int",
    "leave out id_type": "leave it out",
}  # fmt: skip
"""What sentences of the library say in Python, and what to type here."""


def in_our_words(sentence: str) -> str:
    """A sentence of the library for somebody who types commands.

    >>> in_our_words("compare the rows they share with align='common'")
    'compare the rows they share with --align common'
    """
    sentence = re.sub(r"Users\((\d+), Full\(\)\)", r"'users m=\1'", sentence)
    sentence = re.sub(r"n_sampled=(\d+)", r"--n-sampled \1", sentence)
    for python, here in _HERE.items():
        sentence = sentence.replace(python, here)
    return " ".join(sentence.split())


def usage_sentence(error: Any) -> str:
    """What the parser found wrong, and where to look."""
    context = error.ctx
    path = context.command_path if context else "truerank"
    text = " ".join(str(error.format_message()).split()).rstrip(".")
    unknown = str(getattr(error, "option_name", ""))
    if type(error).__name__ == "NoSuchOption" and context is not None:
        text = f"there is no option {unknown} for {path}{_nearest(unknown, _options(context))}"
    elif text.startswith("No such command") and context is not None:
        name = text.split("'")[1]
        verbs = list(context.command.commands)
        text = f"there is no command {name!r}{_nearest(name, verbs)}"
    elif text.startswith("Invalid value for "):
        where, _, what = text.removeprefix("Invalid value for ").partition(": ")
        text = f"{where.strip(chr(39))}: {what[:1].lower()}{what[1:]}"
    elif text.startswith(("Missing option ", "Missing argument ")):
        text = "missing" + text.removeprefix("Missing option").removeprefix("Missing argument")
    else:
        text = text[0].lower() + text[1:]
    return f"{text}; see {path} --help"


def suggestion(name: str, known: Any) -> str:
    """``"; did you mean 'x'?"``, or nothing if no name is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def check_level(level: float) -> None:
    """A confidence between 0 and 1, not in per cent."""
    if not 0 < level < 1:
        hint = f"for {level:g} per cent say {level / 100:g}" if 1 < level < 100 else ""
        raise InvalidArgumentError("level", level, "between 0 and 1", hint)


def _options(context: Any) -> list[str]:
    return [name for parameter in context.command.params for name in parameter.opts]


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f", did you mean {near[0]}?" if near else ""
