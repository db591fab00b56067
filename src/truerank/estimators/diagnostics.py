"""What an estimate cannot know, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truerank.arrays import Float
from truerank.data.id_order import distinct_ids
from truerank.errors import Message
from truerank.estimators.bounds.blind_spot import blind_spot, is_blind
from truerank.estimators.bounds.ceiling import ceiling_notes
from truerank.estimators.bounds.identification import compatible_set
from truerank.estimators.bounds.remedies import next_design
from truerank.estimators.problem import Problem
from truerank.estimators.result import Diagnostics
from truerank.estimators.samples import Sample
from truerank.metrics import Metric
from truerank.ranking.stages import Stages
from truerank.ranking.table import RankTable


def diagnose(
    problem: Problem,
    metrics: list[Metric],
    shares: Float,
    values: Float,
    *,
    table: RankTable,
    method: str,
    scale: float,
    bounds: bool,
    level: float,
    suspicions: tuple[str, ...] = (),
) -> list[Diagnostics]:
    """Diagnostics of each metric. ``scale`` turns sums over the distribution into values."""
    scored = float(np.average(table.n_scored, weights=np.maximum(table.weight, 1e-300)))
    common = [*suspicions, *([_NAIVE] if method == "naive" else [])]
    common += [table.adapted] if table.adapted else []
    common += _uneven(problem)
    if not bounds:
        examined = bool(table.is_exact.all())
        if not examined:
            common.append(
                "what the samples cannot tell was not examined "
                + Message("(bounds=False)", "(--no-bounds)")
            )
        notes = tuple(common)
        unbounded = Diagnostics(
            scored=scored, examined=examined, suspicions=suspicions, notes=notes
        )
        return [unbounded for _ in metrics]
    found = compatible_set(problem, shares, level=level, stages=_stages(table))
    cutoffs = sorted({metric.k for metric in metrics if metric.k is not None})
    spot = None
    if cutoffs:
        spot = blind_spot(
            problem, shares, ks=cutoffs, example=cutoffs[0], allowed=found,
            design=table.header.design,
        )  # fmt: skip
        common += spot.sentences
    elif found.note:
        common.append(found.note)
    if found.note and table.header.ties in _MISFIT_BY_TIES:
        common.append(_MISFIT_BY_TIES[table.header.ties])
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
        said = [_range_sentence(metric, low, high, level), *common]
        if blind and not spotted:
            advice = next_design(table.header.design)
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


def exact_diagnostics(table: RankTable, suspicions: tuple[str, ...] = ()) -> Diagnostics:
    """Of any metric of a table whose ranks are all exact."""
    note = "every rank is exact: the only uncertainty is which users there are"
    notes = [*(suspicions or [note]), table.adapted]
    return Diagnostics(
        scored=float(table.n_scored.mean()),
        suspicions=suspicions,
        notes=tuple(filter(None, notes)),
    )


def suspicions_about(table: RankTable) -> tuple[str, ...]:
    """Why ranks made elsewhere can hardly be what they are said to be; mostly nothing."""
    return (*ceiling_notes(table), *_shared_ranks(table))


def _shared_ranks(table: RankTable) -> tuple[str, ...]:
    """Exact ranks that several held-out items of one user have in common: those of no list."""
    if table.header.design.get("kind") != "foreign" or table.n_users == len(table):
        return ()
    exact = table.is_exact
    user, rank = distinct_ids(table.user)[1][exact], table.rank[exact]
    order = np.lexsort((rank, user))
    user, rank = user[order], rank[order]
    shared = int(np.count_nonzero((np.diff(user) == 0) & (np.diff(rank) == 0)))
    if shared == 0:
        return ()
    said = (
        f"suspicious: {shared:,} of {len(rank):,} exact ranks are also the rank of another "
        "held-out item of the same user, but a list has one item at each place: items were ranked "
        "apart, or ties in their favour; rank each user's items in one list, or values of several "
        "items are too high"
    )
    return (said,)


def blind_cutoffs(table: RankTable, ks: Sequence[int], *, level: float = 0.95) -> frozenset[int]:
    """Which cutoffs the samples of a table do not see; none of them for exact ranks."""
    if bool(table.is_exact.all()):
        return frozenset()
    sample = Sample.of(table)
    row_weights = sample.weight / sample.n_targets
    problem = Problem.of(sample.cells, n_rows=sample.effective_rows(row_weights))
    shares, _ = sample.shares(row_weights, n_boot=0, seed=0)
    spot = blind_spot(problem, shares[:, 0], ks=ks, level=level, stages=_stages(table))
    return frozenset(spot.blind)


_MISFIT_BY_TIES = {
    "half": (
        "ties are the likely cause: half of the ties in a sample is no draw from the catalogue; "
        "rank again with ties='random', the default"
    ),
    "pessimistic": (
        "ties may be the cause: tied targets stand at the end of each user's own candidates, and "
        "one distribution of ranks for all users cannot say that where users differ in n_items; "
        "rank again with ties='random', the default"
    ),
    "unknown": (
        "ties may be the cause: how equal scores were ranked is unknown, and where a tie counts "
        "half, ranks in a sample are no draws from the catalogue; break ties at random"
    ),
}
"""Under the other rules a sample obeys its law: see numerics.ties."""

_NAIVE = (
    "this is the metric on the samples, not on the catalogue: it depends on the sample size "
    "and may order models differently"
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


def _range_sentence(metric: Metric, low: float, high: float, level: float) -> str:
    return (
        f"from these samples alone {metric} lies between {low:.3g} and {high:.3g} "
        f"at {level:.0%} confidence"
    )


def _stages(table: RankTable) -> Stages | None:
    """The stages the rows followed, if the table says so."""
    design = table.header.design
    design = design.get("inner", design)
    return Stages.from_dict(design["levels"]) if "levels" in design else None
