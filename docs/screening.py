"""Screened ranking, measured: who is dropped where, and error against seconds; writes the page.

    python docs/screening.py --cache /tmp/screening
    python docs/screening.py --seeds 2 --quick --page /tmp/screening.md --figures /tmp

About ten minutes on two cores. What is measured is kept in the cache, pair by pair, so that a
broken run goes on where it stopped. gowalla is part of it where its files are on this machine
(``$TRUERANK_DATA``, or a folder shared/data beside the repository); without them the page says so.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

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
from truerank.report.figures_screening import CostPoint, cost_figure, survival_figure
from truerank.reproduce.exact_ranks import one_item_split

PAGE = Path(__file__).with_suffix(".md")
TEXT = PAGE.with_suffix(".template")
"""The page, with braces where tables go."""
K = 20
SHOWN, SHOWN_USERS = 40_981, 5_000
"""Items of the catalogue whose screen is drawn, gowalla's, and users ranked by it."""

METRICS = [f"{name}@{k}" for name in ("recall", "ndcg", "ap") for k in (1, 5, 10, 20, 50)]
WORLDS = {10_000: 10_000, 100_000: 4_000, 1_000_000: 2_000}
"""Users by items."""

TOGETHER = 250
"""Users who share their rivals, so that small numbers of users make products as well."""

SHARED = (None, 50, 250, 1_000)
"""Users who share their rivals, where their number is what is compared."""

BUDGETS = (0.01, 0.05)
"""Parts of the catalogue that the screens for a budget may score."""

COLOURS = {
    "full": "black",
    "sampled, n = 100": "tab:orange",
    "sampled, n = 1,000": "tab:brown",
    "sampled, n = 1,000, shared": "tab:olive",
    "adaptive": "tab:purple",
    "screened, budget 1 %": "deepskyblue",
    "screened, budget 5 %": "tab:blue",
    "screened, certified": "tab:green",
}

