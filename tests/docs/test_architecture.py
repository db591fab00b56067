"""docs/architecture.md, .importlinter and the folders agree; the request flows as it says."""

from __future__ import annotations

import inspect
import re
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tests.docs.pages import SOURCE, text_of

PAGE = text_of(Path("docs/architecture.md"))
FLOW = PAGE.partition("## How a request flows")[2]


def _layers() -> list[set[str]]:
    """The layers of .importlinter, top first."""
    contract = text_of(Path(".importlinter")).partition("layers =")[2].partition("[")[0]
    lines = [line.strip() for line in contract.splitlines() if line.strip()]
    return [{room.strip().removeprefix("truerank.") for room in line.split("|")} for line in lines]


def _on_disk() -> set[str]:
    folders = {p.parent.name for p in SOURCE.glob("*/__init__.py")}
    return folders | {p.stem for p in SOURCE.glob("*.py") if not p.stem.startswith("__")}


def _drawn() -> list[set[str]]:
    rooms = set().union(*_layers()) | _on_disk()
    drawing = PAGE.partition("## The rooms")[2].partition("| room |")[0]
    lines = [line for line in drawing.splitlines() if line.startswith("    ")]
    return [{word for word in line.split() if word in rooms} for line in lines]


def _in_table() -> list[str]:
    rows = re.findall(r"^\| (`.*?) \|", PAGE, flags=re.MULTILINE)
    return [room for row in rows for room in re.findall(r"`(\w+)`", row)]


def test_every_room_is_under_the_rules_and_every_rule_has_a_room() -> None:
    assert set().union(*_layers()) == _on_disk()


def test_the_drawing_is_the_one_that_is_checked() -> None:
    assert _drawn() == _layers()


def test_the_table_has_every_room_once() -> None:
    assert sorted(_in_table()) == sorted(_on_disk())


def test_no_folder_is_crowded() -> None:
    crowded = {
        str(folder.relative_to(SOURCE)): count
        for folder in SOURCE.rglob("*")
        if folder.is_dir() and (count := len(list(folder.glob("*.py")))) > 20
    }
    assert not crowded


def test_the_request_flows_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every module that the page names is entered by the example, which runs as it stands."""
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", FLOW, flags=re.DOTALL)
    entered: set[str] = set()

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        if frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # a function, not a module being loaded
            entered.add(frame.f_code.co_filename)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        exec(compile(example, "example", "exec"), {})
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    named = re.findall(r"`([\w/]+\.py)`", FLOW.partition("```\n")[2])
    assert len(named) > 20
    assert not [name for name in named if str(SOURCE / name) not in entered]
    assert (tmp_path / "report.html").exists()
