"""Designs in words: ``"sampled n=100 replacement"``, ``"users m=5000 adaptive budget=300"``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from truerank.errors import InvalidArgumentError
from truerank.ranking.designs import Adaptive, Full, InnerDesign, Sampled, Users

DesignInWords = InnerDesign | Users

REFERENCE_WORDS = "adaptive n0=100 n_max=3200 replacement"
"""The dissertation's adaptive sampling."""

_KINDS: dict[str, type[InnerDesign]] = {"full": Full, "sampled": Sampled, "adaptive": Adaptive}
_READ: dict[str, Callable[[str], Any]] = {
    "n": int,
    "n0": int,
    "n_max": int,
    "growth": float,
    "budget": float,
    "top": int,
    "m": int,
}


def parse_design(text: str) -> DesignInWords:
    """The design that the words describe; ``"reference"`` is the dissertation's adaptive one.

    ``users m=...`` stands before the design by which each of the m users is ranked.

    >>> parse_design("sampled n=500 replacement")
    Sampled(n=500, replacement=True)
    >>> parse_design("adaptive")
    Adaptive(n0=None, n_max=None, growth=2.0, replacement=False, budget=None, top=None)
    >>> parse_design("users m=5000 sampled n=100")
    Users(m=5000, inner=Sampled(n=100, replacement=False))
    """
    words = text.split()
    if words[:1] != ["users"]:
        return _inner(words, text)
    name, given, value = (words[1] if len(words) > 1 else "").partition("=")
    if name != "m" or not given:
        raise InvalidArgumentError(
            "design", text, "users with m=... and then how each is ranked",
            "for instance 'users m=5000 full' or 'users m=5000 adaptive'",
        )  # fmt: skip
    m = _number(name, value, text)
    return Users(m, _inner(words[2:] or ["full"], text))


def _inner(words: list[str], text: str) -> InnerDesign:
    if words == ["reference"]:
        words = REFERENCE_WORDS.split()
    if not words or words[0] not in _KINDS:
        raise InvalidArgumentError(
            "design", text, "full, sampled, adaptive, reference, or users before one of them",
            "settings may follow: 'sampled n=100 replacement'",
        )  # fmt: skip
    kind = _KINDS[words[0]]
    known = [f.name for f in fields(kind)]
    values: dict[str, Any] = {}
    for word in words[1:]:
        name, given, value = word.partition("=")
        if name not in known or given != ("" if name == "replacement" else "="):
            raise InvalidArgumentError("design", text, f"{words[0]} with {_settings(known)}")
        values[name] = _number(name, value, text) if given else True
    return kind(**values)


def _number(name: str, value: str, text: str) -> Any:
    try:
        return _READ[name](value)
    except ValueError:
        raise InvalidArgumentError("design", text, f"written with a number after {name}=") from None


def design_words(design: DesignInWords) -> str:
    """The shortest words for a design: :func:`parse_design` gives it back.

    >>> design_words(Adaptive(n0=100, n_max=3200, replacement=True))
    'adaptive n0=100 n_max=3200 replacement'
    >>> design_words(Users(5000))
    'users m=5000 full'
    """
    if isinstance(design, Users):
        return f"users m={design.m} {design_words(design.inner)}"
    words = [next(word for word, kind in _KINDS.items() if kind is type(design))]
    for f in fields(design):
        value = getattr(design, f.name)
        if value == f.default:
            continue
        # Ten digits are enough for a factor or a budget, and 300 is shorter than 300.0.
        words.append(f.name if value is True else f"{f.name}={value:.10g}")
    return " ".join(words)


def _settings(known: list[str]) -> str:
    settings = [name if name == "replacement" else f"{name}=..." for name in known]
    return " and ".join(settings) if settings else "nothing else"
