r"""Every named metric in one table: its value per row, and what several rows of a user make.

For *linear* metrics the value of a user with held-out items :math:`T_u` is a weighted sum over
rows, :math:`\sum_{t \in T_u} w(|T_u|)\, F(R_t)`, so an estimator of :math:`F` extends to several
held-out items by weights alone. The others need the joint ranks of the user.

=====================  ============================  ==============================================
name                   :math:`F(R)`                  several held-out items
=====================  ============================  ==============================================
``recall@K``           1[R <= K]                     w = 1/\|T\| (NGCF, LightGCN, ranx, trec_eval)
``recall-capped@K``    1[R <= K]                     w = 1/min(K, \|T\|) (Mult-VAE)
``precision@K``        1[R <= K] / K                 w = 1
``ndcg@K``             1[R <= K] / log2(1 + R)       w = 1/IDCG over min(K, \|T\|) places: standard
``ndcg-uncapped@K``    1[R <= K] / log2(1 + R)       w = 1/IDCG over all \|T\| places
``hit@K``              1[R <= K]                     1 if any is in the top K
``mrr``, ``mrr@K``     1[R <= K] / R                 the first one counts
``ap``, ``ap@K``       1[R <= K] / R                 precisions at the ranks, over \|T\| (trec_eval)
``ap-capped@K``        1[R <= K] / R                 the same, over min(K, \|T\|) (implicit, Kaggle)
``auc``                (N - R) / (N - 1)             pairs of a held-out and another item
=====================  ============================  ==============================================

With one held-out item a user, variants of one name are equal, recall is hit, and ap is mrr.
*Capped* says that the normaliser stops at K, so that a perfect list always scores 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from truerank.metrics import functions, per_user
from truerank.metrics.per_user import Grouped

Counts = NDArray[np.int64]
Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One metric. ``weight`` where it is linear, else ``joint``.

    Attributes:
        value: F as a function of ranks and of K; of ranks and candidates where it needs these.
        cutoff: Whether the notation needs ``@K``, may have it, or has none.
        weight: w as a function of the number of held-out items and of K.
        joint: The value per user from sorted rows and K.
        limits: Smallest and largest value that a user, and so a mean of users, can have.
        needs_n_items: Whether F needs the number of candidates, as no cutoff does.
    """

    value: Callable[..., NDArray[np.float64]]
    cutoff: Literal["required", "optional", "none"] = "required"
    weight: Callable[[Counts, int], Weights] | None = None
    joint: Callable[[Grouped, Any], NDArray[np.float64]] | None = None
    limits: tuple[float, float] = (0.0, 1.0)
    needs_n_items: bool = False


def _per_target(n_targets: Counts, k: int) -> Weights:  # noqa: ARG001
    return 1.0 / n_targets


def _per_place(n_targets: Counts, k: int) -> Weights:
    return 1.0 / np.minimum(n_targets, k)


def _one(n_targets: Counts, k: int) -> Weights:  # noqa: ARG001
    return np.ones(n_targets.shape)


def _ideal(n_targets: Counts, k: int) -> Weights:
    return 1.0 / ideal_dcg(np.minimum(n_targets, k))


def _ideal_uncapped(n_targets: Counts, k: int) -> Weights:  # noqa: ARG001
    return 1.0 / ideal_dcg(n_targets)


def ideal_dcg(n_places: Counts) -> Weights:
    r"""The DCG of a list that starts with ``n_places`` held-out items.

    .. math::  \mathrm{IDCG}_m = \sum_{j=1}^{m} \frac1{\log_2(1 + j)}

    >>> ideal_dcg(np.array([1, 3])).round(4).tolist()
    [1.0, 2.1309]
    """
    longest = int(n_places.max(initial=1))
    table = np.cumsum(1.0 / np.log2(1.0 + np.arange(1, longest + 1)))
    return np.asarray(table[n_places - 1], dtype=np.float64)


def _auc_joint(rows: Grouped, k: None) -> NDArray[np.float64]:  # noqa: ARG001
    return per_user.auc(rows)


DEFINITIONS: dict[str, Definition] = {
    "recall": Definition(value=functions.recall, weight=_per_target),
    "recall-capped": Definition(value=functions.recall, weight=_per_place),
    "precision": Definition(value=functions.precision, weight=_one),
    "ndcg": Definition(value=functions.ndcg, weight=_ideal),
    "ndcg-uncapped": Definition(value=functions.ndcg, weight=_ideal_uncapped),
    "hit": Definition(value=functions.recall, joint=per_user.hit),
    "mrr": Definition(value=functions.mrr, cutoff="optional", joint=per_user.mrr),
    "ap": Definition(value=functions.ap, cutoff="optional", joint=per_user.ap),
    "ap-capped": Definition(value=functions.ap, joint=per_user.ap_capped),
    "auc": Definition(value=functions.auc, cutoff="none", joint=_auc_joint, needs_n_items=True),
}

ALIASES: dict[str, str] = {
    "r": "recall",
    "p": "precision",
    "prec": "precision",
    "hr": "hit",
    "hit-rate": "hit",
    "hitrate": "hit",
    "success": "hit",
    "rr": "mrr",
    "reciprocal-rank": "mrr",
    "map": "ap",
    "average-precision": "ap",
    "map-capped": "ap-capped",
    "ndcg-full": "ndcg-uncapped",
}
"""Other people's names. Letter case and ``_`` for ``-`` never matter."""
