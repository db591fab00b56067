"""No kernel leaves its arrays; no kernel is left out. ``make test-bounds`` does more of it."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from tests.bounds.guarded import CASES
from tests.bounds.kernels import kernels_in
from tests.bounds.run import run_checked


def test_every_kernel_stays_within_its_arrays() -> None:
    """Under NUMBA_BOUNDSCHECK=1, compiled anew; a kernel that no work reaches fails it too."""
    done = run_checked()
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    assert "kernels ran with their indices checked" in done.stdout


def guarded(case: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.bounds.guarded", case],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("case", [case for case in CASES if case != "beyond"])
def test_what_numba_cannot_check_stays_between_forbidden_pages(case: str) -> None:
    done = guarded(case)
    assert done.returncode == 0, f"code {done.returncode}: {done.stderr[-3000:]}"


def test_forbidden_pages_are_forbidden() -> None:
    """Or the test above would pass whatever the code does."""
    assert guarded("beyond").returncode < 0


def test_kernels_are_found_however_they_are_made() -> None:
    source = """
@njit
def plain(x): return x
@numba.njit(cache=True)
def dotted(x): return x
@fastmath
def ours(x): return x
@overload(score)
def _score(x):
    def dense(x): return x
    def thin(x): return x
    return dense
def later(x): return x
def last(x): return x
compiled = njit(later), njit(nogil=True)(last)
def python(x): return x
"""
    found = set(kernels_in(ast.parse(source)))
    assert found == {"plain", "dotted", "ours", "_score.dense", "_score.thin", "later", "last"}
