"""Speed of ranking, as ratios against peers and against the machine's own limit, in one run.

    make bench-ranking            (options: python benchmarks/ranking.py --help)

Every comparison takes the best of several interleaved rounds, so that a noisy neighbour hits
both sides alike. The limit is the bare float32 matrix product of the same users and items,
the faster of two ways to run it: one call per block of 256 users with BLAS on all cores, and
our own tiles on our own threads without looking at the scores.

On a machine with AVX-512, the same for AVX2:
    NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES=+avx2,+fma OPENBLAS_CORETYPE=Haswell
    (three variables, before the command)
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from llvmlite import binding
from numba import config, njit
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_info, threadpool_limits

import truerank as tr
from truerank.execution import available_cores
from truerank.numerics.simd_counting import LANES
from truerank.ranking.backends.factors import TILE_ITEMS

Rates = dict[str, float]
Rows = list[tuple[str, str, float, float]]


def best_rates(contestants: dict[str, tuple[Callable[[], object], float]], rounds: int) -> Rates:
    """Work per second of each contestant: the best of interleaved rounds, after a warm-up."""
    for run, _ in contestants.values():
        run()
    best = dict.fromkeys(contestants, 0.0)
    for _ in range(rounds):
        for name, (run, work) in contestants.items():
            start = time.perf_counter()
            run()
            best[name] = max(best[name], work / (time.perf_counter() - start))
    return best


def bare_product(U: np.ndarray, V: np.ndarray) -> None:
    buffer = np.empty((256, len(V)), np.float32)
    for first in range(0, len(U), 256):
        x = U[first : first + 256]
        np.matmul(x, V.T, out=buffer[: len(x)])


def bare_tiles(U: np.ndarray, V: np.ndarray) -> None:
    def block(first: int) -> None:
        x = U[first : first + 256]
        tile = np.empty((len(x), TILE_ITEMS), np.float32)
        for start in range(0, len(V), TILE_ITEMS):
            y = V[start : start + TILE_ITEMS]
            np.matmul(x, y.T, out=tile if len(y) == TILE_ITEMS else None)

    with threadpool_limits(1), ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(block, range(0, len(U), 256)))


def gowalla() -> tuple[tr.split.Split, np.ndarray, np.ndarray]:
    """The published split, or generated data of its shape; factors of a few ALS steps."""
    try:
        split = tr.split.published("gowalla")
    except tr.TruerankError:
        print("gowalla is not here: generated data of its shape instead")
        data = tr.load_dataset("demo", n_users=29_858, n_items=40_981)
        split = tr.split.ratio(data, 0.2)
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(factors=64, iterations=3, random_state=0, use_gpu=False)
    model.fit(plain_csr(split.train), show_progress=False)
    return split, model.user_factors, model.item_factors


def plain_csr(data: tr.Interactions) -> csr_matrix:
    """What the peers' compiled code takes: writable, with 32-bit indices."""
    parts = (np.ones(len(data), np.float32), data.indices.copy(), data.indptr.astype(np.int32))
    return csr_matrix(parts, shape=(data.n_users, data.n_items))


