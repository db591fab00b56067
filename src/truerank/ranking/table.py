"""RankTable: one row per (user, held-out item), the artefact in the middle of everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.metrics import Metric, MetricLike, as_metric
from truerank.ranking.header import Header

if TYPE_CHECKING:
    import pyarrow as pa

Int = NDArray[np.int64]
Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankTable:
    """Ranks of held-out items, with what they were ranked against.

    All columns are read-only arrays of one length. ``n_sampled == n_items`` means that the
    rank is exact. Memory: about 50 bytes per row plus the ids.

    Attributes:
        user: External id of each row's user.
        item: External id of each row's held-out item.
        rank: 1-based rank of the item among ``n_sampled`` candidates, itself included.
        n_sampled: Candidates it was ranked among, itself included.
        n_items: Candidates there are for this user, itself included.
        weight: Weight of the row, 1 unless given.
        n_scored: Items that were scored to get this row: its cost.
        header: Where the ranks come from.
    """

    user: NDArray[Any]
    item: NDArray[Any]
    rank: Int
    n_sampled: Int
    n_items: Int
    weight: Float
    n_scored: Int
    header: Header

    def __post_init__(self) -> None:
        _check_columns(self)
        for name in ("user", "item", "rank", "n_sampled", "n_items", "weight", "n_scored"):
            # A view: freezing it does not freeze the caller's array.
            column = getattr(self, name).view()
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    @classmethod
    def from_arrays(
        cls,
        rank: ArrayLike,
        n_sampled: ArrayLike,
        n_items: ArrayLike,
        *,
        weight: ArrayLike = 1.0,
        user: ArrayLike | None = None,
        item: ArrayLike | None = None,
        n_scored: ArrayLike | None = None,
        replacement: bool = False,
        header: Header | None = None,
    ) -> Self:
        """From ranks made anywhere; scalars stand for whole columns.

        Args:
            rank: 1-based ranks among ``n_sampled``, the target included.
            n_sampled: List length, the target included: 100 for "99 negatives".
            n_items: Catalogue size, or candidates per row.
            weight: Non-negative weights.
            user: User ids; ``0, 1, ...`` if not given: each row its own user.
            item: Item ids; ``0`` if not given.
            n_scored: Items scored per row; ``n_sampled`` if not given.
            replacement: Whether negatives were drawn with replacement.
            header: Where the ranks come from, instead of ``replacement`` alone.

        >>> table = RankTable.from_arrays(rank=[1, 4], n_sampled=100, n_items=9_836)
        >>> table.n_sampled.tolist()
        [100, 100]
        """
        ranks = _whole_numbers("rank", rank)
        n = max((np.size(column) for column in (ranks, n_sampled, n_items)), default=0)
        sizes = _spread("n_sampled", _whole_numbers("n_sampled", n_sampled), n)
        users = np.arange(n) if user is None else np.asarray(user)
        items = np.zeros(n, dtype=np.int64) if item is None else np.asarray(item)
        return cls(
            user=_spread("user", users, n),
            item=_spread("item", items, n),
            rank=_spread("rank", ranks, n),
            n_sampled=sizes,
            n_items=_spread("n_items", _whole_numbers("n_items", n_items), n),
            weight=_spread("weight", np.asarray(weight, dtype=np.float64), n),
            n_scored=sizes if n_scored is None else _spread(
                "n_scored", _whole_numbers("n_scored", n_scored), n
            ),
            header=header or Header(replacement=replacement),
        )  # fmt: skip

    @classmethod
    def concat(cls, tables: Sequence[RankTable]) -> RankTable:
        """One table from shards of the same job; refuses tables that do not belong together."""
        if not tables:
            raise InvalidArgumentError("tables", [], "at least one table")
        first = tables[0]
        for other in tables[1:]:
            different = first.header.differences(other.header)
            if different:
                raise InvalidDataError(
                    f"these tables differ in {', '.join(different)}; only shards of one job can "
                    "be joined: compare different models with tr.compare instead"
                )
        columns = {
            name: np.concatenate([getattr(table, name) for table in tables])
            for name in ("user", "item", "rank", "n_sampled", "n_items", "weight", "n_scored")
        }
        joined = cls(**columns, header=first.header)
        if len(tables) > 1 and _repeats(joined.user, joined.item):
            raise InvalidDataError(
                "these tables share (user, item) rows; each row may come from one shard only"
            )
        return joined

    # ---------------------------------------------------------------- looking

    def __len__(self) -> int:
        return len(self.rank)

    def __getitem__(self, rows: slice | NDArray[Any]) -> RankTable:
        """Some of the rows, with the same header."""
        return replace(
            self,
            **{
                name: getattr(self, name)[rows]
                for name in ("user", "item", "rank", "n_sampled", "n_items", "weight", "n_scored")
            },
        )

    @property
    def is_exact(self) -> NDArray[np.bool_]:
        """Which rows hold the rank among all candidates."""
        return self.n_sampled == self.n_items

    @property
    def n_users(self) -> int:
        """Distinct users."""
        return len(np.unique(self.user))

    def per_row(self, metric: MetricLike, *, naive: bool = False) -> Float:
        """The metric's value of each row, a function of its rank alone."""
        return self._checked(metric, naive).row_values(self.rank, self._size(naive))

    def per_user(self, metric: MetricLike, *, naive: bool = False) -> tuple[NDArray[Any], Float]:
        """User ids in ascending order and the metric's value of each.

        Several held-out items of a user are combined as the metric defines. Sampled ranks
        are refused: the value of a metric on them is not its value on the catalogue, and
        :func:`truerank.estimate` corrects for that. ``naive=True`` takes them as they are.
        """
        return self._checked(metric, naive).per_user(self.user, self.rank, self._size(naive))

    def _size(self, naive: bool) -> Int:
        return self.n_sampled if naive else self.n_items

    def _checked(self, metric: MetricLike, naive: bool) -> Metric:
        chosen = as_metric(metric)
        if not naive and not self.is_exact.all():
            raise InvalidDataError(
                f"{int((~self.is_exact).sum()):,} of {len(self):,} ranks are sampled, so they do "
                f"not give {chosen} of the catalogue; use tr.estimate, or naive=True for the "
                "value on the samples"
            )
        return chosen

    def counts(self) -> Counts:
        """How often each distinct (rank, n_sampled, n_items) occurs: all an estimator needs."""
        return count_rows(self)

    # ---------------------------------------------------------------- files

    def to_parquet(self, path: str | Path, *, force: bool = True) -> None:
        """Write one Parquet file, whole or not at all."""
        from truerank.ranking.parquet import write_table

        write_table(self, path, force=force)

    @classmethod
    def from_parquet(cls, path: str | Path) -> RankTable:
        """Read a file written by :meth:`to_parquet`, or by anybody in its format."""
        from truerank.ranking.parquet import read_table

        return read_table(path)

    def to_arrow(self) -> pa.Table:
        """As a pyarrow table with the header in its metadata."""
        from truerank.ranking.parquet import as_arrow

        return as_arrow(self)

    def __repr__(self) -> str:
        exact = int(self.is_exact.sum())
        return (
            f"RankTable({len(self):,} rows, {self.header.design.get('kind')} design, "
            f"{exact:,} exact ranks, {self.n_scored.mean() if len(self) else 0:,.1f} scored per row)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Distinct (rank, n_sampled, n_items), ascending, each with its rows and weight.

    Counts of shards add up with :meth:`__add__`, in any order, to those of the whole.
    """

    rank: Int
    n_sampled: Int
    n_items: Int
    n_rows: Int
    weight: Float

    def __len__(self) -> int:
        return len(self.rank)

    def __add__(self, other: Counts) -> Counts:
        both = [
            np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("rank", "n_sampled", "n_items", "n_rows", "weight")
        ]
        return _group(*both)


def count_rows(table: RankTable) -> Counts:
    """Reduce a table to its counts."""
    ones = np.ones(len(table), dtype=np.int64)
    return _group(table.rank, table.n_sampled, table.n_items, ones, table.weight)


def _group(rank: Int, n_sampled: Int, n_items: Int, n_rows: Int, weight: Float) -> Counts:
    order = np.lexsort((rank, n_sampled, n_items))
    keys = np.stack([rank, n_sampled, n_items])[:, order]
    new = np.ones(len(rank), dtype=bool)
    new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    first = np.flatnonzero(new)
    empty = len(first) == 0
    return Counts(
        rank=keys[0, first],
        n_sampled=keys[1, first],
        n_items=keys[2, first],
        n_rows=n_rows if empty else np.add.reduceat(n_rows[order], first),
        weight=weight if empty else np.add.reduceat(weight[order], first),
    )


def _whole_numbers(name: str, values: ArrayLike) -> Int:
    array = np.asarray(values)
    if array.dtype.kind == "f" and array.size and not np.all(array == np.floor(array)):
        raise InvalidDataError(
            f"{name} must be whole numbers, got {array[array != np.floor(array)].flat[0]}"
        )
    if array.dtype.kind not in "iuf":
        raise InvalidDataError(f"{name} must be whole numbers, got values of type {array.dtype}")
    return array.astype(np.int64)


def _spread(name: str, values: NDArray[Any], n: int) -> NDArray[Any]:
    if values.ndim > 1 or values.size not in (1, n):
        raise InvalidArgumentError(
            name, f"shape {values.shape}", f"a scalar or of shape ({n},) like the other columns"
        )
    return np.ascontiguousarray(np.broadcast_to(values.reshape(-1), (n,)))


def _check_columns(table: RankTable) -> None:
    n = len(table.rank)
    for name in ("user", "item", "n_sampled", "n_items", "weight", "n_scored"):
        if getattr(table, name).shape != (n,):
            raise InvalidArgumentError(
                name, f"shape {getattr(table, name).shape}", f"of shape ({n},) like rank"
            )
    _refuse(table.rank < 1, "rank {} must be at least 1: ranks are 1-based", table.rank)
    _refuse(
        table.rank > table.n_sampled,
        "rank {} is larger than n_sampled {}; n_sampled counts the target too, so 99 negatives "
        "make 100",
        table.rank,
        table.n_sampled,
    )
    _refuse(
        table.n_sampled > table.n_items,
        "n_sampled {} is larger than n_items {}; n_items is the size of the catalogue the "
        "sample was drawn from",
        table.n_sampled,
        table.n_items,
    )
    _refuse(
        ~np.isfinite(table.weight) | (table.weight < 0),
        "weight {} must be finite and not negative",
        table.weight,
    )


def _refuse(bad: NDArray[np.bool_], sentence: str, *columns: NDArray[Any]) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        values = (column[row] for column in columns)
        raise InvalidDataError(f"row {row}: {sentence.format(*values)}")


def _repeats(user: NDArray[Any], item: NDArray[Any]) -> bool:
    order = np.lexsort((item, user))
    user, item = user[order], item[order]
    return bool(((user[1:] == user[:-1]) & (item[1:] == item[:-1])).any())
