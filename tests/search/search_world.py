"""A world whose best setting is known: scores are the truth plus noise that grows away from it."""

from __future__ import annotations

from typing import Any

import numpy as np

import truerank as tr
from truerank.data import Interactions

N_USERS, N_ITEMS, PEAK = 1_200, 60, 3.0


def world(seed: int = 0, n_users: int = N_USERS) -> tuple[Interactions, np.ndarray]:
    """Interactions drawn from affinities, and the affinities."""
    rng = np.random.default_rng(seed)
    affinity = rng.normal(size=(n_users, 4)) @ rng.normal(size=(4, N_ITEMS))
    noisy = affinity + rng.gumbel(size=affinity.shape)
    chosen = np.argsort(-noisy, axis=1)[:, :4]
    user, item = np.repeat(np.arange(n_users), 4), chosen.ravel()
    data = Interactions.from_arrays(
        user, item, user_ids=np.arange(n_users), item_ids=np.arange(N_ITEMS)
    )
    return data, affinity


class Peaked:
    """Best at x = 3, whatever y is; ``fits`` counts."""

    fits = 0

    def __init__(self, affinity: np.ndarray, x: float, y: float = 0.0) -> None:
        self.affinity, self.x, self.y = affinity, x, y
        self.n_items = affinity.shape[1]

    def fit(self, train: Interactions) -> Peaked:
        type(self).fits += 1
        noise = np.random.default_rng([7, round(1000 * self.x)]).normal(size=self.affinity.shape)
        self.scores = self.affinity + abs(self.x - PEAK) * noise + 1e-3 * noise
        return self

    def score_all(self, users: Any) -> np.ndarray:
        return np.asarray(self.scores[users])

    def score_pairs(self, users: Any, items: Any) -> np.ndarray:
        return np.take_along_axis(self.scores[users], np.asarray(items), axis=1)


def peaked(affinity: np.ndarray) -> Any:
    """A function of the parameters x and y."""

    def make(x: float, y: float = 0.0) -> Peaked:
        return Peaked(affinity, x, y)

    return make


def test_part() -> tr.split.Split:
    """A split whose test part a search must not see."""
    return tr.split.leave_one_out(world()[0], seed=5)


test_part.__test__ = False  # type: ignore[attr-defined]  # its name looks like a test
