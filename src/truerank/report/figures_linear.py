r"""Figures of the linear models: how singular values are shrunk, and the learned lambda_i.

Low-rank regression multiplies the i-th principal component by
:math:`\sigma_i^2 / (\sigma_i^2 + \lambda_i)`, regularised factorisation by
:math:`(\sigma_i - \lambda')_+ / \sigma_i`. Each figure shows the shrunk singular values on the left
and what shrinks them on the right, over the rank of the component.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from truerank.arrays import Float
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.models.linear.grid_of_spectrum import shrink_factorisation, shrink_regression

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def shrinkage_figure(sigma: ArrayLike, *, l2: float, mf_l2: float, title: str = "") -> Figure:
    """LRR beside MF: shrunk singular values, and compression ratios (``fig:example``).

    Args:
        sigma: Singular values, descending.
        l2: lambda of the regression.
        mf_l2: lambda' of the factorisation.
        title: Printed above.
    """
    values = _descending("sigma", sigma)
    for name, penalty in (("l2", l2), ("mf_l2", mf_l2)):
        if not 0 <= penalty < np.inf:
            raise InvalidArgumentError(name, penalty, "at least 0 and finite")
    figure, left, right = _panels(title)
    i = np.arange(1, len(values) + 1)
    left.plot(i, values, color="grey", linestyle="--", label=r"$\sigma_i$")
    for ratio, label in (
        (shrink_regression(values, l2), rf"LRR, $\lambda$ = {l2:,g}"),
        (shrink_factorisation(values, mf_l2), rf"MF, $\lambda'$ = {mf_l2:,g}"),
    ):
        left.plot(i, values * ratio, label=label)
        right.plot(i, ratio, label=label)
    left.set_ylabel("singular value")
    left.set_yscale("symlog", linthresh=1.0)
    left.set_ylim(bottom=0)
    right.set_ylabel("compression ratio")
    right.set_ylim(0, 1.02)
    _finish(left, right)
    return figure


def learned_lambdas_figure(
    sigma: ArrayLike, lambdas: ArrayLike, *, l2: float, title: str = ""
) -> Figure:
    """Adjusted singular values, and the learned lambda_i (``fig:parameterresults``).

    Args:
        sigma: Singular values, descending.
        lambdas: The learned lambda_i, one for each.
        l2: The lambda that learning started from.
        title: Printed above.
    """
    values, learned = _descending("sigma", sigma), np.asarray(lambdas, dtype=np.float64)
    if learned.shape != values.shape:
        raise InvalidArgumentError(
            "lambdas", f"of shape {learned.shape}", f"of shape {values.shape} like sigma"
        )
    figure, left, right = _panels(title)
    i = np.arange(1, len(values) + 1)
    constant = values * shrink_regression(values, l2)
    adjusted = values * values**2 / (values**2 + learned)
    left.plot(i, constant, color="grey", linestyle="--", label=rf"constant $\lambda$ = {l2:,g}")
    left.plot(i, adjusted, label=r"learned $\lambda_i$")
    left.set_ylabel("adjusted singular value")
    left.set_yscale("log")
    right.axhline(l2, color="grey", linestyle="--", label=rf"$\lambda$ = {l2:,g}")
    right.plot(i, learned, ".", markersize=3, label=r"$\lambda_i$")
    right.set_ylabel(r"$\lambda_i$")
    _finish(left, right)
    return figure


def _descending(name: str, values: ArrayLike) -> Float:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or len(array) == 0:
        raise InvalidArgumentError(name, f"of shape {array.shape}", "a list of numbers")
    if not (np.isfinite(array).all() and (array > 0).all() and (np.diff(array) <= 0).all()):
        raise InvalidDataError(f"{name} must be positive and descending, as singular values are")
    return array


def _panels(title: str) -> tuple[Figure, Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    if title:
        figure.suptitle(title)
    return figure, left, right


def _finish(*panels: Any) -> None:
    for axes in panels:
        axes.set_xscale("log")
        axes.set_xlabel("component $i$")
        axes.grid(alpha=0.3)
        axes.legend()
