"""The most popular items for everybody: the baseline that every model must beat."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Indices
from truerank.data.interactions import Interactions
from truerank.models.base import Model
from truerank.models.input_checks import check_history, check_training_data
from truerank.numerics.dtypes import Precision, dtype_of


@dataclass(slots=True, eq=False)
class Popularity(Model):
    r"""Scores :math:`s_{ui} = |U_i|`, the interactions of the item, the same for every user.

    An interaction counts 1 whatever its weight, zero included. Many items tie, so the tie
    rule of the ranking matters. Memory: one number per user and per item.

    Attributes:
        dtype: ``"float32"``, in which counts are exact up to 16.7 million, or ``"float64"``.
    """

    dtype: Precision = "float32"

    user_factors: NDArray[Any] = field(init=False, repr=False)
    item_factors: NDArray[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        dtype_of(self.dtype)

    def fit(self, interactions: Interactions) -> Self:
        """Count the interactions of each item."""
        check_training_data(interactions)
        self.item_factors = interactions.item_counts[:, None].astype(dtype_of(self.dtype))
        self.user_factors = np.ones((interactions.n_users, 1), dtype=dtype_of(self.dtype))
        self.record_training_data(interactions)
        return self

    @property
    def n_items(self) -> int:
        return len(self.item_factors)

    def score_all(self, users: Indices) -> NDArray[Any]:
        """The counts, once per user."""
        return np.tile(self.item_factors[:, 0], (len(users), 1))

    def score_pairs(self, users: Indices, items: Indices) -> NDArray[Any]:  # noqa: ARG002
        """The counts of the items."""
        return np.asarray(self.item_factors[np.asarray(items), 0])

    def fold_in(self, history: Interactions) -> Popularity:
        """New users get the same scores."""
        check_history(history, self.n_items)
        other = Popularity(self.dtype)
        other.item_factors = self.item_factors
        other.user_factors = np.ones((history.n_users, 1), dtype=dtype_of(self.dtype))
        other.note_folded_from(self)
        return other
