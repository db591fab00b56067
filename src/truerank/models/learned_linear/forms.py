r"""The three forms of :math:`W` that can be learned around: dense, sparse, and low rank.

Each knows its loss and gradient on a batch of positive pairs, its scores for given rows, and
what it is in the end. The blocks of a batch are the same for any number of threads, and their
sums are taken in one order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.models.learned_linear.draws import PairRule, UserRows
from truerank.models.learned_linear.kernels import (
    Columns,
    Sums,
    dense_block,
    low_rank_block,
    sparse_block,
    sparse_entries,
)
from truerank.models.learned_linear.parameters import (
    Coefficients,
    Parameters,
    Shrinkage,
    chained,
    coefficients,
    start,
)
from truerank.numerics.threads import Each

BLOCKS = 16
"""Blocks of a batch: fixed, so that sums do not depend on the number of threads."""


class PairBatch(NamedTuple):
    """Positive pairs by their position in the data, and what their draws are addressed by."""

    rows: UserRows
    rule: PairRule
    key: np.uint64
    pairs: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """Any dense W, taken as it is."""

    W: NDArray[Any]

    @property
    def n_items(self) -> int:
        return len(self.W)

    def start(self, *, head_tail: bool) -> Parameters:
        """The parameters of the base model itself."""
        return start(self.n_items, head_tail=head_tail)

    def gradient(
        self, batch: PairBatch, theta: Parameters, each: Each[Any]
    ) -> tuple[float, Parameters]:
        """The mean loss of the batch, and its gradient in every parameter."""
        co = coefficients(theta, self.n_items)

        def work(block: slice, sums: Sums) -> float:
            rows, rule, key, pairs = batch
            return float(dense_block(rows, rule, key, pairs[block], self.W, co.head, co.tail, sums))

        loss, found = _summed(batch, theta, self.n_items, 0, work, each)
        return loss, chained(theta, found, co)

    def scores(self, history: sparse.csr_array, theta: Parameters) -> NDArray[Any]:
        """Scores of all items for these rows; those of the row's own items mean nothing."""
        co = coefficients(theta, self.n_items)
        rows = _scaled(history, co.head, self.W)
        return np.asarray((rows @ self.W) * co.tail.astype(self.W.dtype))

    def matrix(self, theta: Parameters, *, zero_diagonal: bool) -> NDArray[Any]:
        """diag(H) W diag(T), as a new array."""
        co = coefficients(theta, self.n_items)
        result = np.empty_like(self.W)
        np.multiply(self.W, co.head[:, None].astype(self.W.dtype), out=result)
        result *= co.tail.astype(self.W.dtype)
        if zero_diagonal:
            np.fill_diagonal(result, 0.0)
        return result


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    r"""A sparse W whose entries may each have their own factor :math:`S_{ij}`.

    Attributes:
        W: In compressed columns.
        rescaled: Whether S is learned.
    """

    W: sparse.csc_array
    rescaled: bool

    @property
    def n_items(self) -> int:
        return int(self.W.shape[0])

    def start(self, *, head_tail: bool) -> Parameters:
        """The parameters of the base model itself."""
        return start(
            self.n_items, head_tail=head_tail, n_entries=self.W.nnz if self.rescaled else 0
        )

    def gradient(
        self, batch: PairBatch, theta: Parameters, each: Each[Any]
    ) -> tuple[float, Parameters]:
        """The mean loss of the batch, and its gradient in every parameter."""
        co = self._coefficients(theta)
        columns = Columns(self.W.indptr.astype(np.int64), self.W.indices, self.W.data)
        gradients = np.empty((len(batch.pairs), batch.rule.n_negatives + 1))

        def work(block: slice, sums: Sums) -> float:
            rows, rule, key, pairs = batch
            scaling = (co.head, co.tail, co.entry)
            return float(
                sparse_block(
                    rows, rule, key, pairs[block], columns, *scaling, sums, gradients[block]
                )
            )

        loss, found = _summed(batch, theta, self.n_items, 0, work, each)
        if self.rescaled:
            grad = np.zeros(self.W.nnz)
            each(
                lambda part: sparse_entries(
                    *batch, columns, co.head, co.tail, gradients, part, BLOCKS, grad
                ),
                range(BLOCKS),
            )
            found["entry"] = grad / len(batch.pairs)
        return loss, chained(theta, found, co)

    def scores(self, history: sparse.csr_array, theta: Parameters) -> NDArray[Any]:
        """Scores of all items for these rows; those of the row's own items mean nothing."""
        return np.asarray((history @ self.matrix(theta)).toarray())

    def matrix(self, theta: Parameters) -> sparse.csr_array:
        """diag(H) (S o W) diag(T)."""
        co = self._coefficients(theta)
        column = np.repeat(np.arange(self.W.shape[1]), np.diff(self.W.indptr))
        data = self.W.data * (co.entry * co.head[self.W.indices] * co.tail[column])
        parts = (data.astype(self.W.dtype), self.W.indices, self.W.indptr)
        return sparse.csc_array(parts, self.W.shape).tocsr()

    def without_diagonal(self) -> Sparse:
        """The same without the entries of items for themselves."""
        W: Any = self.W.copy()
        W.setdiag(np.zeros(self.n_items, W.dtype))
        W.eliminate_zeros()
        return Sparse(W, self.rescaled)

    def _coefficients(self, theta: Parameters) -> Coefficients:
        co = coefficients(theta, self.n_items)
        return co if self.rescaled else co._replace(entry=np.ones(self.W.nnz))


