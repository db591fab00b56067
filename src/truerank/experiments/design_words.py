"""Designs in words: ``"sampled n=100 replacement"``, ``"adaptive n0=100 n_max=3200"``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from truerank.errors import InvalidArgumentError
from truerank.ranking import Adaptive, Full, Sampled

SimulatedDesign = Full | Sampled | Adaptive

REFERENCE_WORDS = "adaptive n0=100 n_max=3200 replacement"
"""The dissertation's adaptive sampling."""

_KINDS: dict[str, type[SimulatedDesign]] = {"full": Full, "sampled": Sampled, "adaptive": Adaptive}
_READ: dict[str, Callable[[str], Any]] = {
    "n": int,
    "n0": int,
    "n_max": int,
    "growth": float,
    "budget": float,
    "top": int,
}


def parse_design(text: str) -> SimulatedDesign:
    """The design that the words describe; ``"reference"`` is the dissertation's adaptive one.

    >>> parse_design("sampled n=500 replacement")
    Sampled(n=500, replacement=True)
    >>> parse_design("adaptive")
    Adaptive(n0=25, n_max=None, growth=2.0, replacement=False, budget=None, top=None)
    """
    words = REFERENCE_WORDS.split() if text.strip() == "reference" else text.split()
    if not words or words[0] not in _KINDS:
        raise InvalidArgumentError(
            "design", text, "full, sampled, adaptive or reference",
            "settings may follow: 'sampled n=100 replacement'",
        )  # fmt: skip
    kind = _KINDS[words[0]]
    known = [f.name for f in fields(kind)]
    values: dict[str, Any] = {}
    for word in words[1:]:
        name, given, value = word.partition("=")
        if name not in known or given != ("" if name == "replacement" else "="):
            raise InvalidArgumentError("design", text, f"{words[0]} with {_settings(known)}")
        try:
            values[name] = _READ[name](value) if given else True
        except ValueError:
            raise InvalidArgumentError(
                "design", text, f"written with a number after {name}="
            ) from None
    return kind(**values)


def design_words(design: SimulatedDesign) -> str:
    """The shortest words for a design: :func:`parse_design` gives it back.

    >>> design_words(Adaptive(n0=100, n_max=3200, replacement=True))
    'adaptive n0=100 n_max=3200 replacement'
    """
    words = [next(word for word, kind in _KINDS.items() if kind is type(design))]
    for f in fields(design):
        value = getattr(design, f.name)
        if value == f.default and f.name != "n":
            continue
        words.append(f.name if value is True else f"{f.name}={value}")
    return " ".join(words)


def _settings(known: list[str]) -> str:
    settings = [name if name == "replacement" else f"{name}=..." for name in known]
    return " and ".join(settings) if settings else "nothing else"
