"""docs/api.md is the one its script writes, and says of every public name what a user gets."""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from tests.docs.pages import ROOT

import truerank as tr

OURSELVES = re.compile(r"(?i)(helper|internal|todo|this (function|class|method))")


def _script() -> ModuleType:
    spec = spec_from_file_location("docs_api", ROOT / "docs" / "api.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return _script()


def test_the_page_is_the_one_the_script_writes(script: ModuleType) -> None:
    page = Path(ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert page == script.page(), "run python docs/api.py"


def test_no_public_name_is_missing(script: ModuleType) -> None:
    named = {entry.name for entries in script.everything().values() for entry in entries}
    for name in set(tr.__all__) - set(script.ROOMS) - {"__version__"}:
        assert f"tr.{name}" in named
    assert {f"tr.models.{name}" for name in tr.models.__all__} <= named
    assert {f"tr.losses.{name}" for name in tr.losses.LOSSES} <= named


def test_first_lines_say_what_a_user_gets(script: ModuleType) -> None:
    """A sentence that ends, in a breath, and not about ourselves."""
    faults = []
    for entries in script.everything().values():
        for entry in entries:
            words = entry.line.split()
            told = entry.line.endswith((".", "?")) and len(words) >= 2 and len(entry.line) < 400
            if not told or OURSELVES.match(entry.line):
                faults.append((entry.name, entry.line))
    assert not faults
