"""Item neighbourhoods: what resembles the user's items, by who touched them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.data.interactions import Interactions
from truerank.errors import InvalidArgumentError
from truerank.models.item_item import ItemItemModel

Similarity = Literal["cosine", "jaccard"]

BLOCK_BYTES = 64 * 2**20
"""Most that a block of the item-item product may take if it is dense."""


@dataclass(slots=True, eq=False)
class ItemKNN(ItemItemModel):
    r"""Item-kNN: scores :math:`s_{ui} = \sum_j X_{uj}\, S_{ji}`.

    With :math:`c_{ij} = \sum_u X_{ui} X_{uj}` on the weights (ones where there are none),

    .. math::
        S^{\cos}_{ij} = \frac{c_{ij}}{\sqrt{c_{ii} c_{jj}} + \mathrm{shrink}}, \qquad
        S^{\mathrm{jac}}_{ij} = \frac{n_{ij}}{n_i + n_j - n_{ij} + \mathrm{shrink}}

    (:math:`n` counts users), :math:`S_{ii} = 0`, and in each column :math:`i` only the ``k``
    largest entries are kept: the items that speak for :math:`i`. Equal similarities at the
    edge are settled by the smaller item index.

    Memory: the result has at most ``k`` entries per item; the product is formed in blocks of
    columns of at most 64 MB.

    Attributes:
        k: Neighbours per item.
        similarity: ``"cosine"`` or ``"jaccard"``.
        shrink: Added to the denominator, at least 0: distrust of rare pairs.
    """

    k: int = 100
    similarity: Similarity = "cosine"
    shrink: float = 0.0
    history: sparse.csr_array = field(init=False)
    item_item: sparse.csr_array = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.k, int | np.integer) or self.k < 1:
            raise InvalidArgumentError("k", self.k, "a whole number, at least 1")
        if self.similarity not in ("cosine", "jaccard"):
            raise InvalidArgumentError("similarity", self.similarity, "'cosine' or 'jaccard'")
        if not self.shrink >= 0:
            raise InvalidArgumentError("shrink", self.shrink, "at least 0")

    def fit(self, interactions: Interactions) -> Self:
        """Find the neighbours of every item."""
        self.history = interactions.matrix()
        X = interactions.matrix(dtype=np.float64)
        if self.similarity == "jaccard":
            X.data[:] = 1.0
        columns = X.tocsc()
        sizes = np.asarray(columns.multiply(columns).sum(axis=0)).ravel()
        n = interactions.n_items
        step = max(1, BLOCK_BYTES // (16 * n))
        blocks = [
            self._neighbours(columns, sizes, start, min(start + step, n))
            for start in range(0, n, step)
        ]
        # Blocks hold S' (a row per item, its neighbours in columns); scoring wants S.
        self.item_item = sparse.vstack(blocks, format="csr").T.tocsr().astype(np.float32)
        return self

    def _neighbours(
        self, columns: sparse.csc_array, sizes: NDArray[np.float64], start: int, stop: int
    ) -> sparse.csr_array:
        """Rows start..stop-1 of S', each cut to its k largest entries."""
        together = (columns[:, start:stop].T @ columns).tocsr()
        together.sort_indices()
        row = np.repeat(np.arange(start, stop), np.diff(together.indptr))
        own, other, both = sizes[row], sizes[together.indices], together.data
        if self.similarity == "cosine":
            value = both / (np.sqrt(own * other) + self.shrink)
        else:
            value = both / (own + other - both + self.shrink)
        value[row == together.indices] = 0.0
        order = np.lexsort((together.indices, -value, row))
        place = np.arange(len(row)) - together.indptr[row - start]
        keep = order[(place < self.k) & (value[order] != 0)]
        shape = (stop - start, columns.shape[1])
        return sparse.csr_array(
            (value[keep], (row[keep] - start, together.indices[keep])), shape=shape
        )
