"""Where a table of ranks comes from: everything needed to make it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

import numpy as np

from truerank.arrays import Int
from truerank.errors import FileFormatError, InvalidArgumentError, InvalidDataError, Message
from truerank.numerics.ties import TIE_RULES
from truerank.ranking.designs import (
    KINDS,
    Adaptive,
    FixedNegatives,
    Foreign,
    RecordedDesign,
    Sampled,
    Users,
    design_from_dict,
    of_one_user,
    recorded,
)
from truerank.ranking.stages import Stages

FORMAT = 1
"""Version of the file format; a reader refuses files of a later one."""

CandidateRule = Literal["all", "unseen", "given", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Header:
    """How the ranks of a table came about: design, seed, tie rule, candidates.

    Attributes:
        design: The design; :class:`~truerank.ranking.designs.Foreign` for ranks made elsewhere.
            Plain values, as files have them, are taken too.
        stages: The stages that sampled rows followed, None if unknown.
        replacement: Whether rivals were drawn with replacement: binomial if so, else
            hypergeometric.
        seed: Seed of the draws, None where nothing was drawn by us.
        ties: The tie rule, ``unknown`` for ranks made elsewhere.
        candidates: ``all`` items, those ``unseen`` in training, or ``given`` negatives.
        n_population: Users that could have been ranked, None if unknown.
        data: Fingerprint of the training data, or None.
        split: Fingerprint of the split, or None.
        model: Name or fingerprint of the model, or None.
        version: truerank's version that made the table.
    """

    design: RecordedDesign = field(default_factory=Foreign)
    stages: Stages | None = None
    replacement: bool = False
    seed: int | None = None
    ties: str = "unknown"
    candidates: CandidateRule = "unknown"
    n_population: int | None = None
    data: str | None = None
    split: str | None = None
    model: str | None = None
    version: str = ""

    def __post_init__(self) -> None:
        for name in ("replacement", "seed", "n_population"):  # numpy's numbers are none of JSON's
            value = getattr(self, name)
            if isinstance(value, np.bool_ | np.integer):
                object.__setattr__(self, name, value.item())
        for name, fits, want in (
            ("replacement", isinstance(self.replacement, bool), "True or False"),
            ("seed", _whole_or_none(self.seed, 0, 2**64 - 1), "None, or from 0 to 2**64 - 1"),
            ("ties", self.ties in (*TIE_RULES, "unknown"), _one_of(*TIE_RULES, "unknown")),
            ("candidates", self.candidates in _CANDIDATES, _one_of(*_CANDIDATES)),
            ("n_population", _whole_or_none(self.n_population, 1), "None, or from 1 to 2**63 - 1"),
            ("data", _text_or_none(self.data), "None, or a text"),
            ("split", _text_or_none(self.split), "None, or a text"),
            ("model", _text_or_none(self.model), "None, or a text"),
            ("version", isinstance(self.version, str), "a text"),
        ):
            if not fits:
                raise InvalidArgumentError(name, getattr(self, name), want)
        self._take_design(self.design)

    def _take_design(self, design: object) -> None:
        if isinstance(design, Mapping):
            _check_design(design)
            inner = design.get("inner", design)
            if "levels" in inner:
                object.__setattr__(self, "stages", Stages.from_dict(inner["levels"]))
            said = dict(design)
            try:
                design = design_from_dict(said)
            except TypeError as error:  # a parameter that the design does not have
                raise InvalidArgumentError("design", said, f"known: {error}") from error
        elif not isinstance(design, FixedNegatives | RecordedDesign):
            raise InvalidArgumentError("design", design, "a design, or a dict with the text 'kind'")
        object.__setattr__(self, "design", recorded(design))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Header) and not self.differences(other)

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; the stages stand with the design they belong to."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "stages"}
        values["design"] = design = self.design.describe()
        if self.stages is not None:
            design.get("inner", design)["levels"] = self.stages.describe()
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Header:
        """The header back from plain values, each of its kind."""
        names = {f.name for f in fields(cls)} - {"stages"}
        unknown = sorted(set(values) - names)
        if unknown:
            raise FileFormatError(
                f"the header has unknown fields {', '.join(unknown)}; it was written by a newer "
                "truerank: upgrade this one"
            )
        kind = _unknown_kind(values.get("design"))
        if kind:
            raise FileFormatError(
                f"these ranks were made by a design that is not known here, {kind!r}; the file was "
                "written by a newer truerank: upgrade this one"
            )
        try:
            return cls(**values)
        except InvalidArgumentError as error:
            raise FileFormatError(
                f"the header is damaged: {error}; write the table again"
            ) from error

    @property
    def own_design(self) -> RecordedDesign:
        """How each user was ranked, whichever users were."""
        return of_one_user(self.design)

    def adapted(self, n_sampled: Int, n_rows: Int) -> str:
        """What a default of the design did for users with few candidates, in words; or nothing.

        Args:
            n_sampled: Candidates that rows were ranked among.
            n_rows: How many rows each of them stands for.
        """
        design = self.own_design
        first = design.start if isinstance(design, Sampled | Adaptive) else 0
        few = int(n_rows[n_sampled < first].sum())
        if few == 0:
            return ""
        then = "their samples are smaller" if self.replacement else "their ranks are exact"
        total = int(n_rows.sum())
        return f"{few:,} of {total:,} rows have less than {first:,} candidates, so {then}"

    def differences(self, other: Header) -> list[str]:
        """Names of the fields in which two headers differ."""
        mine, theirs = self.to_dict(), other.to_dict()
        return [name for name in mine if mine[name] != theirs[name]]


def joined_header(headers: Sequence[Header], what: str) -> Header:
    """The header of shards put together; how many users there are is for the caller to say.

    Shards of ``Users(m)`` are shards of one sample of users, so they must agree on that too.
    """
    for other in headers[1:]:
        different = headers[0].differences(other)
        if not isinstance(headers[0].design, Users):  # shards count their own users
            different = [name for name in different if name != "n_population"]
        if different:
            raise InvalidDataError(
                f"these {what} differ in {', '.join(different)}; only shards of one job can "
                "be joined: "
                + Message(
                    "compare different models with tr.compare instead", "use truerank compare"
                )
            )
    return replace(headers[0], n_population=None)


_CANDIDATES = get_args(CandidateRule)
_DEPTH = 8  # ours have 4: users, inner, levels, sizes


def _one_of(*names: str) -> str:
    return f"one of {', '.join(names)}"


def _text_or_none(value: object) -> bool:
    return value is None or isinstance(value, str)


def _whole_or_none(value: object, least: int, most: int = 2**63 - 1) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value is None or (whole and least <= value <= most)  # type: ignore[operator]


def _check_design(design: object) -> None:
    """Plain values with a kind; what estimators read in it must be readable."""
    if not isinstance(design, Mapping) or not isinstance(design.get("kind", None), str):
        raise InvalidArgumentError("design", design, "a dict with the text 'kind'")
    if _is_deeper(design, _DEPTH):  # its repr would end in a RecursionError as well
        raise InvalidArgumentError("design", "a deeper one", f"nested {_DEPTH} levels at most")
    if "inner" in design:
        _check_design(design["inner"])
    for name in ("n", "n0", "n_max", "m"):
        if not _whole_or_none(design.get(name), 1):
            raise InvalidArgumentError(
                f"design[{name!r}]", design[name], "a whole number, at least 1"
            )
    if "levels" in design and not _are_levels(design["levels"]):
        raise InvalidArgumentError(
            "design['levels']",
            design["levels"],
            "equally many sizes, go_on (largest ranks) and keep (chances)",
        )


def _unknown_kind(design: object) -> str:
    """The name of a design that this version does not know; empty if there is none."""
    if not isinstance(design, Mapping) or _is_deeper(design, _DEPTH):
        return ""
    kind = design.get("kind", None)
    if isinstance(kind, str) and kind not in KINDS:
        return kind
    return _unknown_kind(design.get("inner"))


def _is_deeper(value: object, depth: int) -> bool:
    """Whether dicts and lists stand in each other more than ``depth`` levels deep."""
    if not isinstance(value, dict | list | tuple):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return depth == 0 or any(_is_deeper(one, depth - 1) for one in inner)


def _are_levels(levels: object) -> bool:
    names = {"sizes", "go_on", "keep"}
    if not isinstance(levels, dict) or set(levels) - {"blocks"} != names:
        return False
    if not _whole_or_none(levels.get("blocks"), 1):
        return False
    sizes, go_on, keep = (levels[name] for name in ("sizes", "go_on", "keep"))
    if not all(isinstance(column, list) for column in (sizes, go_on, keep)):
        return False
    whole = all(_whole_or_none(n, 0) and n is not None for n in [*sizes, *go_on])
    shares = all(isinstance(p, int | float) and 0 <= p <= 1 for p in keep)
    same = 0 < len(sizes) == len(go_on) == len(keep)
    return (
        whole and shares and same and all(a < b for a, b in zip([1, *sizes], sizes, strict=False))
    )
