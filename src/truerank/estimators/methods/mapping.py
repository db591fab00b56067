r"""Mapping functions: sampled recall at k is read as global recall at f(k).

If :math:`T^S_{Recall@k} \approx T_{Recall@f(k)}`, the sampled recalls at :math:`k = 1..n` are
points of the global recall curve, at ranks :math:`f(1) < \dots < f(n)`. Three choices of f:

=========  ===============================================================  ====================
kind       f(k)                                                             label
=========  ===============================================================  ====================
linear     :math:`\frac{k-1}{n-1}(N-1) + 1`                                 ``eq:fk1``
bound      :math:`\lfloor (k-\frac12)\frac{N-1}{n-1} + \frac12 \rfloor`     ``eq:bound_mid``
beta       :math:`(f-1)^a = a (N-1)^a \sum_{i<k} \binom{n-1}{i} B(a+i,n-i)`  ``eq:fk``, ``eq:f1``
=========  ===============================================================  ====================

The terms of the last sum are :math:`\frac{\Gamma(n)}{\Gamma(n+a)} \frac{\Gamma(i+a)}{\Gamma(i+1)}`
and add up to :math:`\frac{\Gamma(n)}{\Gamma(n+a)} \frac{\Gamma(k+a)}{a\,\Gamma(k)}`, so

.. math::  f(k; a) = 1 + (N-1)
           \left[\frac{\Gamma(n)\,\Gamma(k+a)}{\Gamma(n+a)\,\Gamma(k)}\right]^{1/a},

which shows :math:`f(n; a) = N` and :math:`f(k; 1) = k (N-1)/n + 1` at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import gammaln

from truerank.arrays import Float
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.estimators.problem import DistributionEstimator, Problem

Kind = Literal["linear", "bound", "beta"]

SMALLEST_A, LARGEST_A = 1e-3, 1e3
"""Where a fitted a stops: ranks all 1 would have it at 0, ranks all n at infinity."""


def mapping_function(kind: Kind, n: int, n_items: int, a: float = 1.0) -> Float:
    """f(k) for k = 1..n, ascending, none above N.

    >>> mapping_function("beta", 4, 101).round(9).tolist()
    [26.0, 51.0, 76.0, 101.0]
    """
    if n < 2:
        raise InvalidDataError(
            "a mapping needs samples of at least 2 items: the target alone is always first, which "
            "says nothing about its rank"
        )
    k = np.arange(1, n + 1)
    if kind == "linear":
        return np.asarray((k - 1) * (n_items - 1) / (n - 1) + 1.0, dtype=np.float64)
    if kind == "bound":  # in whole numbers: a rounded quotient must not move the floor
        f = ((2 * k - 1) * (n_items - 1) + (n - 1)) // (2 * (n - 1))
        return np.minimum(f, n_items).astype(np.float64)
    log_power = gammaln(k + a) - gammaln(k) - (gammaln(n + a) - gammaln(n))
    return np.asarray(1.0 + (n_items - 1) * np.exp(log_power / a), dtype=np.float64)


def fit_beta(by_rank: Float) -> Float:
    r"""The a of Beta(a, 1) by maximum likelihood, for each column of shares by sampled rank.

    If :math:`(R-1)/(N-1) \sim \mathrm{Beta}(a, 1)` and rivals are drawn with replacement, the
    sampled rank is beta-binomial, :math:`P(r) = a \binom{n-1}{r-1} B(a+r-1, n-r+1)`. With
    :math:`S_j` the part of rows with :math:`r - 1 \le j`, its score is

    .. math::  a\, \frac{d\ell}{da} = 1 - \sum_{j=0}^{n-1} S_j \frac{a}{a+j},

    which falls in a, so bisection finds the one root; it stops at the ends of the range
    :data:`SMALLEST_A` .. :data:`LARGEST_A`.
    """
    columns = by_rank if by_rank.ndim == 2 else by_rank[:, None]
    S = np.cumsum(columns, axis=0)
    j = np.arange(len(S))[:, None]
    low = np.full(columns.shape[1], np.log(SMALLEST_A))
    high = np.full(columns.shape[1], np.log(LARGEST_A))
    for _ in range(50):
        middle = (low + high) / 2.0
        a = np.exp(middle)
        rising = (S * (a / (a + j))).sum(axis=0) < 1.0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    a = np.exp((low + high) / 2.0)
    return np.asarray(a if by_rank.ndim == 2 else a[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping(DistributionEstimator):
    r"""``mapping-linear``, ``mapping-bound``, ``mapping-beta``: stretch the sampled recall curve.

    The estimated distribution function takes the value :math:`\sum_{r \le k} \tilde P(r)` at rank
    :math:`f(k)` and is linear in rank between :math:`(0, 0), (f(1), \cdot), \dots, (N, 1)`. All
    metrics come from its increments. Between 1 and :math:`f(1) \approx N/n` nothing but that
    straight line is known. Needs one sample size. The derivation of beta has rivals drawn with
    replacement; without it is an approximation.

    Attributes:
        kind: Which f.
        a: The parameter of beta; None fits it to the sampled ranks (:func:`fit_beta`).
    """

    kind: Kind = "beta"
    a: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InvalidArgumentError("kind", self.kind, "one of linear, bound, beta")
        if self.a is not None and not 0.0 < self.a < np.inf:
            raise InvalidArgumentError("a", self.a, "positive", "try 0.2 to 1, or None to fit it")

    def distribution(self, problem: Problem, shares: Float) -> Float:
        """Increments of the stretched curve over the grid's bins."""
        n, n_items = problem.require_one_size(f"mapping-{self.kind}")
        by_rank = problem.by_rank(shares)
        columns = by_rank if by_rank.ndim == 2 else by_rank[:, None]
        last = np.append(0, problem.grid.edges[1:] - 1)
        masses = np.empty((len(problem.grid), columns.shape[1]))
        for b, a in enumerate(self._a(columns)):
            f = mapping_function(self.kind, n, n_items, float(a))
            ranks = np.concatenate([[0.0], f, [n_items]])
            recall = np.concatenate([[0.0], np.cumsum(columns[:, b]), [1.0]])
            masses[:, b] = np.diff(np.interp(last, ranks, recall))
        return masses if shares.ndim == 2 else masses[:, 0]

    def _a(self, columns: Float) -> Float:
        if self.kind == "beta" and self.a is None:
            return fit_beta(columns)
        return np.full(columns.shape[1], 1.0 if self.a is None else self.a)
