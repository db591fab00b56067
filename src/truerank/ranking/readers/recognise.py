"""What a file is, by its content: for the command line, which gets a path and little else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from truerank.errors import FileFormatError, InvalidArgumentError
from truerank.ranking.readers.ranks import read_ranks
from truerank.ranking.readers.sources import first_line, is_parquet
from truerank.ranking.table import RankTable


def read_table(path: str | Path, **options: Any) -> RankTable:
    """A rank table from a file: ours by its metadata, or any table with a column of ranks.

    Args:
        path: A Parquet file written by :meth:`RankTable.to_parquet`; or a Parquet, CSV or TSV
            file with a column of ranks.
        options: As in :func:`read_ranks`; None counts as not given. A file of ours needs none
            and takes none: it says itself how its ranks were made.
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
                f"left out: {file} is a rank table of truerank and says itself how its ranks "
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
