r"""From an inverse to a model with zero diagonal: :math:`W = I - P\,\mathrm{diag}(P)^{-1}`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.numerics.threads import on_all_cores

TILE = 512


def divide_by_diagonal(P: NDArray[Any]) -> None:
    r"""Turn the lower triangle of a symmetric ``P`` into the whole of ``W``, in place.

    .. math::  W_{ij} = -P_{ij} / P_{jj} \quad (i \ne j), \qquad W_{jj} = 0

    This is the optimum of :math:`\|X - XW\|_F^2 + \|\Lambda^{1/2} W\|_F^2` with
    :math:`\mathrm{diag}(W) = 0` for :math:`P = (X^\top X + \Lambda)^{-1}`: the gradient
    :math:`P^{-1} W - X^\top X` must be diagonal, :math:`W = I - P\,\mathrm{diag}(\gamma)`, and
    the constraint says :math:`\gamma_j = 1 / P_{jj}` [steck2019]_, [steck2020]_.

    Memory: a square of 512 x 512 per thread.
    """
    scale = -1.0 / np.diag(P)

    def square(corner: tuple[int, int]) -> None:
        i, j = corner
        rows, columns = slice(i, i + TILE), slice(j, j + TILE)
        tile = P[rows, columns]
        if i == j:
            lower = np.tril(tile, -1)
            np.multiply(lower + lower.T, scale[columns], out=tile)
            np.fill_diagonal(tile, 0.0)  # not -0.0
        else:
            np.multiply(tile.T, scale[rows], out=P[columns, rows])
            tile *= scale[columns]

    starts = range(0, len(P), TILE)
    with on_all_cores() as each:
        each(square, [(i, j) for i in starts for j in starts if j <= i])
