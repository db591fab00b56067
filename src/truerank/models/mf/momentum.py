r"""Dense Adam at the price of the sparse one: rows that are not touched are brought up when needed.

Adam moves a row in every step, also when its gradient is 0. After step t without a gradient

.. math::  m_{t+j} = \beta_1^j m_t, \qquad v_{t+j} = \beta_2^j v_t, \qquad
           \Delta_{t+j} = -\eta_{t+j}\, \rho^j \frac{m_t}{\sqrt{v_t}}, \qquad
           \rho = \frac{\beta_1}{\sqrt{\beta_2}},

so k steps together are :math:`-(D_t - \rho^k D_{t+k})\, m_t / \sqrt{v_t}` with

.. math::  D_t = \sum_{j \ge 1} \eta_{t+j}\, \rho^j = \rho\,(\eta_{t+1} + D_{t+1}),

one number for each step of an epoch, in which the rate is the same. Before a batch is scored its
rows are brought up to the step before, and after an epoch all rows are. Only epsilon makes a
difference to the loop of ``torch.optim.Adam``: it stays beside :math:`\sqrt{v_t}` for all of the k
steps, and is not divided by :math:`\sqrt{1 - \beta_2^s}` at the start. That matters to gradients of
about epsilon only.

What it is good for: a row that is touched in a share p of the steps moves by about
:math:`\eta/\sqrt p` at each touch, where sparse Adam moves it by :math:`\eta`, so that the vectors
of rare users and items keep up with those of the popular.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.models.mf.rows import BETA1, BETA2, Table, ask_for, start_correction
from truerank.numerics.jit import fastmath

AHEAD = 3
"""Rows asked for before their turn."""

_RHO = BETA1 / np.sqrt(BETA2)


def tails(first: int, n_steps: int, rate: float) -> NDArray[np.float64]:
    """:math:`D_t` for t from ``first`` to ``first + n_steps``, as if the rate never changed."""
    out = np.empty(n_steps + 1)
    rates = rate * start_correction(np.arange(first + 1, first + n_steps + 1))
    out[-1] = rate * start_correction(first + n_steps + 1) * _RHO / (1.0 - _RHO)
    for t in range(n_steps - 1, -1, -1):
        out[t] = _RHO * (rates[t] + out[t + 1])
    return out


@fastmath
def bring_up(
    table: Table,
    rows: NDArray[Any],
    to: int,
    first: int,
    tails: NDArray[np.float64],
    epsilon: np.float32,
    part: int,
    parts: int,
) -> None:
    """Take the steps up to step ``to`` in which these rows were not touched.

    Args:
        table: Factors and states.
        rows: Each once.
        to: The step after which the rows are wanted.
        first: The steps before this epoch.
        tails: Of this epoch, from ``first`` on.
        epsilon: Beside the root of v.
        part: Which part of the rows.
        parts: How many there are.
    """
    n = len(rows)
    end = (part + 1) * n // parts
    for at in range(part * n // parts, end):
        ask_for(table, rows[min(at + AHEAD, end - 1)])
        i = rows[at]
        since = table.last[i]
        missed = to - since
        if missed <= 0:
            continue
        reach = np.float32(tails[since - first] - _RHO**missed * tails[to - first])
        less_m, less_v = np.float32(BETA1**missed), np.float32(BETA2**missed)
        row, m, v = table.factors[i], table.states[i, 0], table.states[i, 1]
        for k in range(len(row)):
            row[k] -= reach * m[k] / (np.sqrt(v[k]) + epsilon)
            m[k] *= less_m
            v[k] *= less_v
        table.last[i] = to
