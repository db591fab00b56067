"""What an estimate cannot know, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from truerank.arrays import Float
from truerank.errors import Message
from truerank.estimators.bounds.blind_spot import blind_spot, is_blind
from truerank.estimators.bounds.remedies import next_design
from truerank.estimators.methods.simple import Naive
from truerank.estimators.methods.table import make_method
from truerank.estimators.problem import Estimator, Problem
from truerank.estimators.result import Diagnostics
from truerank.estimators.samples import (
    FEW_BLOCKS,
    Sample,
    Weighting,
    blocks_sharing,
    prepare,
)
from truerank.metrics import Metric
from truerank.ranking.counts import RankCounts
from truerank.ranking.table import RankTable


def diagnose(
    weighting: Weighting,
    metrics: list[Metric],
    shares: Float,
    values: Float,
    *,
    estimator: Estimator,
    method: str,
    scale: float,
    bounds: bool,
    confidence: float,
) -> list[Diagnostics]:
    """Diagnostics of each metric. ``scale`` turns sums over the distribution into values."""
    sample, problem = weighting.sample, weighting.problem
    header, suspicions, scored = sample.ranks.header, sample.suspicions, sample.n_scored
    common = [*suspicions, *([_NAIVE] if method == "naive" else [])]
    common += [sample.ranks.adapted] if sample.ranks.adapted else []
    common += _uneven(problem)
    if blocks_sharing(sample.ranks) is not None and sample.block is None:
        common.append(_FEW_BLOCKS)
    if not bounds:
        if not sample.exact:
            common.append(
                "what the samples cannot tell was not examined "
                + Message("(bounds=False)", "(--no-bounds)")
            )
        notes = tuple(common)
        unbounded = Diagnostics(
            scored=scored, examined=sample.exact, suspicions=suspicions, notes=notes
        )
        return [unbounded for _ in metrics]
    found = weighting.compatible(confidence, shares)
    cutoffs = sorted({metric.k for metric in metrics if metric.k is not None})
    spot = None
    if cutoffs:
        spot = blind_spot(
            problem, shares, ks=cutoffs, example=cutoffs[0], allowed=found, design=header.design,
            value=_own_value(weighting, estimator),
        )  # fmt: skip
        common += spot.sentences
    elif found.note:
        common.append(found.note)
    if found.note and header.ties in _MISFIT_BY_TIES:
        common.append(_MISFIT_BY_TIES[header.ties])
    results = []
    for metric, value, ends in zip(metrics, values, found.bounds(metrics), strict=True):
        low, high = np.clip(scale * np.array(ends), *metric.limits).tolist()
        if found.note and method != "naive":  # the bounds know no better than the estimate
            inside = float(np.clip(value, *metric.limits))
            low, high = min(low, inside), max(high, inside)
        # How sure exact ranks would be depends on a value that is possible; a naive one is none.
        possible = low if method == "naive" else float(np.clip(value, low, high))
        blind = is_blind(found, (low, high), value=possible, n_rows=problem.n_rows)
        spotted = spot is not None and metric.k in spot.blind
        said = [_range_sentence(metric, low, high, confidence), *common]
        if blind and not spotted:
            advice = next_design(header.design)
            said.append(f"the samples hardly determine {metric}: it rests on smoothness; {advice}")
        blind = blind or spotted
        if not low <= value <= high:
            said.append(f"the estimate {value:.4g} lies outside its bounds: do not trust it")
        results.append(
            Diagnostics(
                bounds=(low, high),
                blind=blind,
                suspicions=suspicions,
                scored=scored,
                notes=tuple(said),
            )
        )
    return results


def exact_diagnostics(sample: Sample) -> Diagnostics:
    """Of any metric of a table whose ranks are all exact."""
    ranks, suspicions = sample.ranks, sample.suspicions
    note = "every rank is exact: the only uncertainty is which users there are"
    n_rows = ranks.n_rows.sum() if isinstance(ranks, RankCounts) else len(ranks)
    return Diagnostics(
        scored=float(ranks.n_scored.sum() / n_rows),
        suspicions=suspicions,
        notes=tuple(filter(None, [*(suspicions or [note]), ranks.adapted])),
    )


def blind_cutoffs(
    ranks: RankTable | RankCounts | Sample,
    ks: Sequence[int],
    *,
    method: str = "auto",
    confidence: float = 0.95,
) -> frozenset[int]:
    """Which cutoffs the samples do not see; none of them for exact ranks.

    Args:
        ranks: A table, counts, or either as :func:`truerank.estimators.prepare` made it.
        ks: Cutoffs to judge.
        method: Whose values they are judged at.
        confidence: Confidence of the bounds.
    """
    sample = prepare(ranks)
    if sample.exact:
        return frozenset()
    weighting, estimator = sample.by_user, make_method(method, {})
    spot = blind_spot(
        weighting.problem, weighting.own_shares, ks=ks, confidence=confidence,
        allowed=weighting.compatible(confidence), value=_own_value(weighting, estimator),
    )  # fmt: skip
    return frozenset(spot.blind)


def _own_value(weighting: Weighting, estimator: Estimator) -> Callable[[Metric], float] | None:
    """What the estimate itself says: a cutoff is judged at that.

    A naive value is not a possible one. Values of several cutoffs at once would be no cheaper: the
    distribution is fitted once.
    """
    if isinstance(estimator, Naive):
        return None
    return lambda metric: weighting.value(estimator, metric)


_MISFIT_BY_TIES = {
    "half": (
        "ties are the likely cause: half of the ties in a sample is not a draw from the catalogue; "
        "rank again with ties='random', the default"
    ),
    "pessimistic": (
        "ties may be the cause: tied targets stand at the end of each user's own candidates, and "
        "one distribution of ranks for all users cannot say that where users differ in n_items; "
        "rank again with ties='random', the default"
    ),
    "unknown": (
        "ties may be the cause: how equal scores were ranked is unknown, and where a tie counts "
        "half, ranks in a sample are not draws from the catalogue; break ties at random"
    ),
}
"""Under the other rules a sample obeys its distribution: see numerics.ties."""

_NAIVE = (
    "this is the metric on the samples, not on the catalogue: it depends on the sample size "
    "and may order models differently"
)


_FEW_BLOCKS = (
    f"users share their rivals in fewer than {FEW_BLOCKS} blocks, too few to tell how much these "
    "differ: errors and bounds are those of rivals of each user's own, which may be too small; let "
    "fewer users share theirs"
)

UNEVEN = 1.5
"""Numbers of candidates this many times apart cannot share one distribution of ranks."""


def _uneven(problem: Problem) -> list[str]:
    least, most = int(problem.cells.n_items.min()), problem.cells.largest
    if most <= UNEVEN * least:
        return []
    said = (
        f"numbers of candidates differ from {least:,} to {most:,}: one distribution of ranks for "
        "all rows is an approximation, and its bounds are one as well; estimate rows of like "
        "n_items by themselves"
    )
    return [said]


def _range_sentence(metric: Metric, low: float, high: float, confidence: float) -> str:
    return (
        f"from these samples alone {metric} lies between {low:.3g} and {high:.3g} "
        f"at {confidence:.0%} confidence"
    )
