"""What the parser finds wrong, as one sentence."""

from __future__ import annotations

from typing import Any

import typer

from truerank.cli.output import remark
from truerank.errors import InvalidArgumentError

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""The parser's own errors; typer shows only the most special of them."""


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


def chosen_confidence(confidence: float, level: float | None) -> float:
    """The confidence level, between 0 and 1 and not in per cent; ``--level`` is its old name."""
    if level is not None:
        remark("note: --level is called --confidence now; the old name goes with the next release")
        confidence = level
    if not 0 < confidence < 1:
        hint = f"for {confidence:g} % say {confidence / 100:g}" if 1 < confidence < 100 else ""
        raise InvalidArgumentError("confidence", confidence, "between 0 and 1", hint)
    return confidence


def _options(context: Any) -> list[str]:
    return [name for parameter in context.command.params for name in parameter.opts]


def _nearest(name: str, known: list[str]) -> str:
    from truerank.checks import nearest  # which needs numpy: --help does without

    near = nearest(name, known)
    return "" if near is None else f", did you mean {near}?"
