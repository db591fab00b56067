"""Per-user values of two models: checked, paired, and the summary that every paired test shares."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from truerank.arrays import Float
from truerank.checks import did_you_mean
from truerank.errors import InvalidArgumentError, InvalidDataError

ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Two values that differ by less than this share of the larger one are equal: the same sum taken
in another order. Without it, such a user would count as a win in a sign test."""

ONE_USER = "one user only: the spread between users is unknown"


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    r"""Differences of the same users' values, with their mean and spread.

    .. math::
        m = \frac{\sum_u w_u d_u}{\sum_u w_u}, \qquad
        \mathrm{SE}^2 = \frac{n}{n-1} \frac{\sum_u w_u^2 (d_u - m)^2}{(\sum_u w_u)^2}, \qquad
        s^2 = \frac{n}{n-1} \frac{\sum_u w_u (d_u - m)^2}{\sum_u w_u}

    With equal weights these are the mean, :math:`s^2/n`, and the sample variance.

    Attributes:
        difference: a minus b of each user of positive weight; equal up to rounding is 0.
        weight: Weight of each of them.
        constant: Whether all differences are one number, up to rounding.
    """

    difference: Float
    weight: Float
    constant: bool

    @classmethod
    def of(cls, a: ArrayLike, b: ArrayLike, weight: ArrayLike | None = None) -> Pairs:
        """Check, subtract, and drop users of weight zero."""
        x, y = paired(a, b)
        w = checked_weight(weight, len(x))
        x, y, w = x[w > 0], y[w > 0], w[w > 0]
        d = x - y
        size = np.maximum(np.abs(x), np.abs(y))
        d = np.where(np.abs(d) <= ROUNDING * size, 0.0, d)
        constant = bool(np.ptp(d) <= ROUNDING * size.max())
        return cls(d, w, constant)

    @property
    def n(self) -> int:
        """Users."""
        return len(self.difference)

    @property
    def mean(self) -> float:
        """Mean difference."""
        return float((self.weight * self.difference).sum() / self.weight.sum())

    @property
    def std_error(self) -> float:
        """Of the mean difference; nan for one user."""
        residual = self.weight * (self.difference - self.mean)
        return self._unbiased(float((residual**2).sum() / self.weight.sum() ** 2))

    @property
    def d_z(self) -> float:
        """Cohen's d_z: the mean difference over its standard deviation between users."""
        m = self.mean
        spread = float((self.weight * (self.difference - m) ** 2).sum() / self.weight.sum())
        s = self._unbiased(spread)
        if s > 0:
            return m / s
        return float("nan") if np.isnan(s) else float(np.sign(m) * np.inf) if m else 0.0

    def _unbiased(self, variance: float) -> float:
        if self.n == 1:
            return float("nan")
        return 0.0 if self.constant else float(np.sqrt(variance * self.n / (self.n - 1)))

    @property
    def differing(self) -> Float:
        """The differences that are not 0."""
        return np.asarray(self.difference[self.difference != 0])

    @property
    def why_undecided(self) -> str:
        """Why no test can tell anything, so that p = 1; empty if one can."""
        if not self.difference.any():
            return "no user differs between the two models" + (
                ", and there is one user only" if self.n == 1 else ""
            )
        if self.n == 1:
            return ONE_USER
        return ""


def paired(a: ArrayLike, b: ArrayLike) -> tuple[Float, Float]:
    """Values of the same users in the same order, or one clear sentence."""
    x, y = checked_values("a", a), checked_values("b", b)
    if len(x) != len(y):
        raise InvalidArgumentError(
            "b", len(y), f"as many values as a, {len(x)}", "align both on the same users first"
        )
    return x, y


def checked_values(name: str, values: ArrayLike) -> Float:
    """A flat array of finite numbers, at least one."""
    given = np.asarray(values)
    if given.ndim != 1 or given.dtype.kind not in "buif":
        got = f"{given.dtype} of shape {given.shape}"
        raise InvalidArgumentError(name, got, "a flat array of numbers, one per user")
    if not len(given):
        raise InvalidArgumentError(name, [], "the value of at least one user")
    x = given.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(x))
    if len(bad):
        raise InvalidDataError(
            f"{name} has {len(bad):,} values that are not finite numbers, the first of user "
            f"{bad[0]}; a test needs a value of every user: drop these users from both models"
        )
    return x


def is_binary(x: Float) -> bool:
    """Whether all values are 0 or 1."""
    return bool(((x == 0) | (x == 1)).all())


def checked_binary(name: str, x: Float, test: str) -> None:
    """Refuse values other than 0 and 1."""
    if not is_binary(x):
        other = float(x[(x != 0) & (x != 1)][0])
        raise InvalidArgumentError(
            name, other, f"0 or 1 for every user in {test}", "use paired-t for other values"
        )


def checked_weight(weight: ArrayLike | None, n: int) -> Float:
    """One non-negative weight per user, 1 if not given."""
    if weight is None:
        return np.ones(n)
    w = checked_values("weight", weight)
    if len(w) != n:
        raise InvalidArgumentError("weight", len(w), f"one number per user, {n}")
    if (w < 0).any() or not w.any():
        got = float(w.min())
        raise InvalidArgumentError("weight", got, "non-negative, and positive for some user")
    return w


def unknown_name(argument: str, name: object, known: Collection[str]) -> InvalidArgumentError:
    """The error for a name that is not in a table, with the nearest one that is."""
    return InvalidArgumentError(
        argument, name, f"one of {', '.join(known)}", did_you_mean(name, known)
    )
