"""Ranks that somebody has already: a column of ranks, and what they were taken among.

:func:`read_table` says what a file is by its content: for the command line, which gets a path and
little else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.checks import nearest
from truerank.errors import (
    FileFormatError,
    InvalidArgumentError,
    InvalidDataError,
    Message,
    option,
)
from truerank.ranking.columns import as_whole
from truerank.ranking.counts import KEYS, SUMS, RankCounts, to_numbers
from truerank.ranking.designs import Foreign
from truerank.ranking.header import Header
from truerank.ranking.readers.repeats import refuse_repeats
from truerank.ranking.readers.sources import TableSource, first_line, is_parquet
from truerank.ranking.table import RankTable
from truerank.version import __version__


def read_ranks(
    source: Any,
    *,
    n_items: int | str | None = None,
    n_sampled: int | str | None = None,
    rank: str = "rank",
    user: str | None = "user_id",
    item: str | None = "item_id",
    weight: str | None = "weight",
    zero_based: bool = False,
    replacement: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool = True,
    model: str | None = None,
) -> RankTable:
    """Ranks as CSV, TSV, Parquet, or a pandas, polars or pyarrow frame.

    Ids of text files are text as it is written, those of the others as they are typed.

    Only ranks are needed, with what they were taken among. Memory: about 100 bytes per row
    while it runs, and the strings of ids that are strings; ten million rows take seconds.

    Args:
        source: The path or the frame.
        n_items: Size of the catalogue, or of the candidates of each user, the target included:
            a number, or the name of a column; None is a column ``n_items``.
        n_sampled: How many each target was ranked among, itself included (100 for "99
            negatives"): a number, or the name of a column; None is a column ``n_sampled``. Where
            everything was ranked it is the same as ``n_items``.
        rank: Column of ranks, 1 for the best.
        user: Column of users; None, or no such column: each row is a user of its own.
        item: Column of held-out items; None, or no such column: unknown.
        weight: Column of weights; None, or no such column: all count 1.
        zero_based: The ranks start at 0.
        replacement: The negatives were drawn with replacement.
        delimiter: What divides the columns of a text file; found if not given.
        encoding: What a text file is written in; found if not given.
        header: Whether the first line of a text file names the columns; without it they are
            "0", "1", ..., and a single one holds the ranks.
        model: What to call the model in tables.

    >>> import pyarrow as pa
    >>> read_ranks(pa.table({"rank": [1, 40, 7]}), n_sampled=100, n_items=9_836)
    RankTable(3 rows, foreign design, 0 exact ranks, 100.0 scored per row)
    """
    table = TableSource.of(source, delimiter=delimiter, header=header, encoding=encoding)
    names = table.columns
    wanted = {"rank": names[0] if not header and len(names) == 1 and rank == "rank" else rank}
    wanted |= {
        argument: given
        for argument, given, usual in (("user", user, "user_id"), ("item", item, "item_id"))
        if given is not None and (given != usual or _is_meant(argument, usual, names))
    }
    if "user" not in wanted and are_counts(names):
        raise counts_refused(table.name)
    if weight is not None and (weight != "weight" or weight in names):
        wanted["weight"] = weight
    if "n_scored" in names:
        wanted["n_scored"] = "n_scored"
    columns: dict[str, Any] = {}
    for argument, size in (("n_sampled", n_sampled), ("n_items", n_items)):
        if size is None and argument not in names:
            raise InvalidArgumentError(argument, None, *_SIZES[argument])
        if size is None or isinstance(size, str):
            wanted[argument] = size or argument
        else:
            columns[argument] = size
    columns |= table.arrays(wanted)
    columns["rank"] = _from_one(columns["rank"], zero_based)
    if "user" in columns and "item" in columns:
        refuse_repeats(columns["user"], columns["item"], table.name)
    return RankTable.from_arrays(
        **columns,
        header=Header(
            design=Foreign({"source": "ranks"}),
            replacement=replacement,
            model=model,
            version=__version__,
        ),
    )


_SIZES = {
    "n_sampled": (
        "given: ranks mean nothing without it",
        "say n_sampled=100 for '99 negatives', or the same as n_items where all were ranked",
    ),
    "n_items": (
        "given: sampled ranks say nothing about a catalogue of unknown size",
        "say n_items=..., the number of items the sample was drawn from, target included",
    ),
}


def _is_meant(argument: str, usual: str, names: tuple[str, ...]) -> bool:
    """Whether a column of the usual name is there, or one that looks like it: then it is asked for.

    Taking each row for a user of its own is right where nothing is said about users, but not
    where the column only has another name.
    """
    near = (usual, argument, f"{argument}Id", f"{argument}_idx", f"{argument[0]}id")
    return any(nearest(name, names, cutoff=0.8) for name in near)


def are_counts(names: Iterable[str]) -> bool:
    """Whether columns of these names are counts of ranks: how many rows, and not whose."""
    listed = tuple(names)
    return "n_rows" in listed and not _is_meant("user", "user_id", listed)


def counts_refused(name: str) -> InvalidDataError:
    """The sentence for counts where rows are needed."""
    return InvalidDataError(
        f"{name} holds counts (a column n_rows, and no user); compare, plan and all that asks "
        "about users need tables: one row for each user and held-out item, as "
        + Message(
            "RankTable.to_parquet writes them; tr.estimate takes counts, as tr.RankCounts",
            "truerank rank writes them; truerank estimate takes counts",
        )
    )


def read_counts(
    path: str | Path,
    *,
    n_items: int | None = None,
    n_sampled: int | None = None,
    rank: str = "rank",
    replacement: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> RankCounts:
    """Counts that a database wrote as Parquet or text, with the columns of RankCounts.

    Args:
        path: The file.
        n_items: As in :func:`read_ranks`.
        n_sampled: Likewise.
        rank: Column of ranks.
        replacement: The negatives were drawn with replacement.
        delimiter: What divides the columns of a text file; found if not given.
        encoding: What a text file is written in; found if not given.
    """
    source = TableSource.of(path, delimiter=delimiter, encoding=encoding)
    sizes = {"n_items": n_items, "n_sampled": n_sampled}
    given = {name: size for name, size in sizes.items() if size is not None}
    names = [name for name in (*KEYS, *SUMS, "bucket") if name in source.columns]
    own = {name: name for name in ("n_rows", *names) if name not in given and name != "rank"}
    columns: dict[str, Any] = source.arrays({"rank": rank, **own})
    table: dict[str, Any] = {n: to_numbers(n, column) for n, column in columns.items()} | given
    for name in sizes:
        if name not in table:
            raise InvalidDataError(
                f"{path} holds counts without a column {name!r}; say "
                + Message(f"{name}=...", f"--{name.replace('_', '-')}")
            )
    return RankCounts.from_arrays(**table, replacement=replacement)


def _from_one(rank: NDArray[Any], zero_based: bool) -> NDArray[np.int64]:
    if rank.dtype.kind == "O":
        raise InvalidDataError(
            f"rank must be whole numbers, got {rank[0]!r}; name the column of ranks with "
            + Message("rank=", "--rank-column")
        )
    ranks = as_whole("rank", rank)
    if zero_based:
        ranks += 1
    elif (ranks == 0).any():
        raise InvalidDataError(
            f"row {int(np.argmax(ranks == 0))} has rank 0, so these ranks start at 0 and ours "
            "start at 1; pass " + option("zero_based", True)
        )
    return ranks


def read_table(path: str | Path, **options: Any) -> RankTable:
    """A rank table from a file: ours by its metadata, or any table with a column of ranks.

    Args:
        path: A Parquet file written by :meth:`RankTable.to_parquet`; or a Parquet, CSV or TSV
            file with a column of ranks.
        options: As in :func:`read_ranks`; None counts as not given. A file of ours needs none
            and takes none: it records how its ranks were made.
    """
    file = Path(path)
    given = {name: value for name, value in options.items() if value is not None}
    if is_parquet(file):
        if not _is_ours(file):
            return read_ranks(file, **given)
        if given:
            raise InvalidArgumentError(
                next(iter(given)),
                next(iter(given.values())),
                f"left out: {file} is a rank table of truerank and records how its ranks "
                "were made",
            )
        return RankTable.from_parquet(file)
    _refuse_other_formats(file)
    return read_ranks(file, **given)


def _is_ours(file: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from truerank.ranking.parquet import _KEY

    try:
        metadata = pq.read_schema(file).metadata or {}
    except (pa.ArrowException, OSError):
        return True  # damaged: from_parquet has the sentence for it
    return _KEY in metadata


def _refuse_other_formats(file: Path) -> None:
    line = first_line(file)
    if re.match(r"\(\d+,\d+\)\s", line):
        raise FileFormatError(
            f"{file} holds negatives as NCF publishes them, not ranks; give it to "
            "tr.read_ncf_negatives with the scores"
        )
    if re.fullmatch(r"\s*\S+\s+Q0\s+\S+\s+\d+\s+\S+\s+\S+\s*", line):
        raise FileFormatError(
            f"{file} is a TREC run, which has no ranks of held-out items; give it to tr.read_trec "
            "with its qrels"
        )
