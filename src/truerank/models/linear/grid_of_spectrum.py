r"""Every (lambda, k) from one decomposition: Algorithm 2 of the dissertation (``alg:pca``).

With :math:`X = U \Sigma V^\top`, low-rank regression and regularised factorisation score by

.. math::  X \widehat W = (X V_k)\, \mathrm{diag}(s_1, \dots, s_k)\, V_k^\top, \qquad
    s_i = \frac{\sigma_i^2}{\sigma_i^2 + \lambda} \ (\text{LRR}), \qquad
    s_i = \max\Bigl(1 - \frac{\lambda}{\sigma_i}, 0\Bigr) \ (\text{MF}).

:math:`X V` and :math:`V` are the same for all :math:`\lambda` and :math:`k`: a model of the grid is
their first :math:`k` columns and :math:`k` numbers. No refit and no n x n matrix.

What the same decomposition does for EASE is in :mod:`truerank.models.linear.ease_by_spectrum`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from truerank.checks import check_l2, check_one_of
from truerank.data.interactions import Interactions
from truerank.deprecation import renamed_parameters
from truerank.errors import InvalidDataError
from truerank.models.base import TrainingInfo
from truerank.models.factor_model import FactorScores
from truerank.models.input_checks import check_history
from truerank.models.linear.spectrum import Spectrum, decompose
from truerank.numerics.dot_products import DotProducts
from truerank.numerics.dtypes import Precision, dtype_of
from truerank.numerics.memory import check_room
from truerank.numerics.products import sparse_times
from truerank.numerics.threads import on_all_cores

Shrinkage = Callable[[NDArray[np.float64], float], NDArray[np.float64]]


def shrink_regression(sigma: NDArray[np.float64], l2: float) -> NDArray[np.float64]:
    """The factors of LRR, s_i = sigma_i^2 / (sigma_i^2 + l2).

    >>> shrink_regression(np.array([3.0, 1.0]), 1.0).tolist()
    [0.9, 0.5]
    """
    return np.asarray(sigma**2 / (sigma**2 + l2))


def shrink_factorisation(sigma: NDArray[np.float64], l2: float) -> NDArray[np.float64]:
    """The factors of regularised MF, s_i = max(1 - l2 / sigma_i, 0).

    >>> shrink_factorisation(np.array([4.0, 0.5]), 1.0).tolist()
    [0.75, 0.0]
    """
    return np.asarray(np.maximum(1.0 - l2 / sigma, 0.0))


def shrink_nothing(sigma: NDArray[np.float64], l2: float) -> NDArray[np.float64]:  # noqa: ARG001
    """The factors of PureSVD, which are all 1."""
    return np.ones(len(sigma))


SHRINKAGES: dict[str, Shrinkage] = {
    "LRR": shrink_regression,
    "ClosedFormMF": shrink_factorisation,
    "PureSVD": shrink_nothing,
}
"""The models that differ only in how they shrink singular values, by the name of their class."""


@dataclass(frozen=True, slots=True, eq=False)
class GridModel(DotProducts):
    """One point of the grid: a Scorer that shares its user side with all others.

    Memory: n_items x rank for the item side; ``user_factors`` is a view.

    Attributes:
        user_factors: The first ``rank`` columns of X V.
        item_factors: Those of V, shrunk.
        name: What to call the model in tables.
        project: Histories to the first ``rank`` columns of X V, for other users.
        trained_on: What the decomposition is of.
    """

    user_factors: NDArray[Any]
    item_factors: NDArray[Any]
    name: str
    project: Callable[[Interactions], NDArray[Any]] = field(repr=False)
    trained_on: TrainingInfo = field(repr=False)

    def fold_in(self, history: Interactions) -> FactorScores:
        """The same items for users known only by their history."""
        rank = self.item_factors.shape[1]
        users = self.project(history)[:, :rank]
        return FactorScores(users, self.item_factors, self.name, self.trained_on)


class SpectrumGrid:
    """All models of one family on one data set, from one decomposition.

    Memory: (n_users + n_items) x rank of ``dtype``, and n_items x rank for each model that is
    held; for histories that are folded in, n_users x rank of the last of them.

    >>> data = Interactions.from_arrays([1, 1, 2, 2, 3], [5, 6, 6, 7, 7])
    >>> grid = SpectrumGrid.of(data, "LRR", dim=2)
    >>> [(p["l2"], p["dim"], m.n_items) for p, m in grid.over(l2=[1.0, 10.0], dim=[1, 2])]
    [(1.0, 1, 3), (1.0, 2, 3), (10.0, 1, 3), (10.0, 2, 3)]
    """

    def __init__(
        self,
        spectrum: Spectrum,
        interactions: Interactions,
        family: str,
        *,
        dtype: Precision = "float32",
    ) -> None:
        """From a decomposition of ``interactions``; :meth:`of` makes it as well."""
        check_family(family)
        kind = dtype_of(dtype)
        check_room(
            (interactions.n_users + interactions.n_items) * spectrum.rank * np.dtype(kind).itemsize,
            f"a grid of rank {spectrum.rank:,} on {interactions.n_users:,} users and "
            f"{interactions.n_items:,} items",
            "a smaller largest dim would fit",
        )
        self.family = family
        self.spectrum = Spectrum(spectrum.sigma, spectrum.V.astype(kind, copy=False))
        self._users = self._times(interactions)
        self._trained_on = TrainingInfo.of(interactions)
        self._folded: tuple[Interactions, NDArray[Any]] | None = None

    @classmethod
    @renamed_parameters(rank="dim")
    def of(
        cls,
        interactions: Interactions,
        family: str,
        dim: int | None = None,
        *,
        dtype: Precision = "float32",
    ) -> Self:
        """Decompose once, in float64.

        Args:
            interactions: The training data.
            family: "LRR", "ClosedFormMF" or "PureSVD".
            dim: The largest rank of the grid; None for that of the data.
            dtype: Of the factors.
        """
        check_family(family)
        return cls(decompose(interactions, dim), interactions, family, dtype=dtype)

    @renamed_parameters(rank="dim")
    def model(self, *, l2: float = 0.0, dim: int | None = None) -> GridModel:
        """The fitted model of these parameters, at the cost of n_items x dim products."""
        check_l2(l2, zero=True)
        part = self.spectrum if dim is None else self.spectrum.first(dim, self.family)
        weights = SHRINKAGES[self.family](part.sigma, l2)
        left = int(np.count_nonzero(weights))  # zeros come last, and need neither room nor time
        if left == 0:
            raise InvalidDataError(
                f"l2 {l2:,g} is above the largest singular value, {part.sigma[0]:,.4g}, so that "
                "nothing is left of the data; take a smaller l2"
            )
        items = part.V[:, :left] * weights[:left].astype(part.V.dtype)
        users = self._users[:, :left]
        return GridModel(users, items, self.family, self._project, self._trained_on)

    @renamed_parameters(rank="dim")
    def over(
        self, *, l2: Iterable[float], dim: Iterable[int]
    ) -> Iterator[tuple[dict[str, Any], GridModel]]:
        """Every pair of parameters with its model, one at a time; ``dim`` varies faster."""
        dims = list(dim)
        for penalty in l2:
            for k in dims:
                yield {"l2": penalty, "dim": k}, self.model(l2=penalty, dim=k)

    def _project(self, history: Interactions) -> NDArray[Any]:
        """XV of other histories; all models of the grid share that of the last ones."""
        if self._folded is None or self._folded[0] is not history:
            check_history(history, len(self.spectrum.V))
            self._folded = (history, self._times(history))
        return self._folded[1]

    def _times(self, history: Interactions) -> NDArray[Any]:
        with on_all_cores() as each:
            X = history.matrix(dtype=self.spectrum.V.dtype.type)
            return sparse_times(X, self.spectrum.V, each)


def check_family(family: str) -> None:
    """One of the names of :data:`SHRINKAGES`."""
    check_one_of("family", family, SHRINKAGES)
