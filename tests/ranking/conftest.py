"""Puts the slow reference beside the tests, and throws away compiled code that is out of date."""

from __future__ import annotations

import sys
from pathlib import Path

import truerank.ranking

sys.path.insert(0, str(Path(__file__).parent))


def _forget_stale_kernels() -> None:
    """numba's cache notices a change of the file of a function, not of what the function calls."""
    source = Path(truerank.ranking.__file__).parent
    compiled = (source / f"{name}.py" for name in ("draws", "ties", "scores", "kernels"))
    newest = max(file.stat().st_mtime for file in compiled)
    for index in (source / "__pycache__").glob("*.nbi"):
        if index.stat().st_mtime < newest:
            index.unlink(missing_ok=True)


_forget_stale_kernels()
