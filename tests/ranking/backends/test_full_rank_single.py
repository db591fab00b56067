"""One target per user, counted in lanes: the ranks of float64 scores, to the last item."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import truerank as tr
from truerank.numerics.simd_counting import PANEL, STEP
from truerank.ranking.backends.full_rank_single import STRIP, TILE_FLOATS


def scores_of(U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Dot products in float64 from left to right, as ranks are defined."""
    total = np.zeros((len(U), len(V)))
    for k in range(U.shape[1]):
        total += np.outer(U[:, k].astype(float), V[:, k].astype(float))
    return total


def by_hand(
    U: np.ndarray, V: np.ndarray, items: np.ndarray, excluded: np.ndarray, ties: str
) -> np.ndarray:
    scores = scores_of(U, V)
    own = np.take_along_axis(scores, items[:, None], axis=1)
    candidate = ~excluded
    np.put_along_axis(candidate, items[:, None], False, axis=1)
    better = ((scores > own) & candidate).sum(axis=1)
    tied = ((scores == own) & candidate).sum(axis=1)
    return 1 + better + {"optimistic": 0 * tied, "half": (tied + 1) // 2, "pessimistic": tied}[ties]


def ranked(
    U: np.ndarray, V: np.ndarray, items: np.ndarray, excluded: np.ndarray, ties: str
) -> np.ndarray:
    seen = tr.Interactions.from_csr(sparse.csr_array(excluded)) if excluded.any() else None
    scorer = tr.FactorScorer(U, V)
    return tr.rank_pairs(scorer, np.arange(len(U)), items, exclude=seen, ties=ties).rank


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_ranks_are_those_of_float64(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n_users = data.draw(st.integers(1, 3 * PANEL))
    n_items = data.draw(st.integers(1, 3 * STRIP))
    d = data.draw(st.integers(1, 9))
    kind = data.draw(st.sampled_from(["float32", "float64"]))
    U, V = (rng.standard_normal((n, d)).astype(kind) for n in (n_users, n_items))
    if data.draw(st.booleans()):  # many exact ties
        U, V = np.round(U), np.round(V)
    if data.draw(st.booleans()):  # many that float32 cannot tell
        V = V[rng.integers(0, max(1, n_items // 4), n_items)]
        V[:, 0] *= 1 + rng.integers(0, 3, n_items) * 2.0 ** -data.draw(st.integers(18, 30))
    items = rng.integers(0, n_items, n_users)
    excluded = rng.random((n_users, n_items)) < data.draw(st.sampled_from([0.0, 0.1, 0.9]))
    ties = data.draw(st.sampled_from(["optimistic", "half", "pessimistic"]))
    expected = by_hand(U, V, items, excluded, ties)
    np.testing.assert_array_equal(ranked(U, V, items, excluded, ties), expected)


@pytest.mark.parametrize("n_items", [1, STEP - 1, STEP, STEP + 1, STRIP + 1, 2 * STRIP - 1])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_items_that_fill_no_step(n_items: int, sign: float) -> None:
    """Filled up with zeros, which beat every negative score: they must not count."""
    rng = np.random.default_rng(n_items)
    U, V = np.ones((5, 1), np.float32), sign * rng.random((n_items, 1)).astype(np.float32)
    items = rng.integers(0, n_items, 5)
    nobody = np.zeros((5, n_items), bool)
    expected = by_hand(U, V, items, nobody, "half")
    np.testing.assert_array_equal(ranked(U, V, items, nobody, "half"), expected)


def test_several_tiles() -> None:
    """A catalogue of many tiles, with excluded items in all of them and targets at the edges."""
    d = 64
    width = TILE_FLOATS // (STRIP * d) * STRIP
    n_items, n_users = 3 * width + STEP + 1, 41
    rng = np.random.default_rng(0)
    U, V = (rng.standard_normal((n, d)).astype(np.float32) for n in (n_users, n_items))
    V[rng.integers(0, n_items, 200)] = V[0]
    edges = [0, width - 1, width, 2 * width, 3 * width, n_items - 1]
    items = np.array(edges + list(rng.integers(0, n_items, n_users - len(edges))))
    excluded = rng.random((n_users, n_items)) < 0.02
    expected = by_hand(U, V, items, excluded, "half")
    np.testing.assert_array_equal(ranked(U, V, items, excluded, "half"), expected)


def test_an_excluded_rival_that_ties_is_no_rival() -> None:
    U, V = np.ones((1, 2), np.float32), np.ones((2 * STRIP, 2), np.float32)
    excluded = np.ones((1, 2 * STRIP), bool)
    excluded[0, [3, STRIP, STRIP + 1]] = False
    assert ranked(U, V, np.array([3]), excluded, "pessimistic") == 3
    assert (
        ranked(U, V, np.array([4]), excluded, "pessimistic") == 4
    )  # itself excluded: still ranked


def test_users_with_several_targets_have_the_same_ranks() -> None:
    """They go another way (a stored product), with the same result."""
    rng = np.random.default_rng(1)
    U, V = (rng.standard_normal((n, 6)).astype(np.float32) for n in (30, 500))
    V[100:200] = V[:100]
    scorer, items = tr.FactorScorer(U, V), rng.integers(0, 500, 60)
    users = np.repeat(np.arange(30), 2)
    together = tr.rank_pairs(scorer, users, items, ties="random", seed=4).rank
    for half in (slice(0, None, 2), slice(1, None, 2)):
        alone = tr.rank_pairs(scorer, users[half], items[half], ties="random", seed=4).rank
        np.testing.assert_array_equal(alone, together[half])


@pytest.mark.parametrize("features", ["avx512f avx2 fma", "neon", ""])
def test_processors_of_every_width(features: str, tmp_path: Path) -> None:
    """Registers of 16 and of 4 numbers, with and without products that add: the same ranks.

    Compiled here for a processor that this one is not: slower, but it must be right.
    """
    code = f"""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from llvmlite import binding
real = binding.get_host_cpu_features
class Pretended(dict):
    def flatten(self):
        return real().flatten()  # what the compiler goes by stays as it is
binding.get_host_cpu_features = lambda: Pretended.fromkeys({features.split()!r}, True)
from truerank.numerics import simd_counting
import truerank as tr
rng = np.random.default_rng(0)
U, V = (rng.standard_normal((n, 5)).astype(np.float32) for n in (40, 301))
V[200:] = V[:101]
items = rng.integers(0, 301, 40)
print(*tr.rank_pairs(tr.FactorScorer(U, V), np.arange(40), items, ties="pessimistic").rank)
print(simd_counting.LANES, simd_counting.STEP)
"""
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    ).stdout.splitlines()  # fmt: skip
    rng = np.random.default_rng(0)
    U, V = (rng.standard_normal((n, 5)).astype(np.float32) for n in (40, 301))
    V[200:] = V[:101]
    items = rng.integers(0, 301, 40)
    expected = by_hand(U, V, items, np.zeros((40, 301), bool), "pessimistic")
    assert out[0].split() == [str(rank) for rank in expected]
    assert out[1] == ("16 12" if "avx512f" in features else "4 6")
