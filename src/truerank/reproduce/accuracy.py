r"""How far estimates are from the truth: designs x methods x repeats, simulated from exact ranks.

For a metric :math:`F` and cutoffs :math:`K = 1..50` the error of one simulated table is

.. math::  \frac{1}{50} \sum_{K=1}^{50} \frac{|\hat T_{F@K} - T_{F@K}|}{T_{F@K}},

:math:`T` being the exact metric of the same users (the dissertation's measure). Cutoffs at which
nobody has a hit, :math:`T = 0`, are left out of the mean.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from truerank.arrays import Float
from truerank.errors import InvalidDataError
from truerank.estimators.methods.table import make_method
from truerank.estimators.simulate import simulate
from truerank.metrics import Metric
from truerank.ranking import RankTable
from truerank.ranking.design_spec import REFERENCE_SPEC, parse_design
from truerank.reproduce.exact_ranks import ExactRanks
from truerank.reproduce.fits import Fits
from truerank.reproduce.fitted import ModelName
from truerank.reproduce.printed_accuracy import Published, published_figure

MEASURES = ("recall", "ndcg", "ap")
LARGEST_K = 50

DISSERTATION_METHODS = ("mes", "mle", "bv", "bv-mes", "bv-mle", "mn-mes", "mn-mle")
"""The seven estimators of tab:recall_error_100_cp."""

OURS, REFERENCE = ("adaptive", "auto"), (REFERENCE_SPEC, "mle")
"""(design, method): what we recommend, and the dissertation's adaptive MLE."""

DEFAULT_PLAN: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("sampled n=100 replacement", ("naive", "mle", "auto")),
    ("sampled n=500 replacement", ("mle", "auto")),
    (REFERENCE_SPEC, ("mle", "auto")),
    ("adaptive", ("mle", "auto")),
)
"""Designs in words and the methods that suit each."""

StudyPlan = Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """One line: a design and a method on one (data set, model) pair.

    Attributes:
        data: Name of the data set.
        model: Name of the model.
        design: Design in words.
        method: Name of the method.
        n_users: Users.
        n_items: Most candidates of any user.
        error: Mean over repeats of the relative error, by measure, in per cent.
        spread: Its standard deviation over repeats.
        scored: Mean items scored per user.
        scored_spread: Its standard deviation over repeats.
        seconds: Mean time of one estimate.
        published: The dissertation's figure for the same setting, if any.
    """

    data: str
    model: str
    design: str
    method: str
    n_users: int
    n_items: int
    error: dict[str, float]
    spread: dict[str, float]
    scored: float
    scored_spread: float
    seconds: float
    published: Published | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def measure(
    pair: ExactRanks,
    plan: StudyPlan = DEFAULT_PLAN,
    *,
    repeats: int = 20,
    seed: int = 0,
    step: Callable[[], None] = lambda: None,
) -> tuple[list[Accuracy], list[str]]:
    """Errors of every design and method of the plan on one pair.

    All methods of a design see the same simulated tables.

    Args:
        pair: The exact ranks.
        plan: Designs in words, each with its methods.
        repeats: Simulated tables per design.
        seed: Of the first; the others count on from it.
        step: Called after each estimate.

    Returns:
        The lines, and a sentence for each method that refused a design.
    """
    top = min(LARGEST_K, int(pair.table.n_items.min()))
    truth = exact_values(pair.table, top)
    lines, refusals = [], []
    for words, methods in plan:
        design = parse_design(words)
        errors: dict[str, list[Float]] = {method: [] for method in methods}
        seconds = dict.fromkeys(methods, 0.0)
        scored = []
        for repeat in range(repeats):
            table = simulate(pair.table, design, seed=seed + repeat)
            scored.append(float(table.n_scored.mean()))
            fits = Fits.of(table)
            for method in methods:
                if method not in errors:
                    step()
                    continue
                start = time.perf_counter()
                try:
                    errors[method].append(relative_error(fits, truth, method))
                except InvalidDataError as error:
                    del errors[method]
                    refusals.append(f"{pair.data}, {pair.model}, {words}: {error}")
                seconds[method] += time.perf_counter() - start
                step()
        lines += [
            _line(pair, words, method, np.array(values), np.array(scored), seconds[method])
            for method, values in errors.items()
        ]
    return lines, refusals


def exact_values(exact: RankTable, top: int) -> Float:
    """The metrics of these users, shape ``(measure, K)``."""
    weight = exact.weight / exact.weight.sum()
    return np.array(
        [
            [weight @ exact.per_row(f"{measure}@{k}") for k in range(1, top + 1)]
            for measure in MEASURES
        ]
    )


def relative_error(fits: Fits, truth: Float, method: str) -> Float:
    """Mean relative error over K of each measure."""
    metrics = [Metric(name, k) for name in MEASURES for k in range(1, truth.shape[1] + 1)]
    return mean_relative_error(fits.values(metrics, method)[:, 0].reshape(truth.shape), truth)


