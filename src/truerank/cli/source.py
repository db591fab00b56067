"""Interactions and their split, from a name or a file and a few options."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truerank.cli.columns import Columns
from truerank.cli.inputs import column_names, delimiter_of, expect, noted
from truerank.cli.output import working
from truerank.cli.split_spec import USUAL_SPLIT, parse_split
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
        rating_column: Column that says what is a positive; None for the weights, or to find it.
        min_rating: Least rating of a positive; None for anything above 0.
        id_type: What ids are read as; None for text in text files, as typed in others.
        duplicates: What repeated pairs mean; None for the usual.
        header: Whether a text file names its columns.
        delimiter: What divides the columns of a text file; None to find it.
        encoding: What a text file is written in; None to find it.
        split: The split in words.
        found: The columns that were read, filled while reading.
        unread: The others.
    """

    data: str
    user_column: str | None = None
    item_column: str | None = None
    time_column: str | None = None
    weight_column: str | None = None
    rating_column: str | None = None
    min_rating: float | None = None
    id_type: str | None = None
    duplicates: str | None = None
    header: bool = True
    delimiter: str | None = None
    encoding: str | None = None
    split: str = USUAL_SPLIT
    found: dict[str, str] = field(default_factory=dict, init=False, repr=False)
    unread: list[str] = field(default_factory=list, init=False, repr=False)

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
        from truerank.data.positives import only_positives

        if not self.is_file:
            columns = (self.user_column, self.item_column, self.time_column, self.weight_column)
            if any((*columns, self.rating_column, self.id_type, self.delimiter, self.encoding)):
                raise InvalidArgumentError(
                    "data", self.data, "a file where columns or how to read them are named",
                    "a data set by name has its own columns",
                )  # fmt: skip
            rule: Any = self.duplicates
            data = load_dataset(self.data, duplicates=rule)
            if self.min_rating is not None:
                data = only_positives(data, self.min_rating)
            return replace(data, weights=None)
        with noted(), working(f"reading {self.data}"):
            return self._from_file(Path(self.data))

    @property
    def columns(self) -> str:
        """Which columns were taken, in words; empty for a data set by name."""
        taken = ", ".join(f"{name} = {column!r}" for name, column in self.found.items())
        if not self.unread:
            return taken
        left = ", ".join(map(repr, self.unread[:5])) + (", ..." if self.unread[5:] else "")
        rated = any(name == "weight" or "rating" in name for name in self.found)
        meaning = "" if rated else ", so every row counts as a positive (--rating-column)"
        return f"{taken}; not read: {left}{meaning}"

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
        from truerank.data.positives import positive_rows

        is_parquet = expect(path, "data") == "parquet"
        how: dict[str, Any] = {
            "header": self.header,
            "delimiter": delimiter_of(self.delimiter),
            "encoding": self.encoding,
        }
        columns: dict[str, Any] = self._chosen(
            Columns(
                path,
                column_names(path, **how),
                from_first_line=self.header and not is_parquet,
            )
        )
        table = read_parquet(path, **columns) if is_parquet else read_csv(path, **columns, **how)
        options: dict[str, Any] = {
            "id_type": self.id_type,
            "duplicates": self.duplicates or "error",
            "min_rating": self.min_rating,
        }
        if self.duplicates == "sum" and self.weight_column is None:
            # Rows are counted, so each is a positive or none by its own rating.
            table, n_dropped = positive_rows(table, columns.pop("weight", None), self.min_rating)
            options.pop("min_rating")
            counted = Interactions.from_frame(
                table.select([*columns.values()]), **columns, **options
            )
            return replace(counted, n_dropped=n_dropped)
        data = Interactions.from_frame(table.select([*columns.values()]), **columns, **options)
        return data if self.weight_column else replace(data, weights=None)

    def _chosen(self, columns: Columns) -> dict[str, Any]:
        """The columns that are read, under the argument names of ``from_frame``."""
        weight = columns.optional("weight", self.weight_column)
        if weight is not None and self.rating_column not in (None, weight):
            raise InvalidArgumentError(
                "--rating-column", self.rating_column, f"left out beside --weight-column {weight}",
                "weights already say which rows are positives",
            )  # fmt: skip
        rating = weight or columns.optional("rating", self.rating_column)
        if rating is None and self.min_rating is not None:
            raise InvalidArgumentError(
                "--min-rating", self.min_rating, "left out where there is no column of ratings",
                "name it with --rating-column",
            )  # fmt: skip
        chosen = {
            "user": columns.required("user", self.user_column),
            "item": columns.required("item", self.item_column),
            "timestamp": columns.optional("time", self.time_column),
            "weight": rating,
        }
        found = {name: column for name, column in chosen.items() if column}
        least = "above 0" if self.min_rating is None else f"from {self.min_rating:g}"
        for name, column in found.items():
            said = name if name != "weight" or weight else f"positives {least} by rating"
            self.found[said] = column
        self.unread[:] = [name for name in columns.names if name not in found.values()]
        return found


def source_of(data: str | None, split: str | None, **columns: Any) -> Source:
    """The source that the options describe, or a sentence if they name no data."""
    if data is None:
        raise InvalidArgumentError(
            "--data", None, "the name of a data set or a file",
            "try --data demo, or see: truerank data list",
        )  # fmt: skip
    return Source(data=data).but(split=split, **columns)
