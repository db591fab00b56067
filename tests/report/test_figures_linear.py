from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.report.figures import save_figure
from truerank.report.figures_linear import learned_lambdas_figure, shrinkage_figure

SIGMA = np.array([20.0, 10.0, 5.0, 2.0])


def test_shrinkage_draws_both_models_by_their_formulas(tmp_path: Path) -> None:
    figure = shrinkage_figure(SIGMA, l2=100.0, mf_l2=4.0, title="a title")
    left, right = figure.axes
    plain, lrr, mf = (line.get_ydata() for line in left.lines)
    assert plain.tolist() == SIGMA.tolist()
    assert lrr == pytest.approx([20 / (1 + 100 / 400), 10 / 2, 5 / 5, 2 / 26])
    assert mf == pytest.approx([16, 6, 1, 0])  # the last is clipped
    ratios = [line.get_ydata() for line in right.lines]
    assert ratios[0] == pytest.approx([400 / 500, 100 / 200, 25 / 125, 4 / 104])
    assert ratios[1] == pytest.approx([16 / 20, 6 / 10, 1 / 5, 0])
    assert [text.get_text() for text in left.get_legend().get_texts()][1:] == [
        r"LRR, $\lambda$ = 100",
        r"MF, $\lambda'$ = 4",
    ]
    assert save_figure(figure, tmp_path / "shrinkage.svg").stat().st_size > 1_000


def test_learned_lambdas_beside_the_constant_one(tmp_path: Path) -> None:
    lambdas = np.array([150.0, 110.0, 90.0, 60.0])
    figure = learned_lambdas_figure(SIGMA, lambdas, l2=100.0)
    left, right = figure.axes
    constant, adjusted = (line.get_ydata() for line in left.lines)
    assert constant == pytest.approx([16, 5, 1, 8 / 104])
    assert adjusted == pytest.approx([8000 / 550, 1000 / 210, 125 / 115, 8 / 64])
    assert right.lines[1].get_ydata().tolist() == lambdas.tolist()
    assert right.lines[1].get_xdata().tolist() == [1, 2, 3, 4]
    assert save_figure(figure, tmp_path / "lambdas.png").stat().st_size > 1_000


def test_mistakes_are_one_sentence() -> None:
    with pytest.raises(InvalidDataError, match="sigma must be positive and descending"):
        shrinkage_figure([1.0, 2.0], l2=1.0, mf_l2=1.0)
    with pytest.raises(InvalidArgumentError, match="mf_l2 must be at least 0"):
        shrinkage_figure(SIGMA, l2=1.0, mf_l2=-1.0)
    with pytest.raises(InvalidArgumentError, match=r"of shape \(4,\) like sigma"):
        learned_lambdas_figure(SIGMA, [1.0, 2.0, 3.0], l2=1.0)
    with pytest.raises(InvalidArgumentError, match="a list of numbers"):
        learned_lambdas_figure([], [], l2=1.0)
