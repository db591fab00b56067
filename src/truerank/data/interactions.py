"""Who touched what: an immutable users x items matrix with its vocabularies."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.arrays import Float32, Ids, Int, Mask
from truerank.checks import check_one_of
from truerank.data.duplicates import merge_duplicates, pair_order
from truerank.data.ids import IdType
from truerank.data.input_columns import (
    DUPLICATE_RULES,
    DuplicateRule,
    checked_timestamps,
    checked_weights,
    index_ids,
)
from truerank.data.positives import only_positives
from truerank.errors import InvalidArgumentError, InvalidDataError, Message

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from scipy import sparse

    from truerank.data.summary import Summary

"""External ids as the caller knows them: integers or strings, sorted, without repeats."""

_NOTHING = (
    "there are no interactions: the data are empty; check the file, or the filter that ran before"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Interactions:
    """Observed (user, item) pairs in compressed sparse rows, with optional weights and times.

    Inside the library users and items are indices ``0..n-1``; ``user_ids[index]`` and
    ``item_ids[index]`` are the names they had outside. Within a user, items ascend and no
    pair appears twice. All arrays are read-only: every change gives a new object.

    Memory: 8 bytes per user, 4 per interaction, plus 4 for weights and 8 for timestamps
    where present, plus the vocabularies.

    Attributes:
        indptr: ``indices[indptr[u]:indptr[u + 1]]`` are the items of user ``u``.
        indices: Item index of each interaction.
        user_ids: External id of each user index.
        item_ids: External id of each item index.
        weights: Strength of each interaction (rating, count), or None where all count 1.
        timestamps: Time of each interaction as an integer, or None.
        n_dropped: Pairs that were left out because their weight did not make them positives.
    """

    indptr: Int
    indices: NDArray[np.int32]
    user_ids: Ids
    item_ids: Ids
    weights: Float32 | None = None
    timestamps: Int | None = None
    n_dropped: int = 0
    _fingerprint: list[str] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        for name, array in self._arrays().items():
            if array is not None:
                view = array.view()  # the caller's own array stays as writeable as it was
                view.flags.writeable = False
                object.__setattr__(self, name, view)

    def __reduce__(self) -> tuple[object, ...]:
        # numpy forgets the read-only flag when it pickles; making the object anew sets it.
        return _from_parts, (type(self), {**self._arrays(), "n_dropped": self.n_dropped})

    def _arrays(self) -> dict[str, Any]:
        names = ("indptr", "indices", "user_ids", "item_ids", "weights", "timestamps")
        return {name: getattr(self, name) for name in names}

    # ---------------------------------------------------------------- making

    @classmethod
    def from_arrays(
        cls,
        user: ArrayLike,
        item: ArrayLike,
        *,
        weight: ArrayLike | None = None,
        timestamp: ArrayLike | None = None,
        user_ids: ArrayLike | None = None,
        item_ids: ArrayLike | None = None,
        duplicates: DuplicateRule = "error",
        min_rating: float | None = None,
    ) -> Self:
        """From one external user id and one external item id per interaction.

        Ids are numbered in sorted order, so the order of the rows never matters (but for the
        ``"first"`` and ``"last"`` of repeated pairs without timestamps). Memory: about 60 bytes
        per interaction while it runs; 20 million take a few seconds.

        Args:
            user: External user ids, integers or strings.
            item: External item ids, as long as ``user``.
            weight: Finite strengths, or None.
            timestamp: Numbers from 0 (fractions are dropped) or dates (kept as seconds since
                1970), or None.
            user_ids: The vocabulary, when it is larger than what occurs in ``user``.
            item_ids: The vocabulary, when it is larger than what occurs in ``item``.
            duplicates: What a repeated (user, item) pair means: ``"error"``, or keep the
                ``"first"`` or ``"last"`` (by time, else by row order), or ``"sum"`` or
                ``"max"`` of the weights (without weights each row counts 1) at the latest time.
            min_rating: Least weight of a positive; pairs below it are left out, users and items
                that have no other with them. None is any weight above 0, and warns where some
                are not (:mod:`truerank.data.positives`); ``-inf`` keeps all.

        >>> data = Interactions.from_arrays(["bo", "al", "al"], [30, 10, 30])
        >>> data.user_ids.tolist(), data.items_of(0).tolist()
        (['al', 'bo'], [0, 1])
        """
        check_one_of("duplicates", duplicates, DUPLICATE_RULES)
        rows, users = index_ids(user, user_ids, "user")
        columns, items = index_ids(item, item_ids, "item")
        if len(rows) != len(columns):
            raise InvalidArgumentError(
                "item", f"{len(columns)} ids", f"as long as user ({len(rows)} ids)"
            )
        if len(rows) == 0:
            raise InvalidDataError(_NOTHING)
        weights = None if weight is None else checked_weights(weight, len(rows))
        times = None if timestamp is None else checked_timestamps(timestamp, len(rows))
        order = pair_order(rows, columns, len(items))
        if order is not None:
            rows, columns = rows[order], columns[order]
            weights = None if weights is None else weights[order]
            times = None if times is None else times[order]
        repeated = (rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])
        if repeated.any():
            if duplicates == "error":
                first = int(np.argmax(repeated))
                raise InvalidDataError(
                    f"{int(repeated.sum()):,} of {len(rows):,} rows repeat a (user, item) pair, "
                    f"the first is user {users[rows[first]]}, item {items[columns[first]]}; "
                    "say what a repeat means with "
                    + Message(
                        "duplicates='first', 'last', 'sum' or 'max'",
                        "--duplicates first, last, sum or max",
                    )
                )
            rows, columns, weights, times = merge_duplicates(
                rows, columns, weights, times, repeated, duplicates
            )
        indptr = np.zeros(len(users) + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=len(users)), out=indptr[1:])
        data = cls(
            indptr=indptr,
            indices=columns.astype(np.int32),
            user_ids=users,
            item_ids=items,
            weights=weights,
            timestamps=times,
        )
        return only_positives(data, min_rating, users=user_ids is None, items=item_ids is None)

    @classmethod
    def from_csr(
        cls,
        matrix: sparse.csr_array | sparse.csr_matrix,
        *,
        user_ids: ArrayLike | None = None,
        item_ids: ArrayLike | None = None,
        weighted: bool = True,
        min_rating: float | None = None,
    ) -> Self:
        """From a scipy sparse users x items matrix; explicit zeros are dropped.

        So are entries below ``min_rating``, or below 0 if it is not given, with a warning; all
        rows and columns stay. Entries given twice add up, as scipy has it. ``weighted=False``
        forgets the values; a matrix of ones carries no weights either way. Ids are sorted like
        everywhere else, so rows and columns move when ``user_ids`` or ``item_ids`` come in another
        order.

        >>> from scipy import sparse
        >>> Interactions.from_csr(sparse.eye_array(3, format="csr"))
        Interactions(3 users x 3 items, 3 interactions)
        """
        from scipy import sparse

        if not sparse.issparse(matrix):
            raise InvalidArgumentError("matrix", type(matrix).__name__, "a scipy sparse matrix")
        csr = sparse.csr_array(matrix, copy=True)
        csr.sum_duplicates()
        csr.eliminate_zeros()
        orders = []
        for name, ids, size in (
            ("user", user_ids, csr.shape[0]),
            ("item", item_ids, csr.shape[1]),
        ):
            index, known = index_ids(np.arange(size) if ids is None else ids, None, name)
            if not len(index) == len(known) == size:
                raise InvalidArgumentError(
                    f"{name}_ids", f"{len(index)} ids ({len(known)} distinct)", f"{size} ids"
                )
            orders.append((np.argsort(index), known))
        (rows, users), (columns, items) = orders
        if user_ids is not None:
            csr = csr[rows]
        if item_ids is not None:
            csr = csr[:, columns]
            csr.sort_indices()
        if csr.nnz == 0:
            raise InvalidDataError(_NOTHING)
        data = cls(
            indptr=csr.indptr.astype(np.int64),
            indices=csr.indices.astype(np.int32),
            user_ids=users,
            item_ids=items,
            weights=checked_weights(csr.data, csr.nnz),
        )
        data = only_positives(data, min_rating, users=False, items=False)
        if not weighted or np.all(data.weights == 1):
            return replace(data, weights=None)
        return data

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        user: str = "user_id",
        item: str = "item_id",
        weight: str | None = None,
        timestamp: str | None = None,
        id_type: IdType | None = None,
        duplicates: DuplicateRule = "error",
        min_rating: float | None = None,
    ) -> Self:
        """From a pandas, polars or pyarrow table; the arguments name its columns.

        Ids keep the type they have in the table, unless ``id_type`` says otherwise: ``"text"``,
        or ``"int"``, which reads text as whole numbers. ``min_rating`` and ``duplicates`` are
        those of :meth:`from_arrays`. Without ``weight`` every row is a positive; a column called
        rating or the like that holds 0 or less is then warned of.
        """
        from truerank.data.frames import columns_of

        columns = columns_of(
            frame, user=user, item=item, weight=weight, timestamp=timestamp, id_type=id_type
        )
        return cls.from_arrays(**columns, duplicates=duplicates, min_rating=min_rating)

    from_pandas = from_frame
    from_polars = from_frame
    from_arrow = from_frame

    @classmethod
    def from_parquet(
        cls,
        path: str | Path,
        *,
        user: str = "user_id",
        item: str = "item_id",
        weight: str | None = None,
        timestamp: str | None = None,
        **options: Any,
    ) -> Self:
        """From a Parquet file; the arguments name its columns.

        Options are those of :meth:`from_frame`.
        """
        from truerank.data.frames import read_parquet

        columns: dict[str, Any] = {"user": user, "item": item}
        columns |= {"weight": weight, "timestamp": timestamp}
        return cls.from_frame(read_parquet(path, **columns), **columns, **options)

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        *,
        user: str = "user_id",
        item: str = "item_id",
        weight: str | None = None,
        timestamp: str | None = None,
        delimiter: str | None = None,
        header: bool = True,
        encoding: str | None = None,
        **options: Any,
    ) -> Self:
        """From a delimited text file, plain or compressed; the arguments name its columns.

        Ids are text, exactly as they are written: ``007`` and ``7`` are two users.
        ``id_type="int"`` reads them as whole numbers. ``delimiter=None`` finds out between comma,
        tab, semicolon, pipe, ``::`` and blanks, ``encoding=None`` between UTF-8, UTF-16 and
        Latin-1. Without a header the columns are called ``"0"``, ``"1"``, ... Other options are
        those of :meth:`from_frame`.
        """
        from truerank.data.frames import read_csv

        columns: dict[str, Any] = {"user": user, "item": item}
        columns |= {"weight": weight, "timestamp": timestamp}
        table = read_csv(path, **columns, delimiter=delimiter, header=header, encoding=encoding)
        return cls.from_frame(table, **columns, **options)

    def select(self, keep: Mask) -> Self:
        """The interactions where ``keep`` is true, over the same vocabularies."""
        if keep.shape != self.indices.shape or keep.dtype != bool:
            raise InvalidArgumentError(
                "keep", f"{keep.dtype} of shape {keep.shape}", f"bool of shape {self.indices.shape}"
            )
        running = np.concatenate([[0], np.cumsum(keep)])
        return replace(
            self,
            indptr=running[self.indptr].astype(np.int64),
            indices=self.indices[keep],
            weights=None if self.weights is None else self.weights[keep],
            timestamps=None if self.timestamps is None else self.timestamps[keep],
        )

    # ---------------------------------------------------------------- looking

    @property
    def n_users(self) -> int:
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        return len(self.item_ids)

    @property
    def n_interactions(self) -> int:
        return len(self.indices)

    def __len__(self) -> int:
        return self.n_interactions

    @property
    def user_counts(self) -> Int:
        """Interactions of each user."""
        return np.diff(self.indptr)

    @property
    def item_counts(self) -> Int:
        """Interactions of each item."""
        return np.bincount(self.indices, minlength=self.n_items).astype(np.int64)

    @property
    def users(self) -> NDArray[np.int32]:
        """User index of each interaction, in step with ``indices``."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), self.user_counts)

    @property
    def items(self) -> NDArray[np.int32]:
        """Item index of each interaction; the same array as ``indices``."""
        return self.indices

    def items_of(self, user: int) -> NDArray[np.int32]:
        """Item indices of one user, ascending."""
        return self.indices[self.indptr[user] : self.indptr[user + 1]]

    def matrix(self, *, dtype: type[np.floating[Any]] = np.float32) -> sparse.csr_array:
        """As a scipy CSR array: the weights, or ones."""
        from scipy import sparse

        data = np.ones(len(self), dtype) if self.weights is None else self.weights.astype(dtype)
        return sparse.csr_array(
            (data, self.indices, self.indptr), shape=(self.n_users, self.n_items)
        )

    def to_arrow(self) -> pa.Table:
        """Columns ``user_id``, ``item_id`` (external) and ``weight``, ``timestamp`` if present."""
        import pyarrow as pa

        columns: dict[str, Any] = {
            "user_id": pa.array(self.user_ids).take(pa.array(self.users)),
            "item_id": pa.array(self.item_ids).take(pa.array(self.indices)),
        }
        if self.weights is not None:
            columns["weight"] = self.weights
        if self.timestamps is not None:
            columns["timestamp"] = self.timestamps
        return pa.table(columns)

    def fingerprint(self) -> str:
        """SHA-256 of the content: equal for equal data, whatever the order it came in."""
        if not self._fingerprint:
            digest = hashlib.sha256()
            for name, part in self._arrays().items():
                if part is None:
                    continue
                if part.dtype.kind == "U":  # equal strings, whatever the width of their array
                    part = part.astype(f"<U{max(1, np.strings.str_len(part).max(initial=0))}")
                digest.update(f"{name} {part.dtype.str} {part.shape}".encode())
                digest.update(np.ascontiguousarray(part).data)
            self._fingerprint.append(digest.hexdigest())
        return self._fingerprint[0]

    def summary(self) -> Summary:
        """Sizes, density and concentration, printed as a short table."""
        from truerank.data.summary import summarise

        return summarise(self)

    def __repr__(self) -> str:
        return (
            f"Interactions({self.n_users:,} users x {self.n_items:,} items, "
            f"{self.n_interactions:,} interactions)"
        )


def _from_parts(kind: type[Interactions], parts: dict[str, Any]) -> Interactions:
    return kind(**parts)
