r"""Optimisers: Adam, dense and by rows, Adagrad and SGD.

==============  ==============================================================================
optimiser       step of a row with gradient g, its penalty included
==============  ==============================================================================
``adam``        m <- m + (1 - b1)(g - m),  v <- v + (1 - b2)(g^2 - v),
                row <- row - rate_s m / (sqrt(v) + epsilon),
                rate_s = rate sqrt(1 - b2^s) / (1 - b1^s)
``dense-adam``  the same, and the rows that are not touched go on with g = 0
``adagrad``     v <- v + g^2,  row <- row - rate g / (sqrt(v) + epsilon)
``sgd``         row <- row - rate g
==============  ==============================================================================

**By rows.** Only the rows that a batch touches are moved. Adam [kingma2015]_ is then that of
``torch.optim.SparseAdam``: s counts the steps of all rows, and a row that is not touched keeps its
m and v; dense Adam is that of ``torch.optim.Adam`` but for the place of epsilon.

**Dense Adam at the price of the sparse one.** Adam moves a row in every step, also when its
gradient is 0. After step t without a gradient

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

**Arrays by name.** :class:`DenseOptimiser` moves whole arrays, as ``torch.optim`` does. Both Adams
go by :func:`moments` and :func:`adam_step`, which are compiled for rows and plain numpy for arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truerank.arrays import Float32
from truerank.numerics.jit import fastmath
from truerank.numerics.prefetch import prefetch_row
from truerank.training.negative_sampling import Ints

OPTIMISERS = ("adam", "dense-adam", "adagrad", "sgd")
DENSE_OPTIMISERS = ("adam", "adagrad", "sgd")
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
_ADAM, DENSE_ADAM, _ADAGRAD = 0, 1, 2
_N_STATES = {"adam": 2, "dense-adam": 2, "adagrad": 1, "sgd": 0}
_B1, _B2 = np.float32(1 - BETA1), np.float32(1 - BETA2)

_RHO = BETA1 / np.sqrt(BETA2)

AHEAD = 3
"""Rows asked for before their turn."""


def moments(m: Any, v: Any, gradient: Any, beta1: Any, beta2: Any) -> Any:
    """Adam's running means of the gradient and of its square; ``beta1``, ``beta2`` less from 1."""
    return m + beta1 * (gradient - m), v + beta2 * (gradient * gradient - v)


def adam_step(m: Any, v: Any, rate: Any, epsilon: Any) -> Any:
    """How far Adam moves."""
    return rate * m / (np.sqrt(v) + epsilon)


_moments, _adam_step = fastmath(moments), fastmath(adam_step)


class Table(NamedTuple):
    """Factors of one side and the states of their optimiser, row by row.

    States are n x 2 x d for Adam (m and v), n x 1 x d for Adagrad (v), n x 0 x d for SGD: those
    of a row lie side by side, because fetching them is most of what a step costs. ``last`` is the
    step in which a row was last moved, kept for dense Adam only.
    """

    factors: Float32
    states: Float32
    last: NDArray[np.int64]

    @classmethod
    def of(cls, factors: Float32, optimiser: str) -> Table:
        """States that have seen nothing."""
        n, dim = factors.shape
        states = np.zeros((n, _N_STATES[optimiser], dim), np.float32)
        return cls(factors, states, np.zeros(n * (optimiser == "dense-adam"), np.int64))


class Step(NamedTuple):
    """How far rows move."""

    s: int  # counted from 1
    optimiser: int
    rate: np.float32  # Adam's correction for the start included
    l2: np.float32
    cosine: bool
    epsilon: np.float32

    @classmethod
    def number(
        cls,
        s: int,
        *,
        optimiser: str,
        rate: float,
        l2: float,
        cosine: bool,
        epsilon: float = EPSILON,
    ) -> Step:
        """Step ``s``, from 1."""
        if "adam" in optimiser:
            rate *= float(start_correction(s))
        return cls(
            s, OPTIMISERS.index(optimiser), np.float32(rate), np.float32(l2), cosine,
            np.float32(epsilon),
        )  # fmt: skip


def start_correction(s: Any) -> Any:
    """Adam's factor of the rate in step s, because m and v start at zero."""
    return np.sqrt(1.0 - BETA2**s) / (1.0 - BETA1**s)


