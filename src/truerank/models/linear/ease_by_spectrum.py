r"""EASE for many lambdas from one decomposition, and when that pays.

With :math:`X = U \Sigma V^\top` and all its :math:`\rho` non-zero singular values, the inverse
that EASE needs is

.. math::  (X^\top X + \lambda I)^{-1} = \tfrac1\lambda \bigl(I - V\,\mathrm{diag}(s)\,V^\top\bigr),
    \qquad s_i = \frac{\sigma_i^2}{\sigma_i^2 + \lambda}:

EASE is the whole low-rank regression with column :math:`j` divided by :math:`1 - W_{jj}` and its
diagonal removed. One :math:`\lambda` costs a symmetric product, :math:`n^2 \rho` operations, where
the inverse by Cholesky costs :math:`n^3`.

* **More users than items** (:math:`\rho = n`): the decomposition costs about five inverses and a
  product half of one, in the same precision, so it pays from about ten :math:`\lambda` on; against
  EASE in float32, its default, from twice as many. Where the decomposition is there for a grid of
  LRR anyway, each :math:`\lambda` of EASE is had for half a fit.
* **Fewer users than items** (:math:`\rho \le m < n`): the m x m matrix :math:`XX^\top` has the
  same singular values, so the decomposition costs some :math:`m^3` and each :math:`\lambda`
  :math:`n^2 m`. It pays from the first :math:`\lambda` where m is below about n / 3, and from the
  third at n / 2.

:func:`pays` is this rule as a function, and :class:`EaseGrid` makes fitted EASE models, which can
be saved like any other. docs/search.md has measured times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import blas

from truerank.checks import check_l2
from truerank.data.interactions import Interactions
from truerank.errors import InvalidDataError
from truerank.models.base import TrainingInfo
from truerank.models.item_item import ItemItemScorer
from truerank.models.linear.ease import EASE
from truerank.models.linear.gram import divide_by_diagonal, gram
from truerank.models.linear.grid_of_spectrum import shrink_regression
from truerank.models.linear.spectrum import LAPACK_ITEMS, Spectrum, decompose
from truerank.numerics.dtypes import Precision, dtype_of
from truerank.numerics.memory import check_room
from truerank.numerics.products import sparse_times
from truerank.numerics.threads import on_all_cores


def ease_over(
    interactions: Interactions, l2: Iterable[float], *, spectrum: Spectrum | None = None
) -> Iterator[tuple[float, ItemItemScorer]]:
    """EASE for every ``l2``, one at a time, in float64 where the spectrum is.

    Memory: while a model is made, an n_items x n_items and an n_items x rank matrix beside the
    eigenvectors; n_items x n_items for each model that is held.

    Args:
        interactions: The training data.
        l2: Penalties, positive.
        spectrum: All of the data's singular values and vectors, if they are known already.
    """
    whole = whole_spectrum(interactions) if spectrum is None else spectrum
    history, known = interactions.matrix(), TrainingInfo.of(interactions)
    for penalty in l2:
        check_l2(penalty)
        yield penalty, ItemItemScorer(history, _weights(whole, penalty), "EASE", known)


def pays(n_users: int, n_items: int, n_values: int, dtype: Precision = "float32") -> bool:
    r"""Whether one decomposition is cheaper than an inverse for each of ``n_values`` penalties.

    In units of an inverse of the same precision, with :math:`r = \min(m/n, 1)`: the decomposition,
    always in float64, costs about :math:`\min(7.5 r^3, 5)`, twice that against inverses in float32,
    and each penalty :math:`0.2 + 0.3 r` (fitted to the times of docs/search.md).

    >>> pays(1_000, 3_706, 1), pays(2_000, 3_706, 1), pays(2_000, 3_706, 3, "float64")
    (True, False, True)
    """
    r = min(n_users / n_items, 1.0)
    decomposition = min(7.5 * r**3, 5.0) * (2.0 if dtype == "float32" else 1.0)
    return decomposition < n_values * (1.0 - (0.2 + 0.3 * r))


class EaseGrid:
    """Fitted EASE models of many penalties on one data set, from one decomposition.

    Memory: n_items x rank of ``dtype``, rank being at most that of the data; and what
    :func:`ease_over` says for each model.

    >>> data = Interactions.from_arrays([1, 1, 2, 2], [5, 6, 6, 7])
    >>> EaseGrid(data, dtype="float64").model(2.0)
    EASE(l2=2.0, dtype='float64')
    """

    def __init__(self, interactions: Interactions, *, dtype: Precision = "float32") -> None:
        """Decompose, in float64; ``dtype`` is that of the models."""
        whole = whole_spectrum(interactions)
        self.interactions, self.dtype = interactions, dtype
        self.spectrum = Spectrum(whole.sigma, whole.V.astype(dtype_of(dtype), copy=False))

    def model(self, l2: float) -> EASE:
        """EASE as its ``fit`` would give it, to rounding."""
        model = EASE(l2=l2, dtype=self.dtype)
        model.item_item = _weights(self.spectrum, l2)
        model.history = self.interactions.matrix()
        model.record_training_data(self.interactions)
        return model


def whole_spectrum(interactions: Interactions) -> Spectrum:
    r"""All non-zero singular values, from the smaller of the two Gram matrices.

    Where users are fewer, :math:`XX^\top = U \Sigma^2 U^\top` is decomposed and
    :math:`V = X^\top U \Sigma^{-1}`. Vectors of the smallest values are then less exact, by
    :math:`\epsilon \sigma_1^2 / \sigma_i^2`; what they are multiplied with is as small.

    Memory: three matrices of the smaller size squared, and V.
    """
    m, n = interactions.n_users, interactions.n_items
    if m >= n:
        return decompose(interactions)
    if m > LAPACK_ITEMS:
        raise InvalidDataError(
            f"a decomposition of {m:,} users is beyond LAPACK's safe size of {LAPACK_ITEMS:,}; "
            "EASE.fit needs none"
        )
    check_room(
        8 * (3 * m * m + n * m), f"a decomposition of {m:,} users", "EASE.fit needs n x n only"
    )
    turned = interactions.matrix(dtype=np.float64).T.tocsr()
    values, U = linalg.eigh(gram(turned, dtype=np.float64), check_finite=False, driver="evd")
    values, U = values[::-1], U[:, ::-1]
    keep = int(np.sum(values > values[0] * n * np.finfo(np.float64).eps))
    sigma = np.sqrt(values[:keep])
    with on_all_cores() as each:
        return Spectrum(sigma, sparse_times(turned, U[:, :keep] / sigma, each))


def _weights(whole: Spectrum, l2: float) -> NDArray[Any]:
    n, dtype = len(whole.V), whole.V.dtype
    check_room(
        n * (n + whole.rank) * dtype.itemsize,
        f"EASE from a decomposition of {n:,} items",
        "EASE.fit needs one n x n matrix only",
    )
    half = whole.V * np.sqrt(shrink_regression(whole.sigma, l2)).astype(dtype)
    syrk = blas.ssyrk if dtype == np.float32 else blas.dsyrk
    # The upper triangle in Fortran's order: in C's order, turned, it is the lower one.
    P = syrk(-1.0, half.T, trans=1).T
    P[np.diag_indices(n)] += 1.0  # l2 times the inverse; the factor goes in the division
    divide_by_diagonal(P)
    return np.asarray(P)
