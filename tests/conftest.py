"""Throws away stale compiled code; marks the slow tests; leaves out what needs extras.

``tests/slow_tests.txt`` names the slow ones, so that no test file has to know how long it takes.
With ``TRUERANK_CORE=1`` (``make test-core``) files that import a package that is not installed are
not collected: what is left needs no extra.
"""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

import pytest

import truerank

SLOW = Path(__file__).with_name("slow_tests.txt")


def _forget_stale_kernels() -> None:
    """numba's cache notices a change of the file of a function, not of what the function calls."""
    root = Path(truerank.__file__).parent
    compiled = [p for p in root.rglob("*.py") if "jit" in p.read_text()]
    newest = max(file.stat().st_mtime for file in compiled)
    for index in root.rglob("*.nbi"):
        if index.stat().st_mtime < newest:
            index.unlink(missing_ok=True)


_forget_stale_kernels()


def slow_tests() -> list[str]:
    """Folders, files and tests that take a second or more, each by the beginning of its id."""
    lines = SLOW.read_text(encoding="utf-8").splitlines()
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes long; left out by `make check`")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    slow = slow_tests()
    for item in items:
        if any(_begins(item.nodeid, name) for name in slow):
            item.add_marker(pytest.mark.slow)


def _begins(nodeid: str, name: str) -> bool:
    return nodeid.startswith(name) and nodeid[len(name) : len(name) + 1] in ("", "/", ":", "[")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if not os.environ.get("TRUERANK_CORE") or collection_path.suffix != ".py":
        return None
    lines = collection_path.read_text(encoding="utf-8")
    needed = set(re.findall(r"^\s*(?:import|from) (\w+)", lines, flags=re.MULTILINE))
    return True if any(not _installed(name) for name in needed) else None


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):
        return False
