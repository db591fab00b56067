"""What must hold whatever the world: a table of small functions, each of one sentence."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from truerank.estimators.methods import SLOW_TO_REFIT
from truerank.metrics import as_metric
from truerank.ranking.columns import COLUMNS

from .people import Rows
from .reference import slow_ranks
from .world import MOST_SCORES, World

Int = NDArray[np.int64]
SLACK = 1e-9
"""Rounding of sums of a few thousand numbers in [0, 1]."""


class BrokenError(AssertionError):
    """A property does not hold."""


class NothingToCheck(Exception):  # noqa: N818  # no error: the property says nothing here
    """The property has no meaning in this world."""


def hold(condition: object, sentence: str) -> None:
    """The condition holds, or the property is broken."""
    if not bool(condition):
        raise BrokenError(sentence)


# ---------------------------------------------------------------- ranks


def rows_are_the_split(world: World) -> None:
    """One row per held-out pair, in order, with its number of candidates."""
    table, held = world.full, world.split.held_out
    hold(np.array_equal(table.user, held.user_ids[held.users]), "users are not the held-out ones")
    hold(np.array_equal(table.item, held.item_ids[held.indices]), "items are not the held-out ones")
    hold(np.array_equal(table.n_items, world.n_candidates), "n_items is not the candidates' number")
    hold(table.is_exact.all(), "Full() has sampled rows")


def exact_ranks_equal_reference(world: World) -> None:
    """Full() gives the ranks of the slow reference, every tie rule included."""
    for row, rank, _ in _reference(world):
        mine = int(world.full.rank[row])
        hold(
            mine == rank,
            f"row {row} (user {world.users[row]}, item {world.items[row]}) has rank {mine} of "
            f"{world.n_candidates[row]}, the reference says {rank} (ties {world.full.header.ties})",
        )


def targets_have_places_of_their_own(world: World) -> None:
    """No two held-out items of a user share a rank in one list."""
    table = world.full
    if _leaky(world):
        raise NothingToCheck
    pairs = np.stack([world.users, table.rank], axis=1)
    shared = len(pairs) - len(np.unique(pairs, axis=0))
    hold(shared == 0, f"{shared} of {len(pairs)} rows share a rank with another of their user")


def table_is_sound(world: World) -> None:
    """The design's table has possible ranks and the sizes that the design says."""
    table, design = world.table, world.design
    hold((table.rank >= 1).all() and (table.rank <= table.n_sampled).all(), "a rank outside 1..n")
    hold((table.n_sampled <= table.n_items).all(), "more sampled than there are")
    if isinstance(design, tr.Sampled):
        hold((table.n_sampled == design.n).all(), "Sampled(n) with another size than n")
    if isinstance(design, tr.Users):
        hold(table.n_users == design.m, f"Users({design.m}) has {table.n_users} users")
        return
    hold(np.array_equal(table.n_items, world.n_candidates), "n_items is not the candidates' number")


def sampled_ranks_are_possible(world: World) -> None:
    """Without replacement r <= R and n - r <= N - R; with it R = 1 means r = 1."""
    table, full = _on_same_rows(world)
    R, N, r, n = full.rank, full.n_items, table.rank, table.n_sampled
    if full.header.ties == "half" and _any_tie(world):
        raise NothingToCheck  # the middle of a tied block is no order that a sample could keep
    if table.header.replacement:
        hold((r[R == 1] == 1).all(), "a target of rank 1 has a sampled rank above 1")
        hold((r[R == N] == n[R == N]).all(), "a target of rank N beats somebody")
        return
    hold((r <= R).all(), f"row {np.argmax(r > R)}: sampled rank above the exact rank")
    hold((n - r <= N - R).all(), f"row {np.argmax(n - r > N - R)}: it beats more than there are")


def exact_rows_are_exact(world: World) -> None:
    """Rows of any design that met all their candidates have the rank of Full(), in bits."""
    table, full = _on_same_rows(world)
    exact = table.is_exact
    if not exact.any():
        raise NothingToCheck
    hold(np.array_equal(table.rank[exact], full.rank[exact]), "an exact row differs from Full()")


