"""Files that people name: is it there, and is it what the verb needs?"""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from truerank.cli.columns import Columns
from truerank.cli.output import remark
from truerank.errors import (
    DataWarning,
    FileFormatError,
    InvalidDataError,
    OldNameWarning,
    StorageError,
    for_cli,
)
from truerank.files import readable_errors

if TYPE_CHECKING:
    from truerank.ranking import RankCounts, RankTable

Kind = Literal["model", "ranks", "parquet", "arrays", "text", "other"]

_WHAT = {
    "model": "a model file",
    "ranks": "a table of ranks",
    "parquet": "a Parquet file without ranks of truerank",
    "arrays": "a file of numpy arrays",
    "text": "a text file",
    "other": "a file of an unknown kind",
}
_INSTEAD = {
    ("model", "ranks"): "rank it first: truerank rank --model {path}",
    ("model", "data"): "name the data it was fitted on; the model itself goes to --model",
    ("ranks", "data"): "ranks go to truerank estimate or truerank compare",
    ("ranks", "model"): "it is ranked already: use truerank estimate {path}",
    ("arrays", "data"): "put it into a folder of its own and name that by TRUERANK_DATA",
}
_READ_AS = {
    "ranks": "ranks",
    "data": "interactions (CSV or Parquet)",
    "model": "a model of truerank fit",
}


def found(path: Path) -> Path:
    """The file itself; if it is not there, a sentence with the files near by."""
    from truerank.checks import nearest  # which needs numpy: --help does without

    with readable_errors(path):
        if path.is_file():
            return path
        if path.is_dir():
            inside = sorted(p.name for p in path.iterdir() if p.is_file())[:3]
            raise StorageError(
                f"{path} is a folder; name a file"
                + (f", such as {path / inside[0]}" * bool(inside))
            )
        there = path.parent.is_dir()
        names = sorted(p.name for p in path.parent.iterdir() if p.is_file()) if there else []
    if not there:
        raise StorageError(f"there is no folder {path.parent}; check the name")
    near = nearest(path.name, names, cutoff=0.5)
    raise StorageError(
        f"there is no file {path}; "
        + (f"did you mean {path.parent / near}?" if near else "check the name")
    )


def kind_of(path: Path) -> Kind:
    """What a file is, by its content; its name may say anything."""
    from truerank.data.text.file_streams import is_zipped_text

    with readable_errors(path), path.open("rb") as file:
        start = file.read(4096)
    if start[:4] == b"PAR1":
        return "ranks" if _is_rank_table(path) else "parquet"
    if start[:2] == b"PK" and is_zipped_text(path):
        return "text"
    if start[:2] == b"PK" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return "model" if "header.json" in archive.namelist() else "arrays"
    try:
        start[:-4].decode()  # the last character may be cut
    except UnicodeDecodeError:
        return "other"
    return "other" if b"\0" in start else "text"


def expect(path: Path, wanted: Literal["ranks", "data", "model"]) -> Kind:
    """The kind of a file that is there; refuses one that belongs elsewhere."""
    kind = kind_of(found(path))
    instead = _INSTEAD.get((kind, wanted))
    if instead is not None or (wanted == "model" and kind != "model"):
        raise FileFormatError(
            f"{path} is {_WHAT[kind]}, not {_READ_AS[wanted]}"
            + (f"; {instead.format(path=path)}" if instead else "")
        )
    if path.suffix == ".parquet" and kind not in ("parquet", "ranks"):
        raise FileFormatError(
            f"{path} is {_WHAT[kind]}, not a Parquet file, whatever its name says; "
            + ("call it .csv" if kind == "text" else "write or copy it again")
        )
    return kind