Rank = Callable[[tr.ranking.Design, int], tr.RankTable]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A model and the held-out items that it is asked for."""

    data: str
    model: str
    n_items: int
    n_users: int
    rank: Rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a design cost and how far it was off: seconds are those of the quickest run.

    Attributes:
        data: Of the pair.
        model: Of the pair.
        n_users: Of the pair.
        design: In the words of the command line.
        kind: What figures call it.
        cpu: Seconds, over all threads.
        wall: Seconds by the clock.
        scored: Items scored a user.
        error: Mean relative errors, of all metrics and by their name.
        width: Of the certified bounds of Recall@20, as a part of its value.
    """

    data: str
    model: str
    n_users: int
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
    parser.add_argument("--quick", action="store_true", help="a tenth of the users, no gowalla")
    parser.add_argument("--cache", type=Path, help="folder for what is measured")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--figures", type=Path, default=PAGE.parent / "figures")
    given = parser.parse_args()
    factor = 10 if given.quick else 1
    lines: list[Line] = []
    for n_items, n_users in WORLDS.items():
        for pair in generated(n_items, n_users // factor):
            lines += kept(pair, given.seeds, given.cache)
    real: list[Line] = []
    for pair in gowalla() if not given.quick else ():
        real += kept(pair, given.seeds, given.cache)
    stages = tr.Screened(k=K).stages(SHOWN)
    given.figures.mkdir(parents=True, exist_ok=True)
    ranks = np.unique(np.geomspace(1, SHOWN, 160).astype(np.int64))
    alive = survival(stages, ranks, SHOWN)
    save(survival_figure(stages.sizes, ranks, alive, k=K), given.figures / "screening-stages.svg")
    points = [
        CostPoint(o.data, o.kind, o.model, 1_000 * o.cpu / o.n_users, o.error["all"]) for o in lines
    ]
    save(cost_figure(points, COLOURS, floor=1e-4), given.figures / "screening-cost.svg")
    users = list(WORLDS.values())[1] // factor
    text = TEXT.read_text(encoding="utf-8").format(
        stages=stage_table(stages, SHOWN_USERS // factor),
        cost=cost_table(lines),
        sharing=sharing_table(100_000, users),
        sharing_users=f"{users:,}",
        real=cost_table(real) if real else _NO_DATA,
        widths=widths([*lines, *real]),
        seeds=given.seeds,
        cores=available_cores(),
        load=f"{os.getloadavg()[2]:.0f}",
        together=TOGETHER,
        users=", ".join(f"{m // factor:,}" for m in WORLDS.values()),
        shown=f"{SHOWN:,}",
        example=_EXAMPLE,
        printed=printed(_EXAMPLE),
    )
    given.page.write_text(text, encoding="utf-8")


def printed(example: str) -> str:
    """What it prints, indented as Markdown wants it, long lines folded."""
    said = io.StringIO()
    with redirect_stdout(said):
        exec(compile(example, "example", "exec"), {})  # noqa: S102
    lines = [part for line in said.getvalue().splitlines() for part in textwrap.wrap(line, 96)]
    return textwrap.indent("\n".join(lines), "    ")


def kept(pair: Pair, seeds: int, folder: Path | None) -> list[Line]:
    """The lines of a pair, from the cache if they are there."""
    if folder is None:
        return list(measured(pair, seeds))
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{pair.data}-{pair.model}-{pair.n_users}-{seeds}.json".replace(" ", "-")
    if not file.exists():
        lines = [asdict(line) for line in measured(pair, seeds)]
        file.write_text(json.dumps(lines, indent=1), encoding="utf-8")
    return [Line(**line) for line in json.loads(file.read_text(encoding="utf-8"))]


def save(figure: object, file: Path) -> None:
    """A figure in the place of the last one."""
    file.unlink(missing_ok=True)
    save_figure(figure, file)  # type: ignore[arg-type]


# ------------------------------------------------------------------ models and data


def generated(n_items: int, n_users: int) -> Iterator[Pair]:
    """Factors as in benchmarks/ranking.py, and one order of the catalogue for everybody.

    In the second model a target at place R of that order is as likely as 1 / (R + 20).
    """
    generator = np.random.default_rng(1)
    V = generator.standard_normal((n_items, 64), dtype=np.float32)
    items = generator.integers(0, n_items, n_users)
    pull = generator.uniform(0.0, 0.6, (n_users, 1)).astype(np.float32)
    U = generator.standard_normal((n_users, 64), dtype=np.float32) + pull * V[items]
    yield pair_of(f"{n_items:,} items", "factors", U, V, items)
    common = np.repeat(generator.standard_normal((1, 64), dtype=np.float32), n_users, axis=0)
    chances = 1.0 / (np.arange(1, n_items + 1) + 20.0)
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
    """Two fitted models, a held-out item of each user; or a word that the data are not here."""
    beside = PAGE.parents[2] / "shared" / "data"
    if beside.is_dir():
        os.environ.setdefault("TRUERANK_DATA", str(beside))
    try:
        split = one_item_split("gowalla")
    except tr.TruerankError as problem:
        sys.stderr.write(f"gowalla is not here, so the page goes on without it: {problem}\n")
        return
    yield fitted_pair("iALS, d = 64", tr.models.IALS(dim=64, epochs=8), split)
    yield fitted_pair("popularity", tr.models.Popularity(), split)


def fitted_pair(name: str, unfitted: Any, split: tr.split.Split) -> Pair:
    """A model that is fitted when it is first ranked."""
    fitted = cache(lambda: unfitted.fit(split.train))

    def rank(design: tr.ranking.Design, seed: int) -> tr.RankTable:
        return tr.rank(fitted(), split, design, seed=seed, progress=False)

    n_items, n_users = split.train.n_items, len(split.held_out)  # one held-out item each
    return Pair(data="gowalla", model=name, n_items=n_items, n_users=n_users, rank=rank)


# ------------------------------------------------------------------ error against seconds


def designs(n_items: int) -> dict[str, tr.ranking.Design]:
    """What is compared, by kind."""
    budgets = {f"screened, budget {p:.0%}".replace("%", " %"): round(p * n_items) for p in BUDGETS}
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
    for design in chosen.values():  # what is compiled or loaded once is not timed
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
            data=pair.data,
            model=pair.model,
            n_users=pair.n_users,
            design=format_design(design),
            kind=kind,
            cpu=cpu,
            wall=wall,
            scored=float(np.mean([t.n_scored.sum() / t.n_users for t in tables[kind]])),
            error={
                "all": float(errors.mean()),
                **{
                    n: float(p.mean()) for n, p in zip(("recall", "ndcg", "ap"), parts, strict=True)
                },
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
    low, high = found.diagnostics.bounds or (0.0, 1.0)
    return (high - low) / found.value


def cost_table(lines: list[Line]) -> str:
    """One row a design, beside the full ranking of the same pair."""
    heads = ["data", "model", "design", "scored a user", "of full", "CPU s", "of full", "wall s"]
    rows = []
    for line in lines:
        (full,) = (o for o in lines if (o.data, o.model, o.kind) == (line.data, line.model, "full"))
        error = " / ".join(digits(100 * line.error[name]) for name in ("recall", "ndcg", "ap"))
        row = [line.data, line.model, f"`{line.design}`", f"{line.scored:,.0f}"]
        row += [digits(line.scored / full.scored), digits(line.cpu), f"{line.cpu / full.cpu:.2f}"]
        rows.append([*row, digits(line.wall), "0" if line.kind == "full" else error])
    return _table([*heads, "error %, Recall / NDCG / AP"], rows)


def digits(value: float) -> str:
    """Two digits, and whole numbers from ten on."""
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.2g}"


def widths(lines: list[Line]) -> str:
    """How wide certified bounds are, at most."""
    return f"{100 * max(line.width for line in lines if line.width is not None):.2g} %"


def sharing_table(n_items: int, n_users: int) -> str:
    """Seconds by the number of users who share their rivals; the best of three, in turns."""
    (pair, _) = generated(n_items, n_users)
    chosen: dict[str, tr.ranking.Design] = {"`full`": tr.Full()}
    for shared in SHARED:
        design = tr.Screened(k=K, shared=shared)
        chosen[f"`{format_design(design)}`"] = design
    blocks: dict[str, str] = {}
    best = dict.fromkeys(chosen, (np.inf, np.inf))
    for attempt in range(4):
        for name, design in chosen.items():
            wall, cpu = time.perf_counter(), time.process_time()
            table = pair.rank(design, 0)
            took = time.process_time() - cpu, time.perf_counter() - wall
            best[name] = min(best[name], took) if attempt else best[name]
            together = table.header.stages and n_users / (table.header.stages.n_blocks or 1)
            blocks[name] = f"{together:,.0f}" if together else "—"
    rows = [
        [name, blocks[name], digits(cpu), f"{cpu / best['`full`'][0]:.2f}", digits(wall)]
        for name, (cpu, wall) in best.items()
    ]
    return _table(["design", "users a block", "CPU s", "of full", "wall s"], rows)


# ------------------------------------------------------------------ who is dropped where


def survival(stages: Stages, ranks: NDArray[np.int64], n_items: int) -> NDArray[np.float64]:
    """P(a target of each rank goes on from each stage but the last), exact.

    A target with x rivals above among the items met so far meets a hypergeometric number more.
    """
    alive = np.empty((len(ranks), len(stages.sizes) - 1))
    for i, rank in enumerate(ranks.tolist()):
        here, before = np.ones(1), 0
        for j, size in enumerate(stages.sizes[:-1].tolist()):
            passing = np.zeros(stages.max_rank[j])
            for x, share in enumerate(here.tolist()):
                more = np.arange(len(passing) - x)
                left = min(max(rank - 1 - x, 0), n_items - before)  # beyond, nobody has met so few
                law = hypergeom.pmf(more, n_items - before, left, size - before)
                passing[x:] += share * law
            alive[i, j] = min(1.0, passing.sum())
            here, before = passing, size
    return alive


def stage_table(stages: Stages, n_users: int) -> str:
    """The stages, what each may lose of rank K, and how many rows of two models come there."""
    seen = []
    for pair in generated(SHOWN, n_users):
        scored = pair.rank(tr.Screened(k=K), 0).n_scored
        ends = np.append(stages.sizes[:-1], stages.sizes[-2] + SHOWN)
        seen.append([float((scored >= end).mean()) for end in ends])
    rows = []
    for j, size in enumerate(stages.sizes.tolist()):
        last = j == len(stages.sizes) - 1
        one = Stages(
            np.array([size, SHOWN]), np.append(stages.max_rank[j], 0), np.ones(2), stages.n_blocks
        )
        lost = float(drop_probability(np.array([K]), SHOWN, one)[0])
        row = [f"{j + 1}", f"{size:,}", "" if last else f"{stages.max_rank[j] - 1}"]
        row += ["" if last else f"{lost:.1e}", *(f"{100 * shares[j]:.1f} %" for shares in seen)]
        rows.append(row)
    heads = ["stage", "items met", "rivals above that pass", f"drops rank {K} with at most"]
    return _table([*heads, "rows here, factors", "rows here, popularity-like"], rows)


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


_EXAMPLE = """\
import numpy as np
import truerank as tr

rng = np.random.default_rng(0)
users, items = np.arange(2_000), rng.integers(0, 20_000, 2_000)
V = rng.normal(size=(20_000, 32))  # what a model learned of the items
U = rng.normal(size=(2_000, 32)) + rng.uniform(0.0, 0.8, (2_000, 1)) * V[items]  # and of the users
model = tr.FactorScorer(U, V)

screened = tr.rank_pairs(model, users, items, tr.Screened(k=20))
full = tr.rank_pairs(model, users, items, tr.Full())
for design, ranks in {"screened": screened, "full": full}.items():
    (e,) = tr.estimate(ranks, "ndcg@20")
    print(f"{design}: {e.value:.5f}, {ranks.n_scored.mean():,.0f} scored a user")
print(tr.estimate(screened, "ndcg@20")[0].diagnostics.notes[0])
"""

_NO_DATA = (
    "The data of gowalla were not on the machine that wrote this page ([your data](data.md))."
)


if __name__ == "__main__":
    main()
