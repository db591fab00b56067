"""Figures of screened ranking: who is dropped at which stage, and error against seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from truerank.arrays import Float, Int

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class CostPoint(NamedTuple):
    """A design on one model: a mark in the panel of its catalogue.

    Attributes:
        panel: Title of the panel.
        design: What the legend calls it.
        model: Models have marks of different shapes.
        seconds: CPU seconds for a thousand users.
        error: Mean relative error, as a share; 0 of exact ranks.
    """

    panel: str
    design: str
    model: str
    seconds: float
    error: float


def survival_figure(sizes: Int, ranks: Int, alive: Float, *, k: int) -> Figure:
    """For each true rank, the part of the rows that every stage drops.

    Args:
        sizes: Items met by the end of each stage; the last are all.
        ranks: True ranks.
        alive: The part of the rows of each rank (rows) that goes on from each stage but the last.
        k: The rank for which the screen is certified.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 4.6), layout="constrained")
    axes = figure.add_subplot()
    n_stages = alive.shape[1]
    shades = colormaps["YlGnBu"](np.linspace(0.08, 0.72, n_stages))
    upper = np.ones(len(ranks))
    for j in range(n_stages):
        label = f"dropped after {sizes[j]:,} items"
        axes.fill_between(ranks, alive[:, j], upper, color=shades[j], label=label, linewidth=0)
        upper = alive[:, j]
    axes.fill_between(ranks, 0, upper, color="#0b1f4b", label=f"ranked among all {sizes[-1]:,}")
    axes.axvline(k, color="tab:red", linestyle="--", linewidth=1.2)
    axes.annotate(
        f"rank {k}", (k, 1.0), (0, 3), textcoords="offset points", ha="center", color="tab:red"
    )
    axes.set_xscale("log")
    axes.set_xlim(ranks[0], ranks[-1])
    _plain_numbers(axes.xaxis, "")
    axes.set_ylim(0, 1)
    axes.set_yticks(np.linspace(0, 1, 5), ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlabel("true rank of the held-out item")
    axes.set_ylabel("share of such rows")
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False
    )
    return figure


def cost_figure(points: Sequence[CostPoint], styles: Mapping[str, str], *, floor: float) -> Figure:
    """Error against seconds, both logarithmic, a panel for each catalogue, one below the other.

    Args:
        points: The marks. A design without error is a line at its seconds.
        styles: Colour of each design, in the order of the legend.
        floor: Smaller errors are drawn here.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    panels, models = _distinct(p.panel for p in points), _distinct(p.model for p in points)
    figure = Figure(figsize=(5.6, 3.0 * len(panels) + 1.2), layout="constrained")
    shapes = dict(zip(models, "osD^", strict=False))
    for axes, panel in zip(np.atleast_1d(figure.subplots(len(panels))), panels, strict=True):
        for p in (p for p in points if p.panel == panel):
            if p.error == 0:
                axes.axvline(p.seconds, color=styles[p.design], linestyle="--", linewidth=1)
                continue
            face = styles[p.design] if p.model == models[0] else "white"
            axes.plot(
                p.seconds, 100 * max(p.error, floor), marker=shapes[p.model], markersize=7,
                color=styles[p.design], markerfacecolor=face, markeredgewidth=1.6,
            )  # fmt: skip
        axes.set_title(panel, fontsize=10)
        _log_axes(axes)
    axes.set_xlabel("CPU seconds for 1,000 users")
    handles: list[Any] = [
        Line2D([], [], color=colour, marker="o", linestyle="")
        if any(p.error for p in points if p.design == design)
        else Line2D([], [], color=colour, linestyle="--")
        for design, colour in styles.items()
    ]
    names = list(styles)
    for model in models:
        filled = "grey" if model == models[0] else "white"
        mark = Line2D([], [], color="grey", marker=shapes[model], linestyle="")
        mark.set_markerfacecolor(filled)
        handles.append(mark)
        names.append(model)
    figure.legend(handles, names, loc="outside lower center", ncols=2, fontsize=9, frameon=False)
    return figure


def _log_axes(axes: Any) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    _plain_numbers(axes.xaxis, "")
    _plain_numbers(axes.yaxis, " %")
    axes.set_ylabel("mean error")
    axes.grid(alpha=0.3)


def _plain_numbers(axis: Any, unit: str) -> None:
    """0.01 instead of a power of ten, and 1, 2, 5 where there is less than a decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    steps = (1.0,) if high / low > 100 else (1.0, 2.0, 5.0)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}{unit}"))
    axis.set_minor_formatter(NullFormatter())


def _distinct(names: Any) -> list[str]:
    return list(dict.fromkeys(names))