@dataclass(frozen=True, slots=True, kw_only=True)
class RankOptions:
    """What is said about ranks made elsewhere; all usual for a table of ours.

    Attributes:
        n_items: Items in the catalogue.
        n_sampled: Length of the lists, the target included.
        rank_column: Column of ranks; None to find it by its name.
        user_column: Likewise; there may be none.
        item_column: Likewise.
        replacement: Whether negatives were drawn with replacement.
        zero_based: Whether the best rank is 0.
        header: Whether a text file names its columns.
        delimiter: What divides the columns of a text file; None to find it.
        encoding: What a text file is written in; None to find it.
    """

    n_items: int | None = None
    n_sampled: int | None = None
    rank_column: str | None = None
    user_column: str | None = None
    item_column: str | None = None
    replacement: bool = False
    zero_based: bool = False
    header: bool = True
    delimiter: str | None = None
    encoding: str | None = None

    def read(self, path: Path) -> RankTable:
        """A table of ranks: ours, or somebody's CSV or Parquet with the two sizes."""
        from truerank.ranking import RankTable

        kind = expect(path, "ranks")
        if kind == "ranks":
            self._refuse_for(path)
            return RankTable.from_parquet(path)
        from truerank.ranking.readers import read_table

        self.refuse_counts(path)
        how, names = self._how, self._names(path)
        missing = [
            f"--{size.replace('_', '-')}"
            for size in ("n_items", "n_sampled")
            if getattr(self, size) is None and size not in names
        ]
        if missing:
            raise InvalidDataError(
                f"{path} holds ranks without their sizes; say {' and '.join(missing)}: how many "
                "items there are, and among how many each was ranked, itself included"
            )
        columns = Columns(path, names, from_first_line=self.header and kind != "parquet")
        if len(names) == 1 and self.rank_column is None:
            rank = columns.only("rank")
        else:
            rank = columns.required("rank", self.rank_column)
        with noted():
            return read_table(
                path,
                n_items=self.n_items,
                n_sampled=self.n_sampled,
                rank=rank,
                user=columns.optional("user", self.user_column),
                item=columns.optional("item", self.item_column),
                replacement=self.replacement or None,
                zero_based=self.zero_based or None,
                header=None if self.header else False,
                **how,
            )

    def read_any(self, path: Path) -> RankTable | RankCounts:
        """As :meth:`read`; counts are read too, ours or those that a database wrote."""
        if expect(path, "ranks") == "ranks" or not self._are_counts(path):
            return self.read(path)
        from truerank.ranking import RankCounts
        from truerank.ranking.parquet import holds_counts
        from truerank.ranking.readers.ranks import read_counts

        if holds_counts(path):
            self._refuse_for(path)
            return RankCounts.from_parquet(path)
        for name in ("item_column", "zero_based"):
            if getattr(self, name):
                raise InvalidDataError(
                    f"{path} holds counts, of which nothing is known by item and ranks start at 1; "
                    f"leave out --{name.replace('_', '-')}"
                )
        columns = Columns(path, self._names(path), from_first_line=False)
        with noted():
            return read_counts(
                path,
                n_items=self.n_items,
                n_sampled=self.n_sampled,
                rank=columns.required("rank", self.rank_column),
                replacement=self.replacement,
                **self._how,
            )

    def refuse_counts(self, path: Path) -> None:
        """A sentence for counts, which do not know their users."""
        from truerank.ranking.readers.ranks import counts_refused

        if self._are_counts(path):
            raise counts_refused(str(path))

    def _are_counts(self, path: Path) -> bool:
        from truerank.ranking.readers.ranks import are_counts

        names = self._names(path)
        user = Columns(path, names, from_first_line=False).optional("user", self.user_column)
        return user is None and are_counts(names)

    @property
    def _how(self) -> dict[str, Any]:
        return {"delimiter": delimiter_of(self.delimiter), "encoding": self.encoding}

    def _names(self, path: Path) -> list[str]:
        return column_names(path, header=self.header, one_column=True, **self._how)

    def _refuse_for(self, path: Path) -> None:
        for option in fields(self):
            if getattr(self, option.name) != option.default:
                said = f"--{option.name.replace('_', '-')}"
                said = "--no-header" if option.name == "header" else said
                raise InvalidDataError(
                    f"{path} is a table of truerank and records how it was made; leave out {said}"
                )


def column_names(path: Path, *, header: bool = True, **how: Any) -> list[str]:
    """Names of the columns of a CSV or Parquet file, without reading all of it."""
    import pyarrow.parquet as pq

    from truerank.data.frames import reading
    from truerank.data.text.tables import TextTable

    if kind_of(path) == "parquet":
        with reading(path, "Parquet"):
            return list(pq.read_schema(path).names)
    with reading(path, "delimited text"):
        return list(TextTable.of(path, header=header, **how).names)


def fitting_metrics(
    metrics: list[str], asked: bool, tables: Iterable[RankTable | RankCounts]
) -> list[str]:
    """The metrics as they are if somebody asked for them, else with cutoffs that lists can have.

    K is at most the number of candidates of every row, and it is said where that changes it.
    """
    sizes = [int(table.n_items.min()) for table in tables if len(table)]
    if asked or not sizes:
        return metrics
    fewest = min(sizes)
    cut = [re.sub(r"@(\d+)$", lambda k: f"@{min(int(k[1]), fewest)}", name) for name in metrics]
    if cut == metrics:
        return metrics
    remark(f"note: {', '.join(cut)}, because there are rows with {fewest:,} candidates only.")
    return cut


def delimiter_of(typed: str | None) -> str | None:
    r"""What was typed; shells make it hard to type a tab, so ``\t`` is one."""
    return "\t" if typed == "\\t" else typed


@contextmanager
def noted() -> Iterator[None]:
    """Says what the library warns of, data that were guessed at and old names, one remark each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        warnings.simplefilter("always", OldNameWarning)
        yield
    for warning in caught:
        if issubclass(warning.category, DataWarning | OldNameWarning):
            remark(f"note: {for_cli(_text(warning.message))}")
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )


def _text(warning: Warning | str) -> str:
    return str(warning) if isinstance(warning, str) or not warning.args else warning.args[0]


def _is_rank_table(path: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            return b"truerank.ranktable" in (file.schema_arrow.metadata or {})
    except (pa.ArrowException, OSError):
        return path.suffix == ".parquet"  # damaged: let the reader of ranks say so
