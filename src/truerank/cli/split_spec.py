"""Splits in words: ``"leave-one-out by=latest"``, ``"strong n_users=1000 fold_in=0.8"``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from truerank.errors import InvalidArgumentError
from truerank.spec import MOMENT, NUMBER, TEXT, WHOLE, Setting, Spec, parse

if TYPE_CHECKING:
    from truerank.data import Interactions
    from truerank.split import Split

USUAL_SPLIT = "leave-one-out"
_WITHIN = {"seed": WHOLE, "by": TEXT, "short_users": TEXT, "cold_items": TEXT}
_ACROSS = {"short_users": TEXT, "new_users": TEXT, "cold_items": TEXT}
SPLITS: dict[str, dict[str, Setting]] = {
    "leave-one-out": _WITHIN,
    "leave-k-out": {"k": replace(WHOLE, example="2"), **_WITHIN},
    "ratio": {"fraction": NUMBER, **_WITHIN},
    "temporal": {"at": MOMENT, "fraction": NUMBER, **_ACROSS},
    "strong": {
        "n_users": replace(WHOLE, example="100"), "n_validation_users": WHOLE, "role": TEXT,
        "fold_in": NUMBER, **_WITHIN,
    },
    "published": {"part": TEXT, "overlap": TEXT, **_ACROSS},
    "none": {},
}  # fmt: skip
"""Every kind of split, and what may be said about it."""


class SplitSpec(Spec):
    """A split as it was asked for, not made yet."""

    def make(self, load: Callable[[], Interactions], name: str) -> Split:
        """The split of the data that ``load`` gives; a published one is found by ``name``."""
        from truerank import split

        if self.kind == "none":
            raise InvalidArgumentError(
                "split", "none", "one that holds something out", "say --split leave-one-out"
            )
        if self.kind == "published":
            return split.published(name, **self.settings)
        called = "strong_generalization" if self.kind == "strong" else self.kind.replace("-", "_")
        made: Split = getattr(split, called)(load(), **self.settings)
        return made


def parse_split(text: str) -> SplitSpec:
    """The split that the words describe, or a sentence that says what may be said.

    >>> parse_split("ratio fraction=0.1 seed=3")
    SplitSpec(kind='ratio', settings={'fraction': 0.1, 'seed': 3})
    """
    spec = parse(text, "split", SPLITS, SPLITS.__getitem__, example="ratio fraction=0.1 seed=3")
    return SplitSpec(spec.kind, spec.settings)
