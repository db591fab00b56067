r"""``auto``: a smooth distribution of ranks, its smoothness chosen from the data.

**Model.** The density of ranks, per rank, is the exponential of a smooth function of

.. math::  x(R) = \log R - \log(N + 1 - R + \tfrac{3}{10} N),

which is log-rank at the top and flattens towards the end of the list. With cubic B-splines
:math:`Q` on :math:`x` and bins of width :math:`w_j`,

.. math::  \pi_j \propto w_j \exp\{(Qb)_j\}.

**Objective.** The log-likelihood of the cells, less a penalty on the curvature of the
log-density that may differ along the list (three hat functions :math:`h_k`, top to tail):

.. math::
    \max_b \; \sum_c m_c \log (A\pi)_c - \tfrac12 \sum_k \lambda_k \int h_k(x) f''(x)^2 dx .

**Strengths.** :math:`\lambda` maximises the Laplace approximation of the marginal likelihood
(REML), by Fellner-Schall steps [wood2017]_ between Newton steps, under a weak gamma prior (shape
1/2) at the values that exact ranks of real models show. Large :math:`\lambda` leaves a power law.

**Estimate.** The metric of *these* users: each cell's posterior mean under the smooth prior,

.. math::  \hat p_j = \pi_j \sum_c s_c \frac{A_{cj}}{(A\pi)_c},

one unpenalised EM step, so that rows with exact ranks count exactly. This is g-modelling
[efron2016]_ with a data-chosen penalty: where the samples are blind, it extrapolates the
log-density in log-rank as straight as the data allow, and the identification bounds say so.

Valid for any mixture of sample sizes and numbers of candidates. Errors against the
dissertation's early-stopped EM are measured in docs/accuracy.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline

from truerank.arrays import Float
from truerank.errors import InvalidArgumentError
from truerank.estimators.grid import RankGrid
from truerank.estimators.problem import DistributionEstimator, Problem

TYPICAL_LOG_STRENGTHS = (5.0, 1.5, -4.0)
"""log lambda at the top, middle and tail that exact ranks of 34 real model/data pairs show."""

NEAR = 1.0
"""What a Newton step may still gain, in log-likelihood, when the strengths are set free. Far from
the optimum the curvature of b is that of the way there: the strengths would follow it down to
nothing, and b would be lost."""

_SMALL = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class SplineBasis:
    """Basis and penalties on one grid.

    Attributes:
        Q: Values of the splines at the bins, ``(len(grid), n_splines)``.
        penalties: One curvature penalty per hat function.
        hats: The hat functions at the penalty's knots.
        ridge: Pins what the likelihood leaves free: the constant.
        log_widths: log of the ranks in each bin.
    """

    Q: Float
    penalties: Float
    hats: Float
    ridge: Float
    log_widths: Float

    @classmethod
    def of(cls, grid: RankGrid, n_splines: int) -> SplineBasis:
        """The basis for a grid; fewer splines than bins."""
        n = max(4, min(n_splines, len(grid)))
        x = _log_rank(grid.centres, grid.n_items)
        ends = _log_rank(np.array([1.0, grid.n_items]), grid.n_items)
        low, high = ends[0] - 1e-9, ends[1] + 1e-9
        h = (high - low) / (n - 3)
        knots = low + h * np.arange(-3, n + 1)
        Q = BSpline.design_matrix(np.clip(x, low, high), knots, 3).toarray()
        curvature = np.diff(np.eye(n), 2, axis=0) / h**1.5
        place, centre = np.linspace(0, 1, n - 2), np.linspace(0, 1, len(TYPICAL_LOG_STRENGTHS))
        hats = np.maximum(0.0, 1.0 - np.abs(place - centre[:, None]) * (len(centre) - 1))
        penalties = np.stack([curvature.T @ (hat[:, None] * curvature) for hat in hats])
        ridge = 1e-5 * np.eye(n) + np.full((n, n), 1.0 / n)
        return cls(Q, penalties, hats, ridge, np.log(grid.widths))

    def density(self, b: Float) -> Float:
        """Bin masses for coefficients ``(n_splines,)`` or ``(n_splines, B)``."""
        log_mass = self.Q @ b + (self.log_widths if b.ndim == 1 else self.log_widths[:, None])
        mass = np.exp(log_mass - log_mass.max(axis=0))
        return np.asarray(mass / mass.sum(axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class SmoothFit:
    """A fitted smooth distribution.

    Attributes:
        b: Spline coefficients.
        strengths: The chosen lambda.
        covariance: Inverse of the penalised information.
        penalty: Sum of lambda_k times its penalty, plus the ridge.
    """

    b: Float
    strengths: Float
    covariance: Float
    penalty: Float


def fit_smooth(
    A: Float, counts: Float, basis: SplineBasis, *, strengths: Float | None = None, most: int = 100
) -> SmoothFit:
    """Penalised Newton on b, with Fellner-Schall steps on lambda unless it is given."""
    seen = counts > 0
    m = counts[seen]
    A = A[seen] / np.maximum(A[seen].max(axis=1, keepdims=True), _SMALL)
    mode = np.exp(np.array(TYPICAL_LOG_STRENGTHS))
    free, near = strengths is None, False
    lam = mode.copy() if strengths is None else strengths
    b = np.zeros(basis.Q.shape[1])
    pi = basis.density(b)
    p = np.maximum(A @ pi, _SMALL)
    fit = m @ np.log(p)
    for _ in range(most):
        S = np.tensordot(lam, basis.penalties, 1) + basis.ridge
        scores = (A @ (pi[:, None] * basis.Q)) / p[:, None] - pi @ basis.Q
        V = _inverse((scores * m[:, None]).T @ scores + S)
        gradient = scores.T @ m - S @ b
        direction = V @ gradient
        before, length = fit - 0.5 * b @ S @ b, 1.0
        while True:
            trial = b + length * direction
            pi = basis.density(trial)
            p = np.maximum(A @ pi, _SMALL)
            fit = m @ np.log(p)
            if fit - 0.5 * trial @ S @ trial >= before - 1e-9 or length < 1e-3:
                break
            length /= 2.0
        b = trial
        gain, moved = float(gradient @ direction), 0.0
        if free and (near := near or gain < NEAR):
            new = _stronger_or_weaker(basis, lam, mode, V, b)
            moved = float(np.abs(np.log(new / lam)).max())
            lam = new
        if gain < (1e-2 if free else 1e-6) and moved < 0.05:
            break
    S = np.tensordot(lam, basis.penalties, 1) + basis.ridge
    scores = (A @ (pi[:, None] * basis.Q)) / p[:, None] - pi @ basis.Q
    V = _inverse((scores * m[:, None]).T @ scores + S)
    return SmoothFit(b, lam, V, S)


def _stronger_or_weaker(basis: SplineBasis, lam: Float, mode: Float, V: Float, b: Float) -> Float:
    """One Fellner-Schall step: effective degrees of freedom over squared curvature."""
    shape = 0.5
    freedom = lam * (
        (basis.hats / (lam @ basis.hats)).sum(axis=1) - np.einsum("ij,kji->k", V, basis.penalties)
    )
    curvature = np.einsum("i,kij,j->k", b, basis.penalties, b)
    new = (np.maximum(freedom, 1e-9) + 2 * shape) / (curvature + 2 * shape / mode)
    return np.asarray(np.clip(np.clip(new, lam / 8, lam * 8), 1e-5, 1e8), dtype=np.float64)


def _inverse(matrix: Float) -> Float:
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def posterior_mean(A: Float, shares: Float, pi: Float) -> Float:
    """Mean over the rows of P(bin | cell): one EM step from pi."""
    p = np.maximum(A @ pi, _SMALL)
    return np.asarray(pi * (A.T @ (shares / p)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Smooth(DistributionEstimator):
    """``auto``: see the module.

    With several columns of shares, the first is the sample itself: it gives the strengths, and
    the others (resamples) are refitted at these strengths by Newton steps with its curvature,
    shortened where they would lose, all at once.

    Attributes:
        n_splines: Size of the basis; more changes nothing, the penalty decides.
        strengths: lambda at the top, middle and tail; None chooses them from the data.
        refit_steps: Newton steps for each resample, at most.
    """

    n_splines: int = 40
    strengths: tuple[float, float, float] | None = None
    refit_steps: int = 30

    def __post_init__(self) -> None:
        if self.n_splines < 6:
            raise InvalidArgumentError("n_splines", self.n_splines, "at least 6")
        if self.strengths is not None and not all(s > 0 for s in self.strengths):
            raise InvalidArgumentError("strengths", self.strengths, "three positive numbers")

    def distribution(self, problem: Problem, shares: Float) -> Float:
        """Bin masses for these users: posterior means under the smooth prior."""
        basis = SplineBasis.of(problem.grid, self.n_splines)
        first = shares if shares.ndim == 1 else shares[:, 0]
        fit = self._fit(problem, first, basis)
        own = posterior_mean(problem.A, first, basis.density(fit.b))
        if shares.ndim == 1:
            return own
        others = self._refit(problem, shares[:, 1:], basis, fit)
        return np.concatenate([own[:, None], others], axis=1)

    def _fit(self, problem: Problem, shares: Float, basis: SplineBasis) -> SmoothFit:
        """The fit to a sample; other resamples of it find it again."""
        key = (self, shares.tobytes())
        known = None if problem.fits is None else problem.fits.get(key)
        if isinstance(known, SmoothFit):
            return known
        given = None if self.strengths is None else np.array(self.strengths)
        fit = fit_smooth(problem.A, problem.n_rows * shares, basis, strengths=given)
        if problem.fits is not None:
            problem.fits[key] = fit
        return fit

    def _refit(self, problem: Problem, shares: Float, basis: SplineBasis, fit: SmoothFit) -> Float:
        """Fits of many resamples at fixed strengths and curvature: matrix products only."""
        seen = shares.any(axis=1)
        A, counts = problem.A[seen], problem.n_rows * shares[seen]
        b = np.repeat(fit.b[:, None], shares.shape[1], axis=1)
        left = np.arange(shares.shape[1])
        length = np.ones(len(left))
        gradient, value = _ascent(A, counts, basis, fit.penalty, b)
        for _ in range(self.refit_steps):
            step = fit.covariance @ gradient
            # What a step may still gain, in units of the log-likelihood.
            going = np.einsum("kb,kb->b", gradient, step) > 1e-3
            if not going.any():
                break
            left, length, gradient, value = (
                left[going], length[going], gradient[:, going], value[going]
            )  # fmt: skip
            trial = b[:, left] + length * step[:, going]
            ahead, reached = _ascent(A, counts[:, left], basis, fit.penalty, trial)
            # The sample's curvature may be too flat for a resample: a step that loses is undone.
            better = reached >= value - 1e-9
            b[:, left[better]] = trial[:, better]
            gradient[:, better], value[better] = ahead[:, better], reached[better]
            length = np.where(better, np.minimum(1.0, 2.0 * length), length / 4.0)
        return posterior_mean(A, shares[seen], basis.density(b))


def _ascent(
    A: Float, counts: Float, basis: SplineBasis, penalty: Float, b: Float
) -> tuple[Float, Float]:
    """Gradient and value of the penalised log-likelihood, for each column of ``b``."""
    pi = basis.density(b)
    p = np.maximum(A @ pi, _SMALL)
    expected = pi * (A.T @ (counts / p))
    Sb = penalty @ b
    gradient = basis.Q.T @ (expected - counts.sum(axis=0) * pi) - Sb
    value = np.einsum("cb,cb->b", counts, np.log(p)) - 0.5 * np.einsum("kb,kb->b", b, Sb)
    return np.asarray(gradient), np.asarray(value)


def _log_rank(ranks: Float, n_items: int) -> Float:
    return np.log(ranks) - np.log(n_items + 1.0 - ranks + 0.3 * n_items)
