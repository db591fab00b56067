"""A page as a comparison of five models would fill it, and one whose names mean harm."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from truerank.report.page import (
    Cell,
    Chart,
    Code,
    Details,
    Page,
    Section,
    Series,
    Table,
    Text,
)

MODELS = ("ease", "ials", "slim", "item-knn", "popularity")
LEVELS = (0.182, 0.171, 0.168, 0.139, 0.061)
HOSTILE = (
    "<script>alert(1)</script>",
    "\"&'</title></svg>--><img src=x onerror=alert(2)>",
    "a-model-name-without-any-space-that-goes-on-and-on-" * 4,
    "מודל המלצות \u202eהפוך",
    "👩🏽‍🚀 rocket model",
    "nul\x00 and a lone surrogate \udcff",
)
PAIRS = [(a, b) for i, a in enumerate(MODELS) for b in MODELS[i + 1 :]]


def curves() -> Chart:
    ks = np.unique(np.round(np.geomspace(1, 100, 40))).astype(float)
    series = []
    for i, (name, level) in enumerate(zip(MODELS, LEVELS, strict=True)):
        truth = level * np.log1p(ks) / np.log(11) * (1 - 0.0012 * ks)
        error = 0.004 + 0.03 * level / np.sqrt(ks)
        series.append(
            Series(name, ks.tolist(), truth.tolist(), (truth - error).tolist(),
                   (truth + error).tolist(), colour=i)
        )  # fmt: skip
    for i, (name, level) in enumerate(zip(MODELS, LEVELS, strict=True)):
        naive = np.minimum(0.97, 1.3 * np.sqrt(level) * np.log1p(ks) / np.log(23))
        series.append(
            Series(f"{name}, naive", ks.tolist(), naive.tolist(), style="dashed", colour=i)
        )
    return Chart(
        "Recall at every cutoff",
        "Solid lines are estimates for the whole catalogue with 95% bands; dashed lines are what "
        "the sampled ranks say when nobody corrects them.",
        "K", "Recall@K", series, x_log=True,
    )  # fmt: skip


def distributions() -> Chart:
    edges = np.unique(np.round(np.geomspace(1, 20_000, 60))).astype(float)
    series = []
    for name, level in zip(MODELS, LEVELS, strict=True):
        share = 1 - np.exp(-level * 6 * np.log1p(edges) / np.log(20_000) * (1 + edges / 6_000))
        series.append(Series(name, edges.tolist(), share.tolist()))
    return Chart(
        "Where the held-out items rank", "Estimated share of users whose held-out item ranks at "
        "or above R.", "true rank R", "share of users", series, x_log=True, kind="steps",
        percent=True,
    )  # fmt: skip


def differences() -> Chart:
    rng = np.random.default_rng(3)
    level = dict(zip(MODELS, LEVELS, strict=True))
    mean = np.array([level[a] - level[b] for a, b in PAIRS])
    half = rng.uniform(0.004, 0.012, len(PAIRS))
    flags = ["" if abs(m) > 0.004 else "bounds overlap: do not decide on this" for m in mean]
    return Chart(
        "Differences in nDCG@10", "Paired differences with simultaneous 95% intervals. An "
        "interval that holds zero leaves the pair undecided.", "difference in nDCG@10", "pair",
        [Series("difference", mean.tolist(), low=(mean - half).tolist(),
                high=(mean + half).tolist(), labels=[f"{a} − {b}" for a, b in PAIRS],
                flags=flags)],
        kind="intervals", zero_line=True,
    )  # fmt: skip


def bounds() -> Chart:
    level = np.array(LEVELS)
    return Chart(
        "What the data can identify", "Every value between the outer ends agrees with the sampled "
        "ranks; the inner interval adds the assumption of a smooth distribution.", "nDCG@10", "",
        [Series("identified", [math.nan] * 5, low=(level * 0.62).tolist(),
                high=(level * 1.3 + 0.01).tolist(), labels=MODELS, style="dashed", colour=7),
         Series("estimate", level.tolist(), low=(level - 0.007).tolist(),
                high=(level + 0.007).tolist(), labels=MODELS, colour=0)],
        kind="intervals", percent=True,
    )  # fmt: skip


def costs() -> Chart:
    def method(name: str, cost: Sequence[float], error: Sequence[float], labels: Sequence[str]):
        return Series(name, cost, error, labels=labels, style="points")

    return Chart(
        "Cost against error", "Scored pairs against the standard error of nDCG@10; the lower left "
        "is better.", "scored pairs", "standard error",
        [method("all items, all users", [1.2e8], [0.0011], ["full"]),
         method("fixed sample", [6e5, 3e6, 6e6], [0.021, 0.011, 0.0083],
                ["n=100", "n=500", "n=1000"]),
         method("adaptive", [5e5, 1.1e6, 4e6], [0.009, 0.005, 0.0026],
                ["n₀=25", "n₀=50", "n₀=200"]),
         method("sampled users", [6e6, 2e7], [0.0098, 0.0052], ["300 users", "1,000 users"])],
        kind="scatter", x_log=True, y_log=True,
    )  # fmt: skip


def results() -> Table:
    rows = []
    best = (0.71, 0.2, 0.09, 0.0, 0.0)
    for i, (name, level) in enumerate(zip(MODELS, LEVELS, strict=True)):
        rows.append([
            Cell(name),
            Cell(f"{level:.4f}", sort=level, mark="*" if i == 0 else ""),
            Cell(f"{level - .007:.4f} to {level + .007:.4f}", sort=level - 0.007),
            Cell(f"{1.7 * level:.4f}", sort=1.7 * level),
            Cell(f"{best[i]:.2f}" if best[i] >= 0.01 else "< 0.01", sort=best[i]),
            Cell("A" if i < 2 else "B" if i < 3 else "C" if i < 4 else "D"),
            Cell("identified" if i != 2 else "weak", note="" if i != 2 else "The sample leaves "
                 "nDCG@10 between 0.104 and 0.228; rank more items before you rely on this row."),
        ])  # fmt: skip
    heads = ["model", "nDCG@10", "95% interval", "Recall@10", "P(best)", "group", "trust"]
    return Table(heads, rows, "Models by estimated nDCG@10. Models of one group cannot be told "
                 "apart at the 5% level. * different from every other model.")  # fmt: skip


MADE = (
    ("design", "Adaptive(n0=25, n_max=3200)"),
    ("seed", "0"),
    ("tie rule", "half, rounded up"),
    ("candidates", "unseen items"),
    ("data", "sha256 5f2c9a1e77d0"),
    ("split", "sha256 90be11ac3d42"),
    ("truerank", "0.1.0"),
    ("numpy, scipy", "2.3.1, 1.16.0"),
)
COMMANDS = """\
truerank rank ease.model --design adaptive --n0 25 --n-max 3200 --seed 0 --out ease.parquet
truerank compare ease.parquet ials.parquet slim.parquet item-knn.parquet popularity.parquet \\
    --metric ndcg@10 --out report.html"""


def make_page() -> Page:
    made = Table(
        ["what", "value"],
        [[Cell(what), Cell(value)] for what, value in MADE],
        "Everything needed to make these numbers again.",
        numeric_from=2,
    )
    same = (
        "Each model was estimated from the same sampled ranks of the same 6,040 users, so that "
        "differences between models carry less noise than the models themselves."
    )
    undecided = Text(
        "ials and slim differ by less than this sample can show. To tell them apart, rank about "
        "9,600 users.",
        kind="warning",
    )
    words = Details(
        "The words used here",
        [
            Text("P(best) is the share of joint resamples in which the model comes first."),
            Text(
                "Intervals of single models overlap more than paired differences do.", kind="note"
            ),
        ],
    )
    joint = "The intervals hold jointly for all ten pairs."
    sections = [
        Section("Results", "results", [same], [results()]),
        Section("At every cutoff", "cutoffs", [], [curves()]),
        Section("Differences", "differences", [joint], [differences(), undecided]),
        Section("Rank distributions", "ranks", [], [distributions()]),
        Section("What the data can say", "bounds", [], [bounds()]),
        Section("Cost", "cost", [], [costs()]),
        Section("How it was made", "made", [], [made, Code(COMMANDS, "The commands"), words]),
    ]
    return Page(
        "Comparison of 5 models on nDCG@10",
        "ease is the best of five models: its nDCG@10 is 0.182, ahead of ials by 0.011 ± 0.004.",
        "The order of ials and slim is not decided. Ranking every item would have cost 41 times "
        "as much and would not change the winner.",
        sections,
        {"models": list(MODELS), "ndcg@10": list(LEVELS), "missing": math.nan},
        "Made by truerank 0.1.0 on 16 November 2025, seed 0, data 5f2c9a1e77d0.",
        (("users", "6,040"), ("items", "19,830"), ("design", "adaptive, n₀ = 25"),
         ("estimator", "mle"), ("correction", "Holm")),
    )  # fmt: skip


def make_hostile_page() -> Page:
    series = [
        Series(
            name,
            [1, 10, 100],
            [0.1 * i, 0.2 + 0.1 * i, 0.5],
            labels=[name] * 3,
            flags=["", name, ""],
        )
        for i, name in enumerate(HOSTILE)
    ]
    bars = [Series("x", [0.1] * 6, low=[0.0] * 6, high=[0.3] * 6, labels=HOSTILE, flags=HOSTILE)]
    title = HOSTILE[0] + HOSTILE[1]
    parts = [
        Chart(title, title, title, title, series, x_log=True),
        Chart(title, title, title, title, series, kind="steps"),
        Chart(title, title, title, title, series, kind="scatter", x_log=True),
        Chart(title, title, title, title, bars, kind="intervals", zero_line=True),
        Table(["model", *HOSTILE], [[Cell(n, sort=n, note=n, mark=n)] * 7 for n in HOSTILE], title),
        Code("\n".join(HOSTILE), title),
        Details(title, [Text(n, kind="warning") for n in HOSTILE]),
        *(Text(n) for n in HOSTILE),
    ]
    section = Section(title, "hostile", HOSTILE, parts)
    names = {name: name for name in HOSTILE}
    verdict = f"{HOSTILE[2]} beats {HOSTILE[0]} and {HOSTILE[3]}"
    meta = tuple((name, name) for name in HOSTILE)
    return Page(title, verdict, title, [section], names, title, meta)


@pytest.fixture
def page() -> Page:
    return make_page()


@pytest.fixture
def hostile_page() -> Page:
    return make_hostile_page()
