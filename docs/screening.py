"""Screened ranking, measured: who is dropped where, and error against seconds; writes the page.

    python docs/screening.py                  # about ten minutes on two cores
    python docs/screening.py --seeds 2 --quick --page /tmp/screening.md --figures /tmp

gowalla is part of it where its files are on this machine (``$TRUERANK_DATA``, or ``../shared/data``
beside the repository); without them the page says so.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

import truerank as tr
from truerank.estimators import prepare
from truerank.execution import available_cores
from truerank.ranking.design_spec import format_design
from truerank.ranking.screening.certificate import drop_probability
from truerank.ranking.stages import Stages
from truerank.report.figures import save_figure
from truerank.report.figures_screening import CostLine, cost_figure, survival_figure
from truerank.reproduce.fitted import ModelName, fit_model

PAGE = Path(__file__).with_suffix(".md")
SHOWN = 40_981
"""Items of the catalogue whose screen is drawn: gowalla's."""

METRICS = [f"{name}@{k}" for name in ("recall", "ndcg", "ap") for k in (1, 5, 10, 20, 50)]
WORLDS = {10_000: 20_000, 100_000: 10_000, 1_000_000: 3_000}
"""Users by items."""

TOGETHER = 250
"""Users who share their rivals, so that small numbers of users make products as well."""

BUDGETS = (0.01, 0.05)
"""Parts of the catalogue that the screens for a budget may score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A model and the held-out items that it is asked for."""

    data: str
    model: str
    n_items: int
    n_users: int
    rank: Callable[[tr.ranking.Design, int], tr.RankTable]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a design cost and how far it was off: seconds are the least of the seeds' runs."""

    pair: Pair
    design: str
    kind: str
    cpu: float
    wall: float
    scored: float
    error: dict[str, float]
    width: float | None


