"""Algorithm 2 against its own promise: a grid at the price of one decomposition and evaluations.

    python benchmarks/fit_search.py [--data ml-1m]

The grid's extra work (projecting users, shrinking items, scorers that are views) is measured
against ranking with factors that lie ready, point by point and alternating, so that whatever
else the machine does falls on both. The decomposition is timed once and counts on both sides.
The rows for EASE have no limit: they say when its lambda is worth a decomposition.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import truerank as tr
from truerank.data import Interactions
from truerank.models import EASE
from truerank.models.linear.ease_by_spectrum import ease_over, whole_spectrum
from truerank.models.linear.grid_of_spectrum import SpectrumGrid
from truerank.models.linear.lrr import LRR
from truerank.models.linear.spectrum import decompose

PENALTIES = (100.0, 300.0, 1000.0, 3000.0, 10_000.0)
RANKS = (10, 20, 50, 100, 200, 400, 800)
WANTED = 1.3

Row = tuple[str, str, float]


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def rows(data: str = "ml-1m") -> list[Row]:
    """What, what is wanted, what was measured."""
    split = tr.split.leave_one_out(tr.load_dataset(data), seed=0)
    return [*grid_rows(split, data), *ease_rows(split.train, data), *ease_rows_few(split.train)]


def grid_rows(split: tr.split.Split, data: str) -> list[Row]:
    ranks = [k for k in RANKS if k < split.train.n_items]
    decomposing, spectrum = seconds(lambda: decompose(split.train, max(ranks)))
    projecting, grid = seconds(lambda: SpectrumGrid(spectrum, split.train, "LRR"))
    ready = {k: LRR(l2=1.0, dim=k).fit(split.train, spectrum=spectrum) for k in ranks}
    tr.rank(ready[ranks[0]], split, progress=False)  # kernels are compiled once
    ours, alone = projecting, 0.0
    for parameters in ({"l2": l2, "dim": k} for l2 in PENALTIES for k in ranks):
        made = lambda: tr.rank(grid.model(**parameters), split, progress=False)  # noqa: B023, E731
        kept = lambda: tr.rank(ready[parameters["dim"]], split, progress=False)  # noqa: B023, E731
        alone += seconds(kept)[0]
        ours += seconds(made)[0]
    points = len(PENALTIES) * len(ranks)
    print(
        f"decomposition {decomposing:.1f} s, {points} evaluations {alone:.1f} s, grid {ours:.1f} s"
    )
    name = f"LRR, {len(PENALTIES)} x {len(ranks)} grid on {data}"
    return [
        (
            f"{name} / (decomposition + evaluations)",
            f"< {WANTED}",
            (decomposing + ours) / (decomposing + alone),
        ),
        (f"{name} without decomposition / evaluations", f"< {WANTED}", ours / alone),
    ]


def ease_rows(train: Interactions, what: str) -> list[Row]:
    inverting = seconds(lambda: EASE(l2=500.0, dtype="float64").fit(train))[0]
    decomposing, spectrum = seconds(lambda: whole_spectrum(train))
    product = seconds(lambda: next(ease_over(train, [500.0], spectrum=spectrum)))[0]
    size = f"{what}, {train.n_items:,} items, rank {spectrum.rank:,}"
    saved = inverting - product
    found = [
        (f"EASE on {size}: whole decomposition / inverse", "stated", decomposing / inverting),
        (f"EASE on {size}: one more l2 / inverse", "stated", product / inverting),
    ]
    pays = decomposing / saved if saved > 0 else np.inf
    return [*found, (f"EASE on {size}: l2 values from which it pays", "stated", float(pays))]


def ease_rows_few(train: Interactions, n_users: int = 500) -> list[Row]:
    """Some of the users only: the rank of the data is far below the number of items."""
    return ease_rows(train.select(train.users < n_users), f"{n_users} users")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="ml-1m")
    for what, wanted, got in rows(parser.parse_args().data):
        print(f"{what}: {got:.3g} (wanted {wanted})")
