"""Throws away compiled code that is out of date, before any test uses it."""

from __future__ import annotations

from pathlib import Path

import truerank


def _forget_stale_kernels() -> None:
    """numba's cache notices a change of the file of a function, not of what the function calls."""
    root = Path(truerank.__file__).parent
    compiled = [p for p in root.rglob("*.py") if "jit" in p.read_text()]
    newest = max(file.stat().st_mtime for file in compiled)
    for index in root.rglob("*.nbi"):
        if index.stat().st_mtime < newest:
            index.unlink(missing_ok=True)


_forget_stale_kernels()