def full_evaluation(rounds: int) -> list[tuple[str, str, float, float]]:
    split, U, V = gowalla()
    scorer = tr.FactorScorer(U, V)
    train, test = plain_csr(split.train), plain_csr(split.held_out)
    users = np.unique(split.held_out.users)

    def ours() -> tuple[float, float]:
        table = tr.rank(scorer, split)
        return tuple(float(table.per_user(m)[1].mean()) for m in ("recall@20", "ndcg@20"))

    def implicit() -> dict[str, float]:
        from implicit.cpu.matrix_factorization_base import MatrixFactorizationBase
        from implicit.evaluation import ranking_metrics_at_k

        class Fixed(MatrixFactorizationBase):
            def fit(self, *args: object, **kwargs: object) -> None: ...

            def save(self, *args: object) -> None: ...

        model = Fixed()
        model.user_factors, model.item_factors = U, V
        return ranking_metrics_at_k(model, train, test, K=20, show_progress=False, num_threads=0)

    def irspack() -> dict[str, float]:
        from irspack import Evaluator
        from irspack.recommenders.base import BaseRecommender

        class Fixed(BaseRecommender):
            def _learn(self) -> None: ...

            def get_score(self, user_indices: np.ndarray) -> np.ndarray:
                return U[user_indices] @ V.T

            def get_score_block(self, begin: int, end: int) -> np.ndarray:
                return U[begin:end] @ V.T

        evaluator = Evaluator(test, cutoff=20, n_threads=available_cores())
        return evaluator.get_score(Fixed(train))

    rates = best_rates(
        {
            "truerank: every rank, Recall@20, NDCG@20": (ours, len(users)),
            "limit: sgemm per block of 256 users": (lambda: bare_product(U, V), len(U)),
            "limit: our tiles, not looked at": (lambda: bare_tiles(U, V), len(U)),
        },
        rounds,
    )
    peers = best_rates({"implicit": (implicit, len(users)), "irspack": (irspack, len(users))}, 1)
    recall, ndcg = ours()
    print(f"gowalla: Recall@20 {recall:.5f}, NDCG@20 {ndcg:.5f}; implicit says {implicit()}")
    print({name: f"{rate:,.0f} users/s" for name, rate in (rates | peers).items()})
    mine, limits = next(iter(rates.values())), list(rates.values())[1:]
    return [
        ("full evaluation / sgemm limit, same blocks", "0.75", mine / limits[0], mine),
        ("full evaluation / our bare tiles (stricter)", "-", mine / limits[1], mine),
        ("full evaluation / implicit ranking_metrics_at_k", "3.3", mine / peers["implicit"], mine),
        ("full evaluation / irspack Evaluator", "4", mine / peers["irspack"], mine),
    ]


