"""RankCounts: a table of ranks reduced to what estimators need, additive over shards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.arrays import Float, Int
from truerank.checks import nearest
from truerank.data.id_order import distinct_ids
from truerank.errors import InvalidArgumentError, InvalidDataError, MissingExtraError
from truerank.ranking.columns import (
    WEIGHTS,
    as_weights,
    as_whole,
    check_ranks,
    refuse_rows,
    spread,
)
from truerank.ranking.grouping import count_triples, group_triples
from truerank.ranking.header import Header, joined_header
from truerank.ranking.user_blocks import BUCKETS, user_blocks

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from truerank.ranking.table import RankTable

KEYS = ("rank", "n_sampled", "n_items", "n_targets")
SUMS = ("n_rows", "weight", "squared_weight", "n_scored")
REQUIRED = (*KEYS[:3], "n_rows")
"""Columns that a frame or a file of counts cannot do without."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankCounts:
    """How often each distinct (rank, n_sampled, n_items) occurs: a table for estimators.

    A billion rows reduce to a few thousand, on a cluster or in a database (docs/counts.md), and
    counts of shards add up, ``a + b``, to those of the whole: each user's rows belong in one shard.
    Columns are read-only arrays of one length, ascending by n_items, n_sampled, rank, n_targets
    and bucket.

    Attributes:
        rank: 1-based rank of the held-out item among ``n_sampled`` candidates, itself included.
        n_sampled: Candidates it was ranked among, itself included.
        n_items: Candidates there are, itself included.
        n_targets: Held-out items of each of these rows' users: 1 with one target a user.
        n_rows: Rows counted here.
        weight: Their total weight.
        squared_weight: The total of their squared weights: how many rows the weights are worth.
        n_scored: Items scored for all of them together.
        bucket: A hash of the user into 200, for rows that share a user: intervals then come from
            resampled buckets. None where every user has one row, and the counts are enough.
        header: Where the ranks come from.
    """

    rank: Int
    n_sampled: Int
    n_items: Int
    n_targets: Int
    n_rows: Int
    weight: Float
    squared_weight: Float
    n_scored: Int
    bucket: Int | None
    header: Header

    def __post_init__(self) -> None:
        for name, column in self._columns().items():
            if column.shape != self.rank.shape:
                raise InvalidArgumentError(
                    name, f"shape {column.shape}", f"of shape ({len(self)},) like rank"
                )
            view = column.view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    def __reduce__(self) -> tuple[object, ...]:
        # numpy forgets the read-only flag when it pickles; making the object anew sets it.
        return _rebuild, ({"bucket": None, **self._columns()}, self.header)

    @classmethod
    def from_arrays(
        cls,
        rank: ArrayLike,
        n_sampled: ArrayLike,
        n_items: ArrayLike,
        *,
        n_rows: ArrayLike = 1,
        weight: ArrayLike | None = None,
        n_targets: ArrayLike = 1,
        bucket: ArrayLike | None = None,
        squared_weight: ArrayLike | None = None,
        n_scored: ArrayLike | None = None,
        replacement: bool = False,
        header: Header | None = None,
    ) -> Self:
        """From columns made anywhere; scalars stand for whole columns, repeated keys are added up.

        Args:
            rank: 1-based ranks among ``n_sampled``, the target included.
            n_sampled: List length, the target included: 100 for "99 negatives".
            n_items: Catalogue size, or candidates per row.
            n_rows: Rows that each entry stands for.
            weight: Their total weight; ``n_rows`` if not given.
            n_targets: Held-out items of these rows' users.
            bucket: From 0 to 199, the same for all rows of a user.
            squared_weight: Total of squared weights; that of equal weights if not given.
            n_scored: Items scored for all rows of an entry; ``n_sampled`` each if not given.
            replacement: Whether negatives were drawn with replacement.
            header: Where the ranks come from, instead of ``replacement`` alone.

        >>> counts = RankCounts.from_arrays([1, 2, 1], 100, 9_836, n_rows=[70, 20, 5])
        >>> counts.rank.tolist(), counts.n_rows.tolist()
        ([1, 2], [75, 20])
        """
        whole = {
            "rank": as_whole("rank", rank),
            "n_sampled": as_whole("n_sampled", n_sampled),
            "n_items": as_whole("n_items", n_items),
            "n_targets": as_whole("n_targets", n_targets),
            "n_rows": as_whole("n_rows", n_rows),
        }
        given: dict[str, NDArray[Any]] = {}
        if bucket is not None:
            whole["bucket"] = as_whole("bucket", bucket)
        if n_scored is not None:
            whole["n_scored"] = as_whole("n_scored", n_scored)
        for name, values in (("weight", weight), ("squared_weight", squared_weight)):
            if values is not None:
                given[name] = as_weights(values)
        columns: dict[str, NDArray[Any]] = {**whole, **given}
        sizes = {column.size for column in columns.values()}
        n = 0 if 0 in sizes else max(sizes)
        columns = {name: spread(name, column, n) for name, column in columns.items()}
        rows = columns["n_rows"]
        columns.setdefault("weight", rows.astype(np.float64))
        columns.setdefault("squared_weight", columns["weight"] ** 2 / np.maximum(rows, 1))
        if "n_scored" not in columns:
            _check_total("n_scored", columns["n_sampled"], rows)
            columns["n_scored"] = columns["n_sampled"] * rows
        _check(columns)
        return cls._grouped(columns, header or Header(replacement=replacement))

    @classmethod
    def from_table(cls, table: RankTable, *, bucket: bool | None = None) -> Self:
        """The counts of a table, in one pass over its rows; users of weight 0 are left out.

        Args:
            table: Ranks, all rows of a user among them.
            bucket: Whether to keep a bucket of users. None keeps it where intervals need it: where
                users have several rows. Counts to be added up must all have it, or none.
        """
        table = table.without_weightless_users()
        if len(table) and not table.weight.max() > 0:
            table = table[:0]  # so that shards add up, whoever is in them
        shared = len(table) > table.n_users
        n_blocks = None if table.header.stages is None else table.header.stages.n_blocks
        keep = (shared or n_blocks is not None) if bucket is None else bucket
        plain = not (shared or keep) and len(table) > 0 and bool(np.all(table.weight == 1.0))
        if plain and np.array_equal(table.n_scored, table.n_sampled):
            return cls._of_plain_rows(table)
        columns = {name: getattr(table, name) for name in (*KEYS[:3], "weight", "n_scored")}
        one = np.broadcast_to(np.int64(1), len(table))
        columns |= {"n_targets": one, "n_rows": one, "squared_weight": table.weight**2}
        if shared or keep:
            users, number = distinct_ids(table.user)
            if shared:
                columns["n_targets"] = np.bincount(number)[number]
            if keep:
                columns["bucket"] = user_blocks(users, min(n_blocks or BUCKETS, BUCKETS))[number]
        return cls._grouped(columns, table.header)

    @classmethod
    def from_frame(
        cls, frame: Any, *, replacement: bool = False, header: Header | None = None
    ) -> Self:
        """From a pandas, polars or pyarrow table with a row for each count.

        Args:
            frame: Columns ``rank``, ``n_sampled``, ``n_items`` and ``n_rows``, and where known
                ``weight``, ``n_targets``, ``bucket``, ``squared_weight`` and ``n_scored``, as in
                :meth:`from_arrays`. Others are not read.
            replacement: Whether negatives were drawn with replacement.
            header: Where the ranks come from, instead of ``replacement`` alone.
        """
        from truerank.data.frames import arrow_column, check_names, eager, to_numpy

        table = eager(frame, instead="RankCounts.from_arrays takes plain arrays")
        names = getattr(table, "column_names", None) or list(table.columns)
        own_name = {str(name): name for name in names}
        _refuse_missing(list(own_name))
        wanted = {name: name for name in (*KEYS, *SUMS, "bucket") if name in own_name}
        check_names([str(name) for name in names], wanted)
        columns = {}
        for name in wanted:
            column = arrow_column(table, own_name[name])
            if column.null_count:
                raise InvalidDataError(f"column {name!r} has missing values; each row needs one")
            columns[name] = to_numbers(name, to_numpy(column))
        return cls.from_arrays(**columns, replacement=replacement, header=header)

    # ---------------------------------------------------------------- adding

    def __add__(self, other: RankCounts) -> RankCounts:
        """The counts of both together; refused where they cannot be parts of one whole."""
        if not isinstance(other, RankCounts):
            return NotImplemented
        if (self.bucket is None) != (other.bucket is None):
            raise InvalidDataError(
                "one of these counts keeps buckets of users and the other does not, so together "
                "they would have no intervals; count all shards with bucket=True, or all without"
            )
        mine, theirs = self._columns(), other._columns()
        columns = {name: np.concatenate([mine[name], theirs[name]]) for name in mine}
        added = self._grouped(columns, joined_header([self.header, other.header], "counts"))
        known = (self.header.n_population, other.header.n_population)
        if None in known:
            return added
        return added._counted_among(max(added.n_users, *(n for n in known if n is not None)))

    def __radd__(self, other: object) -> RankCounts:
        """So that ``sum`` adds shards up: it starts from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _counted_among(self, n_population: int) -> RankCounts:
        return replace(self, header=replace(self.header, n_population=n_population))

    # ---------------------------------------------------------------- looking

    def __len__(self) -> int:
        return len(self.rank)

    @property
    def replacement(self) -> bool:
        """Whether rivals were drawn with replacement."""
        return self.header.replacement

    @property
    def n_users(self) -> int:
        """Users behind the counts: each row is one of its user's ``n_targets``."""
        return round(float((self.n_rows / self.n_targets).sum()))

    @property
    def is_exact(self) -> NDArray[np.bool_]:
        """Which entries hold the rank among all candidates."""
        return np.asarray(self.n_sampled == self.n_items)

    @property
    def all_exact(self) -> bool:
        """Whether every rank is the one among all candidates."""
        return bool(self.is_exact.all())

    @property
    def adapted(self) -> str:
        """What a default of the design did for users with few candidates, in words; or nothing."""
        return self.header.adapted(self.n_sampled, self.n_rows)

    @property
    def shares(self) -> Float:
        """Weights as parts of one."""
        total = self.weight.sum()
        if not total > 0:
            raise InvalidDataError("all weights are zero: there is nothing to estimate from")
        return np.asarray(self.weight / total)

    @property
    def largest(self) -> int:
        """Most candidates of any row."""
        return int(self.n_items.max())

    @property
    def typical(self) -> float | None:
        r"""The N for which auc, :math:`1 - (R - 1) / (N - 1)`, is the mean over rows that differ.

        :math:`1 / (N - 1)` is the weighted mean of theirs; None where all rows have as many.
        """
        if self.n_items.min() == self.n_items.max():
            return None
        with np.errstate(divide="ignore"):  # a row of one candidate: N = 1, which auc refuses
            return 1.0 + 1.0 / float((self.shares / (self.n_items - 1)).sum())

    def sizes(self) -> Iterator[tuple[int, int, slice]]:
        """Distinct (n_sampled, n_items), each with its run of entries."""
        new = np.ones(len(self), dtype=bool)
        new[1:] = (np.diff(self.n_sampled) != 0) | (np.diff(self.n_items) != 0)
        starts = np.flatnonzero(new)
        for start, stop in zip(starts, [*starts[1:], len(self)], strict=True):
            yield int(self.n_sampled[start]), int(self.n_items[start]), slice(start, stop)

    def with_weight(self) -> RankCounts:
        """The entries of users who count: one of weight 0 tells nothing.

        Rows of weight 0 of a user with several stay: the user's other rows may count.
        """
        if len(self) == 0 or self.weight.min() > 0 or not self.weight.max() > 0:
            return self
        some = (self.weight > 0) | (self.n_targets > 1)
        return self._of({name: column[some] for name, column in self._columns().items()},
                        self.header)  # fmt: skip

    def __repr__(self) -> str:
        kept = "" if self.bucket is None else ", by buckets of users"
        return (
            f"RankCounts({len(self):,} entries of {int(self.n_rows.sum()):,} rows, "
            f"{self.header.design.kind} design{kept})"
        )

    # ---------------------------------------------------------------- frames and files

    def to_arrow(self) -> pa.Table:
        """As a pyarrow table with the header in its metadata."""
        from truerank.ranking.parquet import counts_as_arrow

        return counts_as_arrow(self)

    def to_frame(self) -> pd.DataFrame:
        """As a pandas frame, for :meth:`from_frame` to read again; the header is not in it."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("pandas", "frames", "RankCounts.to_frame()") from None
        return pd.DataFrame(self._columns())

    def to_parquet(self, path: str | Path, *, force: bool = True) -> None:
        """Write one Parquet file, whole or not at all."""
        from truerank.ranking.parquet import write_counts

        write_counts(self, path, force=force)

    @classmethod
    def from_parquet(cls, path: str | Path, *, header: Header | None = None) -> RankCounts:
        """Read a file written by :meth:`to_parquet`, or by a database.

        Args:
            path: A Parquet file with the columns of :meth:`from_frame`.
            header: Where the ranks come from, for a file that does not say so itself.
        """
        from truerank.ranking.parquet import read_counts

        return read_counts(path, header)

    # ---------------------------------------------------------------- making

    def _columns(self) -> dict[str, NDArray[Any]]:
        names = (*KEYS, *SUMS) if self.bucket is None else (*KEYS, "bucket", *SUMS)
        return {name: getattr(self, name) for name in names}

    @classmethod
    def _of(cls, columns: dict[str, NDArray[Any]], header: Header) -> Self:
        plain: dict[str, Any] = {name: np.ascontiguousarray(c) for name, c in columns.items()}
        return cls(**{"bucket": None, **plain}, header=header)

    @classmethod
    def _of_plain_rows(cls, table: RankTable) -> Self:
        """One row a user, of weight 1: nothing is kept per row."""
        triples, rows = count_triples(table.rank, table.n_sampled, table.n_items)
        rank, n_sampled, n_items = triples.T
        _check_total("n_scored", n_sampled, rows)
        weight = rows.astype(np.float64)
        columns = {"rank": rank, "n_sampled": n_sampled, "n_items": n_items, "n_rows": rows}
        columns |= {"n_targets": np.ones_like(rows), "n_scored": n_sampled * rows}
        return cls._of({**columns, "weight": weight, "squared_weight": weight}, table.header)

    @classmethod
    def _grouped(cls, columns: dict[str, NDArray[Any]], header: Header) -> Self:
        """Entries of one key added up, in ascending order of keys."""
        triples, _, group = group_triples(*(columns[name] for name in KEYS[:3]))
        names = ["n_targets"] + ["bucket"] * ("bucket" in columns)
        keys: dict[str, NDArray[Any]] = dict(zip(KEYS[:3], triples.T, strict=True))
        if "bucket" not in columns and (len(group) == 0 or np.ptp(columns["n_targets"]) == 0):
            keys["n_targets"] = np.full(len(triples), columns["n_targets"][0] if len(group) else 1)
        else:
            code = group
            for name in names:
                own = columns[name]
                if own.max(initial=0) > len(own):  # numbered, for codes within int64
                    own = np.unique(own, return_inverse=True)[1]
                code = code * (int(own.max(initial=0)) + 1) + own
            _, first, group = np.unique(code, return_index=True, return_inverse=True)
            keys = {name: columns[name][first] for name in (*KEYS[:3], *names)}
        n = len(keys["rank"])
        sums = {}
        for name in ("n_rows", "n_scored"):
            _check_total(name, columns[name])
            sums[name] = np.zeros(n, np.int64)
            np.add.at(sums[name], group, columns[name])
        for name in ("weight", "squared_weight"):
            # Added in ascending order: the same bits whatever the order of the rows.
            order = np.lexsort((columns[name], group))
            sums[name] = np.bincount(group[order], columns[name][order], n).astype(np.float64)
        return cls._of({**keys, **sums}, header)


def _check(columns: dict[str, NDArray[Any]]) -> None:
    check_ranks(columns["rank"], columns["n_sampled"], columns["n_items"])
    refuse_rows(columns["n_rows"] < 1, "n_rows {} must be at least 1", columns["n_rows"])
    refuse_rows(columns["n_targets"] < 1, "n_targets {} must be at least 1", columns["n_targets"])
    refuse_rows(columns["n_scored"] < 0, "n_scored {} must not be negative", columns["n_scored"])
    for name in ("weight", "squared_weight"):
        column = columns[name]
        bad = ~np.isfinite(column) | (column < 0)
        refuse_rows(bad, f"{name} {{}} must be finite and not negative", column)
    _check_weights(columns["n_rows"], columns["weight"], columns["squared_weight"])
    users = float((columns["n_rows"] / columns["n_targets"]).sum())
    if 0 < users < 1 - 1e-9:
        raise InvalidDataError(
            f"these counts are {users:.2g} of a user: n_targets is how many rows each user has, "
            "and there are fewer rows than that; count all rows of a user"
        )
    if "bucket" in columns:
        bucket = columns["bucket"]
        bad = (bucket < 0) | (bucket >= BUCKETS)
        refuse_rows(
            bad, f"bucket {{}} must be from 0 to {BUCKETS - 1}: a hash of the user % {BUCKETS}",
            bucket,
        )  # fmt: skip


def _check_weights(n_rows: Int, weight: Float, squared: Float) -> None:
    """Weights of rows as a table's, and squares that rows of such weights can have."""
    each, (least, most) = weight / n_rows, WEIGHTS
    refuse_rows(
        (weight != 0) & ((each < least * (1 - _ROUNDING)) | (each > most * (1 + _ROUNDING))),
        f"weight {{}} of n_rows {{}} must be 0 or from {least:g} to {most:g} a row, beyond which "
        "sums and products of weights are lost; multiply all weights by one number, which changes "
        "no estimate",
        weight,
        n_rows,
    )
    fewest = np.where(weight > 0, each * weight, 0.0)
    low = (squared < fewest * (1 - _ROUNDING)) | ((squared == 0) & (weight > 0))
    refuse_rows(
        low | (squared > weight**2 * (1 + _ROUNDING)),
        "squared_weight {} cannot be the sum of the squares of {} weights of sum {}; it is "
        "SUM(weight * weight)",
        squared,
        n_rows,
        weight,
    )


