"""docs/screening.md: the picture's probabilities are right, and its script makes a whole page."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import numpy as np
import pytest
from tests.docs.pages import ROOT

from truerank.ranking.screening.certificate import drop_probability
from truerank.ranking.stages import Stages

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = spec_from_file_location("docs_screening", ROOT / "docs" / "screening.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_who_survives_is_what_random_orders_say(script: ModuleType) -> None:
    stages = Stages(np.array([10, 30, 100]), np.array([2, 3, 0]), np.ones(3), 200)
    ranks = np.array([1, 2, 5, 12, 40, 95, 100])
    alive = script.survival(stages, ranks, 100)
    generator = np.random.default_rng(0)
    places = np.argsort(generator.random((20_000, 100)), axis=1)  # of items, best first
    for rank, expected in zip(ranks, alive, strict=True):
        above = places[:, : rank - 1]
        first = (above < 10).sum(axis=1) <= 1
        both = first & ((above < 30).sum(axis=1) <= 2)
        for mean, share in ((first.mean(), expected[0]), (both.mean(), expected[1])):
            assert abs(mean - share) <= 4 * np.sqrt(share * (1 - share) / 20_000) + 1e-12
    assert (1 - alive[:, -1] <= drop_probability(ranks, 100, stages) + 1e-12).all()


def test_every_place_of_the_template_is_filled(script: ModuleType) -> None:
    page = (ROOT / "docs" / "screening.md").read_text("utf-8")
    code = script._EXAMPLE
    assert code in page
    template = script.TEXT.read_text(encoding="utf-8")
    for line in template.splitlines():
        if line and "{" not in line and "| " not in line:
            assert line in page, "run python docs/screening.py"
