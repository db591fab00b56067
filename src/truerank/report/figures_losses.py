"""The figure of a hyper-parameter of losses: the validation metric over its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from truerank.errors import InvalidDataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def parameter_figure(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    *,
    parameter: str,
    metric: str,
    title: str = "",
) -> Figure:
    """A panel for each loss, because values of different losses lie far apart.

    Args:
        curves: (value of the parameter, metric) by name of the loss.
        parameter: What is varied.
        metric: What came out.
        title: Printed above.
    """
    from matplotlib.figure import Figure

    if not curves or not all(curves.values()):
        raise InvalidDataError("there is no curve to draw; give each loss a value or more")
    figure = Figure(figsize=(3.6 * len(curves) + 0.6, 3.6), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(curves)))
    for axes, (name, points) in zip(panels, curves.items(), strict=True):
        x, y = zip(*sorted(points), strict=True)
        axes.plot(x, y, marker="o")
        best = int(np.argmax(y))
        axes.plot(x[best], y[best], marker="o", color="tab:red", label=f"best: {x[best]:g}")
        if min(x) > 0:
            axes.set_xscale("log")
        axes.set_xticks(x, [f"{value:g}" for value in x], minor=False)
        axes.set_xticks([], minor=True)
        axes.set_title(name)
        axes.set_xlabel(parameter)
        axes.grid(alpha=0.3)
        axes.legend()
    panels[0].set_ylabel(metric)
    if title:
        figure.suptitle(title)
    return figure
