"""Speed of the estimators, as ratios against the plain way, in one run.

    make bench-estimators         (options: python benchmarks/estimators.py --help)

The plain way is what the formulas say: an N x n matrix of log-likelihoods, exponentiated, and EM
steps on it; for MES, cvxpy with Clarabel on the same problem.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import gammaln

import truerank as tr
from truerank.estimators.cells import cells_of
from truerank.estimators.methods.em import em
from truerank.estimators.methods.mes import MaximumEntropy
from truerank.estimators.problem import Problem
from truerank.estimators.samples import Sample
from truerank.estimators.simulate import simulate
from truerank.ranking.counts import count_rows

METRICS = [f"{name}@{k}" for name in ("recall", "ndcg", "ap") for k in (1, 5, 10, 20, 50)]


def seconds(run: Callable[[], object], rounds: int = 3) -> float:
    """The best of several rounds after one to warm up."""
    run()
    best = np.inf
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def exact_ranks(n_items: int, n_users: int, seed: int = 0) -> np.ndarray:
    """Ranks whose logarithm is roughly uniform, thinning out downwards, as real models have."""
    rng = np.random.default_rng(seed)
    return np.minimum(np.exp(rng.beta(1.6, 1.0, n_users) * np.log(n_items)), n_items).astype(int)


def problem_of(n_items: int, n: int, n_users: int = 40_000) -> tuple[np.ndarray, np.ndarray]:
    R = exact_ranks(n_items, n_users)
    r = 1 + np.random.default_rng(1).binomial(n - 1, (R - 1) / (n_items - 1))
    return R, r


def dense_mle(r: np.ndarray, n: int, n_items: int, steps: int) -> np.ndarray:
    theta = np.arange(n_items) / (n_items - 1)
    x = np.arange(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = (
            (gammaln(n) - gammaln(x + 1) - gammaln(n - x))[None, :]
            + np.where(x > 0, x * np.log(theta)[:, None], 0.0)
            + np.where(n - 1 - x > 0, (n - 1 - x) * np.log1p(-theta)[:, None], 0.0)
        )
    A = np.exp(log)
    shares = np.bincount(r - 1, minlength=n) / len(r)
    pi = np.full(n_items, 1.0 / n_items)
    for _ in range(steps):
        pi *= A @ (shares / np.maximum(pi @ A, 1e-300))
    return pi


def our_mle(r: np.ndarray, n: int, n_items: int, steps: int) -> np.ndarray:
    m = len(r)
    cells, _ = cells_of(r, np.full(m, n), np.full(m, n_items), np.ones(m), replacement=True)
    problem = Problem.of(cells, n_rows=m)
    return em(problem.A, cells.shares, problem.grid.uniform(), steps=steps)


def mes_against_cvxpy() -> tuple[float, float, float]:
    import cvxpy as cp

    n_items, n = 9_916, 100
    _, r = problem_of(n_items, n)
    m = len(r)
    cells, _ = cells_of(r, np.full(m, n), np.full(m, n_items), np.ones(m), replacement=True)
    problem = Problem.of(cells, n_rows=m)
    method = MaximumEntropy()
    ours = seconds(lambda: method.distribution(problem, cells.shares))
    theta = np.arange(n_items) / (n_items - 1)
    from scipy import stats

    A = stats.binom.pmf(cells.rank[:, None] - 1, n - 1, theta[None, :])
    eta, P = 0.01 / n, cells.shares
    pi = cp.Variable(n_items, nonneg=True)
    loss = cp.sum(cp.multiply(P, cp.square(A @ pi - P)))
    goal = cp.Problem(cp.Maximize(eta * cp.sum(cp.entr(pi)) - loss), [cp.sum(pi) == 1])
    start = time.perf_counter()
    goal.solve(solver="CLARABEL")
    theirs = time.perf_counter() - start
    spread = np.repeat(
        method.distribution(problem, cells.shares) / problem.grid.widths, problem.grid.widths
    )
    entropy = -(spread[spread > 0] @ np.log(spread[spread > 0]))
    value = eta * entropy - P @ (A @ spread - P) ** 2
    return ours, theirs, float(value - goal.value)


def peak() -> float:
    """Largest memory of this process since it was last asked to forget, in MB."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


def forget_peak() -> float:
    """Forget the peak so far; the memory held now, in MB."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def size_of(table: tr.RankTable) -> float:
    """Memory of a table's columns, in MB."""
    columns = ("user", "item", "rank", "n_sampled", "n_items", "weight", "n_scored")
    return sum(getattr(table, column).nbytes for column in columns) / 2**20