def one_target(n_items: int, n_users: int, rounds: int) -> tuple[float, float, float]:
    """Exact ranks of one target per user: ours, the limit and numpy's way, users per second."""
    U, V, items = factors(n_users, n_items)
    scorer = tr.FactorScorer(U, V)

    def numpy_way() -> np.ndarray:
        rank = np.empty(n_users, np.int64)
        step = max(1, min(256, 2**28 // (4 * n_items)))
        for first in range(0, n_users, step):
            scores = U[first : first + step] @ V.T
            own = np.take_along_axis(scores, items[first : first + step, None], axis=1)
            rank[first : first + step] = 1 + (scores > own).sum(axis=1)
        return rank

    rates = best_rates(
        {
            "ours": (lambda: tr.rank_pairs(scorer, np.arange(n_users), items), n_users),
            "limit": (lambda: bare_tiles(U, V), n_users),
            "numpy": (numpy_way, n_users),
        },
        rounds,
    )
    return rates["ours"], rates["limit"], rates["numpy"]


def sampled(n_items: int, n_users: int, rounds: int, n: int = 100) -> tuple[float, float, float]:
    """Scored pairs per second: ours, the limit, and numpy's gather and product.

    The limit is a compiled loop over given rivals on our threads: no draws, no ranks.
    """
    U, V, items = factors(n_users, n_items)
    scorer = tr.FactorScorer(U, V)
    few = min(n_users, 20_000)

    def numpy_way() -> None:
        rng = np.random.default_rng(0)
        for first in range(0, few, 500):
            chosen = rng.integers(0, n_items, (500, n))
            chosen[:, 0] = items[first : first + 500]
            scores = np.matmul(V[chosen], U[first : first + 500, :, None])[:, :, 0]
            (scores > scores[:, :1]).sum(axis=1)

    def ours() -> tr.RankTable:
        return tr.rank_pairs(scorer, np.arange(n_users), items, tr.Sampled(n))

    given = np.random.default_rng(0).integers(0, n_items, (few, n))

    def bare() -> None:
        parts = np.array_split(np.arange(few), available_cores())
        with ThreadPoolExecutor(available_cores()) as pool:
            list(pool.map(lambda part: bare_pairs(U, V, part, given), parts))

    rates = best_rates(
        {
            "ours": (ours, n_users * n),
            "limit": (bare, few * n),
            "numpy": (numpy_way, few * n),
        },
        rounds,
    )
    return rates["ours"], rates["limit"], rates["numpy"]


@njit(nogil=True, fastmath=True)
def bare_pairs(U: np.ndarray, V: np.ndarray, users: np.ndarray, rivals: np.ndarray) -> float:
    best = np.float32(0.0)
    for user in users:
        for i in range(rivals.shape[1]):
            score = np.float32(0.0)
            for k in range(U.shape[1]):
                score += U[user, k] * V[rivals[user, i], k]
            best = max(best, score)
    return best


def factors(n_users: int, n_items: int, d: int = 64) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Factors whose targets rank as they do in life: log-uniformly, mostly near the top."""
    rng = np.random.default_rng(1)
    V = rng.standard_normal((n_items, d), dtype=np.float32)
    items = rng.integers(0, n_items, n_users)
    pull = rng.uniform(0.0, 0.6, (n_users, 1)).astype(np.float32)
    U = rng.standard_normal((n_users, d), dtype=np.float32) + pull * V[items]
    return U, V, items


def against_full(rounds: int) -> list[tuple[str, str, float, float]]:
    n_items, n_users = 1_000_000, 40_000
    U, V, items = factors(n_users, n_items)
    scorer = tr.FactorScorer(U, V)
    some = 1_024

    def run(design: object, m: int) -> Callable[[], object]:
        return lambda: tr.rank_pairs(scorer, np.arange(m), items[:m], design)

    rates = best_rates(
        {
            "full": (run(tr.Full(), some), some),
            "n = 100": (run(tr.Sampled(100), n_users), n_users),
            "adaptive": (run(tr.Adaptive(), n_users), n_users),
        },
        rounds,
    )
    cost = tr.rank_pairs(scorer, np.arange(n_users), items, tr.Adaptive()).n_scored.mean()
    print(f"10^6 items: default Adaptive() scores {cost:,.0f} items per user")
    full = rates["full"]
    return [
        ("10^6 items: n = 100 / full ranking", "200", rates["n = 100"] / full, rates["n = 100"]),
        (
            "10^6 items: Adaptive() / full ranking",
            "20",
            rates["adaptive"] / full,
            rates["adaptive"],
        ),
    ]


def screened_rows(rounds: int) -> Rows:
    """Certified screening in the time of full ranking, and the dots that it takes."""
    rows = []
    for n_items, n_users, want in ((40_981, 29_858, "<= 0.35"), (1_000_000, 4_096, "<= 0.25")):
        U, V, items = factors(n_users, n_items)
        scorer, users = tr.FactorScorer(U, V), np.arange(n_users)

        def run(design: object, scorer=scorer, users=users, items=items) -> tr.RankTable:
            return tr.rank_pairs(scorer, users, items, design)

        rates = best_rates(
            {
                "screened": (lambda run=run: run(tr.Screened(k=20)), n_users),
                "full": (lambda run=run: run(tr.Full()), n_users),
            },
            rounds,
        )
        dots = float(run(tr.Screened(k=20)).n_scored.mean())
        what = f"Screened(k=20), {n_items:,} items, {n_users:,} users"
        print(f"{what}: {dots:,.0f} dots a user, {dots / n_items:.3f} of full")
        rows.append(
            (f"{what}: time / full", want, rates["full"] / rates["screened"], rates["screened"])
        )
        rows.append((f"{what}: dots / full", "limit", dots / n_items, dots / n_items))
    return rows


def processor() -> str:
    """Its name, and how many float32 numbers a register of the compiled code holds."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    blas = {
        str(library.get("architecture", library["internal_api"])) for library in threadpool_info()
    }
    return (
        f"{name}, compiled for {config.CPU_NAME or binding.get_host_cpu_name()}: "
        f"{LANES} numbers in a register; BLAS for {', '.join(sorted(blas))}"
    )


MEMORY = """
import re, numpy as np, truerank as tr
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
rng = np.random.default_rng(0)
V = rng.standard_normal((1_000_000, 64), dtype=np.float32)
U = rng.standard_normal(({users}, 64), dtype=np.float32)
items = rng.integers(0, 1_000_000, {users})
tr.rank_pairs(tr.FactorScorer(U[:2], V[:500]), [0, 1], [3, 4], {design})  # compile and import
open("/proc/self/clear_refs", "w").write("5")  # the peak so far is forgotten
before = peak()
tr.rank_pairs(tr.FactorScorer(U, V), np.arange({users}), items, {design})
print(peak() - before)
"""

FIRST_CALL = """
import time
start = time.perf_counter()
import numpy as np, truerank as tr
U, V = np.ones((2, 4), np.float32), np.eye(30, 4, dtype=np.float32)
tr.rank_pairs(tr.FactorScorer(U, V), [0, 1], [3, 4], tr.{design})
print(time.perf_counter() - start)
"""


def in_new_process(code: str, **environment: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    return float(done.stdout)


def overheads(folder: Path) -> list[tuple[str, str, float, float]]:
    rows = []
    for users, design in (
        (2_048, "tr.Full()"),
        (10_000, "tr.Adaptive()"),
        (500_000, "tr.Sampled(100)"),
    ):
        memory = in_new_process(MEMORY.format(users=users, design=design))
        what = f"10^6 items, {users:,} users, {design[3:]}: MB beyond inputs"
        rows.append((what, "<= 300", memory, memory))
    for design in ("Full()", "Adaptive(n0=4)"):
        code = FIRST_CALL.format(design=design)
        cache = folder / f"numba-{design[:4]}-{time.time_ns()}"
        cold = in_new_process(code, NUMBA_CACHE_DIR=str(cache))
        warm = min(in_new_process(code, NUMBA_CACHE_DIR=str(cache)) for _ in range(3))
        rows += [
            (f"first call ever, {design}, s, imports included", "<= 10", cold, cold),
            (f"first call of a process, {design}, s, imports included", "<= 1", warm, warm),
        ]
    return rows


def one_target_rows(rounds: int) -> Rows:
    rows = []
    for n_items, n_users, want in ((9_836, 37_501, "2"), (1_000_000, 1_024, "2.4")):
        mine, limit, plain = one_target(n_items, n_users, rounds)
        what = f"one target, {n_items:,} items"
        rows.append((f"{what} / numpy product + count", want, mine / plain, mine))
        rows.append(
            (f"{what}: bare product / numpy product + count", "limit", limit / plain, limit)
        )
    return rows


def sampled_rows(rounds: int) -> Rows:
    rows = []
    for n_items, n_users in ((10_000, 100_000), (1_000_000, 100_000)):
        mine, limit, plain = sampled(n_items, n_users, rounds)
        what = f"sampled pairs, {n_items:,} items"
        rows.append((f"{what} / numpy gather", "5", mine / plain, mine))
        rows.append((f"{what}: bare compiled loop / numpy gather", "limit", limit / plain, limit))
    return rows


PARTS: dict[str, Callable[[int], Rows]] = {
    "full": full_evaluation,
    "one-target": one_target_rows,
    "sampled": sampled_rows,
    "screened": lambda rounds: screened_rows(min(rounds, 3)),
    "against-full": lambda rounds: against_full(min(rounds, 3)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--part", action="append", choices=[*PARTS, "overheads"])
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    print(processor())
    chosen = options.part or [*PARTS, "overheads"]
    rows = [row for part in PARTS if part in chosen for row in PARTS[part](options.rounds)]
    if "overheads" in chosen:
        rows += overheads(options.out)
    print(f"\n{'what':66} {'wanted':>8} {'got':>10} {'ours, per second':>18}")
    for what, want, got, rate in rows:
        shown = f"{rate:18,.0f}" if rate != got else " " * 18
        print(f"{what:66} {want:>8} {got:10.2f} {shown}")
    (options.out / "ranking.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
