"""SLIM: a sparse linear item-item model by coordinate descent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.checks import check_l2, check_not_negative, check_positive, whole_number
from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.execution import Progress, Threads, available_cores, closed_after
from truerank.models.input_checks import check_training_data
from truerank.models.item_item import ItemItemModel
from truerank.numerics.dtypes import Precision, dtype_of
from truerank.numerics.memory import check_room

GRAM_BYTES = 2**30
"""Most memory for rows of the Gram matrix that are kept; others are computed when needed."""

BLOCK = 64
"""Columns solved in one go by one thread."""

COLUMN_BYTES = 2**27
"""Most memory per thread for the part of the Gram matrix that one column looks at."""


@dataclass(slots=True, eq=False)
class SLIM(ItemItemModel):
    r"""Sparse linear method [ning2011]_, in the scaling of the dissertation.

    .. math::
        \min_W \tfrac12 \|X - XW\|_F^2 + \lambda_1 \|W\|_1 + \lambda_2 \|W\|_F^2
        \quad\text{subject to}\quad \mathrm{diag}(W) = 0, \; W \ge 0

    (the last only with ``nonnegative``). Columns are independent. With :math:`G = X^\top X` and
    the residual :math:`q = G_{\cdot j} - G w`, the best value of one weight, the others fixed, is

    .. math::
        w_i = \frac{(q_i + G_{ii} w_i - \lambda_1)_+}{G_{ii} + 2 \lambda_2},

    or the two-sided soft threshold. A column is solved on a working set, the weights that would
    lower the objective most, grown until **no weight at all would move by more than** ``tol``:
    that is the stopping rule, checked on all of them. Where :math:`X \ge 0` and :math:`W \ge 0`,
    residuals can only fall, so items with :math:`G_{ij} \le \lambda_1` are left out for good.

    Other programs: scikit-learn's ElasticNet and irspack have ``alpha`` and ``l1_ratio``; there
    :math:`\lambda_1` is ``n_users * alpha * l1_ratio`` and :math:`\lambda_2` is
    ``n_users * alpha * (1 - l1_ratio) / 2``.

    The result is sparse. Memory while fitting: the data twice, the result, at most 1 GB of rows
    of the Gram matrix (all of them up to 16,000 items in float32), and per thread 50 bytes per
    item and 256 MB at most. The same bits for any number of threads.

    Attributes:
        l1: The penalty lambda_1, at least 0: sparsity.
        l2: The penalty lambda_2, at least 0; not both may be 0.
        nonnegative: Whether weights must not be negative.
        k: Keep only so many weights per item, the largest by size; None keeps all.
        tol: Largest step a weight may still be from its best value.
        dtype: ``"float32"`` or ``"float64"``, of the result and of the kept Gram matrix.
    """

    l1: float = 3.0
    l2: float = 150.0
    nonnegative: bool = True
    k: int | None = None
    tol: float = 1e-5
    dtype: Precision = "float32"
    history: sparse.csr_array = field(init=False, repr=False)
    item_item: sparse.csr_array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_not_negative(l1=self.l1)
        check_l2(self.l2, zero=True)
        if self.l1 == 0 and self.l2 == 0:
            raise InvalidArgumentError(
                "l2", self.l2, "positive where l1 is 0", "without a penalty W is not unique"
            )
        check_positive(tol=self.tol)
        if self.k is not None:
            whole_number("k", self.k, want="a whole number, at least 1, or None")
        dtype_of(self.dtype)

    def fit(self, interactions: Interactions, *, workers: int | None = None) -> Self:
        """Solve for W column by column, on all cores or ``workers`` threads."""
        check_training_data(interactions)
        from truerank.models.linear.slim_kernels import solve_columns

        X = interactions.matrix(dtype=np.float64)
        if not np.isfinite(X.data).all():
            raise InvalidDataError("some weights are not finite numbers; remove or replace them")
        n, k = interactions.n_items, self.k or interactions.n_items
        self._check_room(n, k)
        executor = Threads(workers or available_cores())
        data = _with_gram(X, np.dtype(self.dtype), executor)
        screen = bool(self.nonnegative and X.data.min(initial=0.0) >= 0)

        room = max(1, COLUMN_BYTES // np.dtype(self.dtype).itemsize)

        def block(start: int) -> tuple[Any, ...]:
            return solve_columns(
                start, min(start + BLOCK, n), data, float(self.l1), float(self.l2),
                bool(self.nonnegative), screen, float(self.tol), k, room,
            )  # fmt: skip

        parts: dict[int, tuple[Any, ...]] = {}
        with (
            Progress("SLIM", total=n) as bar,
            closed_after(executor.imap(block, range(0, n, BLOCK))) as results,
        ):
            for position, (counts, items, values, step_left) in results:
                if not step_left <= self.tol:
                    raise InvalidDataError(
                        f"SLIM does not settle: weights still move by {step_left:.2g}, more than "
                        f"the tol of {self.tol:.2g}; use a larger l2, or a larger tol"
                    )
                parts[position] = (counts, items, values.astype(self.dtype))
                bar.advance(len(counts))
        counts, items, values = (
            np.concatenate([parts[p][which] for p in range(len(parts))]) for which in range(3)
        )
        indptr = np.concatenate([[0], np.cumsum(counts)])
        self.item_item = sparse.csc_array((values, items, indptr), shape=(n, n)).tocsr()
        self.history = interactions.matrix()
        self.record_training_data(interactions)
        return self

    def _check_room(self, n: int, k: int) -> None:
        """What is sure to be needed: Gram rows, and W where nothing makes it sparse."""
        size = np.dtype(self.dtype).itemsize
        dense = self.l1 == 0 and not self.nonnegative
        check_room(
            _rows_to_keep(n, size) * n * size + (n * min(n, k) * 2 * (size + 4) if dense else 0),
            f"SLIM on {n:,} items" + (" with a dense W" if dense else ""),
            "l1 > 0, nonnegative=True or a small k keep W sparse, ItemKNN needs least"
            if dense
            else "ItemKNN would fit",
        )


def _rows_to_keep(n: int, itemsize: int) -> int:
    return min(n, GRAM_BYTES // (itemsize * n))


def _with_gram(X: sparse.csr_array, dtype: np.dtype[Any], executor: Threads) -> Any:
    """The data as the kernels want them, with the most expensive rows of X'X computed once."""
    from truerank.models.linear.slim_kernels import GramRows, fill_gram_rows
    from truerank.models.neighbours.search import csr_parts

    n = X.shape[1]
    diagonal = np.bincount(X.indices, weights=X.data**2, minlength=n).astype(np.float64)
    # A row costs the interactions of all users of the item.
    lengths = np.diff(X.indptr)
    cost = np.bincount(X.indices, weights=np.repeat(lengths, lengths), minlength=n)
    n_kept = _rows_to_keep(n, dtype.itemsize)
    costly = np.argsort(-cost, kind="stable")[:n_kept].astype(np.int64)
    slot = np.full(n, -1, np.int64)
    data = GramRows(*csr_parts(X), *csr_parts(X.tocsc()), np.empty((0, n), dtype), slot, diagonal)
    kept = np.empty((n_kept, n), dtype)

    def fill(start: int) -> None:
        fill_gram_rows(data, costly[start : start + BLOCK], kept[start : start + BLOCK])

    for _ in executor.imap(fill, range(0, n_kept, BLOCK)):
        pass
    filled: NDArray[np.int64] = slot.copy()
    filled[costly] = np.arange(n_kept)
    return data._replace(kept=kept, slot=filled)
