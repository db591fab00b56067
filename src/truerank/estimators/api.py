"""``estimate`` and ``rank_distribution``: from a table of ranks to the catalogue's metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truerank.data.id_order import distinct_ids
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.estimators.diagnostics import diagnose, exact_notes
from truerank.estimators.finite import (
    Population,
    finite_note,
    finite_ratio,
    sampled_fraction,
    user_part,
)
from truerank.estimators.methods import SLOW_TO_REFIT, make_method
from truerank.estimators.problem import Problem
from truerank.estimators.result import Diagnostics, Estimate
from truerank.estimators.samples import Sample
from truerank.metrics import Metric, MetricLike, as_metric
from truerank.ranking.table import RankTable

Float = NDArray[np.float64]


def estimate(
    table: RankTable,
    metrics: MetricLike | Sequence[MetricLike],
    method: str = "auto",
    *,
    n_boot: int | None = None,
    seed: int = 0,
    bounds: bool = True,
    level: float = 0.95,
    paired: bool = False,
    population: Population = "auto",
    **parameters: Any,
) -> list[Estimate]:
    """Estimate metrics of the whole catalogue from a table of (sampled) ranks.

    Args:
        table: Ranks, exact or sampled, in any mixture that the method takes.
        metrics: One or several, such as ``"ndcg@10"``.
        method: A name of :data:`truerank.estimators.methods.METHODS`. ``auto`` is the one we
            would choose: exact where all ranks are exact, else the smooth estimator.
        n_boot: Resamples of the users behind standard errors and intervals; 1,000 if not given
            (100 for methods that solve a convex problem each time). 0 for none.
        seed: Seed of the resamples.
        bounds: Compute identification bounds for the diagnostics.
        level: Confidence of the identification bounds.
        paired: Resample users by their number in ascending order of ids: replicates of tables
            with the same users, seed and ``n_boot`` then belong together and can be subtracted.
        population: Whose metric is wanted. ``finite``: that of the ``n_population`` users that the
            table's were drawn from, which narrows standard errors and intervals
            (:mod:`truerank.estimators.finite`). ``infinite``: that of users to come, of whom
            these are a sample. ``auto``: finite for :class:`truerank.Users` designs only, so a
            ``Full()`` table of all users is a sample of users to come.
        parameters: Of the method, for instance ``iterations=50`` for ``mle``.

    Returns:
        One :class:`Estimate` per metric, in their order.

    >>> table = RankTable.from_arrays(rank=[1, 3, 12, 40], n_sampled=100, n_items=100)
    >>> [e.value for e in estimate(table, ["recall@10", "ap@10"], n_boot=0)]
    [0.5, 0.3333333333333333]
    """
    wanted = _metrics(metrics)
    if table.header.design.get("kind") == "mixed":
        raise InvalidDataError("this table mixes replacement flags; estimate each part by itself")
    sample = Sample.of(table)
    _check_cutoffs(wanted, sample)
    fraction = sampled_fraction(table, population)
    exact = bool(table.is_exact.all())
    chosen = "exact" if method == "auto" and exact and not parameters else method
    estimator = make_method(chosen, parameters)
    if chosen == "exact" and exact and (sample.n_targets > 1).any():
        joint = _from_joint_ranks(table, wanted, n_boot=_resamples(chosen, n_boot), seed=seed)
        return [_about_all_users(e, table, finite_ratio(fraction, e.replicates)) for e in joint]
    whole = Problem.of(sample.cells, n_rows=sample.n_users)
    results: dict[int, Estimate] = {}
    for positions, row_weights in _grouped(wanted, sample):
        problem = replace(whole, n_rows=sample.effective_rows(row_weights))
        shares, factors = sample.shares(
            row_weights, n_boot=_resamples(chosen, n_boot), seed=seed, paired=paired
        )
        group = [wanted[i] for i in positions]
        values = factors * estimator.values(problem, group, shares)
        notes = diagnose(
            problem, group, shares[:, 0], values[:, 0], table=table, method=chosen,
            scale=float(factors[0]), bounds=bounds and not exact, level=level,
        )  # fmt: skip
        mass = None
        if fraction > 0 and chosen not in ("exact", "naive"):
            mass = estimator.distribution(problem, shares[:, 0])
        for k, i in enumerate(positions):
            found = _result(wanted[i], values[k], sample.n_users, chosen, notes[k])
            part = None
            if mass is not None:
                part = user_part(
                    sample, problem, wanted[i], mass,
                    row_weights=row_weights, shares=shares, factors=factors,
                )  # fmt: skip
            # What naive ranks estimate is no metric of users: nothing is known of it.
            ratio = finite_ratio(0 if chosen == "naive" else fraction, found.replicates, part)
            results[i] = _about_all_users(found, table, ratio)
    return [results[i] for i in range(len(wanted))]


def rank_distribution(
    table: RankTable, method: str = "auto", **parameters: Any
) -> tuple[NDArray[np.int64], Float]:
    """The estimated distribution of global ranks, P(R), as (edges, mass).

    Bin ``j`` holds ranks ``edges[j] .. edges[j + 1] - 1`` with probability ``mass[j]``; the top
    ranks have bins of their own. Linear methods (bv, mn) may give negative masses.
    """
    sample = Sample.of(table)
    exact = bool(table.is_exact.all())
    chosen = "exact" if method == "auto" and exact and not parameters else method
    estimator = make_method(chosen, parameters)
    row_weights = sample.weight / sample.n_targets
    problem = Problem.of(sample.cells, n_rows=sample.effective_rows(row_weights))
    shares, _ = sample.shares(row_weights, n_boot=0, seed=0)
    return problem.grid.edges.copy(), estimator.distribution(problem, shares[:, 0])


def _metrics(metrics: MetricLike | Sequence[MetricLike]) -> list[Metric]:
    several = isinstance(metrics, Iterable) and not isinstance(metrics, str)
    wanted = [as_metric(m) for m in metrics] if several else [as_metric(metrics)]  # type: ignore[arg-type,union-attr]
    if not wanted:
        raise InvalidArgumentError("metrics", [], "at least one metric, such as 'ndcg@10'")
    return wanted


def _check_cutoffs(metrics: list[Metric], sample: Sample) -> None:
    for metric in metrics:
        if metric.k is not None and metric.k > sample.cells.largest:
            raise InvalidArgumentError(
                "metric", str(metric), f"with K at most the {sample.cells.largest:,} candidates"
            )


def _resamples(method: str, n_boot: int | None) -> int:
    if n_boot is None:
        return 100 if method in SLOW_TO_REFIT else 1000
    if n_boot < 0:
        raise InvalidArgumentError("n_boot", n_boot, "at least 0")
    return n_boot


def _grouped(metrics: list[Metric], sample: Sample) -> list[tuple[list[int], Float]]:
    """Metrics that weigh the rows alike share one fit; with one target a user, all do."""
    groups: list[tuple[list[int], Float]] = []
    for i, metric in enumerate(metrics):
        weights = sample.row_weights(metric)
        for positions, known in groups:
            if np.array_equal(known, weights):
                positions.append(i)
                break
        else:
            groups.append(([i], weights))
    return groups


def _result(
    metric: Metric, values: Float, n_users: int, method: str, diagnostics: Diagnostics
) -> Estimate:
    replicates = values[1:]
    return Estimate(
        metric=str(metric),
        value=float(values[0]),
        std_error=float(replicates.std(ddof=1)) if len(replicates) > 1 else float("nan"),
        n_users=n_users,
        method=method,
        diagnostics=diagnostics,
        replicates=replicates,
    )


def _about_all_users(found: Estimate, table: RankTable, ratio: float) -> Estimate:
    """The estimate with its resamples drawn towards it, where not all its variance counts."""
    if ratio == 1.0:
        return found
    root = float(np.sqrt(ratio))
    notes = (*found.diagnostics.notes, finite_note(table, ratio))
    return replace(
        found,
        std_error=root * found.std_error,
        replicates=found.value + root * (found.replicates - found.value),
        diagnostics=replace(found.diagnostics, notes=notes),
    )


def _from_joint_ranks(
    table: RankTable, metrics: list[Metric], *, n_boot: int, seed: int
) -> list[Estimate]:
    """Exact ranks of several items per user: values per user, then their weighted mean.

    Only here can metrics that are not sums over items (hit, ap, mrr, auc) be had.
    """
    from truerank.rng import Stream, stream

    number = distinct_ids(table.user)[1]
    users, first = np.unique(number, return_index=True)
    weight = table.weight[first]
    results = []
    for metric in metrics:
        _, values = metric.per_user(number, table.rank, table.n_items)
        all_values = [float(values @ weight / weight.sum())]
        for b in range(1, n_boot + 1):
            draw = stream(seed, Stream.BOOTSTRAP, b).integers(0, len(users), len(users))
            all_values.append(float(values[draw] @ weight[draw] / weight[draw].sum()))
        results.append(
            _result(metric, np.array(all_values), len(users), "exact", Diagnostics(
                scored=float(table.n_scored.mean()),
                notes=exact_notes(table),
            ))
        )  # fmt: skip
    return results
