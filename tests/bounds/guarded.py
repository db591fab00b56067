"""Arrays between pages that nobody may touch: whoever reads or writes beside them dies.

For what numba cannot check: the machine code that :mod:`truerank.numerics.simd_counting` writes.
``python -m tests.bounds.guarded CASE`` runs one case; dying by a signal is the answer "outside".
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

import truerank as tr
from truerank.numerics.simd_counting import LANES, PANEL, STEP, count_scores, panels_of
from truerank.ranking.backends.factors import FactorBackend
from truerank.ranking.backends.rounding import ListedItems
from truerank.ranking.rows import read_only

_kept: list[mmap.mmap] = []


def guarded(array: NDArray[Any], *, behind: bool = True) -> NDArray[Any]:
    """A copy that ends where a forbidden page begins, or begins where one ends."""
    page = mmap.PAGESIZE
    pages = -(-max(array.nbytes, 1) // page)
    room = mmap.mmap(-1, (pages + 2) * page)
    _kept.append(room)
    start = ctypes.addressof(ctypes.c_char.from_buffer(room))
    libc = ctypes.CDLL(None, use_errno=True)
    for forbidden in (start, start + (pages + 1) * page):
        if libc.mprotect(ctypes.c_void_p(forbidden), ctypes.c_size_t(page), 0) != 0:
            raise OSError(ctypes.get_errno(), "mprotect failed")
    offset = page + (pages * page - array.nbytes if behind else 0)
    copy: NDArray[Any] = np.frombuffer(room, array.dtype, array.size, offset).reshape(array.shape)
    copy[...] = array
    return copy


@njit
def count(items, first, last, panels, panel, bounds, counts, place):  # type: ignore[no-untyped-def]
    count_scores(items, first, last, panels, panel, bounds, counts, place)


def lanes(behind: bool, beyond: int = 0) -> None:
    """The intrinsic by itself, on every last panel and place; counts equal those of a product."""
    for n_items, n_users, d in ((STEP, 1, 1), (3 * STEP, PANEL + 1, 3), (2 * STEP, 2 * PANEL, 17)):
        rng = np.random.default_rng(d)
        users = rng.integers(-4, 5, (n_users, d)).astype(np.float32)
        items = guarded(rng.integers(-4, 5, (n_items, d)).astype(np.float32), behind=behind)
        panels = guarded(panels_of(users, np.arange(n_users)), behind=behind)
        limits = np.zeros((len(panels), 2, PANEL), np.float32)
        limits[:, 1] = -1.0
        bounds = guarded(limits, behind=behind)
        counts = guarded(np.zeros((2, 2, PANEL), np.int32), behind=behind)
        scores = items @ users.T
        for panel in range(len(panels)):
            for place in (0, 1):
                counts[...] = 0
                count(items, 0, n_items + beyond * STEP, panels, panel, bounds, counts, place)
                some = scores[:, panel * PANEL : (panel + 1) * PANEL]
                held = counts[place][:, : some.shape[1]]
                expected = np.array([(some > 0).sum(axis=0), (some >= -1).sum(axis=0)])
                if not np.array_equal(held, expected) or counts[1 - place].any():
                    raise SystemExit("the lanes count wrongly")


def ranks(behind: bool) -> None:
    """Whole rankings from guarded factors, at sizes beside those of steps, strips and panels."""
    for users in (1, LANES - 1, LANES + 1, PANEL + 1):
        for items in (2, STEP - 1, STEP + 1, 16 * STEP + 1, 33 * STEP - 1):
            for d in (1, 7, 33):
                rng = np.random.default_rng([users, items, d])
                x = guarded(rng.normal(size=(users, d)).astype(np.float32), behind=behind)
                y = guarded(rng.normal(size=(items, d)).astype(np.float32), behind=behind)
                targets = rng.integers(0, items, users)
                for design in (tr.Full(), tr.Sampled(items)):
                    table = tr.rank_pairs(
                        tr.FactorScorer(x, y), np.arange(users), targets, design,
                        executor=tr.Serial(),
                    )  # fmt: skip
                    scores = np.asarray(x, np.float64) @ np.asarray(y, np.float64).T
                    own = scores[np.arange(users), targets][:, None]
                    if not np.array_equal(table.rank, 1 + (scores > own + 1e-12).sum(axis=1)):
                        raise SystemExit(f"wrong ranks at {users} x {items} x {d}")


def screens(behind: bool) -> None:
    """Parts of the items in another order, from any place of a guarded list to any other."""
    listed = FactorBackend.listed

    def fenced(backend: FactorBackend, order: Any) -> ListedItems:
        vectors, norms, names = (guarded(array, behind=behind) for array in listed(backend, order))
        return ListedItems(read_only(vectors), read_only(norms), read_only(names))

    FactorBackend.listed = fenced  # type: ignore[method-assign]
    rng = np.random.default_rng(4)
    for users in (1, LANES + 1, PANEL + 1):
        for items in (3, STEP + 1, 16 * STEP - 1, 33 * STEP + 1):
            x = rng.normal(size=(users, 7)).astype(np.float32)
            y = rng.normal(size=(items, 7)).astype(np.float32)
            scores = np.asarray(x, np.float64) @ np.asarray(y, np.float64).T
            for n in sorted({2, max(2, items // 2), items - 1}):
                targets = rng.integers(0, items, users)
                for seed, shared in ((0, 1), (n, users)):
                    table = tr.rank_pairs(
                        tr.FactorScorer(x, y), np.arange(users), targets,
                        tr.Sampled(n, shared=shared), seed=seed, executor=tr.Serial(),
                    )  # fmt: skip
                    own = scores[np.arange(users), targets][:, None]
                    full = 1 + (scores > own + 1e-12).sum(axis=1)
                    size = table.n_sampled
                    if not ((table.rank <= full) & (size - table.rank <= items - full)).all():
                        raise SystemExit(f"impossible ranks at {users} x {items}, {n} places")


CASES: dict[str, Callable[[], None]] = {
    "lanes, guarded behind": lambda: lanes(behind=True),
    "lanes, guarded before": lambda: lanes(behind=False),
    "ranks, guarded behind": lambda: ranks(behind=True),
    "ranks, guarded before": lambda: ranks(behind=False),
    "screens, guarded behind": lambda: screens(behind=True),
    "screens, guarded before": lambda: screens(behind=False),
    "beyond": lambda: lanes(behind=True, beyond=1),
}

if __name__ == "__main__":
    CASES[sys.argv[1]]()
