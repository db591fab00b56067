"""``compare``: from tables of ranks to a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from truerank.arrays import Ids
from truerank.comparison.alignment import Alignment, align
from truerank.comparison.caveats import caveats_of
from truerank.comparison.corrections import adjust
from truerank.comparison.differences import difference
from truerank.comparison.standings import chance_of_being_best, indistinguishable_groups
from truerank.comparison.verdict import Comparison, Verdict
from truerank.data.id_order import distinct_ids
from truerank.deprecation import renamed_parameters
from truerank.errors import InvalidArgumentError, InvalidDataError, joined, option
from truerank.estimators import Estimate, Sample, estimate, prepare
from truerank.estimators.bounds.certified import is_certified
from truerank.estimators.estimate_metrics import check_resamples
from truerank.estimators.population import Population, checked_population
from truerank.estimators.samples import FEW_BLOCKS, blocks_sharing
from truerank.execution import Progress
from truerank.metrics import Metric, MetricLike, as_metric
from truerank.ranking import RankTable
from truerank.ranking.user_blocks import user_blocks

Estimates = Mapping[str, Mapping[str, Estimate]]
"""By model and metric."""

FEWEST_RESAMPLES = 100
"""Fewer give no percentiles worth the name."""


@renamed_parameters(level="confidence")
def compare(
    tables: Mapping[str, RankTable | Sample],
    metrics: MetricLike | Sequence[MetricLike],
    *,
    method: str = "auto",
    test: str = "auto",
    correction: str = "holm",
    confidence: float = 0.95,
    align: Alignment = "refuse",
    baseline: str | None = None,
    n_boot: int = 1000,
    seed: int = 0,
    bounds: bool = True,
    population: Population = "infinite",
    progress: bool | None = None,
) -> Verdict:
    """Which of several models is better, on the same users, and how sure that is.

    Args:
        tables: Ranks by the name of the model; exact or sampled, in any mix. Tables that
            :func:`truerank.estimators.prepare` made ready are not fitted again.
        metrics: One or several; the verdict's sentence is about the first.
        method: Of the estimates, as for :func:`truerank.estimate`.
        test: ``auto`` chooses: for exact ranks McNemar where values are 0 or 1 and the paired t
            otherwise; for estimates z from joint resamples. Names of others are in
            :data:`truerank.comparison.TESTS`.
        correction: ``holm``, ``bonferroni``, ``benjamini-hochberg`` or ``none``, over all rows.
        confidence: Of the intervals; the tests have size 1 - confidence.
        align: ``refuse`` tables with different rows, or keep the ``common`` ones.
        baseline: Compare the others with this model only: fewer questions, more power.
        n_boot: Resamples of the users, common to all models.
        seed: Of the resamples.
        bounds: Look for what the samples cannot tell (the caveats); slower.
        population: Whose metric all of it is about: ``infinite``, future users, of whom these are a
            sample; or ``finite``, the users there are (``n_population`` of every table), whose
            difference is known where all of them were ranked in full.
        progress: Show a bar; only on a terminal if not given.

    Memory: beyond the tables about 30 bytes per row and table, 160 with ids of 7 characters; more
    where rows must be put in order (:mod:`truerank.comparison.alignment`). And models x metrics x
    ``n_boot`` floats.

    >>> rng = np.random.default_rng(0)
    >>> R = rng.integers(1, 200, size=400)
    >>> better, worse = (
    ...     RankTable.from_arrays(rank=r, n_sampled=250, n_items=250) for r in (R, R + 5)
    ... )
    >>> verdict = compare({"worse": worse, "better": better}, "recall@10", n_boot=200)
    >>> verdict.models, verdict.comparisons[0].test
    (('better', 'worse'), 'mcnemar')
    """
    wanted = _metrics(metrics)
    given = _checked(tables, baseline, confidence, n_boot)
    population = checked_population(population)
    rows, ids = _aligned(given, align)
    samples = {name: _prepared(tables[name], table) for name, table in rows.items()}
    samples = _by_common_blocks(samples, ids, wanted)
    n_population = _common_population(rows) if population == "finite" else None
    estimates, resampled = {}, {}
    with Progress("estimating", total=len(rows), enabled=progress) as bar:
        for name, sample in samples.items():
            found = _estimates(sample, wanted, method, n_boot, seed, bounds, confidence, population)
            estimates[name] = resampled[name] = found
            if population == "finite":  # a difference is shrunk as one, from full resamples
                resampled[name] = _estimates(
                    sample, wanted, method, n_boot, seed, False, confidence, "infinite"
                )
            bar.advance()
    models = sorted(rows, key=lambda name: -estimates[name][str(wanted[0])].value)
    pairs = (
        list(combinations(models, 2))
        if baseline is None
        else [(name, baseline) for name in models if name != baseline]
    )
    comparisons = _comparisons(
        samples, (estimates, resampled), wanted, pairs,
        method=method, test=test, correction=correction, confidence=confidence,
        n_boot=n_boot, seed=seed, population=population, n_population=n_population,
    )  # fmt: skip
    replicates = {
        str(m): np.array([estimates[name][str(m)].replicates for name in models]) for m in wanted
    }
    return Verdict(
        models=tuple(models),
        metrics=tuple(str(metric) for metric in wanted),
        estimates=estimates,
        comparisons=comparisons,
        best={
            metric: dict(zip(models, chance_of_being_best(values).tolist(), strict=True))
            for metric, values in replicates.items()
        },
        groups={} if baseline is not None else _groups(models, wanted, estimates, comparisons),
        confidence=confidence,
        correction=correction,
        method=method,
        baseline=baseline,
        population=population,
        n_population=n_population,
        n_users=next(iter(rows.values())).n_users,
        n_boot=n_boot,
        seed=seed,
        tables=rows,
        samples=samples,
    )


def _prepared(given: RankTable | Sample, aligned: RankTable) -> Sample:
    """What was made ready before, if alignment left the rows as they are."""
    known = isinstance(given, Sample) and given.ranks is aligned
    return given if known and isinstance(given, Sample) else prepare(aligned)


def _aligned(tables: Mapping[str, RankTable], how: Alignment) -> tuple[dict[str, RankTable], Ids]:
    """The tables on the same rows, with users of text numbered in their order, once for all.

    Nothing but that order counts from here on, and numbers are found again much faster. Also the
    ids as they were.
    """
    rows = align(tables, how)  # the argument of compare() has the function's name
    rows = {name: table.without_weightless_users() for name, table in rows.items()}
    ids = next(iter(rows.values())).user
    if ids.dtype.kind not in "iu":
        number = distinct_ids(ids)[1]
        rows = {name: replace(table, user=number) for name, table in rows.items()}
    return rows, ids


def _by_common_blocks(
    samples: dict[str, Sample], ids: Ids, metrics: list[Metric]
) -> dict[str, Sample]:
    """Where users of some table share their rivals, all tables are resampled by these blocks."""
    numbers = {name: blocks_sharing(sample.ranks) for name, sample in samples.items()}
    shared = [samples[name] for name, n_blocks in numbers.items() if n_blocks]
    if all(is_certified(sample, metric) for sample in shared for metric in metrics):
        return samples  # nothing depends on the rivals
    fewest = min(n_blocks for n_blocks in numbers.values() if n_blocks)
    _, block = np.unique(user_blocks(ids, fewest), return_inverse=True)
    if block.max() + 1 < FEW_BLOCKS:
        return {name: replace(sample, block=None) for name, sample in samples.items()}
    return {name: replace(s, block=block, common=True) for name, s in samples.items()}


def _common_population(tables: Mapping[str, RankTable]) -> int | None:
    """How many users there are, the same for every table."""
    sizes = {name: table.header.n_population for name, table in tables.items()}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        raise InvalidDataError(
            f"the tables disagree on how many users there are ({said}), so these users are not one "
            "population; rank all models on one split, or pass " + option("population", "infinite")
        )
    return next(iter(sizes.values()))


def _metrics(metrics: MetricLike | Sequence[MetricLike]) -> list[Metric]:
    several = isinstance(metrics, Sequence) and not isinstance(metrics, str)
    wanted = [as_metric(m) for m in metrics] if several else [as_metric(metrics)]  # type: ignore[arg-type,union-attr]
    if not wanted:
        raise InvalidArgumentError("metrics", [], "at least one metric, such as 'ndcg@10'")
    return list(dict.fromkeys(wanted))


def _checked(
    tables: Mapping[str, RankTable | Sample], baseline: str | None, confidence: float, n_boot: int
) -> dict[str, RankTable]:
    """The tables alone, if everything asked for can be had."""
    if len(tables) < 2:
        raise InvalidArgumentError(
            "tables", list(tables), "at least two models by name",
            "one model alone is what tr.estimate is for",
        )  # fmt: skip
    found = {}
    for name, given in tables.items():
        table = given.ranks if isinstance(given, Sample) else given
        if not isinstance(table, RankTable):
            raise InvalidArgumentError(
                f"tables[{name!r}]", type(table).__name__, "a RankTable",
                "make one with tr.rank or tr.RankTable.from_arrays",
            )  # fmt: skip
        found[name] = table
    if baseline is not None and baseline not in tables:
        raise InvalidArgumentError("baseline", baseline, f"one of {', '.join(tables)}")
    if not 0 < confidence < 1:
        raise InvalidArgumentError("confidence", confidence, "between 0 and 1")
    check_resamples(n_boot, fewest=FEWEST_RESAMPLES)
    return found


def _estimates(
    sample: Sample,
    metrics: list[Metric],
    method: str,
    n_boot: int,
    seed: int,
    bounds: bool,
    confidence: float,
    population: Population,
) -> dict[str, Estimate]:
    # Exact ranks need no method: what is known is not estimated.
    chosen = "auto" if sample.exact else method
    found = estimate(
        sample, metrics, chosen,
        n_boot=n_boot, seed=seed, bounds=bounds, confidence=confidence, paired=True,
        population=population,
    )  # fmt: skip
    return {e.metric: e for e in found}


def _comparisons(
    samples: Mapping[str, Sample],
    estimates: tuple[Estimates, Estimates],
    metrics: list[Metric],
    pairs: list[tuple[str, str]],
    *,
    method: str,
    test: str,
    correction: str,
    confidence: float,
    n_boot: int,
    seed: int,
    population: Population,
    n_population: int | None,
) -> tuple[Comparison, ...]:
    found = []
    for metric in metrics:
        for names in pairs:
            a, b = (estimates[0][name][str(metric)] for name in names)
            free = (estimates[1][names[0]][str(metric)], estimates[1][names[1]][str(metric)])
            both = (samples[names[0]], samples[names[1]])
            d = difference(
                both, free, metric,
                method=method, test=test, confidence=confidence, n_resamples=n_boot, seed=seed,
                population=population,
            )  # fmt: skip
            speaks_against = joined("; ", filter(None, (caveats_of(names, both, (a, b)), d.note)))
            found.append((str(metric), names, (a, b), d, speaks_against))
    adjusted = adjust(np.array([d.p_value for *_, d, _ in found]), correction)
    return tuple(
        Comparison(
            metric=metric,
            a=names[0],
            b=names[1],
            value_a=both[0].value,
            value_b=both[1].value,
            extrapolated=any(e.diagnostics.blind for e in both),
            bounds=_difference_bounds(*both),
            difference=d.value,
            std_error=d.std_error,
            low=d.low,
            high=d.high,
            p_value=d.p_value,
            p_adjusted=float(p),
            effect_size=d.effect_size,
            significant=bool(p < 1 - confidence),
            test=d.test,
            n_users=both[0].n_users,
            population=population,
            n_population=n_population,
            caveats=speaks_against,
        )
        for (metric, names, both, d, speaks_against), p in zip(found, adjusted, strict=True)
    )


def _difference_bounds(a: Estimate, b: Estimate) -> tuple[float, float] | None:
    """What the samples alone allow for a minus b, each model for itself.

    None where nothing was sampled or nothing computed; beside a sampled one, an exact value is its
    own bound. That both models met the same users narrows the range, by how much is not known.
    """
    if a.method == b.method == "exact":
        return None
    ends = [(e.value, e.value) if e.method == "exact" else e.diagnostics.bounds for e in (a, b)]
    if ends[0] is None or ends[1] is None:
        return None
    return ends[0][0] - ends[1][1], ends[0][1] - ends[1][0]


def _groups(
    models: list[str],
    metrics: list[Metric],
    estimates: Mapping[str, Mapping[str, Estimate]],
    comparisons: tuple[Comparison, ...],
) -> dict[str, tuple[tuple[str, ...], ...]]:
    groups = {}
    for metric in map(str, metrics):
        order = sorted(models, key=lambda name: -estimates[name][metric].value)
        apart = [(row.a, row.b) for row in comparisons if row.metric == metric and row.significant]
        groups[metric] = indistinguishable_groups(order, apart)
    return groups
