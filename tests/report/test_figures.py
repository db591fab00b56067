from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InvalidArgumentError, InvalidDataError, StorageError
from truerank.estimators.methods.mapping import mapping_function
from truerank.estimators.simulate import simulate
from truerank.report.figures import cost_curve_figure, mapping_figure, save_figure


@pytest.fixture
def exact() -> tr.RankTable:
    rank = np.random.default_rng(1).integers(1, 1_001, 500)
    return tr.RankTable.from_arrays(rank=rank, n_sampled=1_000, n_items=1_000)


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


def test_mapping_figure_shows_the_mapped_points_and_the_exact_curve(exact: tr.RankTable) -> None:
    table = simulate(exact, tr.Sampled(n=50, replacement=True), seed=2)
    figure = mapping_figure(table, exact, mappings=[("bound", None), ("beta", 0.5)], top=200)
    truth, bound, beta = figure.axes[0].lines
    assert truth.get_ydata()[9] == pytest.approx((exact.rank <= 10).mean())
    f = mapping_function("bound", 50, 1_000)
    shown = len(bound.get_xdata())
    assert bound.get_xdata().tolist() == f[:shown].tolist()
    assert f[shown - 1] > 200 >= f[shown - 2]
    assert bound.get_ydata()[2] == pytest.approx((table.rank <= 3).mean())
    assert beta.get_label() == "beta@0.5"


def test_mistakes_are_one_sentence(exact: tr.RankTable, tmp_path: Path) -> None:
    table = simulate(exact, tr.Sampled(n=50), seed=2)
    with pytest.raises(InvalidDataError, match="sampled ones"):
        mapping_figure(table, table)
    with pytest.raises(InvalidDataError, match="no rank leaves"):
        cost_curve_figure([100], [np.inf], n_items=10, n_max=100)
    figure = mapping_figure(table, top=10)
    with pytest.raises(InvalidArgumentError, match=r"\.png"):
        save_figure(figure, tmp_path / "figure.doc")
    with pytest.raises(StorageError, match="does not exist"):
        save_figure(figure, tmp_path / "nowhere" / "figure.png")
