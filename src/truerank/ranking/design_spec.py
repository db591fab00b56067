"""Designs in words: ``"sampled n=100 replacement"``, ``"users m=5000 adaptive budget=300"``."""

from __future__ import annotations

from dataclasses import fields, replace

from truerank.errors import InvalidArgumentError
from truerank.ranking.designs import Adaptive, Full, InnerDesign, Sampled, Screened, Users
from truerank.spec import Setting, parse, settings_of, write

REFERENCE_SPEC = "adaptive n0=100 n_max=3200 replacement"
"""The dissertation's adaptive sampling."""

_KINDS: dict[str, type[InnerDesign | Users]] = {
    "full": Full, "sampled": Sampled, "adaptive": Adaptive, "screened": Screened, "users": Users,
}  # fmt: skip
DESIGNS = ("full", "sampled", "adaptive", "screened", "reference", "users")
"""First words of a design."""


def parse_design(text: str) -> InnerDesign | Users:
    """The design that the words describe; ``"reference"`` is the dissertation's adaptive one.

    ``users m=...`` stands before the design by which each of the m users is ranked.

    >>> parse_design("sampled n=500 replacement")
    Sampled(n=500, replacement=True, shared=None)
    >>> parse_design("adaptive")
    Adaptive(n0=None, n_max=None, growth=2.0, replacement=False, budget=None, top=None)
    >>> parse_design("users m=5000 sampled n=100")
    Users(m=5000, inner=Sampled(n=100, replacement=False, shared=None))
    """
    words = text.replace(",", " ").split()
    if words[:1] != ["users"]:
        return _parsed(text)
    start = next((i for i, word in enumerate(words) if i and "=" not in word), len(words))
    users, inner = _parsed(" ".join(words[:start])), _parsed(" ".join(words[start:]) or "full")
    if isinstance(inner, Users) or not isinstance(users, Users):
        raise InvalidArgumentError(
            "design", text, "written with users once", "for instance 'users m=5000 adaptive'"
        )
    return Users(users.m, inner)


def format_design(design: InnerDesign | Users) -> str:
    """The shortest words for a design: :func:`parse_design` gives it back.

    >>> format_design(Adaptive(n0=100, n_max=3200, replacement=True))
    'adaptive n0=100 n_max=3200 replacement'
    >>> format_design(Users(5000))
    'users m=5000 full'
    """
    if isinstance(design, Users):
        return f"{write('users', {'m': design.m})} {format_design(design.inner)}"
    kind = next(word for word, kind in _KINDS.items() if kind is type(design))
    said = {f.name: getattr(design, f.name) for f in fields(design)}
    usual = {f.name: f.default for f in fields(design)}
    return write(kind, {name: value for name, value in said.items() if value != usual[name]})


def _parsed(text: str) -> InnerDesign | Users:
    spec = parse(
        REFERENCE_SPEC if text.strip() == "reference" else text,
        "design", DESIGNS, _settings, example="sampled n=100 replacement",
    )  # fmt: skip
    made: InnerDesign | Users = _KINDS[spec.kind](**spec.settings)
    return made


def _settings(kind: str) -> dict[str, Setting]:
    if kind == "reference":  # which has its own
        return {}
    settings = settings_of(_KINDS[kind])
    return {"m": replace(settings["m"], example="5000")} if kind == "users" else settings
