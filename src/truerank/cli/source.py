"""Interactions and their split, from a name or a file and a few options."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truerank.cli.columns import Columns
from truerank.cli.inputs import expect
from truerank.cli.output import working
from truerank.cli.split_words import USUAL_SPLIT, parse_split
from truerank.errors import InvalidArgumentError

if TYPE_CHECKING:
    from truerank.data import Interactions
    from truerank.split import Split

_ENDINGS = (".csv", ".tsv", ".txt", ".dat", ".parquet", ".gz", ".bz2", ".zst", ".inter")


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where interactions come from, as it was typed.

    Attributes:
        data: Name of a data set, or a file.
        user_column: Column of a file; None to find it by its usual names.
        item_column: Likewise.
        time_column: Likewise; there may be none.
        weight_column: Column of weights; None where all count 1.
        duplicates: What repeated pairs mean; None for the usual.
        header: Whether a text file names its columns.
        split: The split in words.
        found: The columns that were read, filled while reading.
    """

    data: str
    user_column: str | None = None
    item_column: str | None = None
    time_column: str | None = None
    weight_column: str | None = None
    duplicates: str | None = None
    header: bool = True
    split: str = USUAL_SPLIT
    found: dict[str, str] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        parse_split(self.split)  # a mistake is seen before anything is read

    @classmethod
    def of(cls, made_by: dict[str, Any]) -> Source:
        """The source that a model file says it was made from."""
        names = [f.name for f in fields(cls) if f.init]
        return cls(**{name: made_by[name] for name in names if name in made_by})

    def but(self, **typed: Any) -> Source:
        """The same source with what was typed in its place."""
        return replace(self, **{name: value for name, value in typed.items() if value is not None})

    def to_dict(self) -> dict[str, Any]:
        """What is not the usual, as plain values."""
        usual = asdict(Source(data=""))
        return {
            name: value
            for name, value in asdict(self).items()
            if name != "found" and (name == "split" or value != usual[name])
        }

    @cached_property
    def interactions(self) -> Interactions:
        """All interactions, without weights unless a column of them was named."""
        from truerank.data import load_dataset

        if not self.is_file:
            if self.weight_column or self.user_column or self.item_column or self.time_column:
                raise InvalidArgumentError(
                    "data", self.data, "a file where columns are named",
                    "a data set by name has its own columns",
                )  # fmt: skip
            rule: Any = self.duplicates
            return replace(load_dataset(self.data, duplicates=rule), weights=None)
        with working(f"reading {self.data}"):
            return self._from_file(Path(self.data))

    @property
    def columns(self) -> str:
        """Which columns were taken, in words; empty for a data set by name."""
        return ", ".join(f"{name} = {column!r}" for name, column in self.found.items())

    @property
    def is_file(self) -> bool:
        """Whether ``data`` names a file rather than a data set."""
        path = Path(self.data)
        return path.is_file() or path.name != self.data or path.suffix in _ENDINGS

    @cached_property
    def made_split(self) -> Split:
        """The split of these interactions."""
        words = parse_split(self.split)
        if words.kind == "published" and self.is_file:
            raise InvalidArgumentError(
                "split", "published", "left for data sets by name",
                "say how to split a file: --split leave-one-out",
            )  # fmt: skip
        return words.make(lambda: self.interactions, self.data)

    def _from_file(self, path: Path) -> Interactions:
        from truerank.data import Interactions
        from truerank.data.frames import read_csv, read_parquet

        kind = expect(path, "data")
        table: Any = read_parquet(path) if kind == "parquet" else read_csv(path, header=self.header)
        columns = Columns(path, table.column_names)
        chosen: dict[str, str | None] = {
            "user": columns.required("user", self.user_column),
            "item": columns.required("item", self.item_column),
            "timestamp": columns.optional("time", self.time_column),
            "weight": columns.optional("weight", self.weight_column),
        }
        self.found.update({name: column for name, column in chosen.items() if column})
        rule: Any = self.duplicates or "error"
        return Interactions.from_frame(table, **chosen, duplicates=rule)  # type: ignore[arg-type]


def source_of(data: str | None, split: str | None, **columns: Any) -> Source:
    """The source that the options describe, or a sentence if they name no data."""
    if data is None:
        raise InvalidArgumentError(
            "--data", None, "the name of a data set or a file",
            "try --data demo, or see: truerank data list",
        )  # fmt: skip
    return Source(data=data).but(split=split, **columns)
