"""The examples of docs/elsewhere.md that need no other library."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import truerank
from truerank.ranking import readers as foreign

PAGE = Path(__file__).parents[3] / "docs" / "elsewhere.md"


class Face(SimpleNamespace):
    """``tr`` of the page."""

    def __getattr__(self, name: str) -> Any:
        return getattr(foreign if name in foreign.__all__ else truerank, name)


def test_the_readers_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    readers = PAGE.read_text(encoding="utf-8").split("## Adapters")[0]
    blocks = re.findall(r"```python\n(.*?)```", readers, flags=re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, Any] = {"tr": Face(), "print": lambda *_: None}
    for block in blocks:
        exec(block.replace("import truerank as tr\n", ""), names)
    assert names["table"].header.ties == "pessimistic"