@dataclass(frozen=True, slots=True, eq=False)
class LowRank:
    r""":math:`W = A\,\mathrm{diag}(g) B^\top`, never multiplied out.

    Attributes:
        A: Items x rank.
        B: Items x rank.
        shrinkage: What g is made of, if it is learned; otherwise g is 1.
        zero_diagonal: Whether the base has no diagonal: W is the product without it.
    """

    A: NDArray[Any]
    B: NDArray[Any]
    shrinkage: Shrinkage | None = None
    zero_diagonal: bool = False

    @property
    def n_items(self) -> int:
        return len(self.A)

    def start(self, *, head_tail: bool) -> Parameters:
        """The parameters of the base model itself."""
        return start(self.n_items, head_tail=head_tail, shrinkage=self.shrinkage)

    def gradient(
        self, batch: PairBatch, theta: Parameters, each: Each[Any]
    ) -> tuple[float, Parameters]:
        """The mean loss of the batch, and its gradient in every parameter."""
        co = self._coefficients(theta)
        gain = co.gain.astype(self.A.dtype)

        def work(block: slice, sums: Sums) -> float:
            rows, rule, key, pairs = batch
            factors, scaling = (self.A, self.B, gain), (co.head, co.tail)
            return float(low_rank_block(rows, rule, key, pairs[block], *factors, *scaling, sums))

        rank = self.A.shape[1] if "alpha" in theta else 0
        loss, found = _summed(batch, theta, self.n_items, rank, work, each)
        return loss, chained(theta, found, co, self.shrinkage)

    def scores(self, history: sparse.csr_array, theta: Parameters) -> NDArray[Any]:
        """Scores of all items for these rows; those of the row's own items mean nothing."""
        encoder, decoder = self.factors(theta)
        return np.asarray((history @ encoder) @ decoder.T)

    def factors(self, theta: Parameters) -> tuple[NDArray[Any], NDArray[Any]]:
        """diag(H) A diag(g) and diag(T) B: what rows of users and items are multiplied with."""
        co, dtype = self._coefficients(theta), self.A.dtype
        encoder = self.A * co.gain.astype(dtype) * co.head[:, None].astype(dtype)
        return encoder, self.B * co.tail[:, None].astype(dtype)

    def _coefficients(self, theta: Parameters) -> Coefficients:
        return coefficients(theta, self.n_items, self.A.shape[1], self.shrinkage)


Form = Dense | Sparse | LowRank
"""A W that can be learned around."""


def _summed(
    batch: PairBatch,
    theta: Parameters,
    n_items: int,
    rank: int,
    work: Callable[[slice, Sums], float],
    each: Each[Any],
) -> tuple[float, dict[str, NDArray[np.float64]]]:
    """Mean loss and gradients in the coefficients: of each block, then summed in order."""
    n = len(batch.pairs)
    edges = np.linspace(0, n, min(BLOCKS, n) + 1).astype(np.int64).tolist()
    blocks = [slice(*ends) for ends in pairwise(edges)]
    n_scaled = n_items if "head" in theta else 0
    head, tail = np.zeros((len(blocks), n_scaled)), np.zeros((len(blocks), n_scaled))
    gain, loss = np.zeros((len(blocks), rank)), np.zeros(len(blocks))

    def block(i: int) -> None:
        loss[i] = work(blocks[i], Sums(head[i], tail[i], gain[i]))

    each(block, range(len(blocks)))
    totals = {"head": head, "tail": tail, "gain": gain}
    return float(loss.sum()) / n, {name: part.sum(axis=0) / n for name, part in totals.items()}


def _scaled(
    history: sparse.csr_array, head: NDArray[np.float64], like: NDArray[Any]
) -> sparse.csr_array:
    """UserRows with each item's value times its head."""
    data = (history.data * head[history.indices]).astype(like.dtype)
    return sparse.csr_array((data, history.indices, history.indptr), history.shape)
