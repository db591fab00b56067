"""The examples of docs/elsewhere.md, one per library that is installed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapter_world import library

import truerank
from truerank.ranking import RankTable

PAGE = (Path(__file__).parents[2] / "docs" / "elsewhere.md").read_text(encoding="utf-8")
NUMPY_NAMES = ("float_", "complex_", "unicode_", "int", "float", "complex", "object", "str",
               "unicode", "bool", "long")  # fmt: skip
"""What the recipe for RecBole, and RecBole, set in numpy; put back afterwards."""


@pytest.mark.filterwarnings("ignore")  # of the libraries
@pytest.mark.parametrize("name", ["implicit", "irspack", "LensKit", "RecTools", "RecBole"])
def test_the_adapters_of_the_page(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library(name.lower())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["recbole"])
    for alias in NUMPY_NAMES:
        monkeypatch.setattr(np, alias, getattr(np, alias, None), raising=False)
    setup = PAGE.split("## Adapters")[1]
    section = PAGE.split(f"### {name}\n")[1].split("\n### ")[0]
    names: dict[str, Any] = {"tr": truerank}
    for text in (setup, section):
        exec(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)[0], names)
    ranks = names["ranks"]
    assert isinstance(ranks, RankTable)
    assert ranks.header.model.startswith(name)
    # A model that learnt anything beats chance, under which the mean of (rank - 1)/(n - 1) is 1/2.
    place = (ranks.rank - 1) / (ranks.n_sampled - 1)
    assert place.mean() < 0.5 - 4 / np.sqrt(12 * len(ranks))
