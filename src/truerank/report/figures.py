"""Figures, drawn by matplotlib, which is loaded only here and only when one is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.files import written_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "pdf", "svg")


def cost_curve_figure(
    sizes: ArrayLike, cost: ArrayLike, *, n_items: int, n_max: int, title: str = ""
) -> Figure:
    """The average cost C_j against the size n_j (``fig:sample_efficiency``).

    Args:
        sizes: n_j.
        cost: C_j; infinite ones are left out.
        n_items: Number of candidates: what ranking a user in full costs.
        n_max: The recommended largest size.
        title: Printed above.
    """
    n, c = np.asarray(sizes), np.asarray(cost, dtype=np.float64)
    drawn = np.isfinite(c)
    if not drawn.any():
        raise InvalidDataError("no rank leaves 1 at any size, so there is no curve to draw")
    figure, axes = _figure(title)
    axes.plot(n[drawn], c[drawn], marker="o", label=r"$C_j$: items per user resolved")
    axes.axhline(n_items, linestyle="--", color="grey", label=f"all {n_items:,} candidates")
    axes.axvline(n_max, linestyle=":", color="tab:red", label=f"n_max = {n_max:,}")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(n[drawn], [f"{size:,}" for size in n[drawn]], rotation=45)
    axes.set_xlabel("sample size $n_j$")
    axes.set_ylabel("scored items per user whose rank leaves 1")
    axes.legend()
    return figure


def figure_format(path: str | Path) -> str:
    """The format that a file's ending names, or a refusal."""
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise InvalidArgumentError(
            "out", str(path), f"a file name that ends in {', '.join('.' + f for f in FORMATS)}"
        )
    return ending


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Write a figure, whole or not at all; the format is the file's ending.

    The same figure is the same file: without the date, and with names that are not drawn at random.
    """
    from matplotlib import rc_context

    ending = figure_format(path)
    plain = {"Date": None} if ending == "svg" else None
    with written_whole(path) as temporary, rc_context({"svg.hashsalt": "truerank"}):
        figure.savefig(temporary, format=ending, dpi=150, metadata=plain)
    return Path(path)


def _figure(title: str) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    if title:
        axes.set_title(title)
    axes.grid(alpha=0.3)
    return figure, axes
