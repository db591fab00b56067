"""How fast MF trains, as ratios against a plain torch loop, in one run.

    make bench-mf            (or: python benchmarks/mf.py)

One epoch on the published gowalla split (or generated data of its shape), d = 64, batches of
1,024, all taking turns. The peers are what one would write: embeddings with sparse gradients and
SparseAdam, or dense ones and Adam, scores by a product (shared negatives) or by einsum (own ones),
the loss of ``truerank.losses``, backward, step. Both sides start at the same factors and draw from
the same distribution by their own generators, so the loss curves agree up to the noise of the
draws, which is printed. The floor is the time of the three matrix products alone.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

import truerank as tr
from truerank.execution import available_cores
from truerank.losses import resolve
from truerank.models.factor_model import start_factors
from truerank.models.mf.steps import TILE, Steps
from truerank.numerics.threads import on_all_cores
from truerank.training.batches import WHOLE_BATCH, BatchPlan
from truerank.training.negative_sampling import NegativeSampler, Pairs
from truerank.training.objective import objective_of
from truerank.training.optimisers import Step, Table

DIM, BATCH, RATE, SHARED, OWN = 64, 1024, 1e-3, 800, 64
LOSSES: dict[str, tuple[dict[str, float], bool]] = {
    "bpr": ({}, False),
    "infonce": ({"temperature": 0.12}, True),
}
Row = tuple[str, str, float]


def gowalla() -> tr.Interactions:
    try:
        return tr.split.published("gowalla").train
    except tr.TruerankError:
        print("gowalla is not here: generated data of its shape instead")
        data = tr.load_dataset("demo", n_users=29_858, n_items=40_981)
        return tr.split.ratio(data, 0.2).train


def start(data: tr.Interactions) -> tuple[np.ndarray, np.ndarray]:
    both = start_factors(data.n_users + data.n_items, DIM, 0.1, 0, "float32")
    return both[: data.n_users].copy(), both[data.n_users :].copy()


def plain_torch(
    data: tr.Interactions, loss: str, *, n: int, shared: bool, sparse: bool
) -> Iterator[float]:
    """The mean loss of each epoch, as long as one asks."""
    parameters, cosine = LOSSES[loss]
    function = resolve(loss, **parameters)
    W, H = (
        torch.nn.Embedding.from_pretrained(torch.from_numpy(side), freeze=False, sparse=sparse)
        for side in start(data)
    )
    kind = torch.optim.SparseAdam if sparse else torch.optim.Adam
    adam = kind([W.weight, H.weight], lr=RATE)
    users = torch.from_numpy(data.users.astype(np.int64))
    items = torch.from_numpy(data.indices.astype(np.int64))
    generator = torch.Generator().manual_seed(0)

    def vectors(table: torch.nn.Embedding, rows: torch.Tensor) -> torch.Tensor:
        found = table(rows)
        return torch.nn.functional.normalize(found, dim=-1) if cosine else found

    while True:
        total = 0.0
        for at in torch.randperm(len(data), generator=generator).split(BATCH):
            size = (n,) if shared else (len(at), n)
            negatives = torch.randint(data.n_items, size, generator=generator)
            u, i, j = vectors(W, users[at]), vectors(H, items[at]), vectors(H, negatives)
            neg = u @ j.T if shared else torch.einsum("bd,bnd->bn", u, j)
            values = function((u * i).sum(dim=1), neg)
            adam.zero_grad()
            values.mean().backward()
            adam.step()
            total += float(values.detach().sum())
        yield total / len(data)


def ours(
    data: tr.Interactions, loss: str, *, n: int, shared: bool, optimiser: str,
    sharing: int = WHOLE_BATCH,
) -> Iterator[float]:  # fmt: skip
    """The same by our steps."""
    parameters, cosine = LOSSES[loss]
    plan = BatchPlan(0, 0 if shared else n, n if shared else 0, False, False, sharing=sharing)
    objective = objective_of(
        loss=loss, parameters=parameters, pairs=Pairs.of(data), user_of_pair=data.users,
        sampler=NegativeSampler.uniform(), plan=plan, cosine=cosine, correct=False, hidden=0.0,
        alpha=0.0,
    )  # fmt: skip
    users, items = (Table.of(side, optimiser) for side in start(data))
    per_epoch, epoch = -(-len(data) // BATCH), 0
    while True:
        with on_all_cores() as each:
            steps = Steps(objective, users, items, batch_size=BATCH, each=each, parts=2)
            order = np.random.default_rng(epoch).permutation(len(data))
            before = epoch * per_epoch

            def step_of(s: int, before: int = before) -> Step:
                return Step.number(
                    before + s, optimiser=optimiser, rate=RATE, l2=0.0, cosine=cosine
                )

            value = steps.epoch(order, np.uint64(epoch + 1), step_of, lambda *_: None)
        epoch += 1
        yield value


def products(data: tr.Interactions) -> Callable[[], None]:
    """The three matrix products of an epoch with shared negatives, and nothing else."""
    rng = np.random.default_rng(0)
    U, N = (rng.standard_normal((rows, DIM), np.float32) for rows in (BATCH, SHARED))
    S, gU = np.empty((BATCH, SHARED), np.float32), np.empty_like(U)
    gN = np.empty((BATCH // TILE, SHARED, DIM), np.float32)

    def tile(t: int) -> None:
        at = slice(t * TILE, (t + 1) * TILE)
        np.dot(U[at], N.T, out=S[at])
        np.dot(S[at], N, out=gU[at])
        np.dot(S[at].T, U[at], out=gN[t])

    def run() -> None:
        with on_all_cores() as each:
            for _ in range(0, len(data), BATCH):
                each(tile, range(BATCH // TILE))

    return run


def taking_turns(
    contestants: dict[str, Callable[[], Any]], rounds: int
) -> tuple[dict[str, float], dict[str, list[Any]]]:
    """The best time of each, and everything they returned."""
    best, found = dict.fromkeys(contestants, np.inf), {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            begin = time.perf_counter()
            found[name].append(run())
            best[name] = min(best[name], time.perf_counter() - begin)
    print({name: f"{seconds:.2f} s" for name, seconds in best.items()}, flush=True)
    return best, found


def compare(data: tr.Interactions, loss: str, *, shared: bool, rounds: int) -> list[Row]:
    n, wanted = (SHARED, ">= 2") if shared else (OWN, ">= 5")
    what = f"{loss}, {n} {'shared' if shared else 'own'} negatives"
    print(f"\n{what}")
    kinds = {"SparseAdam": "adam"} | ({"Adam": "dense-adam"} if shared else {})
    contestants: dict[str, Callable[[], Any]] = {}
    for theirs, mine in kinds.items():
        sparse = theirs == "SparseAdam"
        us = ours(data, loss, n=n, shared=shared, optimiser=mine)
        them = plain_torch(data, loss, n=n, shared=shared, sparse=sparse)
        contestants |= {f"ours, {mine}": us.__next__, f"torch, {theirs}": them.__next__}
    if shared:
        contestants["three products"] = products(data)
    seconds, found = taking_turns(contestants, rounds)
    curves = {name: losses for name, losses in found.items() if name != "three products"}
    print(f"{'epoch':>6} " + " ".join(f"{name:>18}" for name in curves))
    for epoch in range(rounds):
        print(f"{epoch + 1:6} " + " ".join(f"{losses[epoch]:18.4f}" for losses in curves.values()))
    rows: list[Row] = []
    for theirs, mine in kinds.items():
        pair = [f"torch, {theirs}", f"ours, {mine}"]
        apart = np.exp(np.abs(np.diff(np.log([curves[name] for name in pair]), axis=0)).max())
        ratio = seconds[pair[0]] / seconds[pair[1]]
        rows += [
            (f"{what}: {theirs} of torch, time / ours", wanted, ratio),
            (f"{what}, {theirs}: largest ratio of the losses of an epoch", "<= 1.01", float(apart)),
        ]
    if shared:
        floor = seconds["three products"]
        rows.append((f"{what}: our time / three products", "", seconds["ours, adam"] / floor))
    return rows


def sharing(data: tr.Interactions, rounds: int) -> list[Row]:
    """Negatives of a pair, of every 64 pairs, and of the whole batch: the same number of them."""
    what = f"infonce, {OWN} negatives"
    print(f"\n{what}")
    kind: dict[str, Any] = {"loss": "infonce", "n": OWN, "optimiser": "dense-adam"}
    contestants = {
        "own": ours(data, shared=False, **kind).__next__,
        "of 64 pairs": ours(data, shared=True, sharing=64, **kind).__next__,
        "of the batch": ours(data, shared=True, **kind).__next__,
    }
    seconds, _ = taking_turns(contestants, rounds)
    own, sets, whole = seconds.values()
    return [
        (f"{what}: own ones, time / those of 64 pairs", "", own / sets),
        (f"{what}: those of 64 pairs, time / those of the batch", "", sets / whole),
    ]


def memory(data: tr.Interactions) -> list[Row]:
    """The most that numpy holds at once in an epoch and its validation, beside the data."""
    found: list[Row] = []
    for similarity in ("dot", "cosine"):
        model = tr.models.MF(
            "infonce", dim=DIM, similarity=similarity, n_negatives=SHARED, batch_size=BATCH,
            loss_params={"temperature": 0.12}, epochs=1,
        )  # fmt: skip
        model.fit(data.select(np.arange(len(data)) < 3 * BATCH))  # what compiling takes is not ours
        tracemalloc.start()
        model.fit(data)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        found.append(
            (f"infonce, {SHARED} shared negatives, {similarity}: peak MB of fit", "", peak)
        )
    return found


def warn_if_busy() -> None:
    """OpenMP's threads wait for each other: where others work too, the peer looks far too bad."""
    load, cores = os.getloadavg()[0], available_cores()
    if load > 0.5 * cores:
        print(
            f"others keep {load:.1f} of {cores} cores busy: these ratios flatter us, do not quote"
        )


def rows(rounds: int) -> list[Row]:
    warn_if_busy()
    data = gowalla()
    small = data.select(np.arange(len(data)) < 3 * BATCH)
    for shared, optimiser in product((True, False), ("adam", "dense-adam")):
        for loss in LOSSES:  # compiled before the clock runs
            n = SHARED if shared else OWN
            next(ours(small, loss, n=n, shared=shared, optimiser=optimiser))
    with threadpool_limits(None):
        found = [row for loss in LOSSES for row in compare(data, loss, shared=True, rounds=rounds)]
        found += compare(data, "bpr", shared=False, rounds=max(1, rounds - 1))
        found += sharing(data, max(1, rounds - 1))
    found += memory(data)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\npeak memory of this process, torch and its tables included: {peak:.2f} GB")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="epochs of each contestant")
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    options = parser.parse_args()
    found = rows(options.rounds)
    print(f"\n{'what':80} {'wanted':>8} {'got':>8}")
    for what, want, got in found:
        print(f"{what:80} {want:>8} {got:8.2f}")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "mf.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
