"""The fastest backend that a scorer allows, and whether the scorer keeps its promise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.errors import InvalidArgumentError, InvalidDataError, NotFittedError
from truerank.ranking.backends.base import Backend, CompiledBackend
from truerank.ranking.backends.calls import CallBackend
from truerank.ranking.backends.factors import FactorBackend
from truerank.ranking.backends.item_item import ItemItemBackend
from truerank.ranking.rows import TargetRows
from truerank.ranking.scorer import FactorScorer, checked_scores

FLOAT32 = 2.0**-24
"""Rounding error of a number in single precision."""


def backend_for(scorer: Any, user_names: NDArray[Any] | None) -> Backend:
    """By factors, by item-item matrix, or by calls."""
    if isinstance(scorer, type):
        raise InvalidArgumentError(
            "scorer", f"the class {scorer.__name__}", "a model, not a class",
            f"make one and fit it first: {scorer.__name__}(...).fit(train)",
        )  # fmt: skip
    fast: FactorBackend | ItemItemBackend | None = None
    if _has(scorer, "user_factors", "item_factors"):
        fast = FactorBackend.of(scorer.user_factors, scorer.item_factors)
        if fast is None and not _has(scorer, "score_all", "score_pairs", "n_items"):
            scorer = FactorScorer(scorer.user_factors, scorer.item_factors)
    if fast is None and _has(scorer, "history", "item_item"):
        fast = ItemItemBackend.of(scorer.history, scorer.item_item)
    if fast is None:
        if not _has(scorer, "score_all", "score_pairs", "n_items"):
            raise InvalidArgumentError(
                "scorer", type(scorer).__name__,
                "a Scorer with n_items, score_all(users) and score_pairs(users, items)",
                "wrap a function with tr.FunctionScorer, factors with tr.FactorScorer",
            )  # fmt: skip
        return CallBackend(scorer, user_names)
    n_items = getattr(scorer, "n_items", None)
    if isinstance(n_items, int | np.integer) and n_items != fast.n_items:
        raise InvalidDataError(
            f"{type(scorer).__name__} has n_items {n_items:,} but factors (or an item-item "
            f"matrix) of {fast.n_items:,} items; they must agree"
        )
    return fast


def check_promise(scorer: Any, backend: Backend, rows: TargetRows) -> None:
    """Fast paths must score as the scorer itself does; a few pairs tell.

    Scores may differ by a thousandth, by 1e-4 of the largest, and by what two sums in float32 may:
    where all of the few are zero but for rounding, nothing else is left of them.
    """
    if not isinstance(backend, CompiledBackend) or not hasattr(scorer, "score_pairs"):
        return
    few = np.unique(np.linspace(0, len(rows) - 1, 4).astype(np.int64))
    users, items = rows.users[few], rows.targets[few]
    pairs = np.stack([items, items[::-1]], axis=1)
    own, (fast, sizes) = (
        checked_scores(scorer.score_pairs(users, pairs), pairs.shape, "score_pairs"),
        backend.score_pairs(users, pairs),
    )
    near = 1e-4 * (float(np.abs(fast).max()) + 1e-12) + 2 * FLOAT32 * sizes
    if not np.allclose(own, fast, rtol=1e-3, atol=near):
        raise InvalidDataError(
            f"the factors (or the item-item matrix) of {type(scorer).__name__} do not give the "
            "scores of its score_pairs; remove these attributes, or fold biases and scaling "
            "into them"
        )


def _has(scorer: Any, *names: str) -> bool:
    """Whether all are there. A model that is not fitted says so itself: that is no lack."""
    for name in names:
        try:
            if getattr(scorer, name) is None:
                return False
        except NotFittedError:
            raise
        except AttributeError:
            return False
    return True
