"""A small split with string ids, and what a library's own list says about a held-out item."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from truerank.data import Interactions
from truerank.ranking import Full, Sampled, rank
from truerank.split import Split, leave_one_out

OwnList = tuple[list[Any], np.ndarray]
"""External ids of the unseen items, best first, and their scores."""


def library(name: str) -> Any:
    """The package, or a skip that says what to run; its own warnings are its own business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError as error:
            if os.environ.get("TRUERANK_ADAPTERS") == "required":
                raise  # where all of them should be, a skip would hide that one is not
            pytest.skip(f"{error}; run make test-adapters", allow_module_level=True)


def make_split() -> Split:
    """150 users who like items of their own kind, 80 items; ids whose order is not their number."""
    rng = np.random.default_rng(11)
    taste, kind = rng.normal(size=(150, 4)), rng.normal(size=(80, 4))
    chance = taste @ kind.T + rng.gumbel(size=(150, 80)) + rng.normal(size=80)
    users, items = np.nonzero(chance > np.quantile(chance, 0.82))
    names = np.array([f"u{k}" for k in range(150)]), np.array([f"i{k}" for k in range(80)])
    data = Interactions.from_arrays(names[0][users], names[1][items])
    return leave_one_out(data, seed=0)


SPLIT = make_split()
TRAIN = SPLIT.train


def check_against_lists(
    scorer: Any, own_list: Callable[[str], OwnList], *, sharp: float = 0.9
) -> None:
    """Our rank of each held-out item is its position in the library's own list.

    Where scores tie up to float32 rounding the position is one of several; ``sharp`` is the
    least share of rows with a single one, so that the test cannot become empty. An item that
    the list does not have stands below all that it has.
    """
    table = rank(scorer, SPLIT, Full(), progress=False)
    single = 0
    for user, item, ours, n in zip(
        table.user.tolist(), table.item.tolist(), table.rank.tolist(), table.n_items, strict=True
    ):
        items, scores = own_list(user)
        near = 1e-5 * np.abs(scores).max()
        if item in items:
            own = scores[items.index(item)]
            first, last = 1 + int((scores > own + near).sum()), int((scores >= own - near).sum())
        else:
            first, last = 1 + len(items), int(n)
        assert first <= ours <= last, (user, item)
        single += first == last
    assert single >= sharp * len(table)


def check_pairs(scorer: Any) -> None:
    """Pairs score as whole rows do, and samples of everything are exact."""
    users = np.array([0, 7, 149])
    items = np.array([[3, 79, 3], [0, 1, 2], [78, 5, 41]])
    rows = np.asarray(scorer.score_all(users))
    assert rows.shape == (3, TRAIN.n_items)
    assert np.allclose(
        scorer.score_pairs(users, items), np.take_along_axis(rows, items, axis=1), rtol=1e-5
    )
    few = rank(scorer, SPLIT, Sampled(20), progress=False)
    assert (few.rank <= rank(scorer, SPLIT, Full(), progress=False).rank).all()
    assert (few.n_sampled == 20).all()


def shuffled() -> tuple[Any, np.ndarray, np.ndarray]:
    """The training matrix in an order of its own, and the ids of its rows and columns."""
    rng = np.random.default_rng(2)
    users, items = rng.permutation(TRAIN.n_users), rng.permutation(TRAIN.n_items)
    matrix = TRAIN.matrix().tocsr()[users][:, items]
    return matrix, TRAIN.user_ids[users], TRAIN.item_ids[items]
