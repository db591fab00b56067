"""How fast iALS is fitted, as ratios against irspack and implicit, in one run.

    python benchmarks/fit_ials.py            (needs the extra "bench")

All fit the published gowalla split (or generated data of its shape) for ten epochs on all cores,
taking turns. Our CG and irspack's take three steps a row. Objectives are compared in our printed
form as means over seeds: where a run starts moves the objective of either by some 25 in 691,800.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

import truerank as tr
from truerank.models.als.ials import IALS
from truerank.models.als.solvers import objective
from truerank.numerics.threads import on_all_cores

Factors = tuple[np.ndarray, np.ndarray]

REG, UNOBSERVED, EPOCHS, SEEDS = 0.003, 0.1, 10, range(5)
TWO = tr.Interactions.from_arrays([0, 1], [0, 1])


def gowalla() -> tr.Interactions:
    try:
        return tr.split.published("gowalla").train
    except tr.TruerankError:
        print("gowalla is not here: generated data of its shape instead")
        data = tr.load_dataset("demo", n_users=29_858, n_items=40_981)
        return tr.split.ratio(data, 0.2).train


def plain_csr(data: tr.Interactions) -> csr_matrix:
    """What the peers' compiled code takes: writable, with 32-bit indices."""
    parts = (np.ones(len(data), np.float32), data.indices.copy(), data.indptr.astype(np.int32))
    return csr_matrix(parts, shape=(data.n_users, data.n_items))


def ours(data: tr.Interactions, dim: int, solver: str, seed: int = 0) -> Factors:
    model = IALS(
        dim=dim, l2=REG, unobserved_weight=UNOBSERVED, epochs=EPOCHS, solver=solver, seed=seed
    ).fit(data)
    return model.user_factors, model.item_factors


def irspack(X: csr_matrix, dim: int, solver: str, seed: int = 0) -> Factors:
    from irspack.recommenders import IALSRecommender

    model = IALSRecommender(
        X, n_components=dim, alpha0=UNOBSERVED, reg=REG, solver_type=solver, train_epochs=EPOCHS,
        random_seed=seed,
    )  # fmt: skip
    model.learn()
    return model.get_user_embedding(), model.get_item_embedding()


def implicit(X: csr_matrix, dim: int) -> None:
    from implicit.cpu.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(
        factors=dim, regularization=0.01, iterations=EPOCHS, use_cg=False, random_state=0
    )
    model.fit(X, show_progress=False)


def best_times(contestants: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    best = dict.fromkeys(contestants, np.inf)
    for _ in range(rounds):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    print({name: f"{seconds:.2f} s" for name, seconds in best.items()})
    return best


def exact_rows(data: tr.Interactions, X: csr_matrix) -> list[tuple[str, str, float]]:
    IALS(dim=2, epochs=2).fit(TWO)  # compiled before the clock runs
    with threadpool_limits(1, "blas"):  # implicit asks for it, and threads by itself
        seconds = best_times(
            {
                "ours": lambda: ours(data, 128, "cholesky"),
                "irspack": lambda: irspack(X, 128, "CHOLESKY"),
                "implicit": lambda: implicit(X, 128),
            },
            rounds=1,
        )
    return [
        (f"iALS Cholesky d=128: {peer}'s time / ours", wanted, seconds[peer] / seconds["ours"])
        for peer, wanted in (("irspack", ">= 1.5"), ("implicit", ">= 3"))
    ]


def block_rows(data: tr.Interactions, X: csr_matrix) -> list[tuple[str, str, float]]:
    """Blocks of dimensions, irspack's fastest solver at this size."""
    IALS(dim=2, epochs=2, solver="block").fit(TWO)
    found: dict[str, Factors] = {}
    seconds = best_times(
        {
            "ours": lambda: found.update(ours=ours(data, 128, "block")),
            "irspack": lambda: found.update(irspack=irspack(X, 128, "IALSPP")),
        },
        rounds=2,
    )
    problem = IALS(l2=REG, unobserved_weight=UNOBSERVED).problem(data)
    with on_all_cores() as each:
        mine, theirs = (
            objective(problem, *map(np.ascontiguousarray, found[who]), each)
            for who in ("ours", "irspack")
        )
    print(f"objective: ours {mine:.1f}, irspack {theirs:.1f}")
    return [
        ("iALS block d=128: irspack's IALS++ time / ours", ">= 1",
         seconds["irspack"] / seconds["ours"]),
        ("iALS block d=128: irspack's objective / ours", ">= 0.9999", theirs / mine),
    ]  # fmt: skip


def cg_rows(data: tr.Interactions, X: csr_matrix) -> list[tuple[str, str, float]]:
    IALS(dim=2, epochs=2, solver="cg").fit(TWO)
    seconds = best_times(
        {"ours": lambda: ours(data, 64, "cg"), "irspack": lambda: irspack(X, 64, "CG")}, rounds=3
    )
    problem = IALS(l2=REG, unobserved_weight=UNOBSERVED).problem(data)

    def mean_objective(fit: Callable[[int], Factors]) -> float:
        found = [[np.ascontiguousarray(x) for x in fit(seed)] for seed in SEEDS]
        with on_all_cores() as each:
            return float(np.mean([objective(problem, W, H, each) for W, H in found]))

    theirs = mean_objective(lambda seed: irspack(X, 64, "CG", seed))
    mine = mean_objective(lambda seed: ours(data, 64, "cg", seed))
    print(f"mean objective: ours {mine:.1f}, irspack {theirs:.1f}")
    return [
        ("iALS CG d=64: irspack's time / ours", ">= 1", seconds["irspack"] / seconds["ours"]),
        ("iALS CG d=64: irspack's objective / ours", ">= 0.9999", theirs / mine),
    ]


def rows() -> list[tuple[str, str, float]]:
    """What is compared, what is wanted, and the ratio that came out."""
    data = gowalla()
    X = plain_csr(data)
    return exact_rows(data, X) + block_rows(data, X) + cg_rows(data, X)


if __name__ == "__main__":
    for what, wanted, got in rows():
        print(f"{what:48} {wanted:>9} {got:9.5f}")
