"""Speed and memory of EASE: against LAPACK alone, the machine's matrix product, and a peer.

    python benchmarks/fit_ease.py
    python benchmarks/fit_ease.py --large     (gowalla, 40,981 items: eight minutes or more)

The best of interleaved rounds, so that a noisy neighbour hits all sides alike. Data:
pinterest-37501 (9,836 items), or generated data of its shape. A virtual machine may take half a
second to hand out the memory of the matrix, so LAPACK is timed with memory at hand and without.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.linalg import lapack

import truerank as tr
from truerank.models.linear.gram import gram
from truerank.numerics.blocked_inverse import invert_in_place

L2, ROUNDS = 1500.0, 3


def pinterest() -> tr.Interactions:
    try:
        return tr.load_dataset("pinterest-37501")
    except tr.TruerankError:
        print("pinterest-37501 is not here: generated data of its shape instead")
        return tr.load_dataset("demo", n_users=37_501, n_items=9_836)


def best_times(contestants: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    best = dict.fromkeys(contestants, np.inf)
    for _ in range(rounds):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def rows() -> list[tuple[str, str, float]]:
    data = pinterest()
    X, n = data.matrix(), data.n_items
    G = gram(X)
    G[np.diag_indices(n)] += L2
    room, other = np.empty_like(G), np.empty_like(G)

    def lapack_alone(memory: np.ndarray | None = None) -> None:
        own = room if memory is None else memory
        np.copyto(own, G)
        factor, _ = lapack.spotrf(own.T, lower=0, overwrite_a=1, clean=0)
        lapack.spotri(factor, lower=0, overwrite_c=1)

    def ours_alone() -> None:
        np.copyto(room, G)
        invert_in_place(room)

    times = best_times(
        {
            "copy": lambda: np.copyto(room, G),
            "sgemm": lambda: np.matmul(G, other, out=room),
            "lapack": lapack_alone,
            "lapack, new memory": lambda: lapack_alone(np.empty_like(G)),
            "inverse": ours_alone,
            "fit": lambda: tr.models.EASE(L2).fit(data),
            "gram": lambda: gram(X, lower=True),
            "scipy": lambda: (X.T @ X).toarray(),
        },
        ROUNDS,
    )
    times |= best_times(
        {"numpy.linalg.inv": lambda: np.linalg.inv(G), "irspack": lambda: irspack_fit(X)}, 1
    )
    print({name: f"{seconds:.2f} s" for name, seconds in times.items()})
    inverse, alone = times["inverse"] - times["copy"], times["lapack"] - times["copy"]
    fresh = times["lapack, new memory"] - times["copy"]
    return [
        ("EASE, fit / LAPACK's potrf + potri in memory at hand", "<= 1.2", times["fit"] / alone),
        ("EASE, fit / the same in new memory, as fit has it", "<= 1.2", times["fit"] / fresh),
        ("EASE, rate of the inverse / square sgemm", ">= 0.85", times["sgemm"] / 2 / inverse),
        (
            "EASE, numpy.linalg.inv's time / all of ours",
            "stated",
            times["numpy.linalg.inv"] / times["fit"],
        ),
        ("EASE, irspack's time / ours", "stated", times["irspack"] / times["fit"]),
        ("Gram, scipy's time / ours", "> 1", times["scipy"] / times["gram"]),
        ("EASE, peak memory of fit / one n x n float32", "<= 1.3", peak()),
    ]


def large_rows() -> list[tuple[str, str, float]]:
    """EASE on gowalla, in a process of its own."""
    start = time.perf_counter()
    gigabytes = peak("--large-peak")
    minutes = (time.perf_counter() - start) / 60
    return [
        ("EASE on gowalla's 40,981 items, peak GB", "< 9", gigabytes),
        ("EASE on gowalla's 40,981 items, minutes", "stated", minutes),
    ]


def irspack_fit(X: object) -> None:
    from irspack.recommenders import DenseSLIMRecommender
    from scipy.sparse import csr_matrix

    DenseSLIMRecommender(csr_matrix(X), reg=L2).learn()


def peak(which: str = "--peak") -> float:
    """In a process of its own, what fit takes beyond what was there before."""
    run = subprocess.run(
        [sys.executable, __file__, which], capture_output=True, text=True, check=True
    )
    return float(run.stdout.split()[-1])


def measure_peak() -> float:
    data = pinterest()
    few = np.arange(len(data)) < 1000
    tr.models.EASE(L2).fit(tr.Interactions.from_arrays(data.users[few], data.indices[few]))
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = peak_bytes()
    tr.models.EASE(L2).fit(data)
    return (peak_bytes() - before) / (4 * data.n_items**2)


def measure_large_peak() -> float:
    """All that the process has at most, data and interpreter included, in GB."""
    try:
        data = tr.split.published("gowalla").train
    except tr.TruerankError:
        data = tr.load_dataset("demo", n_users=29_858, n_items=40_981)
    tr.models.EASE(80.0).fit(data)
    return peak_bytes() / 1e9


def peak_bytes() -> int:
    """The most memory this process has had since it was told to forget; Linux only."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


if __name__ == "__main__":
    if "--peak" in sys.argv:
        print(measure_peak())
    elif "--large-peak" in sys.argv:
        print(measure_large_peak())
    else:
        for what, want, got in large_rows() if "--large" in sys.argv else rows():
            print(f"{what:60} {want:>8} {got:8.2f}")
