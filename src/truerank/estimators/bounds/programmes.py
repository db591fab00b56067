"""The linear programmes of :mod:`.bounds`: distributions whose sets stay within their bands."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize, sparse

from truerank.arrays import Float
from truerank.errors import InvalidDataError, TruerankError

_CLEAN = 1e-9


def least_slack(P: Float, low: Float, high: Float) -> float:
    """0 if a distribution keeps all bands; else twice the widths they must move outwards."""
    free = np.zeros(P.shape[1])
    if minimum(free, P, low, high) is not None:
        return 0.0
    # One column more, without probability: how many widths all bands move outwards.
    width = high - low
    inwards = np.concatenate([P / width[:, None], -P / width[:, None]])
    found = optimize.linprog(
        np.append(free, 1.0),
        A_ub=np.hstack([inwards, -np.ones((len(inwards), 1))]),
        b_ub=np.concatenate([high / width, -low / width]),
        A_eq=np.append(free + 1.0, 0.0)[None, :],
        b_eq=[1.0],
        method="highs",
    )
    if found.fun is None:  # far enough outwards there is always one
        raise failure(found.message)
    # At the very least only one distribution is left, and bounds around it would look the surer
    # the less they are worth: what is wrong by this much here may be so elsewhere unseen.
    return 2.0 * float(found.fun) + 1e-3


def minimum(F: Float, P: Float, low: Float, high: Float) -> float | None:
    """The least sum of pi F subject to the bands; None if no pi is found that keeps them.

    Each set has a column for its place s in its band, P pi - (high - low) s = low, 0 <= s <= 1:
    half as many rows as with two inequalities, and about twice as fast. Rows are divided by the
    band's width, so the solver's tolerance (1e-7) is a part of a width.
    """
    m, width = len(low), high - low
    rows = np.where(_CLEAN * P.max(axis=1, keepdims=True) > P, 0.0, P) / width[:, None]
    matrix: Any = sparse.csc_array(
        np.block([[rows, -np.eye(m)], [np.ones((1, len(F))), np.zeros((1, m))]])
    )
    for method in ("highs-ds", "highs-ipm"):
        found = optimize.linprog(
            np.concatenate([F, np.zeros(m)]),
            A_eq=matrix,
            b_eq=np.append(low / width, 1.0),
            bounds=(0.0, 1.0),
            method=method,
        )
        if found.fun is not None:
            return float(found.fun)
        if found.status == 2:
            return None
    return None  # neither way: far from feasible, simplex may cycle


def failure(message: str) -> TruerankError:
    """What is said when the solver gives up."""
    return InvalidDataError(
        f"the linear programme of the identification bounds failed ({message}); "
        "please report it with the table"
    )
