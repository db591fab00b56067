"""Speed of the neighbourhood models against implicit and irspack.

    python benchmarks/fit_knn.py
    python benchmarks/fit_knn.py --truth     (the published figures; minutes)

The best of interleaved rounds, so that a noisy neighbour hits all sides alike. Data: gowalla's
training part, or generated data of its shape; cosine, 100 neighbours.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_matrix

import truerank as tr

ROUNDS, K = 5, 100


def gowalla() -> tr.Interactions:
    try:
        return tr.split.published("gowalla").train
    except tr.TruerankError:
        print("gowalla is not here: generated data of its shape instead")
        return tr.load_dataset("demo", n_users=29_858, n_items=40_981, interactions_per_user=27.0)


def rows() -> list[tuple[str, str, float]]:
    from implicit.nearest_neighbours import CosineRecommender
    from irspack.recommenders import CosineKNNRecommender, CosineUserKNNRecommender

    data = gowalla()
    X = csr_matrix(data.matrix(), copy=True)
    contestants: dict[str, Callable[[], object]] = {
        "item-kNN": lambda: tr.models.ItemKNN(K).fit(data),
        "implicit": lambda: CosineRecommender(K=K).fit(X, show_progress=False),
        "irspack": lambda: CosineKNNRecommender(X, top_k=K, normalize=True).learn(),
        "user-kNN": lambda: tr.models.UserKNN(K).fit(data),
        "irspack, users": lambda: CosineUserKNNRecommender(X, top_k=K).learn(),
    }
    wall, cpu = dict.fromkeys(contestants, np.inf), dict.fromkeys(contestants, np.inf)
    tr.models.ItemKNN(K).fit(data)  # compiled now
    for _ in range(ROUNDS):
        for name, run in contestants.items():
            start, started = time.perf_counter(), time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # implicit's advice on formats and BLAS
                run()
            wall[name] = min(wall[name], time.perf_counter() - start)
            cpu[name] = min(cpu[name], time.process_time() - started)
    for name in wall:
        print(f"{name}: {wall[name]:.2f} s ({cpu[name]:.2f} s of all cores)")
    return [
        ("item-kNN, implicit's time / ours", ">= 1", wall["implicit"] / wall["item-kNN"]),
        ("item-kNN, implicit's processor time / ours", ">= 1", cpu["implicit"] / cpu["item-kNN"]),
        ("item-kNN, irspack's time / ours", ">= 1", wall["irspack"] / wall["item-kNN"]),
        ("user-kNN, irspack's time / ours", ">= 1", wall["irspack, users"] / wall["user-kNN"]),
    ]


PUBLISHED = {
    ("gowalla", "item-kNN"): (0.156994, 0.121364),
    ("yelp2018", "item-kNN"): (0.063913, 0.053094),
    ("gowalla", "SLIM"): (0.169876, 0.138218),
    ("yelp2018", "SLIM"): (0.064564, 0.054077),
}
"""Recall@20 and NDCG@20 of the BARS benchmark on the splits of NGCF."""


if __name__ == "__main__":
    for what, wanted, got in rows():
        print(f"{what:60} {wanted:>8} {got:10.4f}")
