r"""MES: the distribution of ranks of largest entropy that fits the sampled ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import logsumexp

from truerank.arrays import Float
from truerank.errors import InvalidArgumentError
from truerank.estimators.problem import DistributionEstimator, Problem

_GRADIENT = 1e-11
_NEWTON_STEPS = 500
_SHORTEST = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class MaximumEntropy(DistributionEstimator):
    r"""``mes``: entropy against the squared misfit of the sampled ranks (``eq:MEE``).

    With :math:`q_r` the part of rows of sampled rank r and :math:`m = A\pi` what :math:`\pi`
    predicts,

    .. math::  \max_\pi\; \eta H(\pi) - E(\pi), \qquad E = \sum_r q_r (m_r - q_r)^2,
               \qquad H = -\sum_j \pi_j \log \frac{\pi_j}{w_j}.

    Entropy is over *ranks*: a bin of :math:`w_j` ranks spreads its mass evenly. The solution is
    :math:`\pi_j \propto w_j e^{-(A^\top v)_j / \eta}` with :math:`v_r = 2 q_r (m_r - q_r)`, found
    from the dual (:func:`maximum_entropy`): as many unknowns as distinct sampled ranks. Ranks
    with :math:`q_r = 0` carry no weight in E and drop out. Needs one sample size.

    Attributes:
        eta: Weight of the entropy; None for the dissertation's runs or text (see ``scaled``).
        scaled: True divides eta by n, as the dissertation's runs do (default 0.01 there); False
            takes it as its text does (0.001), which over-smooths large samples.
    """

    eta: float | None = None
    scaled: bool = True

    def __post_init__(self) -> None:
        if self.eta is not None and not 0.0 < self.eta < np.inf:
            raise InvalidArgumentError("eta", self.eta, "positive", "try 0.01 with scaled=True")

    def weight(self, n: int) -> float:
        """The eta of the objective for samples of n items."""
        if self.scaled:
            return (0.01 if self.eta is None else self.eta) / n
        return 0.001 if self.eta is None else self.eta

    def distribution(self, problem: Problem, shares: Float) -> Float:
        """Bin masses. Further columns of shares start from the solution of the first."""
        n, _ = problem.require_one_size("mes")
        eta, widths = self.weight(n), problem.grid.widths.astype(np.float64)
        if shares.ndim == 1:
            return maximum_entropy(problem.A, shares, widths, eta=eta)
        masses = np.empty((len(problem.grid), shares.shape[1]))
        start = None
        for b in range(shares.shape[1]):
            masses[:, b] = maximum_entropy(problem.A, shares[:, b], widths, eta=eta, start=start)
            start = masses[:, 0]
        return masses


def maximum_entropy(
    A: Float, q: Float, widths: Float, *, eta: float, start: Float | None = None
) -> Float:
    r"""The masses that maximise :math:`\eta H - E`, by Newton's method on the dual.

    With :math:`B = \mathrm{diag}(\sqrt{2q}) A`, :math:`l = q\sqrt{2q}` and
    :math:`v = \sqrt{2q}\, y`, the dual is

    .. math::  \min_y\; D(y) = l^\top y + \tfrac12 \lVert y \rVert^2
               + \eta \log \sum_j w_j e^{-(B^\top y)_j / \eta},

    strongly convex, with gradient :math:`g = y + l - B\pi(y)` and Hessian
    :math:`I + B(\mathrm{diag}\,\pi - \pi\pi^\top)B^\top/\eta`. The duality gap of
    :math:`\pi(y)` is exactly :math:`\lVert g \rVert^2 / 2`, which decides when to stop.

    Args:
        A: P(r | bin), one row per element of q.
        q: Parts of rows by sampled rank; they add up to 1.
        widths: Ranks in each bin.
        eta: Weight of the entropy.
        start: Masses near the solution, if known.
    """
    seen = q > 0
    root = np.sqrt(2.0 * q[seen])
    B, linear = root[:, None] * A[seen], q[seen] * root
    if B.shape[0] > B.shape[1]:
        # Turned so that only the first columns' worth of y acts on pi; the rest is irrelevant.
        Q, B = np.linalg.qr(B)
        linear = Q.T @ linear
    log_widths = np.log(widths)
    pi = widths / widths.sum() if start is None else start
    y = B @ pi - linear
    value, pi = _dual(y, B, linear, log_widths, eta)
    tolerance = max(_GRADIENT, 4e-16 / eta)  # exponents of size 1/eta round pi
    for _ in range(_NEWTON_STEPS):
        predicted = B @ pi
        gradient = y + linear - predicted
        if np.linalg.norm(gradient) <= tolerance:
            return pi
        hessian = (B * (pi / eta)) @ B.T - np.outer(predicted, predicted / eta)
        hessian[np.diag_indices_from(hessian)] += 1.0
        step = -linalg.cho_solve(linalg.cho_factor(hessian, check_finite=False), gradient)
        slope, length = float(gradient @ step), 1.0
        while length > _SHORTEST:
            new_value, new_pi = _dual(y + length * step, B, linear, log_widths, eta)
            # Below rounding of the value a Newton step is right as it is.
            if new_value <= value + 1e-4 * length * slope + 1e-15 * (1.0 + abs(value)):
                break
            length /= 2.0
        y, value, pi = y + length * step, new_value, new_pi
    raise InvalidArgumentError(
        "eta", eta, "large enough for the maximum entropy solution to be found", "try 10 times it"
    )


def _dual(y: Float, B: Float, linear: Float, log_widths: Float, eta: float) -> tuple[float, Float]:
    """D(y), and the masses pi(y)."""
    logits = log_widths - (y @ B) / eta
    total = float(logsumexp(logits))
    return float(linear @ y + 0.5 * (y @ y) + eta * total), np.exp(logits - total)
