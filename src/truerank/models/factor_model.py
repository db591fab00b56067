"""What every factor model shares: scores are dot products of user and item factors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.data.interactions import Interactions
from truerank.models.base import Model, TrainingInfo
from truerank.models.input_checks import check_history
from truerank.numerics.dot_products import DotProducts
from truerank.numerics.dtypes import dtype_of
from truerank.numerics.memory import check_room
from truerank.rng import Stream, stream

Factors = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class FactorScores(DotProducts):
    r"""Scores :math:`s_{ui} = w_u \cdot h_i`, with a name.

    Memory: both matrices, and one dense row per scored user.

    Attributes:
        user_factors: Users x dimensions.
        item_factors: Items x dimensions.
        name: What to call the model in tables.
        folded_from: What the model behind these scores was fitted on, if that is known.
    """

    user_factors: Factors
    item_factors: Factors
    name: str = "factors"
    folded_from: TrainingInfo | None = None


class FactorModel(DotProducts, Model, ABC):
    """A fitted model with factors of users and items: a Scorer for its users, and others.

    A model says in :meth:`solve_users` how the vectors of users follow from their histories with
    the items fixed; known users and new ones are treated alike.
    """

    __slots__ = ("item_factors", "user_factors")
    user_factors: Factors
    item_factors: Factors

    def fold_in(self, history: Interactions) -> FactorScores:
        """The same item factors for users known only by their history."""
        check_history(history, self.n_items)
        users, name = self.solve_users(history), type(self).__name__
        return FactorScores(users, self.item_factors, name, self.training_info())

    @abstractmethod
    def solve_users(self, history: Interactions) -> Factors:
        """User factors for these histories, the items fixed."""


def start_factors(n: int, dim: int, std: float, seed: int, precision: str) -> Factors:
    """Independent normal numbers, of length about ``std`` per row."""
    draw = stream(seed, Stream.FACTORS).standard_normal((n, dim))
    return np.asarray(draw * (std / np.sqrt(dim)), dtype=dtype_of(precision))


def check_factor_room(interactions: Interactions, dim: int, precision: str, model: str) -> None:
    """Both sides' factors twice, as they are and turned, and the observed pairs both ways."""
    size = np.dtype(dtype_of(precision)).itemsize
    rows = interactions.n_users + interactions.n_items
    check_room(
        2 * rows * dim * size + len(interactions) * (24 + 4 * size),
        f"{model} with dim={dim} on {interactions.n_users:,} users and "
        f"{interactions.n_items:,} items",
        "a smaller dim or ItemKNN would fit, or drop rare users and items",
    )
