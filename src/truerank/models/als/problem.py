r"""What alternating least squares solves: one form for iALS, WMF and their debiased kin.

.. math::
    L(W, H) = \sum_{(u,i) \in S} \left(p_{ui} s_{ui}^2 - 2 t_{ui} s_{ui} + t_{ui}\right)
    + \alpha_0 \sum_u \sum_i s_{ui}^2
    + \sum_u \lambda_u |w_u|^2 + \sum_i \lambda_i |h_i|^2, \qquad s_{ui} = w_u \cdot h_i

The *curvature* :math:`p` and the *pull* :math:`t` of an observed pair tell the models apart:

==============  =====================  ====================  ==============
model           curvature              pull                  unobserved
==============  =====================  ====================  ==============
iALS            its weight             its weight            alpha_0
WMF             alpha times weight     1 + the same          1
debiased iALS   c_u (1 - alpha_0)      c_u                   alpha_0
==============  =====================  ====================  ==============
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truerank.data.interactions import Interactions
from truerank.errors import InvalidDataError
from truerank.models.als.kernels import ObservedRows

Ridge = Callable[[NDArray[np.int64], int], NDArray[np.float64]]
"""The penalties of one side's rows, from their counts and the size of the other side."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ALSProblem:
    """The observed pairs of both sides and the weight of all pairs.

    Memory: 12 bytes per interaction and side in float32.

    Attributes:
        users: A row per user.
        items: The same pairs, a row per item.
        unobserved_weight: alpha_0.
        constant: What the objective has beyond the squares that the rows state.
    """

    users: ObservedRows
    items: ObservedRows
    unobserved_weight: float
    constant: float

    @classmethod
    def of(
        cls,
        pairs: sparse.csr_array,
        pull: NDArray[np.float64],
        *,
        unobserved_weight: float,
        ridge: Ridge,
        dtype: type[np.floating[Any]],
    ) -> ALSProblem:
        """From the curvatures, as a sparse matrix, and the pulls in the same order."""
        users = rows_of(pairs, pull, ridge=ridge, dtype=dtype)
        turned = sparse.csr_array((np.arange(pairs.nnz), pairs.indices, pairs.indptr), pairs.shape)
        order = turned.T.tocsr()
        across = sparse.csr_array(
            (pairs.data[order.data], order.indices, order.indptr), (pairs.shape[1], pairs.shape[0])
        )
        return cls(
            users=users,
            items=rows_of(across, pull[order.data], ridge=ridge, dtype=dtype),
            unobserved_weight=unobserved_weight,
            constant=float(np.sum(pull - pull**2 / pairs.data)),
        )


def rows_of(
    pairs: sparse.csr_array,
    pull: NDArray[np.float64],
    *,
    ridge: Ridge,
    dtype: type[np.floating[Any]],
) -> ObservedRows:
    r"""One side: :math:`p s^2 - 2 t s = (\sqrt p\, s - t / \sqrt p)^2` less a constant."""
    root = np.sqrt(pairs.data)
    return ObservedRows(
        pairs.indptr.astype(np.int64),
        pairs.indices.astype(np.int32),
        root.astype(dtype),
        (pull / root).astype(dtype),
        ridge(np.diff(pairs.indptr), pairs.shape[1]).astype(dtype),
    )


def observed(interactions: Interactions) -> sparse.csr_array:
    """The pairs and their weights in float64, without those of weight zero.

    Weights are confidences here, so none may be negative.
    """
    matrix = interactions.matrix(dtype=np.float64)
    if not np.isfinite(matrix.data).all():
        raise InvalidDataError("some weights are not finite numbers; remove or replace them")
    if (matrix.data < 0).any():
        raise InvalidDataError(
            f"weights are confidences here and must not be negative, got {matrix.data.min():g}; "
            "drop these interactions or move the scale"
        )
    if (matrix.data == 0).any():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def frequency_scaled(l2: float, unobserved_weight: float, nu: float) -> Ridge:
    r"""The regulariser of [rendle2022]_, :math:`\lambda (n + \alpha_0 m)^\nu`.

    :math:`n` counts the row's interactions, :math:`m` is the size of the other side;
    :math:`\nu = 0` is the same penalty for every row. Where :math:`n + \alpha_0 m = 0` it is
    :math:`\lambda`: such a row is in no other term, and any positive penalty makes it zero.
    """

    def ridge(counts: NDArray[np.int64], others: int) -> NDArray[np.float64]:
        size = counts + unobserved_weight * others
        return np.asarray(l2 * np.where(size > 0, size, 1.0) ** nu)

    return ridge
