"""Figures of screened ranking say what they were given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truerank.report.figures import save_figure
from truerank.report.figures_screening import CostPoint, cost_figure, survival_figure

pytest.importorskip("matplotlib")


def test_bands_fill_every_column_from_the_survivors_to_all() -> None:
    ranks = np.array([1, 10, 100])
    alive = np.array([[1.0, 0.9], [0.8, 0.5], [0.1, 0.0]])
    (axes,) = survival_figure(np.array([50, 200, 1_000]), ranks, alive, k=10).axes
    heights = [band.get_paths()[0].vertices[:, 1] for band in axes.collections]
    assert len(heights) == 3
    assert max(heights[0]) == 1.0
    assert min(heights[-1]) == 0.0
    labels = [band.get_label() for band in axes.collections]
    assert labels == ["dropped after 50 items", "dropped after 200 items", "ranked among all 1,000"]


def test_a_panel_for_each_catalogue_and_a_line_for_what_has_no_error(tmp_path: Path) -> None:
    points = [
        CostPoint("small", "full", "factors", 1.0, 0.0),
        CostPoint("small", "sampled", "factors", 0.1, 0.2),
        CostPoint("large", "sampled", "other", 0.1, 1e-9),
    ]
    figure = cost_figure(points, {"full": "black", "sampled": "tab:blue"}, floor=1e-4)
    small, large = figure.axes
    assert [axes.get_title() for axes in figure.axes] == ["small", "large"]
    assert len(small.lines) == 2
    assert small.lines[0].get_xdata() == [1.0, 1.0]
    assert large.lines[0].get_ydata() == [pytest.approx(0.01)]
    assert [text.get_text() for text in figure.legends[0].texts] == [
        "full", "sampled", "factors", "other",
    ]  # fmt: skip
    again = cost_figure(points, {"full": "black", "sampled": "tab:blue"}, floor=1e-4)
    files = [save_figure(f, tmp_path / f"{i}.svg") for i, f in enumerate((figure, again))]
    assert files[0].read_bytes() == files[1].read_bytes()
