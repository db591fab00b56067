"""Where a table of ranks comes from: everything needed to make it again."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from truerank.errors import FileFormatError

FORMAT = 1
"""Version of the file format; a reader refuses files of a later one."""

CandidateRule = Literal["all", "unseen", "given", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The circumstances of a :class:`RankTable`.

    Attributes:
        design: The design as plain values; ``{"kind": "foreign"}`` for ranks made elsewhere.
        replacement: Whether rivals were drawn with replacement: binomial if so, else
            hypergeometric.
        seed: Seed of the draws, None where nothing was drawn by us.
        ties: The tie rule.
        candidates: ``all`` items, those ``unseen`` in training, or ``given`` negatives.
        n_population: Users that could have been ranked, None if unknown.
        data: Fingerprint of the training data, or None.
        split: Fingerprint of the split, or None.
        model: Name or fingerprint of the model, or None.
        version: truerank's version that made the table.
    """

    design: dict[str, Any] = field(default_factory=lambda: {"kind": "foreign"})
    replacement: bool = False
    seed: int | None = None
    ties: str = "unknown"
    candidates: CandidateRule = "unknown"
    n_population: int | None = None
    data: str | None = None
    split: str | None = None
    model: str | None = None
    version: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Header:
        """The header back from plain values."""
        names = {f.name for f in fields(cls)}
        unknown = sorted(set(values) - names)
        if unknown:
            raise FileFormatError(
                f"the header has unknown fields {', '.join(unknown)}; it was written by a newer "
                "truerank: upgrade this one"
            )
        return cls(**values)

    def differences(self, other: Header) -> list[str]:
        """Names of the fields in which two headers differ."""
        mine, theirs = self.to_dict(), other.to_dict()
        return [name for name in mine if mine[name] != theirs[name]]
