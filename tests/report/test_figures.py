from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truerank.errors import InvalidArgumentError, InvalidDataError, StorageError
from truerank.report.figures import cost_curve_figure, save_figure


def test_cost_curve_draws_what_it_is_given(tmp_path: Path) -> None:
    figure = cost_curve_figure(
        [100, 200, 400], [120.0, np.inf, 900.0], n_items=1_000, n_max=400, title="a title"
    )
    (axes,) = figure.axes
    assert axes.get_title() == "a title"
    assert axes.lines[0].get_xdata().tolist() == [100, 400]
    assert axes.lines[0].get_ydata().tolist() == [120.0, 900.0]
    for ending in ("png", "pdf", "svg"):
        path = save_figure(figure, tmp_path / f"cost.{ending}")
        assert path.stat().st_size > 1_000
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cost.pdf", "cost.png", "cost.svg"]


def test_the_same_figure_is_the_same_file(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        figure = cost_curve_figure([100, 400], [120.0, 900.0], n_items=1_000, n_max=400)
        save_figure(figure, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_mistakes_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match="no rank leaves"):
        cost_curve_figure([100], [np.inf], n_items=10, n_max=100)
    figure = cost_curve_figure([100, 400], [120.0, 900.0], n_items=1_000, n_max=400)
    with pytest.raises(InvalidArgumentError, match=r"\.png"):
        save_figure(figure, tmp_path / "figure.doc")
    with pytest.raises(StorageError, match="does not exist"):
        save_figure(figure, tmp_path / "nowhere" / "figure.png")
