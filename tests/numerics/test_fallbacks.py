"""Without numba's internals there is a plain way, and the ranks are the same to the last bit."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

from truerank.numerics import prefetch, simd_counting

ABSENT = """
import sys
sys.modules["truerank.numerics.intrinsics"] = None
"""
CHANGED = """
from truerank.numerics import intrinsics
intrinsics.arrayobj = None  # says so only when machine code is to be written
"""
RANKS = """
import numpy as np, truerank as tr
for users, items, d in ((1, 2, 1), (17, 97, 3), (33, 1000, 7), (70, 2500, 24)):
    rng = np.random.default_rng([users, items, d])
    X, Y = (rng.standard_normal((n, d)).astype(np.float32) for n in (users, items))
    Y[items // 2 :] = Y[: items - items // 2]  # ties
    Y[::3, 0] *= 1 + 2.0**-22  # and near ones
    wanted = rng.integers(0, items, users)
    for design in (tr.Full(), tr.Sampled(min(items, 40))):
        table = tr.rank_pairs(
            tr.FactorScorer(X, Y), np.arange(users), wanted, design, executor=tr.Serial()
        )
        print(users, items, d, *table.rank)
from truerank.numerics import prefetch, simd_counting
print(simd_counting.own_code_works(), prefetch.own_code_works())
"""


def lines(code: str, cache: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def own_code(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    found = lines(RANKS, tmp_path_factory.mktemp("cache"))
    assert found[-1] == "True True"
    return found


@pytest.mark.parametrize("before", [ABSENT, CHANGED], ids=["absent", "changed"])
def test_ranks_are_the_same_without(before: str, own_code: list[str], tmp_path: Path) -> None:
    found = lines(before + RANKS, tmp_path)
    assert found[-1] == "False False"
    assert found[:-1] == own_code[:-1]


def test_a_numba_without_intrinsics_is_noticed(tmp_path: Path) -> None:
    code = """
import numba, numba.extending
numba.njit(lambda x: x + 1)(1)  # what numba itself needs of it is there
del numba.extending.intrinsic
from truerank.numerics import prefetch, simd_counting
print(simd_counting.own_code_works(), prefetch.own_code_works())
"""
    assert lines(code, tmp_path) == ["False False"]


def test_code_that_counts_wrongly_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    @njit
    def nothing(*_: Any) -> None:
        return None

    monkeypatch.setattr(simd_counting, "emit_counting", nothing)
    assert not simd_counting.own_code_works.__wrapped__()
    assert prefetch.own_code_works()


def test_the_plain_loop_counts() -> None:
    rng = np.random.default_rng(0)
    step, panel = simd_counting.STEP, simd_counting.PANEL
    users = rng.integers(-4, 5, (panel + 1, 5)).astype(np.float32)
    items = rng.integers(-4, 5, (3 * step, 5)).astype(np.float32)
    panels = simd_counting.panels_of(users, np.arange(len(users)))
    bounds = np.zeros((2, 2, panel), np.float32)
    bounds[:, simd_counting.LOW] = -1.0
    counts = np.zeros((3, 2, panel), np.int32)
    simd_counting.count_plainly(items, step, 3 * step, panels, 0, bounds, counts, 1)
    scores = items[step:] @ users[:panel].T
    assert counts[1].tolist() == [(scores > 0).sum(axis=0).tolist(), (scores >= -1).sum(0).tolist()]
    assert not counts[0].any()
    assert not counts[2].any()


@pytest.mark.parametrize(
    ("name", "features", "lanes"),
    [("haswell", "+avx2,+fma", 8), ("x86-64", "+sse2", 4), ("icelake-server", "+avx512f", 16)],
)
def test_the_processor_that_numba_is_told(name: str, features: str, lanes: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from truerank.numerics import intrinsics as i; print(i.LANES)"],
        env={**os.environ, "NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("names of x86")
    assert done.stdout.split() == [str(lanes)], done.stderr[-2000:]
