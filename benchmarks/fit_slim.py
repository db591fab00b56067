"""Speed of SLIM against irspack's C++, at an objective that is no worse.

    python benchmarks/fit_slim.py

The best of interleaved rounds, so that a noisy neighbour hits both sides alike. Data: ml-1m as
ones (3,706 items), or generated data of its shape. Penalties and tolerance of irspack are its
defaults there (alpha .05, l1_ratio .01): 3.02 and 299 in its scaling, 3.02 and 149.5 in ours.
"""

from __future__ import annotations

import time

import numpy as np
from irspack.recommenders import SLIMRecommender
from scipy import sparse

import truerank as tr

ALPHA, RATIO, ROUNDS = 0.05, 0.01, 2


def ones() -> tr.Interactions:
    try:
        data = tr.load_dataset("ml-1m")
    except tr.TruerankError:
        print("ml-1m is not here: generated data of its shape instead")
        data = tr.load_dataset("demo", n_users=6_040, n_items=3_706, interactions_per_user=165.0)
    return tr.Interactions.from_csr(data.matrix(), weighted=False)


def objective(X: sparse.csr_array, W: sparse.csr_array, l1: float, l2: float) -> float:
    """1/2 |X - XW|^2 + l1 |W|_1 + l2 |W|^2, in float64."""
    W = W.astype(np.float64)
    G = (X.T @ X).toarray()
    fit = np.trace(G) - 2 * W.multiply(G).sum() + W.multiply(G @ W).sum()
    return float(fit / 2 + l1 * abs(W).sum() + l2 * W.multiply(W).sum())


def rows() -> list[tuple[str, str, float]]:
    data = ones()
    X = data.matrix(dtype=np.float64)
    l1 = data.n_users * ALPHA * RATIO
    l2 = data.n_users * ALPHA * (1 - RATIO) / 2
    tr.models.SLIM(l1, l2).fit(tr.load_dataset("demo", n_users=150, n_items=200))  # compiled now

    def ours() -> sparse.csr_array:
        return tr.models.SLIM(l1, l2).fit(data).item_item

    def theirs() -> sparse.csr_array:
        model = SLIMRecommender(sparse.csr_matrix(X), alpha=ALPHA, l1_ratio=RATIO)
        return sparse.csr_array(model.learn().W)

    wall, cpu, value = {}, {}, {}
    for _ in range(ROUNDS):
        for name, run in (("ours", ours), ("irspack", theirs)):
            start, started = time.perf_counter(), time.process_time()
            W = run()
            wall[name] = min(wall.get(name, np.inf), time.perf_counter() - start)
            cpu[name] = min(cpu.get(name, np.inf), time.process_time() - started)
            value[name] = objective(X, W, l1, l2)
    for name in wall:
        print(f"{name}: {wall[name]:.2f} s ({cpu[name]:.2f} s of all cores), {value[name]:.4f}")
    above = (value["ours"] / value["irspack"] - 1) * 1e6
    return [
        ("SLIM, irspack's time / ours", ">= 3", wall["irspack"] / wall["ours"]),
        ("SLIM, irspack's processor time / ours", ">= 3", cpu["irspack"] / cpu["ours"]),
        ("SLIM, our objective above irspack's, millionths", "<= 0", above),
    ]


if __name__ == "__main__":
    for what, wanted, got in rows():
        print(f"{what:60} {wanted:>8} {got:10.3f}")
