"""TREC run and qrels: the lists of a retrieval system, and what is relevant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from truerank.data.frames import arrow_column, to_numpy
from truerank.errors import FileFormatError, InvalidArgumentError, InvalidDataError
from truerank.numerics.ties import DEFAULT_TIES, TieRule
from truerank.ranking.columns import as_whole
from truerank.ranking.readers.lists import MissingRule, rank_in_lists
from truerank.ranking.readers.placing import Lists
from truerank.ranking.readers.spaced import BLANKS, field_count, read_spaced
from truerank.ranking.table import RankTable

if TYPE_CHECKING:
    import pyarrow as pa

RUN = ["query", "q0", "document", "rank", "score", "tag"]
QRELS = ["query", "iteration", "document", "relevance"]


def read_trec(
    run: str | Path,
    qrels: str | Path,
    *,
    n_items: int,
    depth: int | None = None,
    missing: MissingRule = "last",
    min_relevance: int = 1,
    ties: TieRule = DEFAULT_TIES,
    seed: int = 0,
) -> RankTable:
    """The rank of each relevant document in its query's list: queries are users, documents items.

    A run is the top of a ranking of all documents, so its ranks are exact down to the length of
    the list. They are made from the *scores*: the run's own rank column is not read (trec_eval
    does not read it either, but breaks ties by document name; we break them by ``ties``).
    Queries of the run without relevant documents are left out, as trec_eval does. Names of
    queries and documents are text, as they are written.

    Memory: about 200 bytes per row of the run while it runs; ten million rows take seconds.

    Args:
        run: Lines ``query Q0 document rank score tag``, divided by white space; .gz, .bz2 and
            .zst as well.
        qrels: Lines ``query iteration document relevance``.
        n_items: Documents there are.
        depth: Cut the lists here; None takes them as they are.
        missing: What to do with relevant documents that are not in their list (or whose query
            has none). Only that they rank below it is known. ``"last"`` puts them at rank
            ``n_items``, which is right for every metric@K with K up to the length of the list
            (recorded as ``depth`` in the header's design), and pessimistic for metrics without a
            cutoff; it is ``trec_eval -c``. ``"drop"`` leaves them out: the metrics are then those
            of the retrieved ones. ``"refuse"`` is an error.
        min_relevance: What counts as relevant.
        ties: The rank among equal scores, see :mod:`truerank.numerics.ties`.
        seed: Of the order that the rule ``"random"`` gives to equal scores.
    """
    if depth is not None and depth < 1:
        raise InvalidArgumentError("depth", depth, "at least 1, or None")
    lists, judged = Path(run), Path(qrels)
    _check_fields(lists, judged)
    offered, relevant = _read(lists, RUN), _read(judged, QRELS)
    keep = _column(relevant, "relevance") >= min_relevance
    if not keep.any():
        raise InvalidDataError(
            f"no line of {judged} has a relevance of at least {min_relevance}; lower it with "
            "min_relevance="
        )
    tags = offered["tag"].unique().to_pylist()
    return rank_in_lists(
        Lists(
            _column(offered, "query"), _column(offered, "document"), _column(offered, "score")
        ),
        _column(relevant, "query")[keep],
        _column(relevant, "document")[keep],
        as_whole("n_items", n_items),
        lists="top",
        missing=missing,
        ties=ties,
        seed=seed,
        depth=depth,
        model=tags[0] if len(tags) == 1 else None,
        source="trec",
    )  # fmt: skip


def _check_fields(run: Path, qrels: Path) -> None:
    fields = [field_count(path, BLANKS, "TREC") for path in (run, qrels)]
    if fields == [len(QRELS), len(RUN)]:
        raise FileFormatError(
            f"{run} has the {len(QRELS)} columns of qrels and {qrels} the {len(RUN)} of a run; "
            "swap the two"
        )
    for path, n, names, what in (
        (run, fields[0], RUN, "a TREC run"), (qrels, fields[1], QRELS, "TREC qrels"),
    ):  # fmt: skip
        if n != len(names):
            raise FileFormatError(
                f"{path} has {n} columns, {what} has {len(names)}: {' '.join(names)}; for other "
                "tables of scores use tr.read_lists"
            )


def _read(path: Path, names: list[str]) -> pa.Table:
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string())
    types: dict[str, Any] = {"query": text, "document": text}
    if names is RUN:
        types |= {"score": pa.float64(), "tag": text}
    else:
        types |= {"relevance": pa.int64()}
    return read_spaced(path, names, types, blanks=BLANKS, what="TREC")


def _column(table: pa.Table, name: str) -> NDArray[Any]:
    return to_numpy(arrow_column(table, name))