def mean_relative_error(values: Float, truth: Float) -> Float:
    """Mean over the last axis of |value - truth| / truth, where the truth is not zero.

    >>> mean_relative_error(np.array([[0.0, 1.0, 3.0]]), np.array([[0.0, 2.0, 2.0]]))
    array([0.5])
    """
    present = truth > 0
    if not present.any(axis=-1).all():
        raise InvalidDataError(
            "no held-out item of any user is in the top 50, so there is no relative error; "
            "take a model that hits something"
        )
    part = np.divide(np.abs(values - truth), truth, out=np.zeros_like(truth), where=present)
    return np.asarray(part.sum(axis=-1) / present.sum(axis=-1))


def _line(
    pair: ExactRanks, words: str, method: str, errors: Float, scored: Float, seconds: float
) -> Accuracy:
    several = len(errors) > 1
    spread = 100 * errors.std(axis=0, ddof=1) if several else np.full(len(MEASURES), np.nan)
    return Accuracy(
        data=pair.data,
        model=pair.model,
        design=words,
        method=method,
        n_users=pair.table.n_users,
        n_items=int(pair.table.n_items.max()),
        error=dict(zip(MEASURES, (100 * errors.mean(axis=0)).tolist(), strict=True)),
        spread=dict(zip(MEASURES, spread.tolist(), strict=True)),
        scored=float(scored.mean()),
        scored_spread=float(scored.std(ddof=1)) if several else float("nan"),
        seconds=seconds / len(errors),
        published=published_figure(
            pair.data,
            ModelName.parse(pair.model).kind,
            words,
            method,
            candidates=pair.table.header.candidates,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A design and a method over all pairs.

    Attributes:
        design: Design in words.
        method: Name of the method.
        pairs: How many (data set, model) pairs.
        error: Mean relative error by measure, in per cent.
        scored: Mean items scored per user.
    """

    design: str
    method: str
    pairs: int
    error: dict[str, float]
    scored: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def means(lines: Iterable[Accuracy]) -> list[Mean]:
    """The mean over pairs of each (design, method), in the order they first came."""
    groups: dict[tuple[str, str], list[Accuracy]] = {}
    for line in lines:
        groups.setdefault((line.design, line.method), []).append(line)
    return [
        Mean(
            design=design,
            method=method,
            pairs=len(group),
            error={m: float(np.mean([line.error[m] for line in group])) for m in MEASURES},
            scored=float(np.mean([line.scored for line in group])),
        )
        for (design, method), group in groups.items()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Mean error and cost of a design and method as parts of the reference's.

    Attributes:
        design: Design in words.
        method: Name of the method.
        error: By measure: mean error over pairs divided by the reference's.
        scored: The same of the items scored.
        worst_scored: Largest part of a single pair.
        per_pair: By measure: mean over pairs of each pair's own quotient.
        pairs: How many pairs.
    """

    design: str
    method: str
    error: dict[str, float]
    scored: float
    worst_scored: float
    per_pair: dict[str, float]
    pairs: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def ratio(
    lines: Iterable[Accuracy],
    ours: tuple[str, str] = OURS,
    reference: tuple[str, str] = REFERENCE,
) -> Ratio | None:
    """Ours against the reference on the pairs that have both; None if there is none."""
    table = {(line.data, line.model, line.design, line.method): line for line in lines}
    both = [
        (line, table[(data, model, *reference)])
        for (data, model, *key), line in table.items()
        if tuple(key) == ours and (data, model, *reference) in table
    ]
    if not both:
        return None

    def of(a: Sequence[float], b: Sequence[float]) -> float:
        return float(np.sum(a) / np.sum(b))

    return Ratio(
        design=ours[0],
        method=ours[1],
        error={
            m: of([a.error[m] for a, _ in both], [b.error[m] for _, b in both]) for m in MEASURES
        },
        scored=of([a.scored for a, _ in both], [b.scored for _, b in both]),
        worst_scored=max(a.scored / b.scored for a, b in both),
        per_pair={m: float(np.mean([a.error[m] / b.error[m] for a, b in both])) for m in MEASURES},
        pairs=len(both),
    )


def ratios(lines: Sequence[Accuracy]) -> list[Ratio]:
    """Every adaptive design and method against the reference, in the order they first came."""
    keys = dict.fromkeys((line.design, line.method) for line in lines)
    adaptive = [key for key in keys if key != REFERENCE and key[0].startswith("adaptive")]
    found = [ratio(lines, ours=key) for key in adaptive]
    return [one for one in found if one is not None]


def make_plan(designs: Sequence[str], methods: Sequence[str]) -> StudyPlan:
    """The plan for what was asked; what was left out is the default.

    ``"dissertation"`` stands for its seven methods. With methods but no designs, every
    default design gets them; with designs but no methods, those that suit it.
    """
    wanted: list[str] = []
    for method in methods:
        wanted += DISSERTATION_METHODS if method == "dissertation" else [method]
    for method in wanted:
        make_method(method, {})  # refuses what it does not know
    chosen = [REFERENCE_SPEC if words.strip() == "reference" else words for words in designs]
    for words in chosen:
        parse_design(words)
    suited = dict(DEFAULT_PLAN)
    plan = []
    for words in chosen or suited:
        kind = words.split()[0]
        usual = suited.get(words, ("mle", "auto") if kind != "full" else ("exact",))
        plan.append((words, tuple(dict.fromkeys(wanted)) or usual))
    return plan
