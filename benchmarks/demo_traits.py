"""Prints the table in the docstring of truerank.data.synthetic: the demo data next to real logs.

Run:  TRUERANK_DATA=/folder/of/npz/files python benchmarks/demo_traits.py

Traits: concentration of popularity (Gini, top shares), quantiles of activity, drift, and how
much of a random held-out item per user popularity, item-kNN and EASE find (Recall@20, full
ranking without the user's other items). Real sets keep their users with 5 interactions or more.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from truerank.data.filters import active_users, compact
from truerank.data.interactions import Interactions
from truerank.data.synthetic import generate
from truerank.rng import Stream, addresses, uniforms

COLUMNS = {
    "ml-100k": ("user", "item", "timestamp"),
    "movietweetings-100k": ("user", "item", "timestamp"),
    "lastfm-hetrec": ("user", "item", None),
    "pinterest-37501": ("loo_train_user", "loo_train_item", None),
}
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
MOST_USERS = 4_000  # ranked per set: a standard error of at most 0.008
MOST_ITEMS_EASE = 4_000  # a dense inverse beyond this takes minutes


def real(folder: Path, name: str) -> Interactions:
    user, item, timestamp = COLUMNS[name]
    with np.load(folder / name / f"{name}.npz") as arrays:
        data = Interactions.from_arrays(
            arrays[user],
            arrays[item],
            timestamp=None if timestamp is None else arrays[timestamp],
            duplicates="last",
        )
    return compact(active_users(data, 5))


def recalls(data: Interactions, k: int = 20) -> dict[str, float]:
    """Recall@k of one random held-out item per user, by three models."""
    starts, counts = data.indptr[:-1], data.user_counts
    draw = uniforms(addresses(0, Stream.SPLIT, np.arange(data.n_users)))
    held = starts + (draw * counts).astype(np.int64)
    keep = np.ones(len(data), dtype=bool)
    keep[held] = False
    train = data.select(keep)
    X = train.matrix()
    X.data[:] = 1
    users = np.argsort(addresses(0, Stream.USER_SAMPLE, np.arange(data.n_users)))[:MOST_USERS]
    popularity = train.item_counts.astype(np.float32)
    gram = (X.T @ X).toarray()
    models = {"popularity": None, "item-kNN": cosine_neighbours(gram.copy(), popularity)}
    if data.n_items <= MOST_ITEMS_EASE:
        models["EASE"] = ease(gram, l2=100.0)
    hits = dict.fromkeys(models, 0)
    for block in np.array_split(users, max(1, len(users) // 500)):
        seen = X[block].toarray()
        target = data.indices[held[block]]
        for name, weights in models.items():
            scores = np.tile(popularity, (len(block), 1)) if weights is None else seen @ weights
            own = scores[np.arange(len(block)), target][:, None]
            # Ties count half, or a sparse model would be paid for its zeros.
            ahead = ((scores > own) & (seen == 0)).sum(1)
            ties = ((scores == own) & (seen == 0)).sum(1) - 1
            hits[name] += int((ahead + (ties + 1) // 2 < k).sum())
    return {name: count / len(users) for name, count in hits.items()}


def cosine_neighbours(
    gram: NDArray[np.float32], counts: NDArray[np.float32], neighbours: int = 100
) -> NDArray[np.float32]:
    norm = np.sqrt(np.maximum(counts, 1))
    gram /= norm[:, None]
    gram /= norm[None, :]
    np.fill_diagonal(gram, 0)
    for start in range(0, len(gram) if neighbours < len(gram) else 0, 500):
        block = gram[start : start + 500]  # symmetric: rows are columns, and quicker to walk
        cut = np.partition(block, len(gram) - neighbours, axis=1)[:, [len(gram) - neighbours]]
        block[block < cut] = 0
    return gram.T


def ease(gram: NDArray[np.float32], l2: float) -> NDArray[np.float32]:
    P = np.linalg.inv(gram.astype(np.float64) + l2 * np.eye(len(gram)))
    B = -P / np.diag(P)
    np.fill_diagonal(B, 0)
    return B.astype(np.float32)


def drift(data: Interactions) -> float | None:
    """Cosine of item counts in the earlier and the later half, by that of two random halves."""
    if data.timestamps is None:
        return None

    def halves(order: NDArray[np.int64]) -> float:
        early, late = (
            np.bincount(data.indices[part], minlength=data.n_items).astype(float)
            for part in np.array_split(order, 2)
        )
        return float(early @ late / np.linalg.norm(early) / np.linalg.norm(late))

    chance = np.argsort(addresses(0, Stream.SPLIT, np.arange(len(data))))
    return halves(np.argsort(data.timestamps, kind="stable")) / halves(chance)


def traits(data: Interactions) -> dict[str, str]:
    summary = data.summary()
    found = recalls(data)
    moved = drift(data)
    quantiles = np.quantile(data.user_counts, QUANTILES)
    return {
        "users x items": f"{data.n_users} x {data.n_items}",
        "interactions": f"{len(data)}",
        "density": f"{summary.density:.2%}",
        "Gini": f"{summary.gini:.2f}",
        "top 1 %": f"{summary.top_1_share:.0%}",
        "top 10 %": f"{summary.top_10_share:.0%}",
        "activity 5/25/50/75/95/99 %": " ".join(f"{q:.0f}" for q in quantiles),
        "drift": "-" if moved is None else f"{moved:.2f}",
        **{name: f"{value:.3f}" for name, value in found.items()},
        "gain": f"{found['item-kNN'] / found['popularity']:.1f}",
    }


def main() -> None:
    columns = {"demo": traits(generate())}
    folder = os.environ.get("TRUERANK_DATA")
    if folder is None:
        print("TRUERANK_DATA names no folder: only the demo data are shown", file=sys.stderr)
    else:
        for name in COLUMNS:
            columns[name] = traits(real(Path(folder), name))
    rows = list(columns["demo"])
    left = max(map(len, rows))
    widths = {n: max(len(n), *(len(v) for v in c.values())) for n, c in columns.items()}
    print(" " * left, *(f"{name:>{w}}" for name, w in widths.items()), sep="  ")
    for row in rows:
        cells = (f"{columns[name].get(row, '-'):>{w}}" for name, w in widths.items())
        print(f"{row:<{left}}", *cells, sep="  ")


if __name__ == "__main__":
    main()
