"""Splits in words: ``"leave-one-out by=latest"``, ``"strong n_users=1000 fold_in=0.8"``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from truerank.cli.mistakes import suggestion
from truerank.errors import InvalidArgumentError

if TYPE_CHECKING:
    from truerank.data import Interactions
    from truerank.split import Split

USUAL_SPLIT = "leave-one-out"


def _moment(text: str) -> int | datetime:
    return int(text) if re.fullmatch(r"\d{5,}", text) else datetime.fromisoformat(text)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of split.

    Attributes:
        function: Its function in :mod:`truerank.split`; None for no split.
        settings: What may follow, and how it is read.
    """

    function: str | None
    settings: dict[str, Callable[[str], Any]]


_WITHIN: dict[str, Callable[[str], Any]] = {
    "seed": int, "by": str, "short_users": str, "cold_items": str,
}  # fmt: skip
SPLITS: dict[str, Kind] = {
    "leave-one-out": Kind("leave_one_out", _WITHIN),
    "leave-k-out": Kind("leave_k_out", {"k": int, **_WITHIN}),
    "ratio": Kind("ratio", {"fraction": float, **_WITHIN}),
    "temporal": Kind(
        "temporal",
        {"at": _moment, "fraction": float, "short_users": str, "new_users": str, "cold_items": str},
    ),
    "strong": Kind(
        "strong_generalization",
        {"n_users": int, "n_validation_users": int, "role": str, "fold_in": float, **_WITHIN},
    ),
    "published": Kind(
        "published",
        {"part": str, "overlap": str, "short_users": str, "new_users": str, "cold_items": str},
    ),
    "none": Kind(None, {}),
}
_NEEDED = {"leave-k-out": "k", "strong": "n_users"}


@dataclass(frozen=True, slots=True)
class SplitWords:
    """A split as it was asked for, not made yet.

    Attributes:
        kind: Its name in :data:`SPLITS`.
        settings: What was said about it.
    """

    kind: str
    settings: dict[str, Any]

    def make(self, load: Callable[[], Interactions], name: str) -> Split:
        """The split of the data that ``load`` gives; a published one is found by ``name``."""
        from truerank import split

        function = SPLITS[self.kind].function
        if function is None:
            raise InvalidArgumentError(
                "split", "none", "one that holds something out", "say --split leave-one-out"
            )
        if self.kind == "published":
            return split.published(name, **self.settings)
        made: Split = getattr(split, function)(load(), **self.settings)
        return made


def parse_split(text: str) -> SplitWords:
    """The split that the words describe, or a sentence that says what may be said.

    >>> parse_split("ratio fraction=0.1 seed=3")
    SplitWords(kind='ratio', settings={'fraction': 0.1, 'seed': 3})
    """
    kind, *words = text.replace(",", " ").split() or [""]
    if kind not in SPLITS:
        raise InvalidArgumentError(
            "split", text, f"one of {', '.join(SPLITS)}", suggestion(kind, SPLITS).lstrip("; ")
        )
    known = SPLITS[kind].settings
    settings: dict[str, Any] = {}
    for word in words:
        key, given, value = word.partition("=")
        if key not in known or not given:
            may = ", ".join(f"{name}=..." for name in known) or "nothing else"
            raise InvalidArgumentError("split", text, f"{kind} with {may}")
        try:
            settings[key] = known[key](value)
        except ValueError:
            wanted = {"at": "a time or a date such as 2000-12-31", "fraction": "a number"}
            want = wanted.get(key, "a number" if known[key] is float else "a whole number")
            raise InvalidArgumentError("split", text, f"written with {want} after {key}=") from None
    if kind in _NEEDED and _NEEDED[kind] not in settings:
        need = _NEEDED[kind]
        raise InvalidArgumentError(
            "split", text, f"{kind} with {need}=...", f"say --split '{kind} {need}=100'"
            if need == "n_users" else f"say --split '{kind} {need}=2'",
        )  # fmt: skip
    return SplitWords(kind, settings)