def sampling_everything_is_exact(world: World) -> None:
    """Sampled(n = all candidates) gives the rank of Full(), in bits."""
    rows = _some_rows(world, MOST_SCORES // 10)
    n = int(world.n_candidates[rows].min())
    if n < 2:
        raise NothingToCheck
    table = _rank_rows(world, rows, tr.Sampled(n))
    exact = table.is_exact
    hold(
        np.array_equal(table.rank[exact], world.full.rank[rows][exact]), "Sampled(N) is not Full()"
    )


def users_all_is_full(world: World) -> None:
    """Users(m = all) has the ranks, values, standard errors and intervals of Full()."""
    full, some = world.full, world.rank(tr.Users(world.n_held_out_users))
    for name in COLUMNS:
        hold(np.array_equal(getattr(full, name), getattr(some, name)), f"column {name} differs")
    a, b = (tr.estimate(t, safe_metrics(world, full), n_boot=60) for t in (full, some))
    for x, y in zip(a, b, strict=True):
        hold(x.value == y.value, f"{x.metric}: {x.value} by Full(), {y.value} by Users(all)")
        same = x.std_error == y.std_error and x.interval() == y.interval()
        hold(same, f"{x.metric}: ± {x.std_error:.4g} by Full(), ± {y.std_error:.4g} by Users(all)")


def users_all_has_the_same_verdict(world: World) -> None:
    """compare() says the same of Full() and of Users(m = all)."""
    verdicts = []
    metric = safe_metrics(world, world.full)[0]
    for design in (tr.Full(), tr.Users(world.n_held_out_users)):
        tables = {"a": world.rank(design), "b": world.rank(design, world.rival)}
        verdicts.append(tr.compare(tables, metric, n_boot=100).comparisons[0])
    x, y = verdicts
    for name in ("difference", "std_error", "low", "high", "p_value", "significant"):
        a, b = getattr(x, name), getattr(y, name)
        same = a == b or (isinstance(a, float) and math.isnan(a) and math.isnan(b))
        hold(same, f"{name} of the difference: {a} by Full(), {b} by Users(all)")


def executors_agree(world: World) -> None:
    """The same bits from other executors."""
    for executor in (tr.Serial(), tr.Threads(2)):
        other = world.rank(world.design, executor=executor)
        hold(_same_table(world.table, other), f"{executor!r} gives another table")


def parts_rank_as_the_whole(world: World) -> None:
    """A row's rank does not depend on which other users are ranked with it."""
    if isinstance(world.design, tr.Users) or _schedules(world.design):
        raise NothingToCheck
    rows = _some_rows(world, MOST_SCORES // 20)
    table = _rank_rows(world, rows, world.design)
    hold(np.array_equal(table.rank, world.table.rank[rows]), "some users alone rank otherwise")
    hold(np.array_equal(table.n_sampled, world.table.n_sampled[rows]), "other sample sizes")


def order_of_rows_is_irrelevant(world: World) -> None:
    """Shuffled rows and vocabularies give the same data, the same split and the same table."""
    if len(world.rows.user) > 15_000:
        raise NothingToCheck
    shuffled: Rows = world.rows.shuffled(world.rng(20))
    data = world.interactions(shuffled)
    hold(data.fingerprint() == world.interactions(world.rows).fingerprint(), "other interactions")
    split = world.split_of(shuffled)
    hold(split.fingerprint() == world.split.fingerprint(), "another split")
    table = tr.rank(world.model_of(split), split, world.design, **world.rank_options)
    hold(_same_table(table, world.table), "another table")


def sampled_ranks_are_unbiased(world: World) -> None:
    """The mean of (r - 1)/(n - 1) - (R - 1)/(N - 1) over rows and seeds is 0 within 5 errors.

    Under ``half`` a tied rival counts half, so that the rank is right to within half a place (with
    one target a user), and chance has no less a part than with replacement.
    """
    rows = _some_rows(world, 200_000)[:60]
    room = int(world.n_candidates[rows].min())
    if room < 4:
        raise NothingToCheck
    rng = world.rng(21)
    n, replacement = int(rng.integers(2, min(room - 1, 60) + 1)), bool(rng.random() < 0.4)
    rule = world.plan.ties or "random"
    if rule == "half" and len(np.unique(world.users[rows])) < len(rows):
        raise NothingToCheck
    sums = variances = halves = 0.0
    for seed in range(40):
        options = {"ties": rule, "seed": seed}
        full = _rank_rows(world, rows, tr.Full(), **options)
        table = _rank_rows(world, rows, tr.Sampled(n, replacement), **options)
        N = full.n_items - 1.0
        p = (full.rank - 1) / N
        sums += float(((table.rank - 1) / (n - 1) - p).sum())
        left = 1.0 if replacement or rule == "half" else (N - (n - 1)) / (N - 1)
        halves += float((0.5 / N).sum()) if rule == "half" else 0.0
        variances += float((p * (1 - p) / (n - 1) * left).sum())
    hold(
        abs(sums) <= 5.0 * math.sqrt(variances) + halves + SLACK,
        f"Sampled({n}, {replacement}), ties {rule}: sum of differences {sums:.4g}, standard error "
        f"{math.sqrt(variances):.4g}",
    )


# ---------------------------------------------------------------- tables


def tables_survive_parquet(world: World) -> None:
    """A table read back has the same columns and the same header."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        world.table.to_parquet(path)
        back = tr.RankTable.from_parquet(path)
    hold(_same_table(world.table, back), "columns changed on the way")
    hold(world.table.header == back.header, "the header changed on the way")


def shards_make_the_whole(world: World) -> None:
    """A table cut by users and put together again has the same estimates, in bits."""
    table, rng = world.table, world.rng(22)
    names, number = np.unique(table.user, return_inverse=True)
    if len(names) < 2:
        raise NothingToCheck
    shard = rng.integers(0, 3, len(names))[number]
    parts = [table[shard == k] for k in rng.permutation(3) if (shard == k).any()]
    again = tr.RankTable.concat(parts)
    metrics = safe_metrics(world, table)
    whole, joined = (tr.estimate(t, metrics, n_boot=0, bounds=False) for t in (table, again))
    for a, b in zip(whole, joined, strict=True):
        hold(a.value == b.value, f"{a.metric}: {a.value!r} whole, {b.value!r} from shards")


# ---------------------------------------------------------------- estimates


def estimates_are_sound(world: World) -> None:
    """The world's method on the world's metrics: values, intervals and bounds make sense."""
    method, table = world.plan.method, world.table
    n_boot = min(world.plan.n_boot, 3) if method in SLOW_TO_REFIT else world.plan.n_boot
    for e in tr.estimate(table, safe_metrics(world, table), method, n_boot=n_boot):
        _check_estimate(e, strict=method in BOUNDED)


def any_metric_is_answered_or_refused(world: World) -> None:
    """Whatever is asked for, beyond the catalogue too, gets a value or a reason."""
    for e in tr.estimate(world.table, world.metrics, n_boot=0, bounds=False):
        _check_estimate(e, strict=True)


def distributions_sum_to_one(world: World) -> None:
    """The estimated distribution of ranks is one: no mass negative, all of them 1."""
    for method in ("auto", "mle"):
        edges, mass = tr.rank_distribution(world.table, method)
        hold(len(edges) == len(mass) + 1 and edges[0] == 1, f"{method}: edges {edges[:3]}")
        hold((mass >= -SLACK).all(), f"{method}: a mass of {mass.min():.4g}")
        hold(abs(mass.sum() - 1) < 1e-6, f"{method}: masses sum to {mass.sum():.8g}")


def exact_estimates_are_sound(world: World) -> None:
    """The same of exact ranks, and the value is the mean over users."""
    for e in tr.estimate(world.full, safe_metrics(world, world.full), n_boot=world.plan.n_boot):
        _check_estimate(e, strict=True)
        values = world.full.per_user(e.metric)[1]
        hold(abs(e.value - values.mean()) < SLACK, f"{e.metric} is not the mean over users")
        hold(
            values.min() >= 0 and values.max() <= 1 + SLACK, f"{e.metric} of a user: {values.max()}"
        )


def auto_estimates_lie_in_their_bounds(world: World) -> None:
    """What the default method says is possible by the identification bounds."""
    for e in tr.estimate(world.table, safe_metrics(world, world.table), n_boot=30):
        _check_estimate(e, strict=True)
        if e.diagnostics.bounds is not None:
            low, high = e.diagnostics.bounds
            inside = low - 1e-6 <= e.value <= high + 1e-6
            hold(inside, f"{e.metric}: {e.value:.6g} outside its bounds {low:.6g} to {high:.6g}")


BOUNDED = frozenset({"auto", "exact", "naive", "mle", "wmle-ap", "wmle-ndcg", "mes"})
"""Methods whose values are means of the metric over a distribution of ranks."""


def _check_estimate(e: Any, *, strict: bool) -> None:
    low, high = e.interval()
    hold(math.isfinite(e.value), f"{e.metric} is {e.value}")
    if strict:
        hold(-SLACK <= e.value <= 1 + SLACK, f"{e.metric} is {e.value}")
    if len(e.replicates) > 1:
        hold(low <= high, f"{e.metric}: interval from {low} to {high}")
        hold(e.std_error >= 0, f"{e.metric}: standard error {e.std_error}")
    if len(e.replicates) > 1 and strict:
        hold(low >= -SLACK and high <= 1 + SLACK, f"{e.metric}: interval [{low:.4g}, {high:.4g}]")
        # Refits of resamples stop a little earlier than the fit itself.
        near = SLACK + 1e-3 * abs(e.value)
        inside = low - near <= e.value <= high + near
        hold(inside, f"{e.metric}: {e.value:.6g} is outside its interval [{low:.6g}, {high:.6g}]")
    if e.diagnostics.bounds is not None:
        least, most = e.diagnostics.bounds
        hold(-1e-6 <= least <= most <= 1 + 1e-6, f"{e.metric}: bounds {least:.6g} to {most:.6g}")
    hold(e.metric in str(e) and json.dumps(e.to_dict()), "no words for the estimate")


# ---------------------------------------------------------------- verdicts


def compare_gives_a_verdict(world: World) -> None:
    """Two models by one design: a sentence, a frame, JSON, Markdown, and ordered numbers."""
    tables = {"one": world.table, "other": world.rank(world.design, world.rival)}
    metrics = safe_metrics(world, *tables.values())[:2]
    verdict = tr.compare(tables, metrics, n_boot=100, bounds=len(world.users) < 200)
    hold(verdict.sentence.endswith("."), f"no sentence: {verdict.sentence!r}")
    hold(len(verdict.to_frame()) == len(verdict.comparisons), "the frame lacks rows")
    json.loads(verdict.to_json())
    hold(verdict.to_markdown() and verdict.to_latex(), "no tables")
    for row in verdict.comparisons:
        hold(0 <= row.p_value <= row.p_adjusted <= 1, f"p {row.p_value}, {row.p_adjusted}")
        known = row.low <= row.high or (row.n_users == 1 and math.isnan(row.low))
        hold(known, f"interval of the difference {row.low} to {row.high}, {row.n_users} users")
        hold(-1 - SLACK <= row.difference <= 1 + SLACK, f"difference {row.difference}")


def no_model_beats_itself(world: World) -> None:
    """The same table twice is never better than itself."""
    tables = {"a": world.table, "b": world.table}
    metrics = safe_metrics(world, world.table)[:1]
    verdict = tr.compare(tables, metrics, n_boot=100, bounds=False)
    for row in verdict.comparisons:
        hold(row.difference == 0, f"{row.metric}: differs from itself by {row.difference}")
        hold(not row.significant, f"{row.metric}: better than itself, p = {row.p_value}")


def defaults_take_any_size(world: World) -> None:
    """Adaptive() adapts to however few candidates there are, and its estimates are sound."""
    rows = _some_rows(world, 500_000)
    table = _rank_rows(world, rows, tr.Adaptive())
    if len(np.unique(world.users[rows])) == len(rows):
        for e in tr.estimate(table, "mrr", n_boot=0, bounds=False):
            _check_estimate(e, strict=True)


# ---------------------------------------------------------------- what properties share


@cache
def _reference(world: World) -> tuple[tuple[int, int, bool], ...]:
    """The slow ranks of some users' rows, with the rule of the table."""
    header = world.full.header
    rows = _some_rows(world, 3_000_000)
    return tuple(
        slow_ranks(
            _scorer(world),
            world.users,
            world.items,
            world.seen,
            ties=header.ties,
            seed=world.plan.rank_seed,
            rows=rows,
        )
    )


def _scorer(world: World) -> Any:
    """What is ranked: the model, or the model with the held-out users folded in."""
    if world.split.fold_in is not None:
        return world.model.fold_in(world.split.fold_in)
    return world.model


def _any_tie(world: World) -> bool:
    """Whether any row of those that the reference looks at is tied."""
    rows = {row for row, _, _ in _reference(world)}
    return len(rows) < len(world.users) or any(tied for _, _, tied in _reference(world))


def _some_rows(world: World, most_scores: int) -> Int:
    """All rows of some users, so many that no more than this many items are scored."""
    users = world.rng(23).permutation(np.unique(world.users))
    n = max(2, most_scores // max(1, world.split.train.n_items))
    return np.flatnonzero(np.isin(world.users, users[:n]))


def _rank_rows(world: World, rows: Int, design: Any, **options: Any) -> tr.RankTable:
    """Some rows of the world by themselves."""
    told = {k: v for k, v in world.rank_options.items() if k != "candidates"} | options
    return tr.rank_pairs(
        _scorer(world), world.users[rows], world.items[rows], design, exclude=world.seen, **told
    )


def _on_same_rows(world: World) -> tuple[tr.RankTable, tr.RankTable]:
    """The design's table and the rows of Full() that it has."""
    table, full = world.table, world.full
    if len(table) == len(full):
        return table, full
    kept = np.isin(full.user, np.unique(table.user))
    return table, full[kept]


def _same_table(one: tr.RankTable, other: tr.RankTable) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in COLUMNS)


def _schedules(design: Any) -> bool:
    """Whether a pilot over all rows decides the sizes."""
    return isinstance(design, tr.Adaptive) and design.limited


def _leaky(world: World) -> bool:
    """Held-out items that are excluded for each other: a user's rows are in different lists."""
    return bool(world.split.report.overlapping_pairs > 0 and world.seen is not None)


def safe_metrics(world: World, *tables: tr.RankTable) -> list[str]:
    """The world's metrics that nobody has a reason to refuse on these tables."""
    exact = all(bool(table.is_exact.all()) for table in tables)
    several = len(world.users) > world.n_held_out_users
    most = int(world.n_candidates.min())
    targets = np.bincount(world.users)[world.users]
    pairs = bool((targets < world.n_candidates).all()) and not _leaky(world)
    found = []
    for name in world.metrics:
        metric = as_metric(name)
        if (metric.k or 1) > most or (name == "auc" and not pairs):
            continue
        if metric.linear or exact or not several:
            found.append(name)
    return found or ["recall@1"]


PROPERTIES: dict[str, Callable[[World], None]] = {
    check.__name__: check
    for check in (
        rows_are_the_split,
        exact_ranks_equal_reference,
        targets_have_places_of_their_own,
        table_is_sound,
        sampled_ranks_are_possible,
        exact_rows_are_exact,
        sampling_everything_is_exact,
        users_all_is_full,
        users_all_has_the_same_verdict,
        executors_agree,
        parts_rank_as_the_whole,
        order_of_rows_is_irrelevant,
        sampled_ranks_are_unbiased,
        tables_survive_parquet,
        shards_make_the_whole,
        estimates_are_sound,
        any_metric_is_answered_or_refused,
        distributions_sum_to_one,
        exact_estimates_are_sound,
        auto_estimates_lie_in_their_bounds,
        compare_gives_a_verdict,
        no_model_beats_itself,
        defaults_take_any_size,
    )
}