def main() -> None:
    """Measure, draw, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="a tenth of the users")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--figures", type=Path, default=PAGE.parent / "figures")
    given = parser.parse_args()
    begun = time.perf_counter()
    factor = 10 if given.quick else 1
    lines: list[Line] = []
    for n_items, n_users in WORLDS.items():
        for pair in generated(n_items, n_users // factor):
            lines += measured(pair, given.seeds)
    real = [line for pair in gowalla() for line in measured(pair, given.seeds)]
    stages = tr.Screened(k=20).stages(SHOWN)
    given.figures.mkdir(parents=True, exist_ok=True)
    save(survival_figure(stages.sizes, *survival(stages, SHOWN)), given.figures, "stages")
    save(cost_figure([drawn(line) for line in lines]), given.figures, "cost")
    text = _TEXT.format(
        stages=stage_table(stages, SHOWN, 10_000 // factor),
        cost=cost_table(lines),
        sharing=sharing_table(100_000, 10_000 // factor),
        real=cost_table(real) if real else _NO_DATA,
        seeds=given.seeds,
        cores=available_cores(),
        load=f"{os.getloadavg()[0]:.0f}",
        minutes=f"{(time.perf_counter() - begun) / 60:.0f}",
        together=TOGETHER,
    )
    given.page.write_text(text, encoding="utf-8")


# ------------------------------------------------------------------ models and data


def generated(n_items: int, n_users: int) -> Iterator[Pair]:
    """Factors as in benchmarks/ranking.py, and one order of the catalogue for everybody.

    In the second model a target at place R of that order is as likely as 1 / (R + 50).
    """
    generator = np.random.default_rng(1)
    V = generator.standard_normal((n_items, 64), dtype=np.float32)
    items = generator.integers(0, n_items, n_users)
    pull = generator.uniform(0.0, 0.6, (n_users, 1)).astype(np.float32)
    U = generator.standard_normal((n_users, 64), dtype=np.float32) + pull * V[items]
    yield pair_of(f"{n_items:,} items", "factors", U, V, items)
    common = np.repeat(generator.standard_normal((1, 64), dtype=np.float32), n_users, axis=0)
    chances = 1.0 / (np.arange(1, n_items + 1) + 50.0)
    places = generator.choice(n_items, n_users, p=chances / chances.sum())
    order = np.argsort(-(V @ common[0]), kind="stable")
    yield pair_of(f"{n_items:,} items", "popularity-like", common, V, order[places])


def pair_of(
    data: str, model: str, U: NDArray[np.float32], V: NDArray[np.float32], items: NDArray[np.int64]
) -> Pair:
    """A model made of factors."""
    scorer, users = tr.FactorScorer(U, V), np.arange(len(U))

    def rank(design: tr.ranking.Design, seed: int) -> tr.RankTable:
        return tr.rank_pairs(scorer, users, items, design, seed=seed, progress=False)

    return Pair(data=data, model=model, n_items=len(V), n_users=len(U), rank=rank)


def gowalla() -> Iterator[Pair]:
    """Two fitted models on the published split, or a word that it is not here."""
    beside = PAGE.parents[2] / "shared" / "data"
    if beside.is_dir():
        os.environ.setdefault("TRUERANK_DATA", str(beside))
    try:
        split = tr.split.published("gowalla")
    except tr.TruerankError as problem:
        sys.stderr.write(f"gowalla is not here, so the page goes on without it: {problem}\n")
        return
    for name in ("ials-64", "popularity"):
        fitted = fit_model(ModelName.parse(name), split.train)

        def rank(design: tr.ranking.Design, seed: int, model: object = fitted) -> tr.RankTable:
            return tr.rank(model, split, design, seed=seed, progress=False)

        n_users = len(np.unique(split.held_out.users))
        yield Pair(
            data="gowalla", model=name, n_items=split.train.n_items, n_users=n_users, rank=rank
        )


# ------------------------------------------------------------------ error against seconds


def designs(n_items: int) -> dict[str, tr.ranking.Design]:
    """What is compared, by kind."""
    budgets = {f"screened, {part:.0%}": round(part * n_items) for part in BUDGETS}
    return {
        "full": tr.Full(),
        "sampled, n = 100": tr.Sampled(100),
        "sampled, n = 1,000": tr.Sampled(1_000),
        "sampled, n = 1,000, shared": tr.Sampled(1_000, shared=TOGETHER),
        "adaptive": tr.Adaptive(),
        **{kind: tr.Screened(budget=size, shared=TOGETHER) for kind, size in budgets.items()},
        "screened, certified": tr.Screened(k=20, shared=TOGETHER),
    }


def measured(pair: Pair, seeds: int) -> Iterator[Line]:
    """All designs on one pair; seeds in turns, so that a busy minute hits all designs alike."""
    chosen = designs(pair.n_items)
    times: dict[str, list[tuple[float, float]]] = {kind: [] for kind in chosen}
    tables: dict[str, list[tr.RankTable]] = {kind: [] for kind in chosen}
    for kind, design in chosen.items():  # what is compiled or loaded once is not timed
        pair.rank(tr.Users(m=10, inner=design), 0)
    for seed in range(seeds):
        for kind, design in chosen.items():
            if kind == "full" and seed >= 2:
                continue
            wall, cpu = time.perf_counter(), time.process_time()
            table = pair.rank(design, seed)
            times[kind].append((time.process_time() - cpu, time.perf_counter() - wall))
            tables[kind].append(table)
        sys.stderr.write(f"{pair.data}, {pair.model}, seed {seed}\n")
    truth = values(tables["full"][0])
    for kind, design in chosen.items():
        errors = np.array([np.abs(values(t) / truth - 1.0) for t in tables[kind]]).mean(axis=0)
        parts = np.split(errors, 3)
        cpu, wall = min(times[kind])
        yield Line(
            pair=pair,
            design=format_design(design),
            kind=kind,
            cpu=cpu,
            wall=wall,
            scored=float(np.mean([t.n_scored.sum() / t.n_users for t in tables[kind]])),
            error={
                "all": float(errors.mean()),
                **{n: float(p.mean()) for n, p in zip(("recall", "ndcg", "ap"), parts, strict=True)},
            },
            width=certified_width(tables[kind][0]) if kind == "screened, certified" else None,
        )


def values(table: tr.RankTable) -> NDArray[np.float64]:
    """What the table says of all metrics; values of AP only where users have one target."""
    sample = prepare(table)
    return np.array([e.value for e in tr.estimate(sample, METRICS, n_boot=0, bounds=False)])


def certified_width(table: tr.RankTable) -> float:
    """Width of the certified bounds of Recall@20, as a part of its value."""
    found = tr.estimate(table, "recall@20", n_boot=0)[0]
    assert found.diagnostics.bounds is not None
    return (found.diagnostics.bounds[1] - found.diagnostics.bounds[0]) / found.value


def cost_table(lines: list[Line]) -> str:
    """One row a design."""
    heads = (
        "data", "model", "design", "scored a user", "of full", "CPU s", "of full", "wall s",
        "error, Recall / NDCG / AP",
    )  # fmt: skip
    rows = []
    for line in lines:
        full = next(o for o in lines if o.pair is line.pair and o.kind == "full")
        error = " / ".join(f"{100 * line.error[n]:.2g}" for n in ("recall", "ndcg", "ap"))
        rows.append(
            (
                line.pair.data, line.pair.model, line.design, f"{line.scored:,.0f}",
                f"{line.scored / full.scored:.2g}", f"{line.cpu:.2g}", f"{line.cpu / full.cpu:.2f}",
                f"{line.wall:.2g}", "0" if line.kind == "full" else f"{error} %",
            )
        )  # fmt: skip
    return table_text(heads, rows)