def compare_many_users(n_users: int = 1_000_000) -> list[tuple[str, str, float]]:
    """Two sampled tables of as many users; the plain way draws every row in every resample."""
    n_items, n, n_boot = 50_000, 100, 1_000
    rng = np.random.default_rng(2)
    R = exact_ranks(n_items, n_users)
    other = np.clip(R * np.exp(0.3 * rng.standard_normal(n_users)), 1, n_items).astype(int)
    tables = {
        name: tr.RankTable.from_arrays(
            1 + rng.hypergeometric(r - 1, n_items - r, n - 1), n, n_items
        )
        for name, r in (("a", R), ("b", other))
    }

    def compared() -> None:
        tr.compare(tables, ["recall@10", "ndcg@10"], n_boot=n_boot, progress=False)

    compared()
    held = forget_peak()
    start = time.perf_counter()
    compared()
    ours = time.perf_counter() - start
    grown = (peak() - held) / sum(map(size_of, tables.values()))
    start = time.perf_counter()
    for table in tables.values():
        sample = Sample.of(table)
        sample.shares(np.ones(n_users), n_boot=n_boot, seed=0, paired=True)
    resampled = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(3):
        times = np.bincount(rng.integers(0, n_users, n_users), minlength=n_users)
        for table in tables.values():
            np.bincount(table.rank, times, n + 1)
    plain = (time.perf_counter() - start) / 3 * n_boot
    return [
        ("compare, two sampled tables of 10^6 users, s", "<= 5", ours),
        ("... resampling: row by row / ours", ">= 5", plain / resampled),
        ("... memory beyond the tables / tables", "<= 1", grown),
    ]


def million_counted(n_rows: int) -> float:
    """Million rows a second that are reduced to counts."""
    rng = np.random.default_rng(0)
    rank = rng.integers(1, 26, n_rows, dtype=np.int64)
    size = rng.choice(np.array([25, 50, 100, 200]), n_rows)
    items, ones = np.full(n_rows, 10_000), np.ones(n_rows)
    return n_rows / seconds(lambda: count_rows(rank, size, items, ones), 2) / 1e6


def estimate_many_rows(n_rows: int) -> list[tuple[str, str, float]]:
    """One long sampled table, with its bootstrap."""
    rank = np.random.default_rng(3).integers(1, 101, n_rows)
    table = tr.RankTable.from_arrays(rank, 100, 50_000)
    held = forget_peak()
    start = time.perf_counter()
    tr.estimate(table, ["recall@10", "ndcg@10"])
    took = time.perf_counter() - start
    grown = (peak() - held) / size_of(table)
    return [
        ("estimate with intervals, million rows/s", "-", n_rows / took / 1e6),
        ("... memory beyond the table / table", "<= 1", grown),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--rows", type=int, default=100_000_000, help="rows of the long table")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows: list[tuple[str, str, float]] = []

    _, r = problem_of(20_720, 500)
    plain = seconds(lambda: dense_mle(r, 500, 20_720, 100), 2)
    ours = seconds(lambda: our_mle(r, 500, 20_720, 100))
    rows.append(("MLE, N = 20,720, n = 500: dense / ours", ">= 10", plain / ours))

    _, r = problem_of(1_000_000, 100)
    start = time.perf_counter()
    dense_mle(r, 100, 1_000_000, 100)
    plain = time.perf_counter() - start
    ours = seconds(lambda: our_mle(r, 100, 1_000_000, 100))
    rows.append(("MLE, N = 10^6, n = 100: dense / ours", ">= 200", plain / ours))

    small, large = (problem_of(n_items, 500)[1] for n_items in (10_000, 100_000_000))
    times = [
        seconds(lambda r=r, n_items=n_items: our_mle(r, 500, n_items, 100), 5)
        for r, n_items in ((small, 10_000), (large, 100_000_000))
    ]
    rows.append(("MLE: time at N = 10^8 / time at N = 10^4", "<= 2", times[1] / times[0]))

    ours, theirs, difference = mes_against_cvxpy()
    rows.append(("MES, N = 9,916, n = 100: cvxpy + Clarabel / ours", ">= 50", theirs / ours))
    rows.append(("MES: our objective minus theirs (larger is better)", ">= 0", difference))

    R = exact_ranks(10_000, 40_000)
    exact = tr.RankTable.from_arrays(R, 10_000, 10_000)
    reference = simulate(exact, tr.Adaptive(n0=100, n_max=3200, replacement=True))
    refits = seconds(
        lambda: tr.estimate(reference, METRICS, method="mle", n_boot=1000, bounds=False), 1
    )
    rows.append(("1,000 refits of the adaptive MLE, s", "<= 10", refits))
    ours_adaptive = simulate(exact, tr.Adaptive())
    smooth = seconds(lambda: tr.estimate(ours_adaptive, METRICS, n_boot=1000, bounds=False), 1)
    rows.append(("1,000 refits of auto on Adaptive(), s", "-", smooth))

    n_items = 100_000_000
    R, r = problem_of(n_items, 1_000, 1_000_000)
    table = tr.RankTable.from_arrays(r, 1_000, n_items, replacement=True)
    before = forget_peak()
    once = seconds(lambda: tr.estimate(table, METRICS, n_boot=0, bounds=False))
    grown = peak() - before
    rows.append(("10^8 items, n = 1,000, 10^6 users: all metrics, s", "~ 1", once))
    rows.append(("... memory beyond the table, MB", "<= 500", grown))

    rows.append(("rows reduced to counts, million/s", ">= 50", million_counted(options.rows)))
    rows += estimate_many_rows(options.rows // 2)
    rows += compare_many_users()

    print(f"{'what':52} {'wanted':>8} {'got':>12}")
    for what, want, got in rows:
        print(f"{what:52} {want:>8} {got:12.4g}")
    (options.out / "estimators.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
