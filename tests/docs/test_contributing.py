"""The Python of docs/contributing runs as it stands, each page in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import ROOT

PAGES = sorted((ROOT / "docs" / "contributing").glob("add-*.md"))


def _program(page: Path) -> str:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), flags=re.S | re.M)
    assert blocks, "a page shows a small real example"
    return "\n\n".join(blocks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_example_of_the_page_runs(page: Path, tmp_path: Path) -> None:
    """In a process of its own, because pages add names to the tables; warnings are errors."""
    program = tmp_path / "example.py"
    program.write_text(_program(page), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "contributing" / "README.md").read_text("utf-8")
    linked = set(re.findall(r"\]\((add-[\w-]+\.md)\)", index))
    assert {page.name for page in PAGES} <= linked