@fastmath
def _adam(table: Table, rows: Ints, grads: Float32, step: Step) -> None:
    for g in range(len(rows)):
        i, grad = rows[g], grads[g]
        row, m, v = table.factors[i], table.states[i, 0], table.states[i, 1]
        for k in range(len(row)):
            gradient = grad[k] + step.l2 * row[k]
            m[k], v[k] = _moments(m[k], v[k], gradient, _B1, _B2)
            row[k] -= _adam_step(m[k], v[k], step.rate, step.epsilon)


@fastmath
def _adagrad(table: Table, rows: Ints, grads: Float32, step: Step) -> None:
    for g in range(len(rows)):
        grad, row, v = grads[g], table.factors[rows[g]], table.states[rows[g], 0]
        for k in range(len(row)):
            gradient = grad[k] + step.l2 * row[k]
            v[k] += gradient * gradient
            row[k] -= step.rate * gradient / (np.sqrt(v[k]) + step.epsilon)


@fastmath
def _sgd(table: Table, rows: Ints, grads: Float32, step: Step) -> None:
    for g in range(len(rows)):
        grad, row = grads[g], table.factors[rows[g]]
        for k in range(len(row)):
            row[k] -= step.rate * (grad[k] + step.l2 * row[k])


@fastmath
def move_rows(table: Table, rows: Ints, grads: Float32, step: Step) -> None:
    """These rows by their optimiser.

    One loop without a choice in it for each: 1.5 times faster than to choose row by row.
    """
    if step.optimiser == _ADAM or step.optimiser == DENSE_ADAM:
        _adam(table, rows, grads, step)
    elif step.optimiser == _ADAGRAD:
        _adagrad(table, rows, grads, step)
    else:
        _sgd(table, rows, grads, step)
    if step.optimiser == DENSE_ADAM:
        for i in rows:
            table.last[i] = step.s


@fastmath
def ask_for(table: Table, i: int) -> None:
    """The row and its states, before its turn: rows lie anywhere, and fetching them costs most."""
    prefetch_row(table.factors, i)
    prefetch_row(table.states, i)


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
            row[k] -= _adam_step(m[k], v[k], reach, epsilon)
            m[k] *= less_m
            v[k] *= less_v
        table.last[i] = to


@dataclass(slots=True, eq=False)
class DenseOptimiser:
    r"""Steps of whole arrays by name, as those of ``torch.optim``.

    Adam [kingma2015]_ is

    .. math::
        \theta \leftarrow \theta - \eta \frac{m / (1 - \beta_1^s)}
        {\sqrt{v / (1 - \beta_2^s)} + \epsilon}

    Attributes:
        name: ``"adam"``, ``"adagrad"`` or ``"sgd"``.
        rate: The learning rate.
        l2: Times the parameter, added to its gradient.
        epsilon: Of Adam and Adagrad.
        step: Steps taken.
        states: m and v of each array, by name.
    """

    name: str = "adam"
    rate: float = 1e-3
    l2: float = 0.0
    epsilon: float = EPSILON
    step: int = 0
    states: dict[str, NDArray[Any]] = field(default_factory=dict)

    def start(self, theta: dict[str, NDArray[Any]]) -> None:
        """States that have seen nothing."""
        n = _N_STATES[self.name]
        self.states = {name: np.zeros((n, *x.shape), x.dtype) for name, x in theta.items()}

    def move(self, theta: dict[str, NDArray[Any]], gradient: dict[str, NDArray[Any]]) -> None:
        """One step, in place."""
        self.step += 1
        bias1, bias2 = 1 - BETA1**self.step, 1 - BETA2**self.step
        for name, mine in gradient.items():
            g = mine + self.l2 * theta[name] if self.l2 else mine
            state = self.states[name]
            if self.name == "adam":
                state[0], state[1] = moments(state[0], state[1], g, 1 - BETA1, 1 - BETA2)
                m, v = state[0] / bias1, state[1] / bias2
                theta[name] -= adam_step(m, v, self.rate, self.epsilon)
            elif self.name == "adagrad":
                state[0] += g * g
                theta[name] -= self.rate * g / (np.sqrt(state[0]) + self.epsilon)
            else:
                theta[name] -= self.rate * g
