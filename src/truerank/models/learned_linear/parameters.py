r"""What is learned, and what it makes of a model: parameters are free, coefficients bounded.

=========  ==========================================  ====================================
parameter  coefficient                                 at the start (all parameters 0)
=========  ==========================================  ====================================
``alpha``  gain g = s^2 / (s^2 + lambda_i), with       lambda_i = lambda, the closed form
           lambda_i = lambda + c tanh(alpha_i)
``head``   H = sigmoid(head)                           1/2 everywhere: no rank changes
``tail``   T = sigmoid(tail)                           1/2 everywhere: no rank changes
``entry``  S = sigmoid(entry)                          1/2 everywhere: no rank changes
=========  ==========================================  ====================================

Learning therefore starts at the ranking of the base; each of H, T and S halves its scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from truerank.arrays import Float

Parameters = dict[str, Float]
"""Arrays by the names of the table above; only those that are learned."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shrinkage:
    r"""Singular values and the penalties that shrink them, :math:`\sigma^2/(\sigma^2 + \lambda_i)`.

    Attributes:
        sigma: Singular values, positive.
        l2: lambda.
        c: How far each lambda_i may be from lambda, in (0, lambda].
    """

    sigma: Float
    l2: float
    c: float

    def lambdas(self, alpha: Float) -> Float:
        r""":math:`\lambda_i = \lambda + c \tanh(\alpha_i)`."""
        return np.asarray(self.l2 + self.c * np.tanh(alpha))

    def gain(self, alpha: Float) -> Float:
        r""":math:`g_i = \sigma_i^2 / (\sigma_i^2 + \lambda_i)`."""
        return np.asarray(self.sigma**2 / (self.sigma**2 + self.lambdas(alpha)))

    def gradient(self, alpha: Float) -> Float:
        r"""The derivative of the gain.

        .. math::
            \frac{\partial g_i}{\partial \alpha_i}
            = -\frac{g_i}{\sigma_i^2 + \lambda_i}\, c\, (1 - \tanh^2 \alpha_i)
        """
        whole = self.sigma**2 + self.lambdas(alpha)
        return np.asarray(-self.gain(alpha) / whole * self.c * (1.0 - np.tanh(alpha) ** 2))


class Coefficients(NamedTuple):
    """What the parameters make; ones where nothing is learned."""

    head: Float
    tail: Float
    gain: Float
    entry: Float


def start(
    n_items: int, *, head_tail: bool, shrinkage: Shrinkage | None = None, n_entries: int = 0
) -> Parameters:
    """Zeros for everything that is to be learned."""
    sizes = {"alpha": 0 if shrinkage is None else len(shrinkage.sigma), "entry": n_entries}
    if head_tail:
        sizes |= {"head": n_items, "tail": n_items}
    return {name: np.zeros(size) for name, size in sizes.items() if size}


def coefficients(
    theta: Parameters, n_items: int, rank: int = 0, shrinkage: Shrinkage | None = None
) -> Coefficients:
    """The bounded values that the free parameters stand for."""
    learned = "alpha" in theta and shrinkage is not None
    return Coefficients(
        head=expit(theta["head"]) if "head" in theta else np.ones(n_items),
        tail=expit(theta["tail"]) if "tail" in theta else np.ones(n_items),
        gain=shrinkage.gain(theta["alpha"]) if learned and shrinkage else np.ones(rank),
        entry=expit(theta["entry"]) if "entry" in theta else np.ones(0),
    )


def chained(
    theta: Parameters,
    by_coefficient: dict[str, Float],
    co: Coefficients,
    shrinkage: Shrinkage | None = None,
) -> Parameters:
    """Gradients in the parameters from gradients in the coefficients, in their order."""
    gradients = {}
    for name, free in theta.items():
        if name == "alpha" and shrinkage is not None:
            gradients[name] = by_coefficient["gain"] * shrinkage.gradient(free)
        else:
            inside: Float = getattr(co, name)
            gradients[name] = by_coefficient[name] * inside * (1.0 - inside)
    return gradients