_ROUNDING = 1e-4
"""What sums may be off by: databases may add up in float32."""


def _check_total(name: str, values: Int, times: Int | None = None) -> None:
    """Refuse counts whose total is beyond int64: sums would be wrong without a word."""
    factor = np.broadcast_to(np.int64(1), len(values)) if times is None else times
    if float(values.astype(np.float64) @ factor.astype(np.float64)) < 2.0**62:
        return
    total = sum(a * b for a, b in zip(values.tolist(), factor.tolist(), strict=True))
    if total >= 2**63:
        raise InvalidDataError(
            f"{name} adds up to {total:.3g}, and counts end at 2**63, about 9.2e18; check the "
            "column, or count in parts"
        )


def _refuse_missing(names: list[str]) -> None:
    for name in REQUIRED:
        if name not in names:
            others = [other for other in names if other not in (*KEYS, *SUMS, "bucket")]
            near = nearest(name, others, cutoff=0.3)
            advice = (
                "name the column of COUNT(*) n_rows"
                if name == "n_rows"
                else (
                    f"rename the column {near!r} if it is that"
                    if near
                    else "rename the column it is in"
                )
            )
            raise InvalidDataError(
                f"there is no column {name!r}, the columns are {', '.join(map(repr, names[:20]))}; "
                + advice
            )


def to_numbers(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Sums of a database may be decimals; whole ones are taken as the numbers they are."""
    if values.dtype.kind != "O":
        return values
    try:
        if not any(isinstance(value, str | bytes) for value in values):
            return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass  # dates, lists and the like
    raise InvalidDataError(
        f"column {name!r} must be numbers, got values such as {values[0]!r}; convert it first"
    )


def _rebuild(columns: dict[str, Any], header: Header) -> RankCounts:
    return RankCounts(**columns, header=header)
