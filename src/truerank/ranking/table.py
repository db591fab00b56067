"""RankTable: one row per (user, held-out item), the artefact in the middle of everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.arrays import Float, Int
from truerank.data.id_order import distinct_ids
from truerank.data.ids import signed
from truerank.errors import InvalidArgumentError, InvalidDataError, Message
from truerank.metrics import Metric, MetricLike, as_metric
from truerank.ranking.columns import (
    COLUMNS,
    as_ids,
    as_weights,
    as_whole,
    check_columns,
    has_repeats,
    spread,
)
from truerank.ranking.counts import RankCounts
from truerank.ranking.header import Header, joined_header

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankTable:
    """Ranks of held-out items, with what they were ranked against.

    All columns are read-only arrays of one length; the arrays they were made from stay as they
    were. ``n_sampled == n_items`` means that the
    rank is exact. Memory: about 50 bytes per row plus the ids.

    **What it cost.** ``n_scored`` sums to exactly the scores that were asked for, whatever the
    design, the executor and the blocks. Ranked in full, a user's whole list is scored once, items
    that are no candidates included, whatever the number of its targets: its rows share the items
    of the catalogue, as evenly as whole numbers can. A sample by factors or an item-item matrix
    costs ``n_sampled``; by calls the target is scored again at each stage, in the same call as the
    rivals it meets there, which costs 1 a stage. Nothing is scored twice for the plan of a budget,
    and nothing is padded. Not counted are the few pairs (at most 16) by which a fast path is held
    to the scorer's own ``score_pairs``. Of ranks made elsewhere it is ``n_sampled`` unless they
    say otherwise.

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
        check_columns(self)
        for name in COLUMNS:
            # A view: freezing it does not freeze the caller's array.
            column = signed(getattr(self, name)).view()
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    def __reduce__(self) -> tuple[object, ...]:
        # numpy forgets the read-only flag when it pickles; making the object anew sets it.
        return _rebuild, ({name: getattr(self, name) for name in COLUMNS}, self.header)

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
            weight: 0, or from 1e-100 to 1e100.
            user: User ids; ``0, 1, ...`` if not given: each row its own user.
            item: Item ids; ``0`` if not given.
            n_scored: Items scored per row; ``n_sampled`` if not given.
            replacement: Whether negatives were drawn with replacement.
            header: Where the ranks come from, instead of ``replacement`` alone.

        >>> table = RankTable.from_arrays(rank=[1, 4], n_sampled=100, n_items=9_836)
        >>> table.n_sampled.tolist()
        [100, 100]
        """
        whole = {
            "rank": as_whole("rank", rank),
            "n_sampled": as_whole("n_sampled", n_sampled),
            "n_items": as_whole("n_items", n_items),
            "n_scored": as_whole("n_scored", n_sampled if n_scored is None else n_scored),
        }
        weights = as_weights(weight)
        sizes = {column.size for column in whole.values()} | {weights.size}
        n = 0 if 0 in sizes else max(sizes)
        columns: dict[str, NDArray[Any]] = {
            **whole,
            "weight": weights,
            "user": np.arange(n) if user is None else as_ids("user", user),
            "item": np.zeros(n, np.int64) if item is None else as_ids("item", item),
        }
        return cls(
            **{name: spread(name, column, n) for name, column in columns.items()},
            header=header or Header(replacement=replacement),
        )

    @classmethod
    def concat(cls, tables: Sequence[RankTable]) -> RankTable:
        """One table from shards of the same job; refuses tables that do not belong together."""
        if not tables:
            raise InvalidArgumentError("tables", [], "at least one table")
        headers = [table.header for table in tables]
        header = joined_header(headers, "tables")
        columns = {
            name: np.concatenate([getattr(table, name) for table in tables]) for name in COLUMNS
        }
        if len(tables) > 1 and has_repeats(columns["user"], columns["item"]):
            raise InvalidDataError(
                "these tables share (user, item) rows; each row may come from one shard only, "
                "and rows made without ids need user= and item= to be told apart"
            )
        known = [header.n_population for header in headers if header.n_population is not None]
        population = None
        if len(known) == len(headers):  # parts of a whole say the same, shards add up
            population = max(len(np.unique(columns["user"])), *known)
        return cls(**columns, header=replace(header, n_population=population))

    # ---------------------------------------------------------------- looking

    def __len__(self) -> int:
        return len(self.rank)

    def __getitem__(self, rows: slice | NDArray[Any]) -> RankTable:
        """Some of the rows, with the same header."""
        return replace(self, **{name: getattr(self, name)[rows] for name in COLUMNS})

    @property
    def is_exact(self) -> NDArray[np.bool_]:
        """Which rows hold the rank among all candidates."""
        return np.asarray(self.n_sampled == self.n_items)

    @property
    def all_exact(self) -> bool:
        """Whether every rank is the one among all candidates."""
        return bool(self.is_exact.all())

    @property
    def adapted(self) -> str:
        """What a default of the design did for users with few candidates, in words; or nothing."""
        return self.header.adapted(self.n_sampled, np.broadcast_to(np.int64(1), len(self)))

    @property
    def n_users(self) -> int:
        """Distinct users."""
        before, after = self.user[:-1], self.user[1:]
        if self.user.dtype.kind in "iu" and bool((before <= after).all()):  # as ranking left them
            return min(len(self.user), 1 + int(np.count_nonzero(before != after)))
        return len(np.unique(self.user))

    @property
    def user_weight(self) -> Float:
        """Weight of each user in ascending order of ids: the mean over its rows."""
        users, row_user = distinct_ids(self.user)
        if len(self) == 0:
            return np.empty(0)
        if np.ptp(self.weight) == 0:
            return np.full(len(users), self.weight[0])
        order = np.lexsort((self.weight, row_user))  # the same bits whatever the order of the rows
        total = np.bincount(row_user[order], self.weight[order])
        return np.asarray(total / np.bincount(row_user))

    def without_weightless_users(self) -> RankTable:
        """The rows of users who count: a resample of the others alone would tell nothing."""
        if len(self) == 0 or self.weight.min() > 0:
            return self
        row_user = distinct_ids(self.user)[1]
        counts = np.bincount(row_user, self.weight)[row_user] > 0
        return self[counts] if counts.any() else self

    def per_row(self, metric: MetricLike, *, naive: bool = False) -> Float:
        """The metric's value of each row, a function of its rank alone."""
        return self._checked(metric, naive).row_values(self.rank, self._size(naive))

    def per_user(self, metric: MetricLike, *, naive: bool = False) -> tuple[NDArray[Any], Float]:
        """User ids in their order (:mod:`truerank.data.id_order`) and the metric's value of each.

        Several held-out items of a user are combined as the metric defines. Sampled ranks
        are refused: the value of a metric on them is not its value on the catalogue, and
        :func:`truerank.estimate` corrects for that. ``naive=True`` takes them as they are.
        """
        users, number = distinct_ids(self.user)
        chosen = self._checked(metric, naive)
        return users, chosen.per_user(number, self.rank, self._size(naive))[1]

    def _size(self, naive: bool) -> Int:
        return self.n_sampled if naive else self.n_items

    def _checked(self, metric: MetricLike, naive: bool) -> Metric:
        chosen = as_metric(metric)
        if not naive and not self.all_exact:
            raise InvalidDataError(
                f"{int((~self.is_exact).sum()):,} of {len(self):,} ranks are sampled, so they do "
                f"not give {chosen} of the catalogue; "
                + Message(
                    "use tr.estimate, or naive=True for the value on the samples",
                    "use another --method",
                )
            )
        return chosen

    def counts(self) -> RankCounts:
        """How often each distinct (rank, n_sampled, n_items) occurs: all an estimator needs."""
        return RankCounts.from_table(self)

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
        cost = self.n_scored.mean() if len(self) else 0.0
        return (
            f"RankTable({len(self):,} rows, {self.header.design.kind} design, "
            f"{int(self.is_exact.sum()):,} exact ranks, {cost:,.1f} scored per row)"
        )


def _rebuild(columns: dict[str, Any], header: Header) -> RankTable:
    return RankTable(**columns, header=header)
